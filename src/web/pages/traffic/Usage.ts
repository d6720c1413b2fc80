// What the figures of a cycle amount to: how far it is, how much of it was measured, sums and orders over nodes.
import type { TrafficStats, TrafficSummary } from "../../../../schema/Traffic.ts"

/** Below this share of the samples the reader is told. */
const coverageEnough = 0.95

interface Span {
  readonly start: string
  readonly end: string
}

/** The share of a cycle that has passed, 0 to 1. */
export const elapsedOf = ({ start, end }: Span, nowMs: number): number => {
  const [from, to] = [Date.parse(start), Date.parse(end)]
  const share = (nowMs - from) / (to - from)
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0
}

/** Whole per cents of the samples, rounded down, when they are few enough to be told; lite takes no samples. */
export const thinCoverage = (stats: TrafficStats): number | null =>
  stats.expected_sample_count > 0 && stats.coverage_ratio < coverageEnough
    ? Math.floor(stats.coverage_ratio * 100)
    : null

/** No traffic was ever booked: the directions are empty then. */
export const isEmpty = (stats: TrafficStats): boolean => stats.selected_bytes_direction === ""

/** `value` as a share of `whole`, 0 to 1; nothing of nothing is 0. */
export const shareOf = (value: number, whole: number): number => (whole > 0 ? Math.min(1, value / whole) : 0)

export interface Sums {
  readonly inBytes: number
  readonly outBytes: number
  readonly selectedBytes: number
}

export const sumsOf = (summaries: Iterable<TrafficSummary>): Sums => {
  let [inBytes, outBytes, selectedBytes] = [0, 0, 0]
  for (const { stats } of summaries) {
    inBytes += stats.in_bytes
    outBytes += stats.out_bytes
    selectedBytes += stats.selected_bytes
  }
  return { inBytes, outBytes, selectedBytes }
}

export const orders = ["use", "name", "display"] as const
export type Order = (typeof orders)[number]

export interface Entry {
  readonly id: number
  readonly title: string
  /** Null while it is not known. */
  readonly selectedBytes: number | null
}

/** Ids in the wanted order; equal ones, and those whose use is not known, keep the display order, the latter last. */
export const orderedIds = (entries: ReadonlyArray<Entry>, order: Order): ReadonlyArray<number> => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" })
  const sorted = [...entries]
  if (order === "use") sorted.sort((a, b) => (b.selectedBytes ?? -1) - (a.selectedBytes ?? -1))
  if (order === "name") sorted.sort((a, b) => collator.compare(a.title, b.title))
  return sorted.map((entry) => entry.id)
}
