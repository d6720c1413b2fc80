// Which series a node reports, in which order: the fixed host series, then one block per device.
import type { NodeReport } from "../../schema/Report.ts"

/** Fixed positions of the host series in every vector. Times are milliseconds, rates bytes or operations per second. */
export const Host = {
  reportedAt: 0,
  cpuUsage: 1,
  load1: 2,
  load5: 3,
  load15: 4,
  cpuUser: 5,
  cpuSystem: 6,
  cpuIdle: 7,
  cpuIowait: 8,
  cpuSteal: 9,
  memUsed: 10,
  memAvailable: 11,
  memBuffers: 12,
  memCached: 13,
  memUsedRatio: 14,
  swapUsed: 15,
  swapFree: 16,
  swapUsedRatio: 17,
  memTotal: 18,
  swapTotal: 19,
  uptimeSec: 20,
  alive: 21,
  processes: 22,
  tcp: 23,
  udp: 24,
  cpuTemp: 25,
  netRecv: 26,
  netSent: 27,
  netRecvRate: 28,
  netSentRate: 29,
  thermalAt: 30,
  /** Six groups of four: cpu some, cpu full, memory some, memory full, io some, io full; avg10, avg60, avg300, total. */
  pressure: 31
} as const
export const pressureGroups = 6
export const hostSize = Host.pressure + pressureGroups * 4

/** Positions inside a device block. */
export const Nic = {
  recv: 0,
  sent: 1,
  recvRate: 2,
  sentRate: 3,
  packetsRecv: 4,
  packetsSent: 5,
  packetsRecvRate: 6,
  packetsSentRate: 7,
  errIn: 8,
  errOut: 9,
  dropIn: 10,
  dropOut: 11
} as const
export const nicSize = 12
export const Io = {
  readBytes: 0,
  writeBytes: 1,
  readRate: 2,
  writeRate: 3,
  iops: 4,
  readIops: 5,
  writeIops: 6,
  util: 7,
  queue: 8,
  waitMs: 9,
  serviceMs: 10
} as const
export const ioSize = 11
export const Volume = { used: 0, free: 1, usedRatio: 2, total: 3 } as const
export const volumeSize = 4
export const Fs = { used: 0, free: 1, usedRatio: 2, total: 3, inodesUsed: 4, inodesFree: 5, inodesRatio: 6 } as const
export const fsSize = 7
export const Heat = { temp: 0, high: 1, critical: 2 } as const
export const heatSize = 3

export interface DeviceName {
  readonly name: string
  readonly path: string
  readonly ref: string
}
export interface KindName extends DeviceName {
  readonly kind: string
}
export interface FsName {
  readonly path: string
  readonly device: string
  readonly mountpoint: string
  readonly fsType: string
}
export interface SensorName {
  readonly kind: string
  readonly name: string
  readonly key: string
  readonly source: string
}

/** The names of one node's devices, trimmed, as they stand behind the numbers of its vectors. */
export interface LayoutNames {
  readonly nics: ReadonlyArray<string>
  readonly physical: ReadonlyArray<DeviceName>
  readonly logical: ReadonlyArray<KindName>
  readonly filesystems: ReadonlyArray<FsName>
  readonly baseIo: ReadonlyArray<KindName>
  readonly sensors: ReadonlyArray<SensorName>
}

/** Names with the offset of each block; immutable and shared by every node that has the same devices. */
export interface Layout extends LayoutNames {
  readonly nicsAt: number
  readonly physicalAt: number
  readonly logicalAt: number
  readonly filesystemsAt: number
  readonly baseIoAt: number
  readonly sensorsAt: number
  readonly size: number
}

/** Lays the blocks out one behind the other. */
export const layoutOf = (names: LayoutNames): Layout => {
  const nicsAt = hostSize
  const physicalAt = nicsAt + names.nics.length * nicSize
  const logicalAt = physicalAt + names.physical.length * ioSize
  const filesystemsAt = logicalAt + names.logical.length * volumeSize
  const baseIoAt = filesystemsAt + names.filesystems.length * fsSize
  const sensorsAt = baseIoAt + names.baseIo.length * ioSize
  const size = sensorsAt + names.sensors.length * heatSize
  return { ...names, nicsAt, physicalAt, logicalAt, filesystemsAt, baseIoAt, sensorsAt, size }
}

