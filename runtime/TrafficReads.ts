// Answers what the traffic of an interface came to: summary, days, months, the facts behind them, and all of it as CSV.
import { Context, Effect, Layer } from "effect"
import { Forbidden, InvalidRequest, NotFound, TrafficDailyRequiresBilling } from "../schema/Errors.ts"
import { NodeId } from "../schema/Ids.ts"
import type { Viewer } from "../schema/Session.ts"
import type { TrafficCycle, TrafficDaily, TrafficIfaces, TrafficMonthly, TrafficSummary } from "../schema/Traffic.ts"
import type { TrafficExplain } from "../schema/TrafficProof.ts"
import { type Cycle, type CycleConfig, previous } from "../src/core/Cycle.ts"
import { explained } from "../src/core/Explanation.ts"
import { isWrong, serverIdOf, type Wrong } from "../src/core/HistoryQuery.ts"
import { isoSeconds } from "../src/core/Online.ts"
import { daysCsv, factsCsv, monthsCsv } from "../src/core/TrafficCsv.ts"
import {
  exportQuery,
  type Period,
  type TrafficParams,
  type TrafficQuery,
  trafficQuery
} from "../src/core/TrafficQuery.ts"
import { dayParts, statsOf } from "../src/core/Usage.ts"
import { canRead } from "../src/core/Visibility.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { type Figures, type Subject, TrafficFigures } from "./TrafficFigures.ts"
import { TrafficSettings } from "./TrafficSettings.ts"

type Refusal = InvalidRequest | Forbidden | NotFound
type Read<A, E = never> = (viewer: Viewer, params: TrafficParams) => Effect.Effect<A, Refusal | E>

/** A file and the name to save it under. */
export interface Exported {
  readonly name: string
  readonly csv: string
}

