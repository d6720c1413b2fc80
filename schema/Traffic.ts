// Traffic accounting on the wire: its settings and calendar, and what the ledger answers about one interface.
import { Schema } from "effect"
import { HistoryAccess } from "./System.ts"

const { Array: Arr, Boolean: Bool, Int, NullOr, Number: Num, optional, String: Str, Struct } = Schema

/** Whether guests may read the traffic of the nodes that they see, or no traffic at all. */
export const TrafficAccess = Schema.Literal("disabled", "by_node")
export type TrafficAccess = typeof TrafficAccess.Type

export const UsageMode = Schema.Literal("lite", "billing")
export type UsageMode = typeof UsageMode.Type

/** A cycle mode in effect: a node's `default` is already the global one. */
export const EffectiveCycleMode = Schema.Literal("calendar_month", "vendor_compatible", "clamp_to_month_end")
export type EffectiveCycleMode = typeof EffectiveCycleMode.Type

/** A direction mode in effect: a node's `default` is already the global one. */
export const EffectiveDirectionMode = Schema.Literal("out", "both", "max")
export type EffectiveDirectionMode = typeof EffectiveDirectionMode.Type

/** Bytes and counts of a whole cycle. Past 2^53 a double is still a whole number, and no answer fails for it. */
const Whole = Num.pipe(Schema.filter(Number.isInteger, { jsonSchema: { type: "integer" } }))
/** RFC 3339 in UTC and whole seconds. */
const Instant = Str
/** The same, or empty: no time. */
const InstantOrEmpty = Str

/** What guests may read at all; the modes of single nodes decide the rest. */
export const StatisticsAccess = Struct({
  history_guest_access_mode: HistoryAccess,
  traffic_guest_access_mode: TrafficAccess
}).annotations({ identifier: "StatisticsAccess" })
export type StatisticsAccess = typeof StatisticsAccess.Type

/** All seven are always there; the zone is never empty. */
export const TrafficSettingsAnswer = Struct({
  guest_access_mode: TrafficAccess,
  usage_mode: UsageMode,
  cycle_mode: EffectiveCycleMode,
  billing_start_day: Int.pipe(Schema.between(1, 31)),
  /** Empty or `YYYY-MM-DD`. */
  billing_anchor_date: Str,
  billing_timezone: Str,
  direction_mode: EffectiveDirectionMode
}).annotations({ identifier: "TrafficSettings" })
export type TrafficSettingsAnswer = typeof TrafficSettingsAnswer.Type

const written = optional(NullOr(Str))

/** Write form; `src/core/TrafficSettings` judges the values. */
export const TrafficSettingsWrite = Struct({
  guest_access_mode: written,
  usage_mode: written,
  cycle_mode: written,
  billing_start_day: optional(NullOr(Int)),
  billing_anchor_date: written,
  billing_timezone: written,
  direction_mode: written
}).annotations({
  identifier: "TrafficSettingsWrite",
  description:
    "Any subset. `guest_access_mode`: disabled, by_node. `usage_mode`: lite, billing. `cycle_mode`: calendar_month, vendor_compatible, clamp_to_month_end. `billing_start_day`: 1 to 31. `billing_anchor_date`: empty, YYYY-MM-DD or RFC 3339. `billing_timezone`: an IANA name, or empty for the zone of the service. `direction_mode`: out, both, max. What the cycle mode does not use is cleared."
})
export type TrafficSettingsWrite = typeof TrafficSettingsWrite.Type

/** Boundaries of a calendar in each direction: two years of months. */
export const calendarBoundaries = 24

/** The first instant of a cycle, which is the end of the one before, and the date that the clocks of its zone show then. */
const Boundary = Struct({ start: Instant, date: Str }).annotations({ identifier: "TrafficBoundary" })

/** The cycles that some settings make, for a look at them before they are saved. */
export const TrafficCalendar = Struct({
  /** What was asked for, as it would be kept, under the names of the parameters; the zone is never empty. */
  config: Struct({ mode: EffectiveCycleMode, start_day: Int, anchor_date: Str, timezone: Str }),
  at: Instant,
  /** Starts of cycles after `at`, nearest first: the first of them is the end of the cycle that `at` is in. */
  next: Arr(Boundary),
  /** Starts of cycles up to `at`, nearest first: the first of them is the start of the cycle that `at` is in. */
  last: Arr(Boundary)
}).annotations({ identifier: "TrafficCalendar" })
export type TrafficCalendar = typeof TrafficCalendar.Type

