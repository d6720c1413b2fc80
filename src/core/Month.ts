// The snapshot of a closed cycle: what is kept of it, how that is written, and when it is sealed for good.
import type { TrafficStatus } from "../../schema/Traffic.ts"
import type { Fact } from "./Bucket.ts"
import { noTotals, type Totals, totalsOf } from "./DayTotals.ts"
import type { Sides } from "./Direction.ts"
import { Percentile } from "./Percentile.ts"
import { type Beginnings, effectiveOf, graceMs, isDataComplete, type Stretch } from "./Usage.ts"

/** Everything that the figures of a closed cycle are told from, in either usage mode and every direction. */
export interface Month {
  readonly totals: Totals
  /** Always computed, whatever the node's switch says; null below twenty samples. */
  readonly p95: Sides | null
  readonly effective: Stretch
  /** Start of the newest fact that the ledger had then, of whatever cycle. */
  readonly ledgerAtMs: number
}

/** The snapshot of a closed cycle, from all of its facts. */
export const monthOf = (
  { endMs, startMs }: Stretch,
  facts: ReadonlyArray<Fact>,
  beginnings: Beginnings,
  ledgerAtMs: number
): Month => {
  const p95 = Percentile.of(startMs, endMs, facts).p95()
  return {
    totals: totalsOf(facts),
    p95: p95._tag === "Available" ? p95.rate : null,
    effective: effectiveOf("billing", { startMs, endMs }, endMs, beginnings),
    ledgerAtMs
  }
}

/**
 * Whether making it again would come to the same: facts come in the order of time, so nothing was added to the cycle
 * when the ledger has gone on past its end, or has not gone on at all.
 */
export const isUpToDate = ({ ledgerAtMs }: Month, { endMs }: Stretch, newestAtMs: number): boolean =>
  ledgerAtMs >= endMs || ledgerAtMs === newestAtMs

/** What is stored: a row that is sealed or stale is told as it stands, one in grace may be made again. */
export type MonthStatus = Exclude<TrafficStatus, "provisional">

/**
 * Status of a snapshot: in grace for 48 h; then sealed when nothing is missing, else in grace for as long as all facts
 * of the cycle are kept, and stale afterwards (contract, monthly snapshots). `keptFromMs`: facts before it may be gone.
 */
export const monthStatusOf = (
  { effective, totals }: Month,
  cycle: Stretch,
  keptFromMs: number,
  nowMs: number
): MonthStatus => {
  if (nowMs < cycle.endMs + graceMs) return "grace"
  if (isDataComplete(totals, effective)) return "sealed"
  return cycle.startMs >= keptFromMs ? "grace" : "stale"
}

/** As it is stored. */
export const monthText = (month: Month): string => JSON.stringify(month)

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)
const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined
const numberIn = (value: unknown, name: string): number => {
  const found = member(value, name)
  return isNumber(found) ? found : Number.NaN
}

/** What was stored; undefined when it is not what {@link monthText} writes. */
export const monthFrom = (text: string): Month | undefined => {
  try {
    const read: unknown = JSON.parse(text)
    const totals = noTotals()
    for (const name of Object.keys(totals) as Array<keyof Totals>) totals[name] = numberIn(member(read, "totals"), name)
    const window = member(read, "effective")
    const effective = { startMs: numberIn(window, "startMs"), endMs: numberIn(window, "endMs") }
    const sides = member(read, "p95")
    const p95 =
      sides === null ? null : { in: numberIn(sides, "in"), out: numberIn(sides, "out"), both: numberIn(sides, "both") }
    const ledgerAtMs = numberIn(read, "ledgerAtMs")
    const isWhole = [totals, effective, p95 ?? {}, { ledgerAtMs }].every((part) => Object.values(part).every(isNumber))
    return isWhole ? { totals, p95, effective, ledgerAtMs } : undefined
  } catch {
    return undefined
  }
}
