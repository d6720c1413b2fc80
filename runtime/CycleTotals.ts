// Totals of every interface per day of its current billing cycle: in memory, and always what the ledger says.
import { Context, Effect, Layer } from "effect"
import { DayTotals } from "../src/core/DayTotals.ts"
import { TrafficStore } from "../src/store/Traffic.ts"
import { CycleTable } from "./CycleTable.ts"
import { FiberRegister } from "./FiberStatus.ts"
import { keepTable } from "./TableKeeping.ts"
import { TrafficFeed } from "./TrafficFeed.ts"
import { TrafficPlans } from "./TrafficPlans.ts"

/** Some 3.5 kB each, so at most 180 MB. */
const entriesMax = 50_000

export class CycleTotals extends Context.Tag("runtime/CycleTotals")<CycleTotals, CycleTable<DayTotals>>() {
  static readonly layer = Layer.scoped(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const plans = yield* TrafficPlans
  const table = new CycleTable<DayTotals>({
    store: yield* TrafficStore,
    plans,
    make: ({ days }) => new DayTotals(days),
    isWanted: () => true,
    entriesMax
  })
  const feed = yield* TrafficFeed
  feed.listen((nodeId, facts) => table.accept(nodeId, facts))
  const watch = (yield* FiberRegister).register("CycleTotals", () => table.behind, entriesMax)
  yield* keepTable(table, plans, watch)
  return table
})
