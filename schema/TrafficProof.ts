// How a traffic figure came about, and the rebuild that proves it: appended to the contract, so that a bill can be checked.
import { Schema } from "effect"
import { TrafficCycle } from "./Traffic.ts"

const { Array: Arr, Boolean: Bool, Int, NullOr, Number: Num, optional, String: Str, Struct } = Schema

/** What made a five-minute fact less than a plain difference of two readings. */
export const FactFlag = Schema.Literal("reset", "lower_bound", "wrap32", "quarantined")
export type FactFlag = typeof FactFlag.Type

/** One five-minute fact, as it stands in the ledger. */
export const TrafficFact = Struct({
  /** RFC 3339, a multiple of five minutes in UTC. */
  start: Str,
  in_bytes: Int,
  out_bytes: Int,
  covered_sec: Num,
  /** Whether its rates are samples of the percentile. */
  valid: Bool,
  /** Bytes per second; null unless it is valid. */
  in_rate: NullOr(Num),
  out_rate: NullOr(Num),
  gap_count: Int,
  reset_count: Int,
  flags: Arr(FactFlag)
}).annotations({ identifier: "TrafficFact" })
export type TrafficFact = typeof TrafficFact.Type

/** The percentile of one series. */
const P95Side = Struct({
  /** Higher slots that the rule leaves out: floor(0.05 n). */
  discarded: Int,
  /** The slot whose rate is the percentile; null when there is none. */
  deciding: NullOr(Struct({ start: Str, bytes_per_sec: Num }))
}).annotations({ identifier: "TrafficP95Side" })

const Occurrence = Struct({ start: Str, count: Int })

/** Everything that the summary of the same cycle is made of. */
export const TrafficExplain = Struct({
  server_id: Int,
  iface: Str,
  cycle: TrafficCycle,
  /** Ascending; a bucket in which nothing was measured has none. */
  facts: Arr(TrafficFact),
  p95: Struct({
    /** The rule in words. */
    rule: Str,
    sample_count: Int,
    in: P95Side,
    out: P95Side,
    /** Of the sums of both per slot. */
    total: P95Side
  }),
  /** Buckets in which gaps or resets were counted, ascending. */
  gaps: Arr(Occurrence),
  resets: Arr(Occurrence)
}).annotations({ identifier: "TrafficExplain" })
export type TrafficExplain = typeof TrafficExplain.Type

/** The one rebuild that may run; what is known of the last one is forgotten when the service stops. */
export const TrafficRebuild = Struct({
  status: Schema.Literal("idle", "running", "completed", "failed"),
  running: Bool,
  server_id: optional(Int),
  started_at: optional(Str),
  finished_at: optional(Str),
  /** Why it failed. */
  code: optional(Schema.Literal("traffic_rebuild_canceled", "traffic_rebuild_timeout", "traffic_rebuild_failed")),
  error: optional(Str),
  facts_read: Int,
  facts_total: Int,
  /** Whether the totals made anew from the facts were those that stood there; null before that is known. */
  identical: NullOr(Bool)
}).annotations({ identifier: "TrafficRebuild" })
export type TrafficRebuild = typeof TrafficRebuild.Type
