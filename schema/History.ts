// History as it is read: metrics, ranges, aggregates, points, and the online rate of a node.
import { Schema } from "effect"
import { deviceMetrics, hostMetrics } from "./HistoryTerms.ts"

const { Array: Arr, Int, NullOr, Number: Num, String: Str, Struct } = Schema

export const HistoryMetric = Schema.Literal(...hostMetrics, ...deviceMetrics)
export type HistoryMetric = typeof HistoryMetric.Type

export const HistoryAgg = Schema.Literal("avg", "max", "min", "last")
export type HistoryAgg = typeof HistoryAgg.Type

const Stretch = Struct({ from: Str, to: Str })

export const HistoryAnswer = Struct({
  server_id: Int,
  metric: Str,
  /** One of the contract's ranges, or `custom`. */
  range: Str,
  agg: HistoryAgg,
  step_sec: Int,
  /** The device as asked for; absent when the metric took none. */
  device: Schema.optional(Str),
  from: Str,
  to: Str,
  /** Ascending; `ts` is the start of a bucket. A bucket without samples is absent. */
  points: Arr(Struct({ ts: Str, value: NullOr(Num) })),
  /** Stretches whose stored figures are damaged and therefore missing above; at most 100. */
  missing: Arr(Stretch)
}).annotations({ identifier: "History" })
export type HistoryAnswer = typeof HistoryAnswer.Type

export const OnlineRange = Schema.Literal("24h", "7d")
export type OnlineRange = typeof OnlineRange.Type

export const OnlineAnswer = Struct({
  server_id: Int,
  range: OnlineRange,
  step_sec: Int,
  points: Arr(
    Struct({
      ts: Str,
      /** 0 from a rate of 0.995, 1 from 0.99, else 2. */
      status: Schema.Literal(0, 1, 2),
      /** Reports received per report promised; may pass 1. */
      rate: Num,
      received: Int,
      /** Reports that the node's interval promised while this service could take them. */
      expected: Int
    })
  )
}).annotations({ identifier: "Online" })
export type OnlineAnswer = typeof OnlineAnswer.Type
