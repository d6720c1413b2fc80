// What the facts of a period come to on the wire: its window, coverage, status and every figure, by the settings in force.
import type { TrafficStats, TrafficStatus, UsageMode } from "../../schema/Traffic.ts"
import { bucketAt, bucketMs, type Fact, isSample } from "./Bucket.ts"
import type { CycleDay } from "./Cycle.ts"
import type { Totals } from "./DayTotals.ts"
import { type EffectiveDirection, selectedUsage, type Sides } from "./Direction.ts"
import { isoSeconds } from "./Online.ts"
import { samplesMin } from "./Percentile.ts"

/** A closed cycle may still change for so long (contract, summary). */
export const graceMs = 48 * 3_600_000

/** Milliseconds, end exclusive. */
export interface Stretch {
  readonly startMs: number
  readonly endMs: number
}

/** Where the figures of a cycle end: its end, or the last border of buckets that has passed. */
export const statEndOf = ({ endMs, startMs }: Stretch, nowMs: number): number =>
  nowMs >= endMs ? endMs : Math.max(startMs, bucketAt(nowMs))

/** What one interface's window depends on besides the cycle. */
export interface Beginnings {
  /** When the node was added. */
  readonly createdMs: number
  /** First reading of the interface; undefined while there is none. */
  readonly firstMs: number | undefined
}

/**
 * The stretch in which facts are expected: from the latest of the cycle's start, the node's creation and the first
 * reading (their buckets) up to `statEndMs`. In lite it is the whole, because nothing is expected there.
 */
export const effectiveOf = (
  mode: UsageMode,
  { startMs }: Stretch,
  statEndMs: number,
  { createdMs, firstMs }: Beginnings
): Stretch => {
  if (mode === "lite") return { startMs, endMs: statEndMs }
  const latest = Math.max(startMs, bucketAt(createdMs), firstMs === undefined ? startMs : bucketAt(firstMs))
  return { startMs: Math.min(latest, statEndMs), endMs: statEndMs }
}

/** Buckets that a stretch promises. */
export const expectedIn = ({ endMs, startMs }: Stretch): number => Math.max(0, Math.ceil((endMs - startMs) / bucketMs))

/** By time alone; what is stored of a closed cycle may know better. */
export const statusAt = ({ endMs }: Stretch, nowMs: number): TrafficStatus =>
  nowMs < endMs ? "provisional" : nowMs < endMs + graceMs ? "grace" : "sealed"

/** What counts besides the facts of the ledger. */
export interface Closing {
  /** Buckets that have ended, as far as their node's actor knows them. */
  readonly facts: ReadonlyArray<Fact>
  readonly statEndMs: number
}

const isClean = ({ coveredMs, gaps, quarantined, resets, validMs }: Fact): boolean =>
  gaps === 0 && resets === 0 && quarantined === 0 && validMs === coveredMs

/**
 * How buckets count that have ended, but whose facts come with the node's next report. Each counts as far as it got,
 * only the last one may wait: while the next report may still make a sample of it the figures end before it. So coverage
 * does not dip while a bucket is being written. `open` ascending; `newestAt` is the start of the ledger's newest fact;
 * `isAlive`: the node's next report is not late yet.
 */
export const closingOf = (
  cycle: Stretch,
  open: ReadonlyArray<Fact>,
  newestAt: number,
  nowMs: number,
  isAlive: boolean
): Closing => {
  const statEndMs = statEndOf(cycle, nowMs)
  const facts = open.filter(({ start }) => start > newestAt && start >= cycle.startMs && start < statEndMs)
  const last = facts.at(-1)
  const mayWait =
    last !== undefined &&
    isAlive &&
    isClean(last) &&
    !isSample(last) &&
    last.start + bucketMs >= statEndMs &&
    nowMs < last.start + 2 * bucketMs
  return mayWait ? { facts: facts.slice(0, -1), statEndMs: last.start } : { facts, statEndMs }
}

/** How the figures of a period are to be told. */
export interface Frame {
  readonly usageMode: UsageMode
  readonly directionMode: EffectiveDirection
  /** The node's switch. */
  readonly p95Enabled: boolean
  readonly effective: Stretch
  readonly isComplete: boolean
  readonly status: TrafficStatus
}

/** Null is no percentile, for whatever reason; the reason is found here. */
type P95 = Sides | null

