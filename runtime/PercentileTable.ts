// The exact P95 of every interface that is billed by it, for the current cycle and at every moment.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { Fact } from "../src/core/Bucket.ts"
import { Percentile, type Percentile95 } from "../src/core/Percentile.ts"
import { TrafficStore } from "../src/store/Traffic.ts"
import { CycleTable } from "./CycleTable.ts"
import { FiberRegister } from "./FiberStatus.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { keepTable } from "./TableKeeping.ts"
import { TrafficFeed } from "./TrafficFeed.ts"
import { TrafficPlans } from "./TrafficPlans.ts"
import { TrafficSettings } from "./TrafficSettings.ts"

/** Up to 16 kB each at the end of a month, so at most 320 MB. */
const entriesMax = 20_000

/** The percentile of the committed facts, and of buckets that were counted before their facts are there. */
export class KeptPercentile {
  readonly percentile: Percentile
  private openAt: ReadonlyArray<number> = []

  constructor(startMs: number, endMs: number) {
    this.percentile = new Percentile(startMs, endMs)
  }

  take(fact: Fact): undefined {
    this.leave(fact.start)
    this.percentile.take(fact)
  }

  /** Nothing is ever asked for again: a slot takes its new rate as it comes. */
  retake(): void {}

  /** With these buckets besides the committed ones; their facts take their places when they come. */
  p95(open: ReadonlyArray<Fact>): Percentile95 {
    this.leave(...open.map(({ start }) => start))
    for (const fact of open) this.percentile.take(fact)
    this.openAt = open.map(({ start }) => start)
    return this.percentile.p95()
  }

  /** Whether the answers are the same; what is kept in reserve may differ. */
  isSame(other: KeptPercentile): boolean {
    const [mine, theirs] = [this.p95([]), other.p95([])]
    if (this.percentile.samples !== other.percentile.samples || mine._tag !== theirs._tag) return false
    if (mine._tag !== "Available" || theirs._tag !== "Available") return true
    return (["in", "out", "both"] as const).every(
      (side) => mine.rate[side] === theirs.rate[side] && mine.bucket[side] === theirs.bucket[side]
    )
  }

  /** Takes back the uncommitted buckets other than these, which are about to be set. */
  private leave(...kept: ReadonlyArray<number>): void {
    for (const start of this.openAt) if (!kept.includes(start)) this.percentile.remove(start)
    this.openAt = []
  }
}

export class PercentileTable extends Context.Tag("runtime/PercentileTable")<
  PercentileTable,
  {
    readonly table: CycleTable<KeptPercentile>
    /** Undefined for what the ledger does not know or is not billed by percentile; `open` as `closingOf` gives it. */
    readonly p95: (nodeId: NodeId, iface: string, nowMs: number, open: ReadonlyArray<Fact>) => Percentile95 | undefined
  }
>() {
  static readonly layer = Layer.scoped(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const plans = yield* TrafficPlans
  const settings = yield* TrafficSettings
  const roster = yield* NodeRoster
  const table = new CycleTable<KeptPercentile>({
    store: yield* TrafficStore,
    plans,
    make: ({ cycle }) => new KeptPercentile(cycle.startMs, cycle.endMs),
    isWanted: (nodeId) =>
      settings.current().usageMode === "billing" && roster.records().get(nodeId)?.trafficP95Enabled === true,
    entriesMax
  })
  const feed = yield* TrafficFeed
  feed.listen((nodeId, facts) => table.accept(nodeId, facts))
  const watch = (yield* FiberRegister).register("PercentileTable", () => table.behind, entriesMax)
  yield* keepTable(table, plans, watch)
  return PercentileTable.of({
    table,
    p95: (nodeId, iface, nowMs, open) => {
      const kept = table.get(nodeId, iface, nowMs)?.folded.p95(open)
      if (kept?._tag !== "Exhausted") return kept
      // So many of the top slots were taken back that only the ledger knows the next ones.
      table.drop(nodeId, iface)
      return table.get(nodeId, iface, nowMs)?.folded.p95(open)
    }
  })
})
