// What is sealed and folded of each node, in memory: compactor, reads and retention look at the same marks.
import { Clock, Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { FoldedTier } from "../src/core/Tier.ts"
import { HistoryStore } from "../src/store/History.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { pause } from "./Pause.ts"

/** Rows or marks per read while starting: some 2 ms of a blocked loop. */
const sliceRows = 2000

/** One node's marks. Changed only when the commit that holds the change is known. */
export interface Mark {
  /** Journal rows up to here are in chunks, or given up. */
  sealedSeq: number
  /** Id of the last chunk of each tier that is folded into the next. */
  readonly folded: Record<FoldedTier, number>
  /** Start of the first chunk behind it; undefined when not looked up, infinite when there is none. */
  readonly waiting: Record<FoldedTier, number | undefined>
  /** A write about this node is on its way. */
  isBusy: boolean
  /** Seals that failed in a row. */
  failures: number
}

export interface HistoryFigures {
  seals: number
  folds: number
  /** Values at report resolution that were sealed, and their bytes. */
  values: number
  bytes: number
  /** Damaged chunks met by reads and folds. */
  damaged: number
  /** Rows that could not be sealed and are lost to history. */
  lostRows: number
  /** Chunks that retention dropped, because of their age and because of the bytes. */
  droppedByAge: number
  droppedByBytes: number
}

export class HistoryMarks extends Context.Tag("runtime/HistoryMarks")<
  HistoryMarks,
  {
    /** Settled once the rows that were on disk at the start are known; seals and reads of the tail wait for it. */
    readonly ready: Effect.Effect<void>
    readonly isReady: () => boolean
    readonly of: (id: NodeId) => Mark
    readonly drop: (id: NodeId) => void
    readonly ids: () => Iterable<NodeId>
    readonly figures: HistoryFigures
  }
>() {}

const newMark = (): Mark => ({
  sealedSeq: 0,
  folded: { raw: 0, minute: 0, quarter: 0 },
  waiting: { raw: Number.POSITIVE_INFINITY, minute: Number.POSITIVE_INFINITY, quarter: Number.POSITIVE_INFINITY },
  isBusy: false,
  failures: 0
})

type Marks = Map<NodeId, Mark>

const readMarks = (store: Context.Tag.Service<typeof HistoryStore>, marks: Marks) =>
  Effect.gen(function* () {
    for (let after: NodeId | 0 = 0; ;) {
      const rows = store.marks(after, sliceRows)
      for (const row of rows) {
        marks.set(row.nodeId, {
          ...newMark(),
          sealedSeq: row.sealedSeq,
          folded: { raw: row.rawFolded, minute: row.minuteFolded, quarter: row.quarterFolded },
          waiting: { raw: undefined, minute: undefined, quarter: undefined }
        })
      }
      const last = rows[rows.length - 1]
      if (last === undefined) return
      after = last.nodeId
      yield* pause
    }
  })

/** Finds the rows that were committed before this start and not sealed, and hands them to their actors. */
const readTail = (
  store: Context.Tag.Service<typeof JournalStore>,
  supervisor: Context.Tag.Service<typeof NodeSupervisor>,
  upTo: number,
  of: (id: NodeId) => Mark
) =>
  Effect.gen(function* () {
    const found = new Map<NodeId, { readonly seqs: Array<number>; readonly from: number }>()
    for (let after = 0; ;) {
      const places = store.places(after, upTo, sliceRows)
      for (const { nodeId, receivedAt, seq } of places) {
        if (seq <= of(nodeId).sealedSeq) continue
        const one = found.get(nodeId)
        if (one === undefined) found.set(nodeId, { seqs: [seq], from: receivedAt })
        else one.seqs.push(seq)
      }
      const last = places[places.length - 1]
      if (last === undefined) break
      after = last.seq
      yield* pause
    }
    for (const [id, { from, seqs }] of found) {
      const actor = supervisor.actor(id)
      if (actor === undefined) continue
      actor.unsealed.unshift(...seqs)
      actor.unsealedFrom = from
    }
  })

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const history = yield* HistoryStore
  const supervisor = yield* NodeSupervisor
  const register = yield* FiberRegister
  const marks: Marks = new Map()
  const of = (id: NodeId): Mark => {
    let mark = marks.get(id)
    if (mark === undefined) marks.set(id, (mark = newMark()))
    return mark
  }
  // Everything behind this is handed over by the actors themselves as it is committed.
  const upTo = store.lastSeq()
  let isReady = false
  const latch = yield* Effect.makeLatch(false)
  const watch = register.register("HistoryMarks", () => marks.size, 0)
  const load = Effect.gen(function* () {
    if (isReady) return
    const startedAt = yield* Clock.currentTimeMillis
    marks.clear()
    yield* readMarks(history, marks)
    yield* readTail(store, supervisor, upTo, of)
    isReady = true
    yield* latch.open
    yield* Effect.logDebug("history knows its rows").pipe(
      Effect.annotateLogs({ ms: (yield* Clock.currentTimeMillis) - startedAt })
    )
  })
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(load, Effect.never)))
  return HistoryMarks.of({
    ready: latch.await,
    isReady: () => isReady,
    of,
    drop: (id) => void marks.delete(id),
    ids: () => marks.keys(),
    figures: {
      seals: 0,
      folds: 0,
      values: 0,
      bytes: 0,
      damaged: 0,
      lostRows: 0,
      droppedByAge: 0,
      droppedByBytes: 0
    }
  })
})

export const layer = Layer.scoped(HistoryMarks, make)
