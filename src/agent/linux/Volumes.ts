// The capacity view: which disks, arrays, volume groups and pools the mounted filesystems fill.
import { membersMax, shortened, volumesMax } from "../Collector.ts"
import { ratioOf } from "../Rate.ts"
import type { LogicalVolume, StaticVolume } from "../Report.ts"
import { deviceOf, ownerOf, type Topology, volumeGroups } from "./BlockDevices.ts"
import type { MeasuredMount } from "./Filesystems.ts"
import { arrayReport, type MdArray } from "./Raid.ts"

/** A volume with what both the report and Static tell of it. */
export interface Volume {
  readonly report: LogicalVolume
  readonly fixed: StaticVolume
}

export interface ZfsPool {
  readonly name: string
  /** `ONLINE`, `DEGRADED` and so on, as the kernel module tells it. */
  readonly state: string
}

type Kind = "disk" | "raid_md" | "lvm_vg" | "zfs_pool"

interface Draft {
  readonly kind: Kind
  readonly name: string
  readonly device: string | null
  readonly health: string | null
  readonly members: ReadonlyArray<string>
  /** Size of the device, for a volume on which nothing is mounted. */
  readonly bytes: number
  readonly mounts: Array<MeasuredMount>
}

const refPrefix: Record<Kind, string> = { disk: "disk", raid_md: "raid", lvm_vg: "lvm_vg", zfs_pool: "zfs" }

/**
 * Sums the mounted filesystems per owner, sorted by kind and name. Arrays, groups and pools are told even when nothing
 * is mounted on them (0/0); a plain disk only when it holds a filesystem itself, whatever else there is.
 */
export const volumesOf = (
  topology: Topology,
  measured: ReadonlyArray<MeasuredMount>,
  arrays: ReadonlyArray<MdArray>,
  pools: ReadonlyArray<ZfsPool>
): ReadonlyArray<Volume> => {
  const drafts = new Map<string, Draft>()
  const draft = (kind: Kind, name: string, more: Partial<Draft>): Draft => {
    const key = `${kind} ${name}`
    const known = drafts.get(key)
    if (known !== undefined) return known
    const fresh = { kind, name, device: null, health: null, members: [], bytes: 0, ...more, mounts: [] }
    drafts.set(key, fresh)
    return fresh
  }
  const bytesOf = (device: string): number => topology.devices?.get(device)?.bytes ?? 0
  for (const array of arrays) {
    const members = array.members.map(({ name }) => name).sort()
    const health = arrayReport(array).health
    draft("raid_md", array.name, { device: array.name, health, members, bytes: bytesOf(array.name) })
  }
  for (const group of volumeGroups(topology)) draft("lvm_vg", group.name, { members: group.devices })
  for (const pool of pools) draft("zfs_pool", pool.name, { health: pool.state })
  for (const entry of measured) {
    const { deviceNumber, fsType, source } = entry.mount
    const pool =
      fsType === "zfs" ? pools.find(({ name }) => source === name || source.startsWith(`${name}/`)) : undefined
    const device = deviceOf(topology, deviceNumber, source)
    if (pool !== undefined) draft("zfs_pool", pool.name, {}).mounts.push(entry)
    else if (device !== null) {
      const owner = ownerOf(topology, device)
      draft(owner.kind, owner.name, { device: owner.device, bytes: bytesOf(owner.device) }).mounts.push(entry)
    }
  }
  return [...drafts.values()]
    .sort((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1))
    .slice(0, volumesMax)
    .map(volumeOf)
}

/** Datasets of one pool share its free space, so free counts once there; elsewhere every filesystem has its own. */
const freeOf = (draft: Draft): number =>
  draft.kind === "zfs_pool"
    ? draft.mounts.reduce((most, { usage }) => Math.max(most, usage.free), 0)
    : draft.mounts.reduce((sum, { usage }) => sum + usage.free, 0)

const totalOf = (draft: Draft, used: number, free: number): number => {
  if (draft.mounts.length === 0) return draft.bytes
  return draft.kind === "zfs_pool" ? used + free : draft.mounts.reduce((sum, { usage }) => sum + usage.total, 0)
}

const devicePathOf = (draft: Draft): string | null => {
  if (draft.device === null || draft.kind === "lvm_vg") return null
  if (draft.kind === "disk" && draft.device !== draft.name) return `/dev/mapper/${draft.name}`
  return draft.device.includes("/") ? null : `/dev/${draft.device}`
}

const volumeOf = (draft: Draft): Volume => {
  const used = draft.mounts.reduce((sum, { usage }) => sum + usage.used, 0)
  const free = freeOf(draft)
  const total = totalOf(draft, used, free)
  const path = devicePathOf(draft)
  const first = [...draft.mounts].sort((a, b) => (a.mount.path < b.mount.path ? -1 : 1))[0]
  const identity = {
    kind: draft.kind,
    name: shortened(draft.name),
    ...(path === null ? {} : { device_path: shortened(path) }),
    ref: shortened(`${refPrefix[draft.kind]}:${draft.name}`)
  }
  return {
    report: {
      ...identity,
      used,
      free,
      used_ratio: ratioOf(used, used + free),
      ...(draft.health === null ? {} : { health: shortened(draft.health) })
    },
    fixed: {
      ...identity,
      ...(total > 0 ? { total } : {}),
      ...(first === undefined ? {} : { mountpoint: first.mount.path, fs_type: shortened(first.mount.fsType) }),
      ...(draft.members.length === 0 ? {} : { devices: draft.members.slice(0, membersMax).map(shortened) })
    }
  }
}
