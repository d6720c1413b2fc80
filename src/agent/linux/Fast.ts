// The fast half of the Linux collector: everything that is read anew for every report.
import type { Clock } from "../Clock.ts"
import { type CollectorOptions, processCountEvery, uptimeText, volumesMax } from "../Collector.ts"
import type { CpuMetrics, Metrics, NetworkInterface, PhysicalDisk } from "../Report.ts"
import { makeSource, type Source } from "../Source.ts"
import type { Topology } from "./BlockDevices.ts"
import { type CpuTicks, type Load, parseLoadavg, parseStat, timesOf, unknownLoad, usageRatio } from "./Cpu.ts"
import { type DiskCounters, ioBetween, parseDiskstats, physicalDisk, selectPhysical } from "./DiskStats.ts"
import { type Memory, parseMeminfo, unknownMemory } from "./Memory.ts"
import {
  type InterfaceCounters,
  interfaceReport,
  type InterfaceTraits,
  parseNetDev,
  readTraits,
  selectInterfaces
} from "./Network.ts"
import { parseSockstat, type SocketCounts } from "./Sockets.ts"
import { parseUptime } from "./System.ts"
import { namesIn, readText, type Roots } from "./Tree.ts"

/** A reading with the monotonic time it was taken at. */
interface Reading<T> {
  readonly value: T
  readonly atMs: number
}

type Counters<T> = ReadonlyMap<string, T>

/** Turns a source of counters into pairs: the earlier reading, the later one, and the seconds between them. */
const makePairs = <T>(clock: Clock, empty: T, read: () => T) => {
  const source: Source<Reading<T>> = makeSource(clock, { value: empty, atMs: clock.monotonicMs() }, () => ({
    value: read(),
    atMs: clock.monotonicMs()
  }))
  let last: Reading<T> | null = null
  return (): { readonly before: T; readonly after: T; readonly seconds: number } => {
    const after = source.value()
    // An answer of a source that had failed for long is no reading to compare with.
    const before = last === null || last.value === empty ? after : last
    last = after
    return { before: before.value, after: after.value, seconds: (after.atMs - before.atMs) / 1000 }
  }
}

const noTicks: CpuTicks = { user: 0, nice: 0, system: 0, idle: 0, iowait: 0, irq: 0, softirq: 0, steal: 0 }

/** CPU use since the previous call, with load averages. */
const makeCpu = (roots: Roots, clock: Clock): (() => CpuMetrics) => {
  const pairs = makePairs(clock, noTicks, () => parseStat(readText(roots.proc, "stat")))
  const load: Source<Load> = makeSource(clock, unknownLoad, () => parseLoadavg(readText(roots.proc, "loadavg")))
  return () => {
    const { after, before } = pairs()
    return { usage_ratio: usageRatio(before, after), ...load.value(), times: timesOf(after) }
  }
}

const makeDisks = (roots: Roots, clock: Clock): ((topology: Topology) => ReadonlyArray<PhysicalDisk>) => {
  const pairs = makePairs<Counters<DiskCounters>>(clock, new Map(), () =>
    parseDiskstats(readText(roots.proc, "diskstats"))
  )
  return (topology) => {
    const { after, before, seconds } = pairs()
    return selectPhysical(after.keys(), topology.devices)
      .slice(0, volumesMax)
      .flatMap((name) => {
        const counters = after.get(name)
        return counters === undefined ? [] : [physicalDisk(name, ioBetween(before.get(name), counters, seconds))]
      })
  }
}

interface Network {
  readonly sample: () => ReadonlyArray<NetworkInterface>
  readonly forget: () => void
}

/** Traits and addresses are kept until `forget`, because asking for them costs more than the counters. */
const makeNetwork = (
  options: CollectorOptions,
  roots: Roots,
  clock: Clock,
  addressed: () => ReadonlySet<string>
): Network => {
  const pairs = makePairs<Counters<InterfaceCounters>>(clock, new Map(), () =>
    parseNetDev(readText(roots.proc, "net", "dev"))
  )
  const traits = new Map<string, InterfaceTraits>()
  let addresses: ReadonlySet<string> | null = null
  const traitsOf = (name: string): InterfaceTraits => {
    const known = traits.get(name) ?? readTraits(roots, name)
    traits.set(name, known)
    return known
  }
  const hasAddress = (name: string): boolean => (addresses ??= addressed()).has(name)
  const sample = (): ReadonlyArray<NetworkInterface> => {
    const { after, before, seconds } = pairs()
    return selectInterfaces([...after.keys()], options.interfaces, traitsOf, hasAddress).flatMap((name) => {
      const counters = after.get(name)
      return counters === undefined ? [] : [interfaceReport(name, before.get(name), counters, seconds)]
    })
  }
  const forget = (): void => {
    traits.clear()
    addresses = null
  }
  return { sample, forget }
}

const countProcesses = (roots: Roots): number => {
  const count = namesIn(roots.proc).filter((name) => /^\d+$/.test(name)).length
  if (count === 0) throw new Error("no processes listed")
  return count
}

/** IPv6 may be off; then its file is missing and counts nothing. */
const readSockets = (roots: Roots): SocketCounts => {
  let v6 = ""
  try {
    v6 = readText(roots.proc, "net", "sockstat6")
  } catch {
    v6 = ""
  }
  return parseSockstat(readText(roots.proc, "net", "sockstat"), v6)
}

export interface FastSample {
  readonly cpu: CpuMetrics
  readonly memory: Memory
  readonly physical: ReadonlyArray<PhysicalDisk>
  readonly network: ReadonlyArray<NetworkInterface>
  readonly system: Metrics["system"]
  readonly processes: Metrics["processes"]
  readonly connections: Metrics["connections"]
}

export interface Fast {
  /** Never throws; each part falls back on its own last value. */
  readonly sample: (topology: Topology) => FastSample
  /** Makes the next sample ask again which interfaces are up and have addresses. */
  readonly forget: () => void
}

export const makeFast = (
  options: CollectorOptions,
  roots: Roots,
  clock: Clock,
  addressed: () => ReadonlySet<string>
): Fast => {
  const cpu = makeCpu(roots, clock)
  const disks = makeDisks(roots, clock)
  const network = makeNetwork(options, roots, clock, addressed)
  const memory = makeSource(clock, unknownMemory, () => parseMeminfo(readText(roots.proc, "meminfo")))
  const uptime = makeSource(clock, 0, () => parseUptime(readText(roots.proc, "uptime")))
  const processes = makeSource(clock, 0, () => countProcesses(roots))
  const sockets = makeSource(clock, { tcp: 0, udp: 0 }, () => readSockets(roots))
  let round = 0
  let processCount = 0
  const sample = (topology: Topology): FastSample => {
    if (round % processCountEvery === 0) processCount = processes.value()
    round = (round + 1) % processCountEvery
    const uptimeSeconds = uptime.value()
    const { tcp, udp } = sockets.value()
    return {
      cpu: cpu(),
      memory: memory.value(),
      physical: disks(topology),
      network: network.sample(),
      system: { alive: true, uptime_seconds: uptimeSeconds, uptime: uptimeText(uptimeSeconds) },
      processes: { process_count: processCount },
      connections: { tcp_count: tcp, udp_count: udp }
    }
  }
  return { sample, forget: network.forget }
}
