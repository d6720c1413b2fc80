// The collector of macOS and Windows: what the runtime itself can tell, and honest words for the rest.
import { statfs as nodeStatfs } from "node:fs/promises"
import * as os from "node:os"
import type { Clock } from "./Clock.ts"
import { archName, type Collector, type CollectorOptions, shortened, uptimeText } from "./Collector.ts"
import {
  filesystemReport,
  filesystemStatic,
  type MeasuredMount,
  type StatFsCall,
  usageOf
} from "./linux/Filesystems.ts"
import { unsupportedPressure } from "./linux/Pressure.ts"
import { increase, ratioOf } from "./Rate.ts"
import type { CpuMetrics, MemoryMetrics, NodeReport, Static, SystemInfo } from "./Report.ts"
import { unsupportedSmart } from "./Smart.ts"
import { agentVersion } from "./Version.ts"

/** The calls of node:os this collector uses; tests replace them. */
export type OsCalls = Pick<
  typeof os,
  "cpus" | "loadavg" | "totalmem" | "freemem" | "uptime" | "hostname" | "release" | "version"
>

interface CpuSeconds {
  readonly user: number
  readonly system: number
  readonly idle: number
}

const cpuSeconds = (calls: OsCalls): CpuSeconds => {
  const total = { user: 0, system: 0, idle: 0 }
  for (const { times } of calls.cpus()) {
    total.user += (times.user + times.nice) / 1000
    total.system += (times.sys + times.irq) / 1000
    total.idle += times.idle / 1000
  }
  return total
}

/** CPU use since the previous call; Windows keeps no load average, which is told as -1. */
const makeCpu = (calls: OsCalls, platform: string): (() => CpuMetrics) => {
  let last: CpuSeconds | null = null
  return () => {
    const now = cpuSeconds(calls)
    const before = last ?? now
    last = now
    const busy = increase(before.user, now.user) + increase(before.system, now.system)
    const [load1 = -1, load5 = -1, load15 = -1] = platform === "win32" ? [] : calls.loadavg()
    return {
      usage_ratio: ratioOf(busy, busy + increase(before.idle, now.idle)),
      load1,
      load5,
      load15,
      times: { ...now, iowait: 0, steal: 0 }
    }
  }
}

const memoryOf = (calls: OsCalls): MemoryMetrics => {
  const total = calls.totalmem()
  const available = Math.min(total, calls.freemem())
  return {
    used: total - available,
    available,
    buffers: 0,
    cached: 0,
    used_ratio: ratioOf(total - available, total),
    swap_used: 0,
    swap_free: 0,
    swap_used_ratio: 0
  }
}

const orUnknown = (text: string): string => (text.trim() === "" ? "unknown" : shortened(text.trim()))

const systemOf = (calls: OsCalls, platform: string, arch: string): SystemInfo => ({
  hostname: orUnknown(calls.hostname()),
  os: platform === "win32" ? "windows" : platform,
  platform: platform === "win32" ? orUnknown(calls.version()) : platform,
  platform_version: orUnknown(calls.release()),
  kernel_version: orUnknown(calls.release()),
  arch: archName(arch)
})

const reportOf = (calls: OsCalls, cpu: CpuMetrics, measured: ReadonlyArray<MeasuredMount>, now: Date): NodeReport => {
  const uptimeSeconds = Math.floor(calls.uptime())
  return {
    version: agentVersion,
    hostname: orUnknown(calls.hostname()),
    timestamp: now.toISOString(),
    metrics: {
      cpu,
      memory: memoryOf(calls),
      disk: {
        physical: [],
        logical: [],
        filesystems: measured.map(filesystemReport),
        base_io: [],
        smart: unsupportedSmart
      },
      network: [],
      system: { alive: true, uptime_seconds: uptimeSeconds, uptime: uptimeText(uptimeSeconds) },
      processes: { process_count: 0 },
      connections: { tcp_count: 0, udp_count: 0 },
      pressure: unsupportedPressure,
      raid: { supported: false, available: false, arrays: [] },
      thermal: { status: "unsupported", sensors: [] }
    }
  }
}

/**
 * Reports CPU, memory, uptime and the system volume. Disks, interfaces, sockets and processes have no source here and
 * are sent empty or 0; swap is unknown and sent as 0. The physical core count is unknown and sent as 0.
 */
export const makeFallbackCollector = (
  options: CollectorOptions,
  clock: Clock,
  platform: string,
  arch: string,
  calls: OsCalls = os,
  statfs: StatFsCall = (path) => nodeStatfs(path)
): Collector => {
  const cpu = makeCpu(calls, platform)
  const path = platform === "win32" ? "C:\\" : "/"
  const mount = { deviceNumber: "0:0", root: "/", path, fsType: platform === "win32" ? "ntfs" : "apfs", source: "" }
  let measured: ReadonlyArray<MeasuredMount> = []
  const refresh = async (): Promise<void> => {
    const usage = await statfs(path).then(usageOf, () => null)
    measured = usage === null ? [] : [{ mount, usage }]
  }
  const describe = (): Static => {
    const cpus = calls.cpus()
    return {
      version: agentVersion,
      timestamp: clock.now().toISOString(),
      report_interval_seconds: Math.ceil(options.intervalSeconds),
      cpu: {
        info: {
          model_name: cpus[0]?.model ?? "",
          vendor_id: "",
          sockets: cpus.length > 0 ? 1 : 0,
          cores_physical: 0,
          cores_logical: cpus.length,
          frequency_mhz: cpus[0]?.speed ?? 0
        }
      },
      memory: { total: calls.totalmem(), swap_total: 0 },
      disk: { physical: [], logical: [], filesystems: measured.map(filesystemStatic), base_io: [] },
      system: systemOf(calls, platform, arch),
      raid: { supported: false, available: false, arrays: [] }
    }
  }
  return { sample: () => reportOf(calls, cpu(), measured, clock.now()), describe, refresh }
}
