// Rebuilds node states from the disk: the last checkpoint, then the journal tail folded through the same step().
import { Context, Effect, Layer, Mailbox } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { Static } from "../schema/Static.ts"
import type { Changes } from "../src/core/Details.ts"
import {
  type Checkpoint,
  emptyState,
  type Intern,
  type Message,
  type NodeState,
  type Outcome,
  restored,
  step as coreStep
} from "../src/core/NodeState.ts"
import { type CheckpointRow, JournalStore, type StaticRow } from "../src/store/Journal.ts"
import type { TailRow } from "../src/store/JournalStatements.ts"
import { makeIntern } from "../src/core/Interner.ts"
import { decode } from "../src/core/VectorCode.ts"
import { WindowPool } from "../src/core/Window.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { pause } from "./Pause.ts"

/** Rows per read: 2,000 rows are 2-3 ms of a blocked loop. */
const sliceRows = 2000

/** Restores asked for within this time share one pass over the tail. */
const gatherMs = 5

/** A node as it was at the last committed row. */
export interface Restored {
  readonly state: NodeState
  /** Vector of the last applied row, if there is one. */
  vector: Float64Array | undefined
  lastSeq: number
  readonly checkpointSeq: number
  /** Why this node cannot be rebuilt; the others can. */
  failure: string | undefined
}
export type Step = (state: NodeState, message: Message, intern: Intern) => Outcome

export class Replay extends Context.Tag("runtime/Replay")<
  Replay,
  {
    /** The step and the shared layouts that replay and live reports go through alike. */
    readonly step: Step
    readonly intern: Intern
    /** A node without a trace on disk. */
    readonly fresh: () => Restored
    /** Every node that has a trace on disk, in one pass. */
    readonly all: Effect.Effect<Map<NodeId, Restored>>
    /** One node; many asked for at once share a pass. */
    readonly one: (id: NodeId) => Effect.Effect<Restored>
  }
>() {}

const freshNode = (pool: WindowPool): Restored => ({
  state: emptyState(pool),
  vector: undefined,
  lastSeq: 0,
  checkpointSeq: 0,
  failure: undefined
})

const fromCheckpoint = (row: CheckpointRow, intern: Intern, pool: WindowPool): Restored => {
  try {
    const vector = decode(row.vector)
    const checkpoint = JSON.parse(row.details) as Checkpoint
    const state = restored(checkpoint, row.receivedAt, vector, intern, pool)
    return { state, vector, lastSeq: row.seq, checkpointSeq: row.seq, failure: undefined }
  } catch (cause) {
    return { ...freshNode(pool), failure: `the checkpoint of node ${row.nodeId} cannot be read: ${String(cause)}` }
  }
}

/** The node is given up for this pass; its window's memory goes back, because nobody will take the state over. */
const fail = (node: Restored, message: string): void => {
  node.failure = message
  node.state.window.release()
}

const fold = (node: Restored, row: TailRow, intern: Intern, step: Step): void => {
  if (row.seq <= node.checkpointSeq || node.failure !== undefined) return
  try {
    foldRow(node, row, intern, step)
  } catch (cause) {
    fail(node, `row ${row.seq} of the journal cannot be replayed: ${String(cause)}`)
  }
}
const foldRow = (node: Restored, row: TailRow, intern: Intern, step: Step): void => {
  const vector = decode(row.vector)
  const changes = row.details === null ? undefined : (JSON.parse(row.details) as Changes)
  const outcome = step(node.state, { _tag: "Sample", receivedAt: row.receivedAt, vector, changes }, intern)
  if (outcome.verdict === "apply") node.vector = vector
  node.lastSeq = row.seq
}

type Wanted = ReadonlySet<NodeId> | "all"

/** Reads rows with ascending node id, a slice at a time, or one by one when only some are wanted. */
const each = <Row extends { readonly nodeId: NodeId }>(
  wanted: Wanted,
  slice: (after: NodeId | 0, limit: number) => ReadonlyArray<Row>,
  one: (id: NodeId) => Row | undefined,
  use: (row: Row) => void
) =>
  Effect.gen(function* () {
    if (wanted !== "all") {
      for (const id of wanted) {
        const row = one(id)
        if (row !== undefined) use(row)
      }
      return
    }
    for (let after: NodeId | 0 = 0; ;) {
      const rows = slice(after, sliceRows)
      for (const row of rows) use(row)
      const last = rows[rows.length - 1]
      if (last === undefined) return
      after = last.nodeId
      yield* pause
    }
  })

