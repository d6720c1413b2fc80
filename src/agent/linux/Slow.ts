// The slow half of the Linux collector: storage layout, filesystems, arrays, pools and the SMART cache.
import type { Clock } from "../Clock.ts"
import type { CollectorOptions } from "../Collector.ts"
import type { Smart } from "../Report.ts"
import { readSmartCache } from "../Smart.ts"
import { makeSource } from "../Source.ts"
import { devicesUnderRoot } from "./BaseIo.ts"
import { emptyTopology, readTopology, type Topology } from "./BlockDevices.ts"
import { makeFilesystemProbe, type MeasuredMount, type StatFsCall } from "./Filesystems.ts"
import { parseMountinfo, selectMounts } from "./Mounts.ts"
import { type MdArray, parseMdstat } from "./Raid.ts"
import { namesIn, readText, readTrimmed, errorCode, type Roots } from "./Tree.ts"
import { type Volume, volumesOf, type ZfsPool } from "./Volumes.ts"

/** What the last refresh found. */
export interface SlowState {
  readonly topology: Topology
  readonly measured: ReadonlyArray<MeasuredMount>
  readonly arrays: ReadonlyArray<MdArray>
  readonly volumes: ReadonlyArray<Volume>
  readonly underRoot: ReadonlySet<string>
  readonly smart: Smart
}

export interface Slow {
  /** Everything but filesystem usage is renewed before the first wait. Never rejects. */
  readonly refresh: () => Promise<void>
  readonly state: () => SlowState
}

/** A kernel without md has no mdstat; that is no failure. */
const readArrays = (roots: Roots): ReadonlyArray<MdArray> => {
  try {
    return parseMdstat(readText(roots.proc, "mdstat"))
  } catch (error) {
    if (errorCode(error) === "ENOENT") return []
    throw error
  }
}

/** Pools of the ZFS module with their state word; empty without the module. */
const readPools = (roots: Roots): ReadonlyArray<ZfsPool> =>
  namesIn(roots.proc, "spl", "kstat", "zfs").flatMap((name) => {
    const state = readTrimmed(roots.proc, "spl", "kstat", "zfs", name, "state")
    return state === null || state === "" ? [] : [{ name, state }]
  })

export const makeSlow = (options: CollectorOptions, roots: Roots, clock: Clock, statfs: StatFsCall): Slow => {
  const probe = makeFilesystemProbe(statfs)
  const topology = makeSource(clock, emptyTopology, () => readTopology(roots))
  const allMounts = makeSource(clock, [], () => parseMountinfo(readText(roots.proc, "self", "mountinfo")))
  const arrays = makeSource(clock, [], () => readArrays(roots))
  const smart = makeSource<Smart>(clock, { status: "no_cache", devices: [] }, () =>
    readSmartCache(options.smartCachePath, clock.now())
  )
  let state: SlowState = {
    topology: emptyTopology,
    measured: [],
    arrays: [],
    volumes: [],
    underRoot: new Set(),
    smart: { status: "no_cache", devices: [] }
  }
  const refresh = async (): Promise<void> => {
    const mounts = allMounts.value()
    const devices = topology.value()
    state = {
      ...state,
      topology: devices,
      arrays: arrays.value(),
      underRoot: devicesUnderRoot(devices, mounts),
      smart: smart.value()
    }
    await probe.refresh(selectMounts(mounts))
    const measured = probe.measured()
    state = { ...state, measured, volumes: volumesOf(devices, measured, state.arrays, readPools(roots)) }
  }
  return { refresh, state: () => state }
}
