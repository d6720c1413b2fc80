// Facts about the cycle on show that its figures alone do not say: the pace, and which figures belong to it.
import type { TrafficMonthly, TrafficSummary } from "../../../../schema/Traffic.ts"
import type { Side } from "./Slots.ts"

export type CycleFigures = TrafficMonthly["items"][number]

/** With less than this measured, a projection says nothing. */
const paceMinMs = 6 * 3_600_000

/** Counted bytes at the end of an open cycle if it goes on as it went; null when that cannot be told. */
export const projectedOf = ({ cycle, stats }: CycleFigures): number | null => {
  const [from, to] = [Date.parse(stats.effective_start), Date.parse(stats.effective_end)]
  const leftMs = Date.parse(cycle.end) - to
  if (stats.cycle_complete || !(to - from >= paceMinMs) || !(leftMs > 0)) return null
  return stats.selected_bytes * (1 + leftMs / (to - from))
}

/** The series that is counted: what the percentile says, else what the mode says. */
export const countedSide = ({ direction_mode, stats }: Pick<TrafficSummary, "direction_mode" | "stats">): Side => {
  if (direction_mode === "both") return "total"
  if (direction_mode === "out") return "out"
  const side = stats.selected_p95_direction ?? stats.selected_bytes_direction
  return side === "" ? "out" : side
}

/** File name of an export: letters, digits and dashes only. */
export const fileNameOf = (kind: string, id: string, iface: string, cycleStart: string): string =>
  `traffic-${id}-${iface.replace(/[^\w.-]+/g, "-").slice(0, 40)}-${kind}-${cycleStart.slice(0, 10)}.csv`