type Store = Context.Tag.Service<typeof JournalStore>

interface Folding {
  readonly wanted: Wanted
  readonly nodes: Map<NodeId, Restored>
  readonly nodeOf: (id: NodeId) => Restored
  readonly intern: Intern
  readonly step: Step
}

const foldTail = (store: Store, { intern, nodeOf, nodes, step, wanted }: Folding) =>
  Effect.gen(function* () {
    const upTo = store.lastSeq()
    // A wanted node without a checkpoint may stand anywhere in the tail.
    const complete = wanted !== "all" && nodes.size === wanted.size
    let after = complete ? Math.min(upTo, ...[...nodes.values()].map((node) => node.checkpointSeq)) : 0
    for (;;) {
      const rows = wanted === "all" ? store.uncovered(after, upTo, sliceRows) : store.tail(after, upTo, sliceRows)
      for (const row of rows) {
        if (wanted === "all" || wanted.has(row.nodeId)) fold(nodeOf(row.nodeId), row, intern, step)
      }
      const last = rows[rows.length - 1]
      if (last === undefined) return
      after = last.seq
      yield* pause
    }
  })

interface Tools {
  readonly store: Store
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly intern: Intern
  readonly pool: WindowPool
  readonly step: Step
}

const foldStatic = (node: Restored, row: StaticRow, { intern, step }: Tools): void => {
  if (node.failure !== undefined) return
  try {
    const body = JSON.parse(row.body) as Static
    step(node.state, { _tag: "StaticReceived", receivedAt: row.receivedAt, body }, intern)
  } catch (cause) {
    fail(node, `the Static of node ${row.nodeId} cannot be read: ${String(cause)}`)
  }
}

const restore = (tools: Tools, wanted: Wanted) =>
  Effect.gen(function* () {
    const { intern, journal, pool, step, store } = tools
    // What was offered before the restore began is on disk, or refused, when the tail is read.
    yield* journal.flushed
    const nodes = new Map<NodeId, Restored>()
    const nodeOf = (id: NodeId) => {
      let node = nodes.get(id)
      if (node === undefined) nodes.set(id, (node = freshNode(pool)))
      return node
    }
    yield* each(wanted, store.checkpoints, store.checkpoint, (row) => {
      nodes.set(row.nodeId, fromCheckpoint(row, intern, pool))
    })
    yield* foldTail(store, { wanted, nodes, nodeOf, intern, step })
    yield* each(wanted, store.statics, store.static, (row: StaticRow) => foldStatic(nodeOf(row.nodeId), row, tools))
    return nodes
  })

const make = (step: Step) =>
  Effect.gen(function* () {
    const pool = new WindowPool()
    const tools: Tools = { store: yield* JournalStore, journal: yield* Journal, intern: makeIntern(), pool, step }
    const fresh = () => freshNode(pool)
    // Bounded by the number of nodes: a node's fiber asks once and waits.
    const waiting = new Map<NodeId, (node: Restored) => void>()
    const bell = yield* Mailbox.make<void>({ capacity: 1, strategy: "sliding" })
    const pass = Effect.gen(function* () {
      yield* bell.take
      yield* Effect.sleep(gatherMs)
      const asked = new Map(waiting)
      const nodes = yield* restore(tools, new Set(asked.keys()))
      for (const [id, resume] of asked) {
        waiting.delete(id)
        resume(nodes.get(id) ?? fresh())
      }
    }).pipe(Effect.orDie)
    const watch = (yield* FiberRegister).register("Replay", () => waiting.size, 0)
    const rung = Effect.suspend(() => {
      // After a failed pass those who wait are served by the next one.
      if (waiting.size > 0) bell.unsafeOffer(undefined)
      return Effect.forever(pass)
    })
    yield* Effect.forkScoped(supervised(watch, rung))
    return Replay.of({
      step,
      intern: tools.intern,
      fresh,
      all: restore(tools, "all"),
      one: (id) =>
        Effect.async<Restored>((resume) => {
          waiting.set(id, (node) => resume(Effect.succeed(node)))
          bell.unsafeOffer(undefined)
          return Effect.sync(() => void waiting.delete(id))
        })
    })
  })

/** `step` is a parameter so that tests can make a node crash. */
export const layerWith = (step: Step) => Layer.scoped(Replay, make(step))
export const layer = layerWith(coreStep)
