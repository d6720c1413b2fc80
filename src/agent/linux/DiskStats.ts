// Counters of block devices from /proc/diskstats, and the rates between two readings.
import { counterOf, increase, perSecond, ratioOf, thousandthUp, wholeUp } from "../Rate.ts"
import type { DeviceIo, PhysicalDisk } from "../Report.ts"

/** One device's totals since boot; times in milliseconds. */
export interface DiskCounters {
  readonly reads: number
  readonly readBytes: number
  readonly readMs: number
  readonly writes: number
  readonly writeBytes: number
  readonly writeMs: number
  /** Time with at least one request under way. */
  readonly busyMs: number
  /** Request time summed over all requests under way. */
  readonly weightedMs: number
}

/** Sectors of /proc/diskstats are 512 bytes whatever the device's own sector size. */
const sectorBytes = 512
/** Kernels before 2.6.25 tell fewer fields for partitions; a shorter line has no times. */
const fieldsMin = 14

/** Parses /proc/diskstats into counters by kernel name; short lines are left out. */
export const parseDiskstats = (text: string): ReadonlyMap<string, DiskCounters> => {
  const disks = new Map<string, DiskCounters>()
  for (const line of text.split("\n")) {
    const fields = line.trim().split(/\s+/)
    const name = fields[2]
    if (name === undefined || fields.length < fieldsMin) continue
    disks.set(name, {
      reads: counterOf(fields[3]),
      readBytes: counterOf(fields[5]) * sectorBytes,
      readMs: counterOf(fields[6]),
      writes: counterOf(fields[7]),
      writeBytes: counterOf(fields[9]) * sectorBytes,
      writeMs: counterOf(fields[10]),
      busyMs: counterOf(fields[12]),
      weightedMs: counterOf(fields[13])
    })
  }
  return disks
}

/**
 * Rates between two readings `seconds` of monotonic time apart. Without an earlier reading, and for every counter
 * that went backwards, the rate is 0.
 */
export const ioBetween = (before: DiskCounters | undefined, after: DiskCounters, seconds: number): DeviceIo => {
  const from = before ?? after
  const readIops = perSecond(from.reads, after.reads, seconds)
  const writeIops = perSecond(from.writes, after.writes, seconds)
  const operations = increase(from.reads, after.reads) + increase(from.writes, after.writes)
  const waitedMs = increase(from.readMs, after.readMs) + increase(from.writeMs, after.writeMs)
  const busyMs = increase(from.busyMs, after.busyMs)
  const elapsedMs = seconds * 1000
  return {
    read_bytes: after.readBytes,
    write_bytes: after.writeBytes,
    read_rate_bytes_per_sec: wholeUp(perSecond(from.readBytes, after.readBytes, seconds)),
    write_rate_bytes_per_sec: wholeUp(perSecond(from.writeBytes, after.writeBytes, seconds)),
    read_iops: wholeUp(readIops),
    write_iops: wholeUp(writeIops),
    iops: wholeUp(readIops + writeIops),
    util_ratio: ratioOf(busyMs, elapsedMs),
    queue_length: elapsedMs > 0 ? increase(from.weightedMs, after.weightedMs) / elapsedMs : 0,
    wait_ms: operations > 0 ? thousandthUp(waitedMs / operations) : 0,
    service_ms: operations > 0 ? thousandthUp(busyMs / operations) : 0
  }
}

/** What the filter needs to know of a whole device. */
export interface WholeDevice {
  readonly name: string
  /** A driver's device stands behind it, so it is no loop, memory or mapper device. */
  readonly isBacked: boolean
  /** One path of a multipath disk that the kernel hides. */
  readonly isHidden: boolean
}

const leftOut = /^(?:loop|ram|zram|fd|sr)/
const isArray = (name: string): boolean => /^md\d|^md_/.test(name)

/** Without /sys/block, partitions are told from disks by their names. */
const looksLikePartition = (name: string): boolean =>
  /^(?:sd|hd|vd|xvd)[a-z]+\d+$/.test(name) || /^(?:nvme\d+n\d+|mmcblk\d+|nbd\d+|md\d+|cciss\/c\d+d\d+)p\d+$/.test(name)

/**
 * The names to report, sorted: whole devices only, never loop, memory, floppy and optical ones; where any device is
 * backed by a driver only those and md arrays stay, otherwise (containers) all do. `devices` null: /sys/block is not
 * readable.
 */
export const selectPhysical = (
  names: Iterable<string>,
  devices: ReadonlyMap<string, WholeDevice> | null
): ReadonlyArray<string> => {
  const whole = [...names].filter((name) => {
    if (leftOut.test(name)) return false
    if (devices === null) return !looksLikePartition(name)
    const device = devices.get(name)
    return device !== undefined && !device.isHidden
  })
  const isBacked = (name: string): boolean => devices?.get(name)?.isBacked === true
  const kept = whole.some(isBacked) ? whole.filter((name) => isBacked(name) || isArray(name)) : whole
  return kept.sort()
}

/** The disk as sent; names with a slash have no plain path under /dev. */
export const physicalDisk = (name: string, io: DeviceIo): PhysicalDisk => ({
  name,
  ...(name.includes("/") ? {} : { device_path: `/dev/${name}` }),
  ref: `disk:${name}`,
  ...io
})
