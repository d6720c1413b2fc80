// What a history address asks for: range, zoom, aggregate, interface, and how each of them moves.
import type { HistoryAgg, OnlineRange } from "../../../../../schema/History.ts"
import { type HistoryRange, historyRanges } from "../../../../../schema/HistoryTerms.ts"
import type { Stretch } from "../../../charts/Times.ts"

export interface HistoryView {
  readonly range: HistoryRange
  /** A custom stretch within or beside the range; null follows the range up to now. */
  readonly zoom: Stretch | null
  /** Null takes what suits each metric. */
  readonly agg: HistoryAgg | null
  /** Network interface; empty means all of them. */
  readonly iface: string
  readonly online: OnlineRange
}

/** The contract's ranges, in the order of their buttons. */
export const ranges = historyRanges
export const rangeNames = Object.keys(ranges) as ReadonlyArray<HistoryRange>

export const aggNames = ["avg", "max", "min"] as const satisfies ReadonlyArray<HistoryAgg>
export const onlineNames = ["24h", "7d"] as const satisfies ReadonlyArray<OnlineRange>

export const emptyView: HistoryView = { range: "24h", zoom: null, agg: null, iface: "", online: "24h" }

/** Ten samples of the fastest pace; less shows nothing. */
export const zoomMinMs = 30_000
/** More than any kept history; keeps hostile addresses out of the requests. */
const zoomMaxMs = 400 * 86_400_000
/** Faster reads would show the same picture. */
const refreshMinMs = 15_000

const oneOf = <A extends string>(known: ReadonlyArray<A>, text: string | null): A | undefined =>
  known.find((one) => one === text)

const parseZoom = (from: string | null, to: string | null): Stretch | null => {
  if (from === null || to === null || !/^\d{1,11}$/.test(from) || !/^\d{1,11}$/.test(to)) return null
  const zoom = { fromMs: Number(from) * 1000, toMs: Number(to) * 1000 }
  const spanMs = zoom.toMs - zoom.fromMs
  return spanMs >= zoomMinMs && spanMs <= zoomMaxMs ? zoom : null
}

/** What an address cannot mean falls back to the default. */
export const parseView = (search: string): HistoryView => {
  const params = new URLSearchParams(search)
  return {
    range: oneOf(rangeNames, params.get("range")) ?? emptyView.range,
    zoom: parseZoom(params.get("from"), params.get("to")),
    agg: oneOf(aggNames, params.get("agg")) ?? null,
    iface: (params.get("iface") ?? "").slice(0, 256),
    online: oneOf(onlineNames, params.get("online")) ?? emptyView.online
  }
}

/** The query string of a view, without what is the default. */
export const printView = (view: HistoryView): string => {
  const params = new URLSearchParams({ view: "history" })
  if (view.range !== emptyView.range) params.set("range", view.range)
  if (view.zoom !== null) {
    params.set("from", String(Math.floor(view.zoom.fromMs / 1000)))
    params.set("to", String(Math.ceil(view.zoom.toMs / 1000)))
  }
  if (view.agg !== null) params.set("agg", view.agg)
  if (view.iface !== "") params.set("iface", view.iface)
  if (view.online !== emptyView.online) params.set("online", view.online)
  return `?${params.toString()}`
}

export const stretchOf = (view: HistoryView, nowMs: number): Stretch =>
  view.zoom ?? { fromMs: Math.floor(nowMs) - ranges[view.range].spanMs, toMs: Math.floor(nowMs) }

/** Pause between two reads of a view that ends now; null when it stands still. */
export const refreshMs = (view: HistoryView): number | null =>
  view.zoom === null ? Math.max(refreshMinMs, ranges[view.range].stepSec * 1000) : null

/** A stretch of at least the smallest length, on whole seconds, that does not reach into the future. */
export const fit = (fromMs: number, toMs: number, nowMs: number): Stretch => {
  const missingMs = Math.max(0, zoomMinMs - (toMs - fromMs))
  const end = Math.min(Math.ceil((toMs + missingMs / 2) / 1000) * 1000, Math.ceil(nowMs / 1000) * 1000)
  const start = Math.floor((fromMs - missingMs / 2) / 1000) * 1000
  return { fromMs: Math.max(0, Math.min(start, end - zoomMinMs)), toMs: end }
}

/** Half its own length earlier (-1) or later (1). */
export const shift = ({ fromMs, toMs }: Stretch, direction: -1 | 1, nowMs: number): Stretch => {
  const spanMs = toMs - fromMs
  const end = Math.min(toMs + (direction * spanMs) / 2, nowMs)
  return fit(end - spanMs, end, nowMs)
}

/** The newer half: what zooms in without a pointer. */
export const narrow = ({ fromMs, toMs }: Stretch, nowMs: number): Stretch =>
  fit(fromMs + (toMs - fromMs) / 2, toMs, nowMs)
