import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { baseIoOf, baseIoStatic } from "../../../src/agent/linux/BaseIo.ts"
import {
  type DiskCounters,
  ioBetween,
  parseDiskstats,
  physicalDisk,
  selectPhysical
} from "../../../src/agent/linux/DiskStats.ts"

const zero: DiskCounters = {
  reads: 0,
  readBytes: 0,
  readMs: 0,
  writes: 0,
  writeBytes: 0,
  writeMs: 0,
  busyMs: 0,
  weightedMs: 0
}

describe("parseDiskstats", () => {
  it("leaves out short and empty lines", () => {
    expect(parseDiskstats("\n   8       1 sda1 10 20 30 40\n").size).toBe(0)
  })

  it("reads counters in 512-byte sectors, with or without the fields of newer kernels", () => {
    const disks = parseDiskstats(
      "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 259       0 nvme0n1 1 0 2 3 4 0 5 6 0 7 8 0 0 0 0 0 0\n"
    )
    expect(disks.get("sda")).toEqual({
      reads: 1,
      readBytes: 3 * 512,
      readMs: 4,
      writes: 5,
      writeBytes: 7 * 512,
      writeMs: 8,
      busyMs: 10,
      weightedMs: 11
    })
    expect(disks.get("nvme0n1")?.writeBytes).toBe(5 * 512)
  })
})

describe("ioBetween", () => {
  it("has no rates without an earlier reading", () => {
    expect(ioBetween(undefined, { ...zero, reads: 5, readBytes: 512 }, 3)).toMatchObject({
      read_bytes: 512,
      read_rate_bytes_per_sec: 0,
      iops: 0,
      util_ratio: 0
    })
  })

  it("has no rates for counters that went backwards", () => {
    const before = { ...zero, reads: 100, readBytes: 9999, readMs: 50, busyMs: 4000, weightedMs: 4000 }
    expect(ioBetween(before, { ...zero, writes: 3 }, 3)).toMatchObject({
      read_rate_bytes_per_sec: 0,
      read_iops: 0,
      write_iops: 1,
      util_ratio: 0,
      queue_length: 0,
      wait_ms: 0
    })
  })

  it("rounds rates up and sums operations before rounding", () => {
    const io = ioBetween(
      zero,
      { ...zero, reads: 4, writes: 4, readBytes: 1000, readMs: 5, writeMs: 4, busyMs: 600, weightedMs: 30 },
      3
    )
    expect(io).toMatchObject({
      read_rate_bytes_per_sec: 334,
      read_iops: 2,
      write_iops: 2,
      iops: 3,
      util_ratio: 0.2,
      queue_length: 0.01,
      wait_ms: 1.125,
      service_ms: 75
    })
  })

  it("keeps the busy share within 0 and 1 and every rate whole", () => {
    const counters = fc.record({
      reads: fc.nat(),
      readBytes: fc.nat(),
      readMs: fc.nat(),
      writes: fc.nat(),
      writeBytes: fc.nat(),
      writeMs: fc.nat(),
      busyMs: fc.nat(),
      weightedMs: fc.nat()
    })
    fc.assert(
      fc.property(counters, counters, fc.double({ min: 0.001, max: 4000, noNaN: true }), (before, after, seconds) => {
        const io = ioBetween(before, after, seconds)
        expect(io.util_ratio).toBeGreaterThanOrEqual(0)
        expect(io.util_ratio).toBeLessThanOrEqual(1)
        expect(Number.isInteger(io.iops) && Number.isInteger(io.read_rate_bytes_per_sec)).toBe(true)
        expect(Math.min(...Object.values(io))).toBeGreaterThanOrEqual(0)
      })
    )
  })
})

describe("selectPhysical", () => {
  const device = (name: string, isBacked: boolean, isHidden = false) => [name, { name, isBacked, isHidden }] as const

  it("keeps disks with a device behind them and md arrays, and nothing else", () => {
    const devices = new Map([
      device("sda", true),
      device("sr0", true),
      device("loop0", false),
      device("zram0", false),
      device("ram0", false),
      device("fd0", true),
      device("dm-0", false),
      device("md0", false),
      device("nvme0c0n1", true, true)
    ])
    expect(selectPhysical([...devices.keys(), "sda1"], devices)).toEqual(["md0", "sda"])
  })

  it("keeps what there is where no device is backed, as in a container", () => {
    const devices = new Map([device("loop0", false), device("dm-0", false), device("nbd0", false)])
    expect(selectPhysical(devices.keys(), devices)).toEqual(["dm-0", "nbd0"])
  })

  it("tells partitions by name where /sys/block cannot be read", () => {
    const names = ["sdb", "sdb12", "nvme0n1", "nvme0n1p3", "mmcblk0", "mmcblk0p1", "vda", "vda1", "cciss/c0d0"]
    expect(selectPhysical(names, null)).toEqual(["cciss/c0d0", "mmcblk0", "nvme0n1", "sdb", "vda"])
  })
})

describe("physicalDisk", () => {
  it("has no path when the name contains a slash", () => {
    const io = ioBetween(undefined, zero, 1)
    expect(physicalDisk("cciss/c0d0", io)).not.toHaveProperty("device_path")
    expect(physicalDisk("sda", io)).toMatchObject({ device_path: "/dev/sda", ref: "disk:sda" })
  })
})

describe("baseIoOf", () => {
  const disk = (name: string) => physicalDisk(name, ioBetween(undefined, { ...zero, readBytes: 512 }, 1))
  const disks = [disk("md0"), disk("md1"), disk("sda"), disk("sdb")]

  it("takes arrays instead of their disks, the one under the root first", () => {
    const base = baseIoOf(disks, new Set(["md0", "md1"]), new Set(["md1", "sda", "sdb"]))
    expect(base.map(({ kind, name, ref }) => [kind, name, ref])).toEqual([
      ["raid", "md1", "raid:md1"],
      ["raid", "md0", "raid:md0"]
    ])
    expect(baseIoStatic(base).map(({ name, role }) => [name, role])).toEqual([
      ["md1", "primary"],
      ["md0", "secondary"]
    ])
  })

  it("takes every disk where there is no array, and Static names none of them", () => {
    const base = baseIoOf([disk("sda"), disk("sdb")], new Set(), new Set(["sdb"]))
    expect(base.map(({ kind, name }) => [kind, name])).toEqual([
      ["physical", "sdb"],
      ["physical", "sda"]
    ])
    expect(baseIoStatic(base)).toEqual([])
  })

  it("leaves out optional members that are 0 and keeps the rates", () => {
    const [base] = baseIoOf([disk("sda")], new Set(), new Set())
    expect(base).toEqual({
      kind: "physical",
      name: "sda",
      device_path: "/dev/sda",
      ref: "disk:sda",
      read_bytes: 512,
      read_rate_bytes_per_sec: 0,
      write_rate_bytes_per_sec: 0,
      read_iops: 0,
      write_iops: 0,
      iops: 0
    })
  })
})
