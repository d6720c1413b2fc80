// Keeps every tier of history within its days and bytes: the oldest chunks go, in slices, and what went is counted.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { type FoldedTier, type Tier, tierNames } from "../src/core/Tier.ts"
import { onDisk } from "../src/store/ChunkSpace.ts"
import { HistoryStore, type OldestRow } from "../src/store/History.ts"
import { dropAhead, oldestAhead } from "../src/store/ReadAhead.ts"
import { Compactor } from "./Compactor.ts"
import { AppConfig } from "./Config.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import type { TierLimit } from "./HistoryLimits.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { Journal } from "./Journal.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { type Ahead, ReadAhead } from "./ReadAhead.ts"
import { written } from "./Written.ts"

const every = Schedule.fixed("15 seconds")
/** Chunks per transaction: some 3 ms of a blocked loop. */
const sliceChunks = 64
/** Slices per round and tier: 100,000 nodes seal some 6,000 chunks in the meantime. */
const slicesMax = 200
const pauseMs = 10
/** Runs of the service are needed as far back as the longest online answer. */
const runsKeptMs = 9 * 86_400_000
/** Rounds between two clean-ups of what deleted nodes and old runs leave. */
const forgetEvery = 40

interface Tools {
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly store: Context.Tag.Service<typeof HistoryStore>
  readonly marks: Context.Tag.Service<typeof HistoryMarks>
  readonly compactor: Context.Tag.Service<typeof Compactor>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly ahead: Ahead
}

interface Choice {
  readonly ids: Array<number>
  byAge: number
  byBytes: number
  /** Nodes whose chunk has to be folded before it may go. */
  readonly unfolded: Set<NodeId>
}

/** Which of the oldest chunks may and must go. */
const choose = (tools: Tools, tier: Tier, rows: ReadonlyArray<OldestRow>, excess: number, before: number): Choice => {
  const choice: Choice = { ids: [], byAge: 0, byBytes: 0, unfolded: new Set() }
  let over = excess
  for (const { endAt, id, nodeId, size } of rows) {
    const isOld = endAt <= before
    if (!isOld && over <= 0) break
    const isLost = tools.supervisor.actor(nodeId) === undefined
    // What the coarser tiers do not know yet stays until they do; nobody reads a deleted node any more.
    if (tier !== "hour" && !isLost && id > tools.marks.of(nodeId).folded[tier]) {
      choice.unfolded.add(nodeId)
      continue
    }
    choice.ids.push(id)
    over -= onDisk(size)
    if (isOld) choice.byAge++
    else choice.byBytes++
  }
  return choice
}

const bytesIn = ({ store }: Tools, tier: Tier): number => store.sizes().find((one) => one.tier === tier)?.bytes ?? 0

/** Folds before the chunks go; whether any fold was offered. */
const folded = ({ compactor }: Tools, tier: FoldedTier, nodes: Iterable<NodeId>, now: number) =>
  Effect.gen(function* () {
    let offered = false
    for (const id of nodes) offered = (yield* compactor.foldNow(id, tier, now)) || offered
    return offered
  })

/** Brings one tier within its limits, or gives up until the next round. */
const sweep = (tools: Tools, tier: Tier, { keepMs, maxBytes }: TierLimit) =>
  Effect.gen(function* () {
    const gone = { byAge: 0, byBytes: 0 }
    for (let slice = 0; slice < slicesMax; slice++) {
      const now = yield* Clock.currentTimeMillis
      yield* tools.ahead.bring([oldestAhead(tier, sliceChunks)])
      const rows = tools.store.oldest(tier, sliceChunks)
      const choice = choose(tools, tier, rows, bytesIn(tools, tier) - maxBytes, now - keepMs)
      const folding = tier === "hour" ? false : yield* folded(tools, tier, choice.unfolded, now)
      if (choice.ids.length === 0 && !folding) break
      if (folding) yield* tools.journal.flushed
      if (choice.ids.length > 0) yield* tools.ahead.bring([dropAhead(tier, choice.ids)])
      if (choice.ids.length > 0 && !(yield* written(tools.journal, { kind: "drop", tier, ids: choice.ids }))) break
      gone.byAge += choice.byAge
      gone.byBytes += choice.byBytes
      yield* Effect.sleep(pauseMs)
    }
    return gone
  })

const make = Effect.gen(function* () {
  const { history: limits } = yield* AppConfig
  const tools: Tools = {
    journal: yield* Journal,
    store: yield* HistoryStore,
    marks: yield* HistoryMarks,
    compactor: yield* Compactor,
    supervisor: yield* NodeSupervisor,
    ahead: yield* ReadAhead
  }
  const { figures } = tools.marks
  const watch = (yield* FiberRegister).register("HistoryRetention", () => 0, 0)
  let rounds = 0

  const round = Effect.gen(function* () {
    if (tools.journal.closed() !== undefined) return
    for (const tier of tierNames) {
      const gone = yield* sweep(tools, tier, limits[tier])
      figures.droppedByAge += gone.byAge
      figures.droppedByBytes += gone.byBytes
      if (gone.byAge + gone.byBytes === 0) continue
      yield* Effect.logDebug("history dropped its oldest chunks").pipe(Effect.annotateLogs({ tier, ...gone }))
    }
    if (rounds++ % forgetEvery === 0) {
      const runsBefore = (yield* Clock.currentTimeMillis) - runsKeptMs
      tools.journal.offer({ kind: "forget", runsBefore }, () => undefined)
    }
  })
  yield* Effect.forkScoped(
    supervised(watch, tools.marks.ready.pipe(Effect.andThen(Effect.repeat(round, every)), Effect.andThen(Effect.never)))
  )
})

export const layer = Layer.scopedDiscard(make)
