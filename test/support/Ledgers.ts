// The figures of the traffic ledger upon an engine, on a clock that is moved by hand; their facts come from the tests.
import { Effect, Layer, Option } from "effect"
import { AppConfig } from "../../runtime/Config.ts"
import { CycleTotals } from "../../runtime/CycleTotals.ts"
import { KeptPercentile, PercentileTable } from "../../runtime/PercentileTable.ts"
import { TrafficFeed } from "../../runtime/TrafficFeed.ts"
import { TrafficFigures } from "../../runtime/TrafficFigures.ts"
import { TrafficMonths } from "../../runtime/TrafficMonths.ts"
import { TrafficPlans } from "../../runtime/TrafficPlans.ts"
import { TrafficReads } from "../../runtime/TrafficReads.ts"
import { TrafficRebuild } from "../../runtime/TrafficRebuild.ts"
import * as TrafficRetention from "../../runtime/TrafficRetention.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { NodeId } from "../../schema/Ids.ts"
import { DayTotals } from "../../src/core/DayTotals.ts"
import * as TrafficStore from "../../src/store/Traffic.ts"
import { run } from "../store/Support.ts"
import { changed, engine, type EngineOptions } from "./Engine.ts"
import { defaultLimits } from "./Limits.ts"
import { Hands, ManualClock } from "./ManualClock.ts"

export const hour = 3_600_000
export const day = 24 * hour

const config = (trafficKeepMs: number) =>
  Layer.succeed(AppConfig, {
    home: "/nowhere",
    listenHost: "127.0.0.1",
    listenPort: 0,
    publicUrl: Option.none(),
    adminPassword: Option.none(),
    trustedProxies: [],
    timezone: "UTC",
    localNode: false,
    history: defaultLimits,
    trafficKeepMs,
    language: "en"
  })

const ledgers = (keepDays: number) =>
  Layer.mergeAll(TrafficReads.layer, TrafficRebuild.layer, TrafficRetention.layer).pipe(
    Layer.provideMerge(TrafficFigures.layer),
    Layer.provideMerge(Layer.mergeAll(CycleTotals.layer, PercentileTable.layer, TrafficMonths.layer)),
    Layer.provideMerge(TrafficPlans.layer),
    Layer.provideMerge(Layer.mergeAll(TrafficSettings.layer, TrafficStore.layer, TrafficFeed.layer)),
    Layer.provideMerge(config(keepDays * day))
  )

export interface LedgerOptions extends EngineOptions {
  /** Where the clock starts. */
  readonly at: number
  readonly keepDays?: number
}

/** Runs the body with everything that keeps figures; nodes are as `seed` makes them, added at the epoch of unix. */
export const inLedgers = <A, E, R>(body: Effect.Effect<A, E, R>, { at, keepDays = 90, ...options }: LedgerOptions) => {
  const clock = new ManualClock(at)
  return body.pipe(
    Effect.provideService(Hands, clock),
    Effect.provide(ledgers(keepDays).pipe(Layer.provideMerge(engine(options)))),
    Effect.withClock(clock)
  )
}

/** Sets columns of a node, as a patch of it does. */
export const setNode = (id: number, columns: Readonly<Record<string, string | number>>) =>
  changed(
    run(
      `UPDATE nodes SET ${Object.keys(columns)
        .map((name) => `${name} = ?`)
        .join(", ")} WHERE id = ?`,
      [...Object.values(columns), id]
    )
  )

/** Whether what is told of an interface is what the ledger says, made from scratch; both tables are looked at. */
export const isAsLedger = (id: number, iface: string) =>
  Effect.gen(function* () {
    const { now } = yield* Hands
    const nodeId = NodeId.make(id)
    const store = yield* TrafficStore.TrafficStore
    const plan = (yield* TrafficPlans).of(nodeId, now)
    const totals = (yield* CycleTotals).get(nodeId, iface, now)
    const percentile = (yield* PercentileTable).table.get(nodeId, iface, now)
    const known = store.iface(nodeId, iface)
    if (plan === undefined || known === undefined) return totals === undefined && percentile === undefined
    const fresh = { sums: new DayTotals(plan.days), p95: new KeptPercentile(plan.cycle.startMs, plan.cycle.endMs) }
    for (const fact of store.facts(known.id, plan.cycle.startMs, plan.cycle.endMs)) {
      fresh.sums.take(fact)
      fresh.p95.take(fact)
    }
    const isP95Same = percentile === undefined || fresh.p95.isSame(percentile.folded)
    return totals !== undefined && totals.folded.isSame(fresh.sums) && isP95Same
  })
