// Turns the parameters of a history request into what is to be read: stretch, step, tier and device.
import { HistoryAgg, HistoryMetric } from "../../schema/History.ts"
import {
  deviceMetrics,
  historyPointsMax,
  type HistoryRange,
  historyRanges,
  optionalDeviceMetrics
} from "../../schema/HistoryTerms.ts"
import { Schema } from "effect"
import { type Tier, tierNames, tiers } from "./Tier.ts"

export interface HistoryParams {
  readonly server_id?: string | undefined
  readonly metric?: string | undefined
  readonly range?: string | undefined
  readonly agg?: string | undefined
  readonly device?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface HistoryQuery {
  readonly serverId: number
  readonly metric: HistoryMetric
  readonly range: HistoryRange | "custom"
  readonly agg: HistoryAgg
  /** Empty when the metric takes none or is asked for the whole node. */
  readonly device: string
  readonly fromMs: number
  readonly toMs: number
  readonly stepMs: number
  /** The coarsest tier whose buckets make up the steps and that reaches back to the start, when one does. */
  readonly tier: Tier
}

/** How far back each tier reaches, milliseconds. */
export type Reach = Record<Tier, number>

/** The parameter that is wrong and why, readable. */
export interface Wrong {
  readonly wrong: string
}
const wrong = (message: string): Wrong => ({ wrong: message })
export const isWrong = (value: object): value is Wrong => "wrong" in value

const isMetric = Schema.is(HistoryMetric)
const isAgg = Schema.is(HistoryAgg)
const isRange = (text: string): text is HistoryRange => Object.hasOwn(historyRanges, text)

/** Node ids are positive integers that a double holds. */
export const serverIdOf = (text: string | undefined): number | Wrong => {
  if (text === undefined || text === "") return wrong("server_id is required")
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0
  return id > 0 ? id : wrong("server_id must be a positive integer")
}

const rfc3339 =
  /^(\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
/** Date.parse takes the 30th of February for a day in March. */
const isDate = (date: string): boolean => {
  const at = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date)
}

/** Milliseconds of RFC 3339 text, or of whole seconds since 1970; NaN for anything else. */
export const instantOf = (text: string): number => {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1000
  const date = rfc3339.exec(text)?.[1]
  return date !== undefined && isDate(date) ? Date.parse(text.toUpperCase()) : Number.NaN
}

/** Steps of a custom stretch, seconds: each is made of whole buckets of every tier that is not wider. */
const steps = [3, 6, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800]
/** The longest custom stretch: longer than any tier is kept by default. */
const spanMaxMs = 500 * 86_400_000

/** The tier of some that reaches furthest back, the coarsest where several do. */
const furthest = (some: ReadonlyArray<Tier>, reach: Reach): Tier =>
  some.reduce((found, tier) => (reach[tier] >= reach[found] ? tier : found))

/** Of the tiers whose buckets make up the steps: the coarsest that reaches back to the instant, or else the furthest. */
const tierOf = (stepMs: number, fromMs: number, now: number, reach: Reach): Tier => {
  const fitting = tierNames.filter((tier) => stepMs % (tiers[tier].widthMs || 1) === 0)
  return fitting.findLast((tier) => fromMs >= now - reach[tier]) ?? furthest(fitting, reach)
}

/** The finest tier that still reaches back to the instant; the one that reaches furthest when none does. */
const reaching = (fromMs: number, now: number, reach: Reach): Tier =>
  tierNames.find((tier) => fromMs >= now - reach[tier]) ?? furthest(tierNames, reach)

const customStep = (fromMs: number, toMs: number, now: number, reach: Reach): number => {
  const least = tiers[reaching(fromMs, now, reach)].widthMs
  const count = (stepMs: number) => Math.ceil(toMs / stepMs) - Math.floor(fromMs / stepMs)
  const found = steps.find((step) => step * 1000 >= least && count(step * 1000) <= historyPointsMax)
  return (found ?? 172_800) * 1000
}

type Stretch = Pick<HistoryQuery, "range" | "fromMs" | "toMs" | "stepMs">

const customStretch = (params: HistoryParams, now: number, reach: Reach): Stretch | Wrong => {
  if (params.range !== undefined && params.range !== "custom") return wrong("range cannot be combined with from and to")
  if (params.from === undefined) return wrong("from is required with to")
  const fromMs = instantOf(params.from)
  if (Number.isNaN(fromMs)) return wrong("from must be an RFC 3339 time or unix seconds")
  const toMs = params.to === undefined ? now : instantOf(params.to)
  if (Number.isNaN(toMs)) return wrong("to must be an RFC 3339 time or unix seconds")
  if (fromMs >= toMs) return wrong("from must be before to")
  if (toMs - fromMs > spanMaxMs) return wrong("from and to must be at most 500 days apart")
  return { range: "custom", fromMs, toMs, stepMs: customStep(fromMs, toMs, now, reach) }
}

const stretchOf = (params: HistoryParams, now: number, reach: Reach): Stretch | Wrong => {
  if (params.from !== undefined || params.to !== undefined) return customStretch(params, now, reach)
  const range = params.range?.trim()
  if (range === undefined || !isRange(range)) {
    return wrong(`range must be one of ${Object.keys(historyRanges).join(", ")}`)
  }
  const { spanMs, stepSec } = historyRanges[range]
  // The end is open: what arrived in this very millisecond belongs to it.
  return { range, fromMs: now - spanMs, toMs: now + 1, stepMs: stepSec * 1000 }
}

const deviceOf = (metric: HistoryMetric, device: string | undefined): string | Wrong => {
  const text = device?.trim() ?? ""
  if ((deviceMetrics as ReadonlyArray<string>).includes(metric)) {
    return text === "" ? wrong(`device is required for ${metric}`) : text
  }
  return optionalDeviceMetrics.includes(metric) ? text : ""
}

/** What to read, or which parameter is wrong (contract, history). `now` is the service's clock. */
export const historyQuery = (params: HistoryParams, now: number, reach: Reach): HistoryQuery | Wrong => {
  const serverId = serverIdOf(params.server_id)
  if (typeof serverId === "object") return serverId
  const metric = params.metric?.trim()
  if (!isMetric(metric)) return wrong("metric must be one of the metrics that history keeps")
  const stretch = stretchOf(params, now, reach)
  if (isWrong(stretch)) return stretch
  const agg = params.agg === undefined || params.agg.trim() === "" ? "avg" : params.agg.trim()
  if (!isAgg(agg)) return wrong("agg must be avg, max, min or last")
  const device = deviceOf(metric, params.device)
  if (typeof device === "object") return device
  const tier = tierOf(stretch.stepMs, stretch.fromMs, now, reach)
  return { serverId, metric, agg, device, ...stretch, tier }
}
