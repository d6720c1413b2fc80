// The collector of Linux: puts the fast and the slow half together into NodeReport and Static.
import { statfs as nodeStatfs } from "node:fs/promises"
import { networkInterfaces } from "node:os"
import type { Clock } from "../Clock.ts"
import type { Collector, CollectorOptions } from "../Collector.ts"
import type { BaseIo, CpuInfo, DeviceIdentity, NodeReport, Static, SystemInfo } from "../Report.ts"
import { makeSource } from "../Source.ts"
import { agentVersion } from "../Version.ts"
import { baseIoOf, baseIoStatic } from "./BaseIo.ts"
import { type CoreIds, parseCpuinfo } from "./Cpu.ts"
import { makeFast } from "./Fast.ts"
import { filesystemReport, filesystemStatic, type StatFsCall } from "./Filesystems.ts"
import { type Memory, unknownMemory } from "./Memory.ts"
import { readPressure } from "./Pressure.ts"
import { raidReport, raidStatic } from "./Raid.ts"
import { makeSlow, type SlowState } from "./Slow.ts"
import { readHostname, readSystem } from "./System.ts"
import { makeThermalProbe } from "./Thermal.ts"
import { namesIn, readText, readTrimmed, type Roots } from "./Tree.ts"

/** The machine as the collector sees it; tests replace any of it. */
export interface LinuxMachine {
  readonly roots: Roots
  readonly clock: Clock
  readonly statfs: StatFsCall
  /** Names of interfaces that have an address. */
  readonly addressed: () => ReadonlySet<string>
  /** The architecture in the runtime's words (`x64`). */
  readonly arch: string
}

/** The machine this process runs on. */
export const thisMachine = (roots: Roots, clock: Clock): LinuxMachine => ({
  roots,
  clock,
  statfs: (path) => nodeStatfs(path),
  addressed: () => new Set(Object.keys(networkInterfaces())),
  arch: process.arch
})

const noCpu: CpuInfo = {
  model_name: "",
  vendor_id: "",
  sockets: 1,
  cores_physical: 0,
  cores_logical: 0,
  frequency_mhz: 0
}

const readTopologyIds = (roots: Roots): ReadonlyArray<CoreIds> => {
  const folder = [roots.sys, "devices", "system", "cpu"] as const
  return namesIn(...folder)
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => ({
      socket: readTrimmed(...folder, name, "topology", "physical_package_id"),
      core: readTrimmed(...folder, name, "topology", "core_id")
    }))
    .filter(({ core }) => core !== null)
}

/** Processor identity; boards without a model name in cpuinfo are named by their device tree. */
const readCpuInfo = (roots: Roots): CpuInfo => {
  const board = readTrimmed(roots.proc, "device-tree", "model")?.replaceAll("\0", "") ?? null
  const rated = readTrimmed(roots.sys, "devices", "system", "cpu", "cpu0", "cpufreq", "cpuinfo_max_freq")
  const maxKilohertz = rated === null ? null : Number(rated)
  return parseCpuinfo(readText(roots.proc, "cpuinfo"), readTopologyIds(roots), board, maxKilohertz)
}

const identityOf = ({ device_path, name, ref }: DeviceIdentity): DeviceIdentity => ({
  name,
  ...(device_path === undefined ? {} : { device_path }),
  ...(ref === undefined ? {} : { ref })
})

/** What the last sample left for the description. */
interface Known {
  /** Kept once read: the current frequency moves all the time and must not look like a change of the machine. */
  readonly cpu: CpuInfo
  readonly memory: Memory
  readonly disks: ReadonlyArray<DeviceIdentity>
  readonly base: ReadonlyArray<BaseIo>
}

const staticOf = (known: Known, state: SlowState, intervalSeconds: number, system: SystemInfo, now: Date): Static => ({
  version: agentVersion,
  timestamp: now.toISOString(),
  report_interval_seconds: Math.ceil(intervalSeconds),
  cpu: { info: known.cpu },
  memory: { total: known.memory.total, swap_total: known.memory.swapTotal },
  disk: {
    physical: known.disks.map(identityOf),
    logical: state.volumes.map(({ fixed }) => fixed),
    filesystems: state.measured.map(filesystemStatic),
    base_io: baseIoStatic(known.base)
  },
  system,
  raid: { supported: true, available: state.arrays.length > 0, arrays: raidStatic(state.arrays) }
})

/** The collector of this machine or of a fixture of one. Reads nothing before the first call. */
export const makeLinuxCollector = (options: CollectorOptions, machine: LinuxMachine): Collector => {
  const { addressed, arch, clock, roots, statfs } = machine
  const fast = makeFast(options, roots, clock, addressed)
  const slow = makeSlow(options, roots, clock, statfs)
  const thermal = makeThermalProbe(roots, clock)
  const cpuInfo = makeSource(clock, noCpu, () => readCpuInfo(roots))
  let known: Known = { cpu: noCpu, memory: unknownMemory, disks: [], base: [] }

  const sample = (): NodeReport => {
    const { arrays, measured, smart, topology, underRoot, volumes } = slow.state()
    const { cpu, memory, physical, ...rest } = fast.sample(topology)
    const running = new Set(arrays.filter(({ status }) => status !== "inactive").map(({ name }) => name))
    const base = baseIoOf(physical, running, underRoot)
    known = { ...known, memory, disks: physical, base }
    void thermal.read()
    return {
      version: agentVersion,
      hostname: readHostname(roots),
      timestamp: clock.now().toISOString(),
      metrics: {
        cpu,
        memory: memory.metrics,
        disk: {
          physical,
          logical: volumes.map(({ report }) => report),
          filesystems: measured.map(filesystemReport),
          base_io: base,
          smart
        },
        ...rest,
        pressure: readPressure(roots),
        raid: raidReport(arrays),
        thermal: thermal.last()
      }
    }
  }
  const describe = (): Static => {
    if (known.cpu.cores_logical === 0) known = { ...known, cpu: cpuInfo.value() }
    return staticOf(known, slow.state(), options.intervalSeconds, readSystem(roots, arch), clock.now())
  }
  const refresh = async (): Promise<void> => {
    fast.forget()
    thermal.discover()
    await slow.refresh()
  }
  return { sample, describe, refresh }
}
