// Which devices stand for "the disk's I/O" of a machine, and which of them comes first.
import { volumesMax } from "../Collector.ts"
import type { BaseIo, PhysicalDisk, StaticBaseIo } from "../Report.ts"
import { deviceOf, devicesUnder, type Topology } from "./BlockDevices.ts"
import type { Mount } from "./Mounts.ts"

/** The names of every whole device under `/`, so that the one that carries the system comes first. */
export const devicesUnderRoot = (topology: Topology, mounts: ReadonlyArray<Mount>): ReadonlySet<string> => {
  const root = mounts.find(({ path }) => path === "/")
  const device = root === undefined ? null : deviceOf(topology, root.deviceNumber, root.source)
  return device === null ? new Set() : devicesUnder(topology, device)
}

const zeroIsAbsent = <K extends string>(key: K, value: number): Partial<Record<K, number>> => {
  const entry: Partial<Record<K, number>> = {}
  if (value !== 0) entry[key] = value
  return entry
}

const toBaseIo = (disk: PhysicalDisk, kind: "raid" | "physical"): BaseIo => ({
  kind,
  name: disk.name,
  ...(disk.device_path === undefined ? {} : { device_path: disk.device_path }),
  ref: `${kind === "raid" ? "raid" : "disk"}:${disk.name}`,
  ...zeroIsAbsent("read_bytes", disk.read_bytes),
  ...zeroIsAbsent("write_bytes", disk.write_bytes),
  read_rate_bytes_per_sec: disk.read_rate_bytes_per_sec,
  write_rate_bytes_per_sec: disk.write_rate_bytes_per_sec,
  read_iops: disk.read_iops,
  write_iops: disk.write_iops,
  iops: disk.iops,
  ...zeroIsAbsent("util_ratio", disk.util_ratio),
  ...zeroIsAbsent("queue_length", disk.queue_length),
  ...zeroIsAbsent("wait_ms", disk.wait_ms),
  ...zeroIsAbsent("service_ms", disk.service_ms)
})

/**
 * Arrays where there are any, else every physical disk; those under `/` come first, the first one is the primary.
 * Array members are left out beside their array, or their I/O would count twice.
 */
export const baseIoOf = (
  disks: ReadonlyArray<PhysicalDisk>,
  arrayNames: ReadonlySet<string>,
  underRoot: ReadonlySet<string>
): ReadonlyArray<BaseIo> => {
  const arrays = disks.filter(({ name }) => arrayNames.has(name))
  const chosen = arrays.length > 0 ? arrays : disks
  const kind = arrays.length > 0 ? "raid" : "physical"
  const ordered = [...chosen].sort((a, b) => Number(underRoot.has(b.name)) - Number(underRoot.has(a.name)))
  return ordered.slice(0, volumesMax).map((disk) => toBaseIo(disk, kind))
}

/** The same devices as Static names them: roles for arrays, nothing for plain disks. */
export const baseIoStatic = (base: ReadonlyArray<BaseIo>): ReadonlyArray<StaticBaseIo> =>
  base.flatMap(({ device_path, kind, name, ref }, index) =>
    kind === "physical"
      ? []
      : [
          {
            kind,
            name,
            ...(device_path === undefined ? {} : { device_path }),
            ...(ref === undefined ? {} : { ref }),
            role: index === 0 ? ("primary" as const) : ("secondary" as const)
          }
        ]
  )