/** The stored form: names only. */
export const namesOf = ({ nics, physical, logical, filesystems, baseIo, sensors }: Layout): LayoutNames => ({
  nics,
  physical,
  logical,
  filesystems,
  baseIo,
  sensors
})

const text = (value: string | null | undefined): string => value?.trim() ?? ""
interface Device {
  readonly name: string
  readonly device_path?: string | null | undefined
  readonly ref?: string | null | undefined
}
/** A missing ref becomes the name (contract, report normalisation). */
const deviceName = (device: Device): DeviceName => {
  const name = device.name.trim()
  return { name, path: text(device.device_path), ref: text(device.ref) || name }
}

/** The names in a checked report. */
export const namesIn = ({ metrics }: NodeReport): LayoutNames => ({
  nics: metrics.network.map((nic) => nic.name.trim()),
  physical: metrics.disk.physical.map(deviceName),
  logical: metrics.disk.logical.map((volume) => ({ kind: volume.kind.trim(), ...deviceName(volume) })),
  filesystems: metrics.disk.filesystems.map((fs) => ({
    path: fs.path.trim(),
    device: text(fs.device),
    mountpoint: text(fs.mountpoint),
    fsType: text(fs.fs_type)
  })),
  baseIo: metrics.disk.base_io.map((device) => ({ kind: device.kind.trim(), ...deviceName(device) })),
  sensors: (metrics.thermal?.sensors ?? []).map((sensor) => ({
    kind: sensor.kind.trim(),
    name: sensor.name.trim(),
    key: sensor.sensor_key.trim(),
    source: sensor.source.trim()
  }))
})

/** Equal, or equal after the trim that agents make unnecessary. */
const same = (sent: string | null | undefined, kept: string): boolean => sent === kept || text(sent) === kept
const sameDevice = (sent: Device, kept: DeviceName): boolean =>
  same(sent.name, kept.name) &&
  same(sent.device_path, kept.path) &&
  (same(sent.ref, kept.ref) || (text(sent.ref) === "" && kept.ref === kept.name))

const every = <A, B>(sent: ReadonlyArray<A>, kept: ReadonlyArray<B>, agree: (a: A, b: B) => boolean): boolean => {
  if (sent.length !== kept.length) return false
  for (let i = 0; i < kept.length; i++) if (!agree(sent[i] as A, kept[i] as B)) return false
  return true
}
const noSensors: ReadonlyArray<never> = []

/** Whether a checked report has exactly the devices of this layout, in its order. */
export const fits = (layout: Layout, { metrics }: NodeReport): boolean =>
  every(metrics.network, layout.nics, (nic, name) => same(nic.name, name)) &&
  every(metrics.disk.physical, layout.physical, sameDevice) &&
  every(
    metrics.disk.logical,
    layout.logical,
    (volume, kept) => same(volume.kind, kept.kind) && sameDevice(volume, kept)
  ) &&
  every(
    metrics.disk.filesystems,
    layout.filesystems,
    (fs, kept) =>
      same(fs.path, kept.path) &&
      same(fs.device, kept.device) &&
      same(fs.mountpoint, kept.mountpoint) &&
      same(fs.fs_type, kept.fsType)
  ) &&
  every(
    metrics.disk.base_io,
    layout.baseIo,
    (device, kept) => same(device.kind, kept.kind) && sameDevice(device, kept)
  ) &&
  every(
    metrics.thermal?.sensors ?? noSensors,
    layout.sensors,
    (sensor, kept) =>
      same(sensor.kind, kept.kind) &&
      same(sensor.name, kept.name) &&
      same(sensor.sensor_key, kept.key) &&
      same(sensor.source, kept.source)
  )
