// How block devices stand on each other: disks, partitions, arrays and mapped devices, from /sys/block.
import { exists, namesIn, readTrimmed, type Roots } from "./Tree.ts"

export interface BlockDevice {
  readonly name: string
  readonly bytes: number
  readonly isBacked: boolean
  readonly isHidden: boolean
  /** Devices this one is built of. */
  readonly slaves: ReadonlyArray<string>
  /** Name and identity of a mapped device, null for any other. */
  readonly mapped: { readonly name: string; readonly uuid: string } | null
}

/** The devices of a machine, and the two ways from a mount to one of them. */
export interface Topology {
  /** Whole devices by kernel name; null when /sys/block cannot be read. */
  readonly devices: ReadonlyMap<string, BlockDevice> | null
  /** Partition name to the name of its disk. */
  readonly partitions: ReadonlyMap<string, string>
  /** `8:1` to the name of a disk or partition. */
  readonly numbers: ReadonlyMap<string, string>
}

export const emptyTopology: Topology = { devices: null, partitions: new Map(), numbers: new Map() }

/** What holds a filesystem, as the capacity view names it. */
export interface Owner {
  readonly kind: "disk" | "raid_md" | "lvm_vg"
  readonly name: string
  readonly device: string
}

/** A guard against a tree that refers to itself; real stacks are four or five deep. */
const depthMax = 12
const sectorBytes = 512
/** Far past the largest machine; a bound for a /sys that is not what it seems. */
const devicesMax = 8192

const kernelName = (entry: string): string => entry.replaceAll("!", "/")

/** Reads /sys/block with partitions; costs about ten small reads per device, so it belongs into the slow loop. */
export const readTopology = (roots: Roots): Topology => {
  const entries = namesIn(roots.sys, "block").slice(0, devicesMax)
  if (entries.length === 0) return emptyTopology
  const devices = new Map<string, BlockDevice>()
  const partitions = new Map<string, string>()
  const numbers = new Map<string, string>()
  for (const entry of entries) {
    const name = kernelName(entry)
    const at = [roots.sys, "block", entry] as const
    devices.set(name, readDevice(at, name))
    const number = readTrimmed(...at, "dev")
    if (number !== null) numbers.set(number, name)
    for (const part of namesIn(...at)) {
      if (!part.startsWith(entry) || !exists(...at, part, "partition")) continue
      partitions.set(kernelName(part), name)
      const partNumber = readTrimmed(...at, part, "dev")
      if (partNumber !== null) numbers.set(partNumber, kernelName(part))
    }
  }
  return { devices, partitions, numbers }
}

const readDevice = (at: ReadonlyArray<string>, name: string): BlockDevice => {
  const mappedName = readTrimmed(...at, "dm", "name")
  return {
    name,
    bytes: Number(readTrimmed(...at, "size") ?? 0) * sectorBytes,
    isBacked: exists(...at, "device"),
    isHidden: readTrimmed(...at, "hidden") === "1",
    slaves: namesIn(...at, "slaves").map(kernelName),
    mapped: mappedName === null ? null : { name: mappedName, uuid: readTrimmed(...at, "dm", "uuid") ?? "" }
  }
}

/** The volume group of a mapped logical volume: the name up to the first single hyphen, doubled ones undone. */
export const volumeGroupOf = (mappedName: string): string => {
  const match = /^((?:[^-]|--)+)-(?!-)/.exec(mappedName)
  return (match?.[1] ?? mappedName).replaceAll("--", "-")
}

/** The kernel name behind a mount: by device number, else by the path of its source; null for exports and datasets. */
export const deviceOf = (topology: Topology, deviceNumber: string, source: string): string | null => {
  const numbered = topology.numbers.get(deviceNumber)
  if (numbered !== undefined) return numbered
  if (!source.startsWith("/dev/")) return null
  const base = source.slice("/dev/".length)
  if (topology.devices?.has(base) === true || topology.partitions.has(base)) return base
  const mappedName = source.startsWith("/dev/mapper/") ? source.slice("/dev/mapper/".length) : null
  if (mappedName === null) return null
  for (const device of topology.devices?.values() ?? []) if (device.mapped?.name === mappedName) return device.name
  return null
}

/**
 * The topmost thing that owns the space under a device: an LVM volume group, an md array, or a disk. Encrypted and
 * other mapped devices are looked through; multipath ones are the disk, under their alias.
 */
export const ownerOf = (topology: Topology, deviceName: string): Owner => {
  let name = deviceName
  for (let depth = 0; depth < depthMax; depth++) {
    name = topology.partitions.get(name) ?? name
    const device = topology.devices?.get(name)
    if (device === undefined || /^md(?:\d|_)/.test(name)) break
    const { mapped, slaves } = device
    if (mapped?.uuid.startsWith("LVM-") === true)
      return { kind: "lvm_vg", name: volumeGroupOf(mapped.name), device: name }
    if (mapped?.uuid.startsWith("mpath-") === true) return { kind: "disk", name: mapped.name, device: name }
    const below = slaves[0]
    if (below === undefined) return { kind: "disk", name: mapped?.name ?? name, device: name }
    name = below
  }
  return { kind: /^md(?:\d|_)/.test(name) ? "raid_md" : "disk", name, device: name }
}

/** Every whole device under a device, itself included when it is one; names in no order. */
export const devicesUnder = (topology: Topology, deviceName: string): ReadonlySet<string> => {
  const found = new Set<string>()
  const visit = (name: string, depth: number): void => {
    const whole = topology.partitions.get(name) ?? name
    if (found.has(whole) || depth > depthMax) return
    found.add(whole)
    for (const slave of topology.devices?.get(whole)?.slaves ?? []) visit(slave, depth + 1)
  }
  visit(deviceName, 0)
  return found
}

export interface VolumeGroup {
  readonly name: string
  /** Devices its volumes lie on, sorted. */
  readonly devices: ReadonlyArray<string>
}

/** The volume groups with at least one active volume, sorted by name. Needs no root: names come from mapped devices. */
export const volumeGroups = (topology: Topology): ReadonlyArray<VolumeGroup> => {
  const groups = new Map<string, Set<string>>()
  const devices = topology.devices ?? new Map<string, BlockDevice>()
  const isVolume = (device: BlockDevice | undefined): boolean => device?.mapped?.uuid.startsWith("LVM-") === true
  for (const device of devices.values()) {
    if (device.mapped === null || !isVolume(device)) continue
    const name = volumeGroupOf(device.mapped.name)
    const members = groups.get(name) ?? new Set<string>()
    groups.set(name, members)
    for (const slave of device.slaves) if (!isVolume(devices.get(slave))) members.add(slave)
  }
  return [...groups]
    .map(([name, members]) => ({ name, devices: [...members].sort() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
