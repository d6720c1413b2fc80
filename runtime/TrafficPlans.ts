// Which billing configuration holds for each node now, and the cycle and days that it makes.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { type Cycle, cycleAt, type CycleConfig, type CycleDay, daysOf } from "../src/core/Cycle.ts"
import { effectiveConfig } from "../src/core/CycleSettings.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { TrafficSettings } from "./TrafficSettings.ts"

/** The same object for all nodes of one configuration; equal keys mean an equal configuration and cycle. */
export interface Plan {
  readonly key: string
  readonly config: CycleConfig
  readonly cycle: Cycle
  /** They tile the cycle. */
  readonly days: ReadonlyArray<CycleDay>
}

/** Configurations kept: some 3 kB each. More than so many nodes have a cycle of their own only in tests. */
const plansMax = 4096

export class TrafficPlans extends Context.Tag("runtime/TrafficPlans")<
  TrafficPlans,
  {
    /** The plan of the cycle that `nowMs` lies in; undefined for a node that is not active. */
    readonly of: (id: NodeId, nowMs: number) => Plan | undefined
    /** The plan of another cycle of the same configuration. */
    readonly around: (config: CycleConfig, atMs: number) => Plan
    /** Changes with whatever may change a plan, other than time. */
    readonly revision: () => string
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const planAround = (config: CycleConfig, atMs: number): Plan => {
  const cycle = cycleAt(config, atMs)
  return { key: `${keyOf(config)} ${cycle.startMs}`, config, cycle, days: daysOf(cycle, config.zone) }
}

const keyOf = ({ anchorDate, mode, startDay, zone }: CycleConfig): string => `${mode} ${startDay} ${anchorDate} ${zone}`

const covers = ({ cycle }: Plan, atMs: number): boolean => cycle.startMs <= atMs && atMs < cycle.endMs

const make = Effect.gen(function* () {
  const roster = yield* NodeRoster
  const settings = yield* TrafficSettings
  const byConfig = new Map<string, Plan>()
  const byNode = new Map<NodeId, Plan>()
  let seen = ""

  const shared = (config: CycleConfig, nowMs: number): Plan => {
    const key = keyOf(config)
    const known = byConfig.get(key)
    if (known !== undefined && covers(known, nowMs)) return known
    const plan = planAround(config, nowMs)
    if (byConfig.size >= plansMax) byConfig.clear()
    byConfig.set(key, plan)
    return plan
  }
  const revision = () => `${settings.revision()}.${roster.revision()}`

  return TrafficPlans.of({
    revision,
    around: planAround,
    of: (id, nowMs) => {
      const now = revision()
      if (seen !== now) byNode.clear()
      seen = now
      const known = byNode.get(id)
      if (known !== undefined && covers(known, nowMs)) return known
      const record = roster.records().get(id)
      if (record === undefined) return undefined
      const own = {
        mode: record.trafficCycleMode,
        startDay: record.trafficBillingStartDay,
        anchorDate: record.trafficBillingAnchorDate,
        zone: record.trafficBillingTimezone
      }
      const plan = shared(effectiveConfig(settings.current().cycle, own, settings.applicationZone), nowMs)
      byNode.set(id, plan)
      return plan
    }
  })
})
