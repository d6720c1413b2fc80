// Seals what waits in the journal into chunks and folds chunks into tiers, a little at a time, in the journal's commits.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { atOnce } from "../src/core/Steps.ts"
import { type FoldedTier, foldedTiers, nextTier } from "../src/core/Tier.ts"
import { HistoryStore, type HistoryWrite } from "../src/store/History.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { type Look, placesAhead } from "../src/store/ReadAhead.ts"
import {
  type Fold,
  foldLooks,
  foldOf,
  isFoldDue,
  isSealDue,
  sealBefore,
  sealLooks,
  sealOf,
  type Seal,
  settleSeal,
  type Shelves
} from "./Compaction.ts"
import { FiberRegister, noteTrouble, supervised, type Watch } from "./FiberStatus.ts"
import { HistoryMarks, type Mark } from "./HistoryMarks.ts"
import { Journal } from "./Journal.ts"
import type { NodeActor } from "./NodeActor.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { pause } from "./Pause.ts"
import { type Ahead, ReadAhead } from "./ReadAhead.ts"
import { type Give, inSlices } from "./Slices.ts"

const every = Schedule.spaced("1 second")
/** A report that arrived just before its stretch ended is committed within this. */
const graceMs = 2000
/** Seals that may fail in a row before the rows are given up: without an end they would hold up trimming for ever. */
const sealAttempts = 5
/** Jobs whose pages are brought at once: a trip to the thread that reads takes turns of the loop, whatever it brings. */
const jobsAtOnce = 8
/** Nodes whose chunks are looked up in one round, when their marks were read from the disk: 20 µs each. */
const lookupsMax = 500

/** A node has at most as many chunks waiting as a tier holds; beyond this something keeps failing. */
const drainRoundsMax = 1000

export class Compactor extends Context.Tag("runtime/Compactor")<
  Compactor,
  {
    /** Nodes that wait to be sealed or folded, as of the last round. */
    readonly behind: () => number
    /** Folds a node's oldest chunks, full stretch or not; false when nothing could be offered. */
    readonly foldNow: (id: NodeId, from: FoldedTier, now: number) => Effect.Effect<boolean>
    /** Seals whatever is due and folds whatever is due at once, until nothing is left: for tests and benches. */
    readonly drain: Effect.Effect<void>
  }
>() {}

interface Tools extends Shelves {
  readonly writer: Context.Tag.Service<typeof Journal>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly ahead: Ahead
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
  const count = Math.min(actor.unsealed.length, sealAttempts)
  const sealedSeq = actor.unsealed[count - 1] as number
  const write = { kind: "seal", nodeId: actor.id, sealedSeq, details, chunk: undefined } as const
  return offer(tools, mark, write, (committed) => {
    if (!committed) return
    tools.marks.figures.lostRows += count
    settleSeal(tools, actor, mark, count)
  })
}

