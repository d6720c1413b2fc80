// Seals or folds one node: what it works on is read ahead, computed in steps, and offered to the journal.
import { type Context, Effect } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { type FoldedTier, nextTier } from "../src/core/Tier.ts"
import type { HistoryWrite } from "../src/store/History.ts"
import { dropAhead } from "../src/store/ReadAhead.ts"
import {
  type Fold,
  foldOf,
  foldQuestion,
  type Seal,
  sealBefore,
  sealOf,
  sealQuestion,
  settleSeal,
  type Shelves
} from "./Compaction.ts"
import type { FoldSource, SealSource } from "./CompactionSources.ts"
import { noteTrouble, type Watch } from "./FiberStatus.ts"
import type { Mark } from "./HistoryMarks.ts"
import type { Journal } from "./Journal.ts"
import type { NodeActor } from "./NodeActor.ts"
import type { NodeSupervisor } from "./NodeSupervisor.ts"
import type { ReadAhead } from "./ReadAhead.ts"
import type { Give } from "./Slices.ts"

/** A report that arrived just before its stretch ended is committed within this. */
export const graceMs = 2000
/** Seals that may fail in a row before the rows are given up: without an end they would hold up trimming for ever. */
const sealAttempts = 5

/** What jobs are done with. */
export interface Tools extends Shelves {
  readonly writer: Context.Tag.Service<typeof Journal>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly ahead: Context.Tag.Service<typeof ReadAhead>
  readonly watch: Watch
}

/** Offers a write about one node; the mark is busy until the commit is known. */
const offer = (tools: Tools, mark: Mark, write: HistoryWrite, settle: (committed: boolean) => unknown): boolean => {
  mark.isBusy = true
  const isTaken = tools.writer.offer(write, (committed) => {
    mark.isBusy = false
    settle(committed)
  })
  if (!isTaken) mark.isBusy = false
  return isTaken
}

/** SQLite's own errors carry its codes. */
const isStorageError = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && String(cause.code).startsWith("SQLITE_")

/** Gives a node's oldest rows up, so that one bad row does not keep the journal from being trimmed. */
const giveUp = (tools: Tools, actor: NodeActor, mark: Mark): boolean => {
  const details = tools.history.reader.standing(actor.id).details ?? "null"
  const taken = Math.min(actor.unsealed.length, sealAttempts)
  const sealedSeq = actor.unsealed[taken - 1] as number
  const write = { kind: "seal", nodeId: actor.id, sealedSeq, details, chunk: undefined } as const
  return offer(tools, mark, write, (committed) => {
    if (!committed) return
    tools.marks.figures.lostRows += taken
    settleSeal(tools, actor, mark, { taken, nextAt: undefined })
  })
}

interface SealJob {
  readonly actor: NodeActor
  readonly mark: Mark
  /** When the job was listed, milliseconds. */
  readonly now: number
}

/** Seals a node's oldest rows; gives way as a fold does. */
function* sealNode(tools: Tools, { actor, mark, now }: SealJob, brought?: SealSource): Generator<void, void> {
  // Since the job was listed somebody else may have begun; the same rows must not be sealed twice.
  if (mark.isBusy) return
  mark.isBusy = true
  let isOffered = false
  try {
    const seal = yield* sealOf(tools, actor, sealBefore(actor, now, graceMs), brought)
    if (seal === undefined) return
    isOffered = offer(tools, mark, seal.write, (committed) => committed && settleNode(tools, actor, mark, seal))
  } catch (cause) {
    noteTrouble(tools.watch, `node ${actor.id}: ${String(cause)}`, now)
    // The rows are not to blame for a disk that does not answer: they are sealed when it does.
    if (isStorageError(cause) || ++mark.failures < sealAttempts) return
    isOffered = giveUp(tools, actor, mark)
  } finally {
    if (!isOffered) mark.isBusy = false
  }
}

const settleNode = (tools: Tools, actor: NodeActor, mark: Mark, seal: Seal): void => {
  const { lost, values, write } = seal
  const { figures } = tools.marks
  mark.failures = 0
  figures.lostRows += lost
  if (write.chunk !== undefined) {
    figures.seals++
    figures.values += values
    figures.bytes += write.chunk.bytes.length
    if (mark.waiting.raw === Number.POSITIVE_INFINITY) mark.waiting.raw = write.chunk.startAt
  }
  settleSeal(tools, actor, mark, seal)
}

interface FoldJob {
  readonly id: NodeId
  readonly mark: Mark
  readonly from: FoldedTier
  /** When the job was listed, milliseconds. */
  readonly now: number
}

/** Folds a node's oldest stretch; gives way between two series, and to nobody else's fold of the same node. */
function* foldNode(tools: Tools, { from, id, mark, now }: FoldJob, brought?: FoldSource): Generator<Give, boolean> {
  if (mark.isBusy) return false
  mark.isBusy = true
  let isOffered = false
  try {
    const fold = yield* foldOf(tools, id, mark, from, brought)
    // To delete a chunk SQLite reads all of it: what was read for computing may be gone from memory again.
    if (fold?.write.joined !== undefined) yield [dropAhead("raw", fold.write.joined.ids)]
    if (fold === undefined) mark.waiting[from] = Number.POSITIVE_INFINITY
    else isOffered = offer(tools, mark, fold.write, (committed) => committed && settleFold(tools, mark, from, fold))
  } catch (cause) {
    if (isStorageError(cause)) throw cause
    // Chunks that nobody can fold wait for a version that can; the others go on.
    noteTrouble(tools.watch, `node ${id}, ${from}: ${String(cause)}`, now)
    mark.waiting[from] = Number.POSITIVE_INFINITY
  } finally {
    if (!isOffered) mark.isBusy = false
  }
  return isOffered
}

const settleFold = ({ marks }: Tools, mark: Mark, from: FoldedTier, { damaged, write }: Fold): void => {
  const { figures } = marks
  figures.folds++
  figures.damaged += damaged
  mark.folded[from] = write.upToId
  mark.waiting[from] = undefined
  const to = nextTier[from]
  if (to !== "hour" && write.chunk !== undefined && mark.waiting[to] === Number.POSITIVE_INFINITY) {
    mark.waiting[to] = write.chunk.startAt
  }
}

/** Work on one node, which gives way between its steps. */
export type Steps<A = unknown> = () => Generator<Give, A>
/** Seals or folds one node. */
export interface Job<A = unknown> {
  readonly steps: Steps<A>
  /** The same, once what it works on was read in a thread. */
  readonly brought: Effect.Effect<Steps<A>>
}

/** `read` gives what the steps work on, or nothing: then they read by themselves. */
const jobOf = <S, A>(read: () => Effect.Effect<S | undefined>, steps: (brought?: S) => Generator<Give, A>): Job<A> => ({
  steps: () => steps(),
  brought: Effect.map(Effect.suspend(read), (source) => () => steps(source))
})

export const sealing = (tools: Tools, job: SealJob): Job =>
  jobOf(
    () => tools.ahead.toSeal(sealQuestion(job.actor)),
    (brought) => sealNode(tools, job, brought)
  )

export const folding = (tools: Tools, job: FoldJob): Job<boolean> =>
  jobOf(
    () => tools.ahead.toFold(foldQuestion(job.id, job.mark, job.from)),
    (brought) => foldNode(tools, job, brought)
  )