export class TrafficReads extends Context.Tag("runtime/TrafficReads")<
  TrafficReads,
  {
    /**
     * Each judges its parameters first (400), then whether the viewer may read: guests get 403 for everything that they
     * may not, whatever the reason, administrators 404 for an unknown node.
     */
    readonly ifaces: Read<TrafficIfaces>
    readonly summary: Read<TrafficSummary>
    readonly daily: Read<TrafficDaily, TrafficDailyRequiresBilling>
    readonly monthly: Read<TrafficMonthly>
    readonly explain: Read<TrafficExplain>
    readonly exported: (
      viewer: Viewer,
      params: TrafficParams & { readonly kind?: string | undefined }
    ) => Effect.Effect<Exported, Refusal | TrafficDailyRequiresBilling>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

interface Tools {
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly settings: Context.Tag.Service<typeof TrafficSettings>
  readonly figures: Context.Tag.Service<typeof TrafficFigures>
}

const judged = <A extends object>(query: A | Wrong): Effect.Effect<A, InvalidRequest> =>
  isWrong(query) ? Effect.fail(new InvalidRequest({ message: query.wrong })) : Effect.succeed(query as A)

/** The node, if this viewer may read its traffic. */
const readableNode = ({ roster, settings }: Tools, viewer: Viewer, serverId: number) =>
  Effect.gen(function* () {
    const record = roster.records().get(NodeId.make(serverId))
    const isOpen = viewer._tag === "Admin" || settings.current().guestAccess === "by_node"
    if (record !== undefined && isOpen && canRead(viewer, record)) return record
    return yield* viewer._tag === "Guest"
      ? new Forbidden({ message: "this node's traffic is not public" })
      : new NotFound({ message: `node ${serverId} does not exist` })
  })

const subjectOf = (tools: Tools, viewer: Viewer, { iface, serverId }: TrafficQuery) =>
  Effect.gen(function* () {
    const record = yield* readableNode(tools, viewer, serverId)
    const subject = yield* tools.figures.subject(record, iface)
    return subject ?? (yield* new NotFound({ message: `node ${serverId} does not exist` }))
  })

const requireBilling = ({ usageMode }: Subject) =>
  usageMode === "billing"
    ? Effect.void
    : Effect.fail(new TrafficDailyRequiresBilling({ message: "days are only kept apart while usage_mode is billing" }))

const cycleOf = ({ plan }: Subject, period: Period): Cycle =>
  period === "current" ? plan.cycle : previous(plan.config, plan.cycle)

const cycleAnswer = (config: CycleConfig, { effectiveDay, endMs, startMs }: Cycle): TrafficCycle => ({
  mode: config.mode,
  billing_start_day: effectiveDay,
  ...(config.mode === "vendor_compatible" && config.anchorDate !== ""
    ? { billing_anchor_date: config.anchorDate }
    : {}),
  timezone: config.zone,
  start: isoSeconds(startMs),
  end: isoSeconds(endMs)
})

const about = (subject: Subject) => ({
  server_id: subject.id,
  iface: subject.name,
  usage_mode: subject.usageMode,
  direction_mode: subject.directionMode
})

const frame = (
  { directionMode, record, usageMode }: Subject,
  { effective, isComplete, status }: Omit<Figures, "p95">
) => ({
  usageMode,
  directionMode,
  p95Enabled: record.trafficP95Enabled,
  effective,
  isComplete,
  status
})

const usageAnswer = (subject: Subject, cycle: Cycle, figures: Figures) => ({
  ...about(subject),
  cycle: cycleAnswer(subject.plan.config, cycle),
  stats: statsOf(figures.totals, figures.p95, frame(subject, figures))
})

const summaryOf = ({ figures }: Tools, subject: Subject): TrafficSummary => {
  const { cycle } = subject.plan
  const { server_id, ...rest } = usageAnswer(subject, cycle, figures.cycle(subject, cycle))
  return { server_id, server_name: subject.record.name.trim(), ...rest }
}

const dailyOf = ({ figures }: Tools, subject: Subject, period: Period): TrafficDaily => {
  const of = figures.days(subject, cycleOf(subject, period))
  if (of.totals.facts === 0) return { items: [] }
  const items = dayParts(of.plan.days, of.effective).map(({ index, isComplete, part }) => {
    const day = of.days[index] as (typeof of.days)[number]
    const shown = { ...of, effective: part, isComplete: of.isComplete || isComplete }
    return {
      ...about(subject),
      start: isoSeconds(part.startMs),
      end: isoSeconds(part.endMs),
      stats: statsOf(day.totals, day.p95, frame(subject, shown))
    }
  })
  return { items }
}

const monthlyOf = ({ figures }: Tools, subject: Subject, { months, period }: TrafficQuery): TrafficMonthly => {
  const items: Array<TrafficMonthly["items"][number]> = []
  let cycle = cycleOf(subject, period)
  for (let i = 0; i < months; i++, cycle = previous(subject.plan.config, cycle)) {
    // Before the first reading there is nothing, in no cycle.
    if (subject.firstMs === undefined || cycle.endMs <= subject.firstMs) break
    const found = figures.cycle(subject, cycle)
    if (found.totals.facts > 0) items.push(usageAnswer(subject, cycle, found))
  }
  return { includes_current: period === "current", items }
}

const explainOf = ({ figures }: Tools, subject: Subject, period: Period): TrafficExplain => {
  const cycle = cycleOf(subject, period)
  return {
    server_id: subject.id,
    iface: subject.name,
    cycle: cycleAnswer(subject.plan.config, cycle),
    ...explained(cycle, figures.facts(subject, cycle))
  }
}

/** Letters that are safe in a header and in every file system. */
const fileName = ({ id, name, plan }: Subject, kind: string, period: Period): string =>
  `traffic-${id}-${name.replace(/[^A-Za-z0-9.-]+/g, "_").slice(0, 64)}-${kind}-${period}-${isoSeconds(plan.cycle.startMs).slice(0, 10)}.csv`

const make = Effect.gen(function* () {
  const tools: Tools = {
    roster: yield* NodeRoster,
    settings: yield* TrafficSettings,
    figures: yield* TrafficFigures
  }
  const asked = (viewer: Viewer, params: TrafficParams) =>
    Effect.flatMap(judged(trafficQuery(params)), (query) =>
      Effect.map(subjectOf(tools, viewer, query), (subject) => ({ query, subject }))
    )
  return TrafficReads.of({
    ifaces: (viewer, { server_id }) =>
      Effect.gen(function* () {
        const serverId = serverIdOf(server_id)
        if (typeof serverId === "object") return yield* new InvalidRequest({ message: serverId.wrong })
        const { id } = yield* readableNode(tools, viewer, serverId)
        return (yield* tools.figures.names(id)).map((name) => ({ name }))
      }),
    summary: (viewer, params) => Effect.map(asked(viewer, params), ({ subject }) => summaryOf(tools, subject)),
    daily: (viewer, params) =>
      Effect.flatMap(asked(viewer, params), ({ query, subject }) =>
        Effect.map(requireBilling(subject), () => dailyOf(tools, subject, query.period))
      ),
    monthly: (viewer, params) =>
      Effect.map(asked(viewer, params), ({ query, subject }) => monthlyOf(tools, subject, query)),
    explain: (viewer, params) =>
      Effect.map(asked(viewer, params), ({ query, subject }) => explainOf(tools, subject, query.period)),
    exported: (viewer, params) =>
      Effect.gen(function* () {
        const query = yield* judged(exportQuery(params))
        const subject = yield* subjectOf(tools, viewer, query)
        const { kind, period } = query
        if (kind === "days") yield* requireBilling(subject)
        const csv =
          kind === "facts"
            ? factsCsv(tools.figures.facts(subject, cycleOf(subject, period)))
            : kind === "days"
              ? daysCsv(dailyOf(tools, subject, period))
              : monthsCsv(monthlyOf(tools, subject, query))
        return { name: fileName(subject, kind, period), csv }
      })
  })
})
