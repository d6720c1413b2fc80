// Makes a node's totals and percentiles anew from the ledger, and says whether they are what stood there.
import { Cause, Clock, Context, Effect, FiberHandle, Layer, Option } from "effect"
import { NotFound, TrafficRebuildRunning, TrafficRebuildUnavailable } from "../schema/Errors.ts"
import type { NodeId } from "../schema/Ids.ts"
import type { TrafficRebuild as Rebuild } from "../schema/TrafficProof.ts"
import type { DayTotals } from "../src/core/DayTotals.ts"
import { isoSeconds } from "../src/core/Online.ts"
import { type IfaceRow, TrafficStore } from "../src/store/Traffic.ts"
import type { CycleTable, Folded } from "./CycleTable.ts"
import { CycleTotals } from "./CycleTotals.ts"
import { Journal } from "./Journal.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { PercentileTable } from "./PercentileTable.ts"
import { type Ahead, ReadAhead } from "./ReadAhead.ts"
import { inSlices } from "./Slices.ts"
import { TrafficMonths } from "./TrafficMonths.ts"
import { TrafficPlans } from "./TrafficPlans.ts"

/** The largest node has 320 interfaces: some 20 s of work at a quarter of a core. */
const timeoutMs = 10 * 60_000
/** A fact may be committed while an interface is read; twice in a row is rare. */
const attemptsMax = 5
/** Longest error text: a status is no log. */
const errorLengthMax = 300

export class TrafficRebuild extends Context.Tag("runtime/TrafficRebuild")<
  TrafficRebuild,
  {
    /** The one that runs, or the last one. */
    readonly status: Effect.Effect<Rebuild>
    /** Begins one and does not wait for it. */
    readonly start: (id: NodeId) => Effect.Effect<Rebuild, NotFound | TrafficRebuildRunning | TrafficRebuildUnavailable>
  }
>() {
  static readonly layer = Layer.scoped(
    this,
    Effect.suspend(() => make)
  )
}

type Progress = { -readonly [K in keyof Rebuild]: Rebuild[K] }
const idle: Rebuild = {
  status: "idle",
  running: false,
  facts_read: 0,
  facts_total: 0,
  identical: null
}

interface Tools {
  readonly store: Context.Tag.Service<typeof TrafficStore>
  readonly plans: Context.Tag.Service<typeof TrafficPlans>
  readonly months: Context.Tag.Service<typeof TrafficMonths>
  readonly ahead: Ahead
  readonly totals: CycleTable<DayTotals>
  readonly tables: ReadonlyArray<CycleTable<Same>>
}

interface Same extends Folded {
  readonly isSame: (other: never) => boolean
}

/** Compares one interface in one table and leaves the new entry in it; false when it was another. */
function* again(tools: Tools, table: CycleTable<Same>, id: NodeId, iface: IfaceRow, nowMs: number) {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const plan = tools.plans.of(id, nowMs)
    const before = table.kept(id, iface.name)
    if (plan === undefined || before === undefined || before.plan.key !== plan.key) return true
    const entry = yield* table.fresh({ id: iface.id, nodeId: id, name: iface.name }, plan, nowMs)
    if (entry === undefined || table.kept(id, iface.name) !== before) continue
    table.put(id, iface.name, entry)
    return entry.folded.isSame(before.folded as never)
  }
  return true
}

function* ofNode(tools: Tools, id: NodeId, nowMs: number, progress: Progress) {
  const ifaces = tools.store.ifaces(id)
  const counts: Array<number> = []
  for (const { name } of ifaces) {
    const kept = tools.totals.get(id, name, nowMs)
    counts.push(kept === undefined ? 0 : kept.folded.all().facts)
    yield
  }
  progress.facts_total = counts.reduce((sum, count) => sum + count, 0)
  let identical = true
  for (const [i, iface] of ifaces.entries()) {
    for (const table of tools.tables) {
      const isSame = yield* again(tools, table, id, iface, nowMs)
      identical &&= isSame
    }
    progress.facts_read += counts[i] ?? 0
    yield
  }
  return identical
}

const work = (tools: Tools, roster: Context.Tag.Service<typeof NodeRoster>, id: NodeId, mine: Progress) =>
  Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    mine.identical = yield* inSlices(ofNode(tools, id, nowMs, mine), tools.ahead)
    yield* tools.months.write(id)
    if (!roster.records().has(id)) {
      mine.status = "failed"
      mine.code = "traffic_rebuild_canceled"
      mine.error = "the node was deleted"
    } else mine.status = "completed"
  })

/** However the work ends, its progress says so. */
const watched = (body: Effect.Effect<void>, mine: Progress) =>
  body.pipe(
    Effect.timeoutOption(timeoutMs),
    Effect.map((done) => {
      if (Option.isSome(done)) return
      mine.status = "failed"
      mine.code = "traffic_rebuild_timeout"
    }),
    Effect.catchAllCause((cause) =>
      Effect.sync(() => {
        mine.status = "failed"
        mine.code = Cause.isInterruptedOnly(cause) ? "traffic_rebuild_canceled" : "traffic_rebuild_failed"
        mine.error = (Cause.pretty(cause).split("\n")[0] ?? "").slice(0, errorLengthMax)
      })
    ),
    Effect.andThen(Clock.currentTimeMillis),
    Effect.map((nowMs) => {
      mine.running = false
      mine.finished_at = isoSeconds(nowMs)
    })
  )

const make = Effect.gen(function* () {
  const journal = yield* Journal
  const roster = yield* NodeRoster
  const totals = yield* CycleTotals
  const tools: Tools = {
    store: yield* TrafficStore,
    plans: yield* TrafficPlans,
    months: yield* TrafficMonths,
    ahead: yield* ReadAhead,
    totals,
    tables: [totals, (yield* PercentileTable).table]
  }
  const handle = yield* FiberHandle.make<void>()
  const run = yield* FiberHandle.runtime(handle)()
  let progress: Progress = { ...idle }

  return TrafficRebuild.of({
    status: Effect.sync(() => ({ ...progress })),
    start: (id) =>
      Effect.gen(function* () {
        if (!roster.records().has(id)) return yield* new NotFound({ message: `node ${id} does not exist` })
        if (progress.running) return yield* new TrafficRebuildRunning({ message: "a rebuild is running already" })
        const closed = journal.closed()
        if (closed !== undefined) {
          return yield* new TrafficRebuildUnavailable({ message: "nothing can be written right now" })
        }
        const startedAt = isoSeconds(yield* Clock.currentTimeMillis)
        progress = { ...idle, status: "running", running: true, server_id: id, started_at: startedAt }
        const answer = { ...progress }
        run(watched(work(tools, roster, id, progress), progress))
        return answer
      })
  })
})