const p95ReasonOf = (totals: Totals, p95: P95, { p95Enabled, usageMode }: Frame) => {
  if (usageMode === "lite") return "lite_mode"
  if (!p95Enabled) return "disabled"
  if (p95 !== null) return undefined
  return totals.samples < samplesMin ? "insufficient_samples" : "snapshot_without_p95"
}

/** Coverage: samples of those that were expected; in lite all or nothing, by gaps and resets alone. */
const coveragePart = (totals: Totals, { effective, usageMode }: Frame) => {
  const isUnbroken = totals.gaps === 0 && totals.resets === 0 && totals.quarantined === 0
  const expected = usageMode === "lite" ? 0 : expectedIn(effective)
  const isDataComplete =
    usageMode === "lite" ? isUnbroken : expected === 0 || (totals.samples >= expected && isUnbroken)
  const ratio =
    usageMode === "lite" ? (isUnbroken ? 1 : 0) : expected === 0 ? 1 : Math.min(1, totals.samples / expected)
  return {
    sample_count: totals.samples,
    expected_sample_count: expected,
    coverage_ratio: ratio,
    data_complete: isDataComplete,
    partial: !isDataComplete
  }
}

/** Whether nothing of a period is missing, as {@link statsOf} tells it. */
export const isDataComplete = (totals: Totals, effective: Stretch): boolean =>
  coveragePart(totals, {
    effective,
    usageMode: "billing",
    directionMode: "out",
    p95Enabled: false,
    isComplete: true,
    status: "sealed"
  }).data_complete

/**
 * Every figure of a period (contract, traffic queries). The peak is the best five-minute rate in billing and the best
 * rate between two reports in lite; both come from the same facts, which know nothing of modes.
 */
export const statsOf = (totals: Totals, p95: P95, frame: Frame): TrafficStats => {
  const { directionMode, effective, isComplete, p95Enabled, status, usageMode } = frame
  const bytes = { in: totals.inBytes, out: totals.outBytes, both: totals.inBytes + totals.outBytes }
  const peak =
    usageMode === "lite"
      ? { in: totals.bestIn, out: totals.bestOut, both: totals.bestBoth }
      : { in: totals.peakIn, out: totals.peakOut, both: totals.peakBoth }
  const reason = p95ReasonOf(totals, p95, frame)
  const shown = reason === undefined ? p95 : null
  const selected = selectedUsage(directionMode, totals.facts === 0 ? undefined : { bytes, peak, p95: shown })
  return {
    in_bytes: bytes.in,
    out_bytes: bytes.out,
    p95_enabled: usageMode === "billing" && p95Enabled,
    p95_status: reason ?? "available",
    ...(reason === undefined ? {} : { p95_unavailable_reason: reason }),
    in_p95_bytes_per_sec: shown?.in ?? null,
    out_p95_bytes_per_sec: shown?.out ?? null,
    in_peak_bytes_per_sec: peak.in,
    out_peak_bytes_per_sec: peak.out,
    selected_bytes: selected.bytes.value,
    selected_p95_bytes_per_sec: selected.p95.value,
    selected_peak_bytes_per_sec: selected.peak.value,
    selected_bytes_direction: selected.bytes.direction,
    ...(selected.p95.direction === "" ? {} : { selected_p95_direction: selected.p95.direction }),
    selected_peak_direction: selected.peak.direction,
    ...coveragePart(totals, frame),
    effective_start: isoSeconds(effective.startMs),
    effective_end: isoSeconds(effective.endMs),
    covered_until: isoSeconds(effective.endMs),
    gap_count: totals.gaps,
    reset_count: totals.resets,
    cycle_complete: isComplete,
    status
  }
}

/** A day of a cycle cut to the effective window. */
export interface DayPart {
  /** Among the days given. */
  readonly index: number
  readonly part: Stretch
  readonly isComplete: boolean
}

/** The days that have a part in the window, oldest first; a day is complete when its own end has come. */
export const dayParts = (days: ReadonlyArray<CycleDay>, effective: Stretch): ReadonlyArray<DayPart> =>
  days.flatMap(({ endMs, startMs }, index) => {
    const part = { startMs: Math.max(startMs, effective.startMs), endMs: Math.min(endMs, effective.endMs) }
    return part.endMs > part.startMs ? [{ index, part, isComplete: endMs <= effective.endMs }] : []
  })