/** Interfaces of a node that the ledger knows, by name ascending. */
export const TrafficIfaces = Arr(Struct({ name: Str })).annotations({ identifier: "TrafficIfaces" })
export type TrafficIfaces = typeof TrafficIfaces.Type

export const TrafficCycle = Struct({
  mode: EffectiveCycleMode,
  billing_start_day: Int,
  /** Absent without one. */
  billing_anchor_date: optional(Str),
  timezone: Str,
  start: Instant,
  /** Exclusive. */
  end: Instant
}).annotations({ identifier: "TrafficCycle" })
export type TrafficCycle = typeof TrafficCycle.Type

const SelectedDirection = Schema.Literal("in", "out", "total")
/** Empty when there is no data. */
const DirectionOrEmpty = Schema.Literal("in", "out", "total", "")

/** Why there is no percentile. */
const P95Reason = Schema.Literal("disabled", "lite_mode", "insufficient_samples", "snapshot_without_p95")
export const P95Status = Schema.Literal("available", ...P95Reason.literals)
export type P95Status = typeof P95Status.Type

export const TrafficStatus = Schema.Literal("provisional", "grace", "sealed", "stale")
export type TrafficStatus = typeof TrafficStatus.Type

export const TrafficStats = Struct({
  in_bytes: Whole,
  out_bytes: Whole,
  /** The node's switch; false in lite. */
  p95_enabled: Bool,
  p95_status: P95Status,
  /** Repeats the status when it is not `available`, and is absent when it is. */
  p95_unavailable_reason: optional(P95Reason),
  /** Non-null only while the status is `available`. */
  in_p95_bytes_per_sec: NullOr(Num),
  out_p95_bytes_per_sec: NullOr(Num),
  in_peak_bytes_per_sec: Num,
  out_peak_bytes_per_sec: Num,
  selected_bytes: Whole,
  selected_p95_bytes_per_sec: NullOr(Num),
  selected_peak_bytes_per_sec: Num,
  selected_bytes_direction: DirectionOrEmpty,
  /** Absent without a percentile. */
  selected_p95_direction: optional(SelectedDirection),
  selected_peak_direction: DirectionOrEmpty,
  sample_count: Int,
  expected_sample_count: Int,
  effective_start: InstantOrEmpty,
  effective_end: InstantOrEmpty,
  /** 0 to 1. */
  coverage_ratio: Num,
  covered_until: InstantOrEmpty,
  gap_count: Int,
  reset_count: Int,
  cycle_complete: Bool,
  data_complete: Bool,
  status: TrafficStatus,
  /** Always the opposite of `data_complete`. */
  partial: Bool
}).annotations({ identifier: "TrafficStats" })
export type TrafficStats = typeof TrafficStats.Type

const subject = {
  server_id: Int,
  iface: Str,
  usage_mode: UsageMode,
  direction_mode: EffectiveDirectionMode
}

const usage = { ...subject, cycle: TrafficCycle, stats: TrafficStats }

export const TrafficSummary = Struct({
  ...usage,
  /** The node's name, trimmed. */
  server_name: optional(Str)
}).annotations({ identifier: "TrafficSummary" })
export type TrafficSummary = typeof TrafficSummary.Type

/** One row per local day, ascending; `start` and `end` are cut to the effective window. */
export const TrafficDaily = Struct({
  items: Arr(Struct({ ...subject, start: Instant, end: Instant, stats: TrafficStats }))
}).annotations({ identifier: "TrafficDaily" })
export type TrafficDaily = typeof TrafficDaily.Type

/** Newest cycle first; a cycle without data is left out. */
export const TrafficMonthly = Struct({
  /** True for `period=current`. */
  includes_current: Bool,
  items: Arr(Struct(usage))
}).annotations({ identifier: "TrafficMonthly" })
export type TrafficMonthly = typeof TrafficMonthly.Type
