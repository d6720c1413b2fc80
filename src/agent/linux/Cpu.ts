// CPU times, load and processor identity, from /proc/stat, /proc/loadavg and /proc/cpuinfo.
import { counterOf, increase, ratioOf } from "../Rate.ts"
import type { CpuInfo, CpuMetrics } from "../Report.ts"

/** Cumulative clock ticks since boot, summed over all CPUs. */
export interface CpuTicks {
  readonly user: number
  readonly nice: number
  readonly system: number
  readonly idle: number
  readonly iowait: number
  readonly irq: number
  readonly softirq: number
  readonly steal: number
}

/** Ticks per second of /proc/stat: fixed by the Linux user space interface on every architecture we ship. */
const ticksPerSecond = 100

/** Parses the total line of /proc/stat; throws without one. Guest time is contained in user and nice. */
export const parseStat = (text: string): CpuTicks => {
  const line = text.split("\n").find((candidate) => candidate.startsWith("cpu "))
  if (line === undefined) throw new Error("no total line in stat")
  const ticks = line.trim().split(/\s+/).slice(1).map(counterOf)
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks
  return { user, nice, system, idle, iowait, irq, softirq, steal }
}

/** Busy share 0..1 between two readings; a field that went backwards (iowait may) counts as unchanged. */
export const usageRatio = (before: CpuTicks, after: CpuTicks): number => {
  const idle = increase(before.idle, after.idle) + increase(before.iowait, after.iowait)
  const busy =
    increase(before.user, after.user) +
    increase(before.nice, after.nice) +
    increase(before.system, after.system) +
    increase(before.irq, after.irq) +
    increase(before.softirq, after.softirq) +
    increase(before.steal, after.steal)
  return ratioOf(busy, busy + idle)
}

/** CPU seconds as sent: nice is told as user, interrupts as system, so that the five together are all time there was. */
export const timesOf = (ticks: CpuTicks): CpuMetrics["times"] => ({
  user: (ticks.user + ticks.nice) / ticksPerSecond,
  system: (ticks.system + ticks.irq + ticks.softirq) / ticksPerSecond,
  idle: ticks.idle / ticksPerSecond,
  iowait: ticks.iowait / ticksPerSecond,
  steal: ticks.steal / ticksPerSecond
})

export interface Load {
  readonly load1: number
  readonly load5: number
  readonly load15: number
}

/** What is sent when the load cannot be read. */
export const unknownLoad: Load = { load1: -1, load5: -1, load15: -1 }

/** Parses /proc/loadavg; throws when the three numbers are not there. */
export const parseLoadavg = (text: string): Load => {
  const [load1, load5, load15] = text.trim().split(/\s+/, 3).map(Number)
  if (![load1, load5, load15].every((load) => load !== undefined && Number.isFinite(load) && load >= 0)) {
    throw new Error("no load averages")
  }
  return { load1: load1 ?? -1, load5: load5 ?? -1, load15: load15 ?? -1 }
}

/** Where a processor sits; null where the kernel does not say. */
export interface CoreIds {
  readonly socket: string | null
  readonly core: string | null
}

interface Processor {
  readonly fields: ReadonlyMap<string, string>
}

const processorsOf = (text: string): ReadonlyArray<Processor> =>
  text
    .split(/\n\s*\n/)
    .map((block) => {
      const fields = new Map<string, string>()
      for (const line of block.split("\n")) {
        const at = line.indexOf(":")
        if (at > 0) fields.set(line.slice(0, at).trim(), line.slice(at + 1).trim())
      }
      return { fields }
    })
    .filter(({ fields }) => fields.has("processor"))

/** Counts distinct sockets and cores; a processor without a core id counts as a core of its own. */
export const countCores = (ids: ReadonlyArray<CoreIds>): { readonly sockets: number; readonly cores: number } => {
  const sockets = new Set<string>()
  const cores = new Set<string>()
  ids.forEach(({ core, socket }, index) => {
    const seat = socket === null || Number(socket) < 0 ? "0" : socket
    sockets.add(seat)
    cores.add(core === null || Number(core) < 0 ? `#${index}` : `${seat}/${core}`)
  })
  return { sockets: sockets.size, cores: cores.size }
}

/**
 * Parses /proc/cpuinfo. `topology` (per processor, from sysfs) is used where cpuinfo names no cores, as on ARM;
 * `board` stands in for a missing model name; `maxKilohertz` is the rated frequency, preferred to the current one.
 */
export const parseCpuinfo = (
  text: string,
  topology: ReadonlyArray<CoreIds>,
  board: string | null,
  maxKilohertz: number | null
): CpuInfo => {
  const processors = processorsOf(text)
  const first = processors[0]?.fields
  const told = processors.map(({ fields }) => ({
    socket: fields.get("physical id") ?? null,
    core: fields.get("core id") ?? null
  }))
  const isTold = told.length > 0 && told.every(({ core }) => core !== null)
  const { cores, sockets } = countCores(isTold || topology.length === 0 ? told : topology)
  const currentMhz = Number(first?.get("cpu MHz") ?? 0)
  const megahertz = maxKilohertz !== null && maxKilohertz > 0 ? maxKilohertz / 1000 : currentMhz
  return {
    model_name: first?.get("model name") ?? board ?? "",
    vendor_id: first?.get("vendor_id") ?? implementers[first?.get("CPU implementer") ?? ""] ?? "",
    sockets,
    cores_physical: cores,
    cores_logical: processors.length,
    frequency_mhz: Number.isFinite(megahertz) ? megahertz : 0
  }
}

/** The implementer codes of ARM processors met on servers and boards. */
const implementers: Record<string, string> = {
  "0x41": "ARM",
  "0x42": "Broadcom",
  "0x43": "Cavium",
  "0x46": "Fujitsu",
  "0x48": "HiSilicon",
  "0x4e": "NVIDIA",
  "0x50": "APM",
  "0x51": "Qualcomm",
  "0x61": "Apple",
  "0xc0": "Ampere"
}
