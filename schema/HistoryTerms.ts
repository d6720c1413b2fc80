// The names and numbers of history: metrics, ranges and steps.

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

/** Buckets of an online answer, whatever its range. */
export const onlineBuckets = 48
export const onlineSteps: Record<"24h" | "7d", number> = { "24h": 1800, "7d": 12_600 }
