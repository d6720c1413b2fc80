// What one interface comes to in a cycle: of the tables while it runs, of a snapshot or the ledger once it is closed.
import { Clock, Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { TrafficStatus, UsageMode } from "../schema/Traffic.ts"
import { type Fact, gapLimitMs } from "../src/core/Bucket.ts"
import type { Cycle } from "../src/core/Cycle.ts"
import { addFact, DayTotals, noTotals, type Totals, totalsOf } from "../src/core/DayTotals.ts"
import type { EffectiveDirection, Sides } from "../src/core/Direction.ts"
import { Percentile, type Percentile95 } from "../src/core/Percentile.ts"
import { type Closing, closingOf, effectiveOf, statusAt, type Stretch } from "../src/core/Usage.ts"
import type { NodeRecord } from "../src/store/NodeRows.ts"
import { TrafficStore } from "../src/store/Traffic.ts"
import { CycleTotals } from "./CycleTotals.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { PercentileTable } from "./PercentileTable.ts"
import { TrafficMonths } from "./TrafficMonths.ts"
import { type Plan, TrafficPlans } from "./TrafficPlans.ts"
import { TrafficSettings } from "./TrafficSettings.ts"

/** The interval of a node that did not tell one. */
const intervalSec = 3

/** One interface at one instant, with the settings that hold for it. */
export interface Subject {
  readonly id: NodeId
  readonly record: NodeRecord
  readonly name: string
  /** Its id in the ledger; undefined before its first fact. */
  readonly ifaceId: number | undefined
  /** First reading; undefined for a name that was never reported. */
  readonly firstMs: number | undefined
  /** Facts that are not on disk yet and of buckets that have ended, ascending. */
  readonly open: ReadonlyArray<Fact>
  readonly isAlive: boolean
  readonly plan: Plan
  readonly usageMode: UsageMode
  readonly directionMode: EffectiveDirection
  /** Whether a percentile is asked for. */
  readonly isBilledByP95: boolean
  readonly nowMs: number
}

/** What the statistics of a cycle are told from. */
export interface Figures {
  readonly totals: Totals
  readonly p95: Sides | null
  readonly effective: Stretch
  readonly isComplete: boolean
  readonly status: TrafficStatus
}

/** The figures of a cycle and of its days; the same order as the plan's days. */
export interface DayFigures extends Omit<Figures, "p95"> {
  readonly plan: Plan
  readonly days: ReadonlyArray<{ readonly totals: Totals; readonly p95: Sides | null }>
}

export class TrafficFigures extends Context.Tag("runtime/TrafficFigures")<
  TrafficFigures,
  {
    /** Undefined for a node that is not active. */
    readonly subject: (record: NodeRecord, name: string) => Effect.Effect<Subject | undefined>
    /** Names of a node's interfaces, ascending, also those that have no fact yet. */
    readonly names: (id: NodeId) => Effect.Effect<ReadonlyArray<string>>
    /** Of the subject's current cycle or an earlier one. */
    readonly cycle: (subject: Subject, cycle: Cycle) => Figures
    readonly days: (subject: Subject, cycle: Cycle) => DayFigures
    /** Every fact of a cycle, ascending, with those that are about to be written. */
    readonly facts: (subject: Subject, cycle: Cycle) => ReadonlyArray<Fact>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

interface Tools {
  readonly store: Context.Tag.Service<typeof TrafficStore>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly plans: Context.Tag.Service<typeof TrafficPlans>
  readonly settings: Context.Tag.Service<typeof TrafficSettings>
  readonly totals: Context.Tag.Service<typeof CycleTotals>
  readonly percentiles: Context.Tag.Service<typeof PercentileTable>
  readonly months: Context.Tag.Service<typeof TrafficMonths>
}

const rates = (p95: Percentile95 | undefined): Sides | null => (p95?._tag === "Available" ? p95.rate : null)

const subjectOf = (tools: Tools, record: NodeRecord, name: string, nowMs: number): Subject | undefined => {
  const { plans, settings, store, supervisor } = tools
  const plan = plans.of(record.id, nowMs)
  if (plan === undefined) return undefined
  const { directionMode, usageMode } = settings.current()
  const iface = store.iface(record.id, name)
  const open = (supervisor.actor(record.id)?.openFacts(nowMs) ?? []).filter((one) => one.iface === name)
  const view = supervisor.view(record.id)
  const intervalMs = (view?.statics?.body.report_interval_seconds ?? intervalSec) * 1000
  return {
    id: record.id,
    record,
    name,
    ifaceId: iface?.id,
    firstMs: iface?.firstSeenAt ?? open[0]?.firstSeenAt,
    open: open.filter(({ hasEnded }) => hasEnded).map(({ fact }) => fact),
    isAlive: nowMs - (view?.receivedAt ?? 0) <= gapLimitMs(intervalMs),
    plan,
    usageMode,
    directionMode: record.trafficDirectionMode === "default" ? directionMode : record.trafficDirectionMode,
    isBilledByP95: usageMode === "billing" && record.trafficP95Enabled,
    nowMs
  }
}

const windowOf = ({ firstMs, record, usageMode }: Subject, cycle: Cycle, { statEndMs }: Closing): Stretch =>
  effectiveOf(usageMode, cycle, statEndMs, { createdMs: record.createdAt, firstMs })

const frameOf = (subject: Subject, cycle: Cycle, closing: Closing) => ({
  effective: windowOf(subject, cycle, closing),
  isComplete: subject.nowMs >= cycle.endMs,
  status: statusAt(cycle, subject.nowMs)
})

const isCurrent = ({ plan }: Subject, cycle: Cycle): boolean => plan.cycle.startMs === cycle.startMs

const currentOf = ({ percentiles, totals: table }: Tools, subject: Subject): Figures => {
  const { id, isAlive, isBilledByP95, name, nowMs, open, plan } = subject
  const kept = table.get(id, name, nowMs)?.folded
  const closing = closingOf(plan.cycle, open, kept?.newestAt ?? Number.NEGATIVE_INFINITY, nowMs, isAlive)
  const totals = kept?.all() ?? noTotals()
  for (const fact of closing.facts) addFact(totals, fact)
  const p95 = isBilledByP95 ? rates(percentiles.p95(id, name, nowMs, closing.facts)) : null
  return { totals, p95, ...frameOf(subject, plan.cycle, closing) }
}

/** The facts of a cycle from the ledger, and those that it does not have yet. */
const factsOf = ({ store }: Tools, subject: Subject, cycle: Cycle) => {
  const { ifaceId, isAlive, nowMs, open } = subject
  const kept = ifaceId === undefined ? [] : store.facts(ifaceId, cycle.startMs, cycle.endMs)
  const newestAt = (ifaceId === undefined ? undefined : store.lastFact(ifaceId))?.start ?? Number.NEGATIVE_INFINITY
  const closing = closingOf(cycle, open, newestAt, nowMs, isAlive)
  return { facts: closing.facts.length === 0 ? kept : [...kept, ...closing.facts], closing }
}

const closedOf = (tools: Tools, subject: Subject, cycle: Cycle): Figures => {
  const { id, ifaceId, isBilledByP95, name, open, plan, usageMode } = subject
  const found = ifaceId === undefined ? undefined : tools.months.find(id, { id: ifaceId, name }, plan.config, cycle)
  const isOpen = open.some(({ start }) => start < cycle.endMs)
  if (found !== undefined && (found.row.status !== "grace" || !isOpen)) {
    const { month, row } = found
    const status = row.status === "stale" ? "stale" : statusAt(cycle, subject.nowMs)
    const effective = usageMode === "lite" ? { startMs: cycle.startMs, endMs: cycle.endMs } : month.effective
    return { totals: month.totals, p95: month.p95, effective, isComplete: true, status }
  }
  const { closing, facts } = factsOf(tools, subject, cycle)
  const p95 = isBilledByP95 ? rates(Percentile.of(cycle.startMs, cycle.endMs, facts).p95()) : null
  return { totals: totalsOf(facts), p95, ...frameOf(subject, cycle, closing) }
}

const daysOfCycle = (tools: Tools, subject: Subject, cycle: Cycle): DayFigures => {
  const plan = isCurrent(subject, cycle) ? subject.plan : tools.plans.around(subject.plan.config, cycle.startMs)
  const { closing, facts } = factsOf(tools, subject, cycle)
  const sums = new DayTotals(plan.days)
  for (const fact of facts) sums.take(fact)
  let at = 0
  const days = plan.days.map(({ endMs, startMs }, index) => {
    const percentile = new Percentile(startMs, endMs)
    for (; at < facts.length && (facts[at] as Fact).start < endMs; at++) percentile.take(facts[at] as Fact)
    return { totals: sums.day(index), p95: subject.isBilledByP95 ? rates(percentile.p95()) : null }
  })
  return { plan, days, totals: sums.all(), ...frameOf(subject, cycle, closing) }
}

const make = Effect.gen(function* () {
  const tools: Tools = {
    store: yield* TrafficStore,
    supervisor: yield* NodeSupervisor,
    plans: yield* TrafficPlans,
    settings: yield* TrafficSettings,
    totals: yield* CycleTotals,
    percentiles: yield* PercentileTable,
    months: yield* TrafficMonths
  }
  return TrafficFigures.of({
    subject: (record, name) => Effect.map(Clock.currentTimeMillis, (nowMs) => subjectOf(tools, record, name, nowMs)),
    names: (id) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        const open = tools.supervisor.actor(id)?.openFacts(nowMs) ?? []
        const names = new Set(
          [...tools.store.ifaces(id), ...open.map(({ iface }) => ({ name: iface }))].map((one) => one.name)
        )
        return [...names].sort((a, b) => (a < b ? -1 : 1))
      }),
    cycle: (subject, cycle) =>
      isCurrent(subject, cycle) ? currentOf(tools, subject) : closedOf(tools, subject, cycle),
    days: (subject, cycle) => daysOfCycle(tools, subject, cycle),
    facts: (subject, cycle) => factsOf(tools, subject, cycle).facts
  })
})
