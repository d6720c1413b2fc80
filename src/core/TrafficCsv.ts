// Facts, days and months as CSV: numbers, times and fixed words only, so no cell can be taken for a formula.
import type { TrafficDaily, TrafficMonthly, TrafficStats } from "../../schema/Traffic.ts"
import { type Fact, isSample, ratesOf } from "./Bucket.ts"
import { factAnswer } from "./Explanation.ts"

type Cell = string | number | boolean | null | undefined

/** RFC 4180 without quotes: no cell here holds a comma, a quote or a line break. */
const lines = (rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  rows
    .map((row) => `${row.map((cell) => (cell === null || cell === undefined ? "" : String(cell))).join(",")}\r\n`)
    .join("")

const factHeader = [
  "start",
  "in_bytes",
  "out_bytes",
  "covered_sec",
  "valid",
  "in_bytes_per_sec",
  "out_bytes_per_sec",
  "total_bytes_per_sec",
  "gap_count",
  "reset_count",
  "flags"
]

/** One line per five-minute fact; rates only where they are samples. */
export const factsCsv = (facts: ReadonlyArray<Fact>): string =>
  lines([
    factHeader,
    ...facts.map((fact) => {
      const told = factAnswer(fact)
      const both = isSample(fact) ? ratesOf(fact).both : null
      const rates = [told.in_rate, told.out_rate, both]
      const counts = [told.gap_count, told.reset_count, told.flags.join(" ")]
      return [told.start, told.in_bytes, told.out_bytes, told.covered_sec, told.valid, ...rates, ...counts]
    })
  ])

const statNames = [
  "in_bytes",
  "out_bytes",
  "in_p95_bytes_per_sec",
  "out_p95_bytes_per_sec",
  "in_peak_bytes_per_sec",
  "out_peak_bytes_per_sec",
  "selected_bytes",
  "selected_p95_bytes_per_sec",
  "selected_peak_bytes_per_sec",
  "selected_bytes_direction",
  "selected_p95_direction",
  "selected_peak_direction",
  "p95_status",
  "sample_count",
  "expected_sample_count",
  "effective_start",
  "effective_end",
  "coverage_ratio",
  "gap_count",
  "reset_count",
  "cycle_complete",
  "data_complete",
  "status"
] as const satisfies ReadonlyArray<keyof TrafficStats>
const modeNames = ["usage_mode", "direction_mode"] as const

/** One line per day. */
export const daysCsv = ({ items }: TrafficDaily): string =>
  lines([
    ["start", "end", ...modeNames, ...statNames],
    ...items.map((item) => [
      item.start,
      item.end,
      item.usage_mode,
      item.direction_mode,
      ...statNames.map((name) => item.stats[name])
    ])
  ])

/** One line per cycle. */
export const monthsCsv = ({ items }: TrafficMonthly): string =>
  lines([
    ["cycle_start", "cycle_end", "cycle_mode", "timezone", ...modeNames, ...statNames],
    ...items.map(({ cycle, direction_mode, stats, usage_mode }) => [
      cycle.start,
      cycle.end,
      cycle.mode,
      cycle.timezone,
      usage_mode,
      direction_mode,
      ...statNames.map((name) => stats[name])
    ])
  ])
