// What a traffic address asks for: interface, cycle, months, series and stretch of the chart, and how it is written.
import type { Stretch } from "../../charts/Times.ts"
import { sides, slotMs, type Side } from "./Slots.ts"

export const periods = ["current", "previous"] as const
export type Period = (typeof periods)[number]

/** Numbers of months that are offered; the service gives no more than the last. */
export const monthCounts = [6, 12, 24] as const
export type MonthCount = (typeof monthCounts)[number]

export interface TrafficView {
  /** Empty for the busiest. */
  readonly iface: string
  /** The cycle on show. */
  readonly period: Period
  readonly months: MonthCount
  /** Where the table of months begins. */
  readonly since: Period
  /** Null takes the one that counts. */
  readonly side: Side | null
  /** A part of the cycle; null shows all of it. */
  readonly zoom: Stretch | null
}

export const emptyView: TrafficView = {
  iface: "",
  period: "current",
  months: 6,
  since: "current",
  side: null,
  zoom: null
}

/** Fewer slots than six are no line. */
const zoomMinMs = 6 * slotMs

const oneOf = <A extends string>(known: ReadonlyArray<A>, text: string | null): A | undefined =>
  known.find((one) => one === text)

const zoomOf = (from: string | null, to: string | null): Stretch | null => {
  if (from === null || to === null || !/^\d{1,11}$/.test(from) || !/^\d{1,11}$/.test(to)) return null
  const zoom = { fromMs: Number(from) * 1000, toMs: Number(to) * 1000 }
  return zoom.toMs - zoom.fromMs >= zoomMinMs ? zoom : null
}

/** What an address cannot mean falls back to the default. */
export const parseView = (search: string): TrafficView => {
  const params = new URLSearchParams(search)
  return {
    iface: (params.get("iface") ?? "").trim().slice(0, 256),
    period: oneOf(periods, params.get("period")) ?? emptyView.period,
    months: monthCounts.find((one) => String(one) === params.get("months")) ?? emptyView.months,
    since: oneOf(periods, params.get("since")) ?? emptyView.since,
    side: oneOf(sides, params.get("side")) ?? null,
    zoom: zoomOf(params.get("from"), params.get("to"))
  }
}

/** The query string of a view, without what is the default. */
export const printView = (view: TrafficView): string => {
  const params = new URLSearchParams()
  if (view.iface !== "") params.set("iface", view.iface)
  if (view.period !== emptyView.period) params.set("period", view.period)
  if (view.months !== emptyView.months) params.set("months", String(view.months))
  if (view.since !== emptyView.since) params.set("since", view.since)
  if (view.side !== null) params.set("side", view.side)
  if (view.zoom !== null) {
    params.set("from", String(Math.floor(view.zoom.fromMs / 1000)))
    params.set("to", String(Math.ceil(view.zoom.toMs / 1000)))
  }
  const text = params.toString()
  return text === "" ? "" : `?${text}`
}

/** A stretch inside the cycle, on whole slots and long enough; null when it is the whole cycle. */
export const zoomWithin = (fromMs: number, toMs: number, cycle: Stretch): Stretch | null => {
  const start = Math.floor(Math.max(cycle.fromMs, fromMs) / slotMs) * slotMs
  const end = Math.max(start + zoomMinMs, Math.ceil(Math.min(cycle.toMs, toMs) / slotMs) * slotMs)
  return start <= cycle.fromMs && end >= cycle.toMs ? null : { fromMs: start, toMs: end }
}
