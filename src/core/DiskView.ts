// The disk part of a node's snapshot: mounts with capacities, io per device and SMART, joined with Static.
import type { IoRates, SmartView, Snapshot } from "../../schema/Snapshot.ts"
import type { Static } from "../../schema/Static.ts"
import { Fs, fsSize, Io, ioSize, type KindName, Volume, volumeSize } from "./Layout.ts"
import type { NodeView } from "./NodeView.ts"
import { temperatureDevices } from "./PhysicalDisk.ts"

type Mount = Snapshot["disk"]["mounts"][number]
type StaticLogical = NonNullable<NonNullable<NonNullable<Static["disk"]>["logical"]>[number]>

const known = (value: number | null | undefined): value is number =>
  value !== undefined && value !== null && !Number.isNaN(value) && value > 0

const byRefThenName = <S extends { readonly name: string; readonly ref?: string | null | undefined }>(
  statics: ReadonlyArray<S> | null | undefined,
  device: { readonly name: string; readonly ref: string }
): S | undefined => statics?.find((one) => one.ref === device.ref) ?? statics?.find((one) => one.name === device.name)

/** Largest first, then by label. */
const ordered = (mounts: Array<Mount>): Array<Mount> =>
  mounts.sort((a, b) => b.total_bytes - a.total_bytes || (a.mountpoint < b.mountpoint ? -1 : 1))

const fsTypeOf = (logical: StaticLogical | undefined, mountpoint: string): string =>
  logical?.mountpoints?.[mountpoint]?.fs_type ?? logical?.fs_type ?? ""

const filesystemMounts = ({ layout, statics, vector }: NodeView): Array<Mount> => {
  const told = statics?.body.disk?.filesystems ?? []
  return (layout?.filesystems ?? []).map((fs, i) => {
    const at = (layout?.filesystemsAt ?? 0) + i * fsSize
    const mountpoint = fs.mountpoint || fs.path
    const one = told.find((each) => (each.mountpoint || each.path) === mountpoint)
    const used = vector[at + Fs.used] as number
    const total = [vector[at + Fs.total], one?.total].find(known) ?? used + (vector[at + Fs.free] as number)
    return {
      mountpoint,
      fs_type: fs.fsType || (one?.fs_type ?? ""),
      total_bytes: total,
      used_bytes: used,
      used_ratio: vector[at + Fs.usedRatio] as number
    }
  })
}

const volumeMounts = ({ layout, statics, vector }: NodeView): Array<Mount> =>
  (layout?.logical ?? []).map((volume, i) => {
    const at = (layout?.logicalAt ?? 0) + i * volumeSize
    const one = byRefThenName(statics?.body.disk?.logical, volume)
    const mountpoint = one?.mountpoint || volume.ref || volume.name
    const used = vector[at + Volume.used] as number
    const total = [vector[at + Volume.total], one?.total].find(known) ?? used + (vector[at + Volume.free] as number)
    return {
      mountpoint,
      fs_type: fsTypeOf(one, mountpoint),
      total_bytes: total,
      used_bytes: used,
      used_ratio: vector[at + Volume.usedRatio] as number
    }
  })

/** Mounts are the filesystems; an agent that sends none has its logical volumes shown (decision 8). */
export const mountsOf = (view: NodeView): ReadonlyArray<Mount> => {
  const filesystems = filesystemMounts(view)
  return ordered(filesystems.length > 0 ? filesystems : volumeMounts(view))
}

const ratesAt = (vector: Float64Array, at: number): IoRates => ({
  read_bps: vector[at + Io.readRate] as number,
  write_bps: vector[at + Io.writeRate] as number,
  read_iops: vector[at + Io.readIops] as number,
  write_iops: vector[at + Io.writeIops] as number,
  iops: vector[at + Io.iops] as number
})
const noRates: IoRates = { read_bps: 0, write_bps: 0, read_iops: 0, write_iops: 0, iops: 0 }
const sum = (a: IoRates, b: IoRates): IoRates => ({
  read_bps: a.read_bps + b.read_bps,
  write_bps: a.write_bps + b.write_bps,
  read_iops: a.read_iops + b.read_iops,
  write_iops: a.write_iops + b.write_iops,
  iops: a.iops + b.iops
})

/** Plain disks carry no role and are all of equal rank; otherwise the first element is the primary one. */
const isPrimary = (devices: ReadonlyArray<KindName>, i: number): boolean =>
  i === 0 || devices.every((device) => device.kind === "physical")

export const ioTotal = ({ layout, vector }: NodeView): IoRates => {
  const devices = layout?.baseIo ?? []
  return devices.reduce(
    (total, _, i) =>
      isPrimary(devices, i) ? sum(total, ratesAt(vector, (layout?.baseIoAt ?? 0) + i * ioSize)) : total,
    noRates
  )
}

const byDevice = ({ layout, vector }: NodeView): Record<string, IoRates> | undefined => {
  const devices = layout?.baseIo ?? []
  if (devices.length === 0) return undefined
  const entries = devices.map(
    (device, i) => [device.ref || device.name, ratesAt(vector, (layout?.baseIoAt ?? 0) + i * ioSize)] as const
  )
  // Ascending keys: a client takes the first one for its card.
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

/** Guests never see serial numbers and WWNs. Temperatures at or below zero are absent. */
const smartOf = ({ details }: NodeView, guest: boolean): SmartView | undefined => {
  const smart = details?.smart
  if (smart === undefined || smart === null) return undefined
  const devices = smart.devices.map(({ serial, temp_c, wwn, ...device }) => ({
    ...device,
    ...(known(temp_c) ? { temp_c } : {}),
    ...(guest ? {} : { ...(serial ? { serial } : {}), ...(wwn ? { wwn } : {}) })
  }))
  return { ...smart, devices } as SmartView
}

export const diskOf = (view: NodeView, guest: boolean): Snapshot["disk"] => {
  const smart = smartOf(view, guest)
  const devices = byDevice(view)
  const heated = temperatureDevices(view.details?.smart?.devices ?? [])
  return {
    mounts: mountsOf(view),
    io: { total: ioTotal(view), ...(devices === undefined ? {} : { by_device: devices }) },
    ...(heated.length === 0 ? {} : { temperature_devices: heated }),
    ...(smart === undefined ? {} : { smart })
  }
}