/** Seals a node's oldest rows; gives way as a fold does. */
function* sealNode(tools: Tools, actor: NodeActor, mark: Mark, now: number): Generator<void, void> {
  // Since the job was listed somebody else may have begun; the same rows must not be sealed twice.
  if (mark.isBusy) return
  mark.isBusy = true
  let isOffered = false
  try {
    const seal = yield* sealOf(tools, actor, sealBefore(actor, now, graceMs))
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

const settleNode = (tools: Tools, actor: NodeActor, mark: Mark, { lost, taken, values, write }: Seal): void => {
  const { figures } = tools.marks
  mark.failures = 0
  figures.lostRows += lost
  if (write.chunk !== undefined) {
    figures.seals++
    figures.values += values
    figures.bytes += write.chunk.bytes.length
    if (mark.waiting.raw === Number.POSITIVE_INFINITY) mark.waiting.raw = write.chunk.startAt
  }
  settleSeal(tools, actor, mark, taken)
}

/** Folds a node's oldest stretch; gives way between two series, and to nobody else's fold of the same node. */
function* foldNode(tools: Tools, id: NodeId, mark: Mark, from: FoldedTier, now: number): Generator<void, boolean> {
  if (mark.isBusy) return false
  mark.isBusy = true
  let isOffered = false
  try {
    const fold = yield* foldOf(tools, id, mark, from)
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
interface Job {
  /** What it will read. */
  readonly looks: () => ReadonlyArray<Look>
  readonly steps: () => Generator<void, unknown>
}

const foldJob = (tools: Tools, id: NodeId, from: FoldedTier, now: number) => {
  const mark = tools.marks.of(id)
  return { looks: () => foldLooks(id, mark, from), steps: () => foldNode(tools, id, mark, from, now) }
}

/** A fleet's nodes are looked through in milliseconds; so many of them between two looks at the time. */
const nodesAtOnce = 32

/** Says what it takes to find out which chunks wait, of as many nodes as one round looks up. */
function* unknown({ marks, supervisor }: Tools): Generator<Give, void> {
  const looks: Array<Look> = []
  let looked = 0
  for (const { id } of supervisor.all()) {
    if (++looked % nodesAtOnce === 0) yield
    const { waiting } = marks.of(id)
    for (const from of foldedTiers) if (waiting[from] === undefined) looks.push(placesAhead(from, id))
    if (looks.length >= lookupsMax) break
  }
  yield looks
}

/** What is due now, seals first: rows that are not sealed hold up the journal, chunks hold up nothing. */
function* dueJobs(tools: Tools, now: number): Generator<Give, ReadonlyArray<Job>> {
  yield* unknown(tools)
  const seals: Array<Job> = []
  const folds: Array<Job> = []
  let lookups = 0
  let looked = 0
  for (const actor of tools.supervisor.all()) {
    if (++looked % nodesAtOnce === 0) yield
    const mark = tools.marks.of(actor.id)
    if (mark.isBusy) continue
    if (isSealDue(actor, now, graceMs)) {
      seals.push({ looks: () => sealLooks(actor), steps: () => sealNode(tools, actor, mark, now) })
      continue
    }
    for (const from of foldedTiers) {
      if (mark.waiting[from] === undefined) {
        if (++lookups > lookupsMax) continue
        yield
      }
      if (!isFoldDue(tools, actor.id, mark, from, now)) continue
      folds.push(foldJob(tools, actor.id, from, now))
      break
    }
  }
  return [...seals, ...folds]
}

/** Does the jobs one after the other; stops early when the journal takes nothing more. */
function* worked(tools: Tools, jobs: ReadonlyArray<Job>, figures: { behind: number }): Generator<void, void> {
  for (const job of jobs) {
    if (!isTaking(tools)) return
    yield* job.steps()
    yield
    figures.behind--
  }
}

const isTaking = ({ writer }: Tools): boolean => writer.closed() === undefined && writer.room()

/** Does jobs a few at a time; what the next few will read is brought meanwhile. */
const work = (tools: Tools, jobs: ReadonlyArray<Job>, figures: { behind: number }): Effect.Effect<void> =>
  Effect.gen(function* () {
    figures.behind = jobs.length
    const some = (from: number) => jobs.slice(from, from + jobsAtOnce)
    const bring = (few: ReadonlyArray<Job>) =>
      Effect.suspend(() => tools.ahead.bring(few.flatMap((job) => job.looks())))
    yield* bring(some(0))
    for (let at = 0; at < jobs.length && isTaking(tools); at += jobsAtOnce) {
      const doing = inSlices(worked(tools, some(at), figures))
      yield* Effect.all([doing, bring(some(at + jobsAtOnce))], { concurrency: 2, discard: true })
    }
  })

const make = Effect.gen(function* () {
  const register = yield* FiberRegister
  const figures = { behind: 0 }
  const tools: Tools = {
    writer: yield* Journal,
    journal: yield* JournalStore,
    history: yield* HistoryStore,
    marks: yield* HistoryMarks,
    supervisor: yield* NodeSupervisor,
    ahead: yield* ReadAhead,
    watch: register.register("Compactor", () => figures.behind, 0)
  }
  const round = Effect.gen(function* () {
    if (tools.writer.closed() !== undefined) return
    const jobs = yield* inSlices(dueJobs(tools, yield* Clock.currentTimeMillis), tools.ahead)
    for (const id of tools.marks.ids()) if (tools.supervisor.actor(id) === undefined) tools.marks.drop(id)
    yield* work(tools, jobs, figures)
  })
  yield* Effect.forkScoped(
    supervised(
      tools.watch,
      tools.marks.ready.pipe(Effect.andThen(Effect.repeat(round, every)), Effect.andThen(Effect.never))
    )
  )
  const drain = Effect.gen(function* () {
    yield* tools.marks.ready
    // Bounded: a disk that does not answer leaves its jobs due for ever.
    for (let rounds = 0; rounds < drainRoundsMax; rounds++) {
      const jobs = atOnce(dueJobs(tools, yield* Clock.currentTimeMillis))
      for (const job of jobs) atOnce(job.steps())
      yield* tools.writer.flushed
      yield* pause
      if (jobs.length === 0 || tools.writer.closed() !== undefined) return
    }
  })
  return Compactor.of({
    behind: () => figures.behind,
    foldNow: (id, from, now) => {
      const { looks, steps } = foldJob(tools, id, from, now)
      return Effect.suspend(() => tools.ahead.bring(looks())).pipe(Effect.andThen(inSlices(steps())))
    },
    drain
  })
})

export const layer = Layer.scoped(Compactor, make)
