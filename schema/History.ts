// History as it is read: metrics, ranges, aggregates, points, and the online rate of a node.
import { Schema } from "effect"

const { Array: Arr, Int, NullOr, Number: Num, String: Str, Struct } = Schema

/** Metrics of the whole node; a device is not looked at, except that the network rates take an interface. */
export const hostMetrics = [
  "cpu.usage_ratio",
  "cpu.load1",
  "cpu.load5",
  "cpu.load15",
  "cpu.temp_c",
  "mem.used",
  "mem.used_ratio",
  "swap.used_ratio",
  "proc.count",
  "net.recv_bps",
  "net.sent_bps",
  "conn.tcp",
  "conn.udp",
  "thermal.max_temp_c",
  "pressure.cpu.some_avg10",
  "pressure.cpu.some_avg60",
  "pressure.cpu.some_avg300",
  "pressure.memory.some_avg10",
  "pressure.memory.some_avg60",
  "pressure.memory.some_avg300",
  "pressure.memory.full_avg10",
  "pressure.memory.full_avg60",
  "pressure.memory.full_avg300",
  "pressure.io.some_avg10",
  "pressure.io.some_avg60",
  "pressure.io.some_avg300",
  "pressure.io.full_avg10",
  "pressure.io.full_avg60",
  "pressure.io.full_avg300"
] as const

/** Metrics of one device, which the request must name. */
export const deviceMetrics = [
  "disk.read_bps",
  "disk.write_bps",
  "disk.read_iops",
  "disk.write_iops",
  "disk.iops",
  "disk.util_ratio",
  "disk.used",
  "disk.used_ratio",
  "disk.inodes_used_ratio",
  "disk.temp_c"
] as const

/** Metrics that take a device and are the whole node's without one. */
export const optionalDeviceMetrics: ReadonlyArray<string> = ["net.recv_bps", "net.sent_bps"]

export const HistoryMetric = Schema.Literal(...hostMetrics, ...deviceMetrics)
export type HistoryMetric = typeof HistoryMetric.Type

export const HistoryAgg = Schema.Literal("avg", "max", "min", "last")
export type HistoryAgg = typeof HistoryAgg.Type

/** The contract's ranges in milliseconds, each with its step in seconds. */
export const historyRanges = {
  "30m": { spanMs: 1_800_000, stepSec: 3 },
  "1h": { spanMs: 3_600_000, stepSec: 6 },
  "12h": { spanMs: 43_200_000, stepSec: 60 },
  "24h": { spanMs: 86_400_000, stepSec: 120 },
  "1w": { spanMs: 604_800_000, stepSec: 900 },
  "15d": { spanMs: 1_296_000_000, stepSec: 1800 },
  "30d": { spanMs: 2_592_000_000, stepSec: 3600 }
} as const
export type HistoryRange = keyof typeof historyRanges

/** Points of an answer at most; a custom stretch takes the finest step that stays below. */
export const historyPointsMax = 2000

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

/** Buckets of an online answer, whatever its range. */
export const onlineBuckets = 48
export const onlineSteps: Record<OnlineRange, number> = { "24h": 1800, "7d": 12_600 }

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
