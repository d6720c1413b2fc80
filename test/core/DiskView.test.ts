// The disk part of a snapshot: mounts joined with Static, io totals by role, SMART for guests and administrators.
import { describe, expect, it } from "vitest"
import type { BaseIo, Filesystem, Logical, SmartDevice } from "../../schema/Report.ts"
import type { Static } from "../../schema/Static.ts"
import { diskOf, ioTotal, mountsOf } from "../../src/core/DiskView.ts"
import { emptyView } from "../../src/core/NodeView.ts"
import { NodeId } from "../../schema/Ids.ts"
import {
  baseIo,
  filesystem,
  fullReport,
  fullStatic,
  reportWith,
  smallReport,
  smart,
  smartDevice,
  viewOf,
  volume
} from "../support/Reports.ts"

type Disk = NonNullable<Static["disk"]>
const withDisk = (disk: Disk): Static => ({ ...fullStatic(), disk })
const mounted = (
  disks: { readonly filesystems?: ReadonlyArray<Filesystem>; readonly logical?: ReadonlyArray<Logical> },
  disk?: Disk
) => {
  const report = reportWith(({ metrics }) => Object.assign(metrics.disk, disks), smallReport())
  return mountsOf(viewOf(report, disk === undefined ? {} : { statics: withDisk(disk) }))
}

describe("mounts of filesystems", () => {
  it("take type and capacity from Static, by mount point", () => {
    expect(mountsOf(viewOf(fullReport(), { statics: fullStatic() }))).toEqual([
      {
        mountpoint: "/srv",
        fs_type: "ext4",
        total_bytes: 3936818462720,
        used_bytes: 2310418432000,
        used_ratio: 0.590553024403468
      },
      {
        mountpoint: "/",
        fs_type: "ext4",
        total_bytes: 491518365696,
        used_bytes: 96410238976,
        used_ratio: 0.2066969163860906
      },
      {
        mountpoint: "/boot/efi",
        fs_type: "vfat",
        total_bytes: 535822336,
        used_bytes: 6426624,
        used_ratio: 0.0119939456947162
      }
    ])
  })

  it.each([
    ["used and free without any", filesystem("/"), undefined, 100],
    ["Static's when the report has none", filesystem("/"), { path: "/", total: 120 }, 120],
    ["Static's when the report has 0", filesystem("/", { total: 0 }), { path: "/", total: 120 }, 120],
    ["the report's before Static's", filesystem("/", { total: 130 }), { path: "/", total: 120 }, 130],
    ["used and free when Static has 0", filesystem("/"), { path: "/", total: 0 }, 100],
    ["used and free when Static tells another", filesystem("/"), { path: "/srv", total: 120 }, 100]
  ])("have as capacity %s", (_, fs, told, total) => {
    const disk = told === undefined ? undefined : { filesystems: [told] }

    expect(mounted({ filesystems: [fs] }, disk)[0]?.total_bytes).toBe(total)
  })

  it("are labelled by mount point, else by path, and typed by the report before Static", () => {
    const filesystems = [
      filesystem("/a", { mountpoint: "/mnt/a", fs_type: "xfs" }),
      filesystem("/b", { mountpoint: " " })
    ]
    const told = [
      { path: "/x", mountpoint: "/mnt/a", fs_type: "ext4" },
      { path: "/b", fs_type: "zfs" }
    ]

    expect(mounted({ filesystems }, { filesystems: told })).toMatchObject([
      { mountpoint: "/b", fs_type: "zfs" },
      { mountpoint: "/mnt/a", fs_type: "xfs" }
    ])
    expect(mounted({ filesystems }).map((mount) => mount.fs_type)).toEqual(["", "xfs"])
  })

  it("stand largest first, then by label", () => {
    const filesystems = [
      filesystem("/b"),
      filesystem("/small", { total: 99 }),
      filesystem("/a"),
      filesystem("/large", { total: 101 })
    ]

    expect(mounted({ filesystems }).map((mount) => mount.mountpoint)).toEqual(["/large", "/a", "/b", "/small"])
  })

  it("hide the logical volumes below them", () => {
    expect(mounted({ filesystems: [filesystem("/")], logical: [volume("sda")] })).toHaveLength(1)
  })
})

describe("mounts of an agent that sends no filesystems", () => {
  const told = (over: object) => ({ logical: [{ kind: "disk", name: "sda", ...over }] })
  it.each([
    ["the mount point that Static tells for its ref", volume("sda"), told({ ref: "disk:sda", mountpoint: "/" }), "/"],
    ["the one told for its name", volume("sda", { ref: null }), told({ mountpoint: "/" }), "/"],
    ["its ref when Static tells no mount point", volume("sda"), told({ ref: "disk:sda" }), "disk:sda"],
    ["its ref when Static does not know it", volume("sdb"), told({ mountpoint: "/" }), "disk:sdb"],
    ["its name when it has no ref", volume("sda", { ref: " " }), undefined, "sda"]
  ])("are labelled with %s", (_, one, disk, label) => {
    expect(mounted({ logical: [one] }, disk).map((mount) => mount.mountpoint)).toEqual([label])
  })

  it("join by ref before name", () => {
    const disk = {
      logical: [
        { kind: "lvm_vg", name: "data", ref: "lvm_vg:other", mountpoint: "/wrong" },
        { kind: "lvm_vg", name: "other", ref: "lvm_vg:data", mountpoint: "/right" }
      ]
    }

    expect(mounted({ logical: [volume("data", { ref: "lvm_vg:data" })] }, disk)[0]?.mountpoint).toBe("/right")
  })

  it("take capacity and type from Static, the type also from its map of mount points", () => {
    const volumes = [volume("a"), volume("b"), volume("c", { total: 500 })]
    const disk = {
      logical: [
        { kind: "disk", name: "a", mountpoint: "/a", fs_type: "ext4", total: 300 },
        { kind: "disk", name: "b", mountpoint: "/b", fs_type: "ext4", mountpoints: { "/b": { fs_type: "xfs" } } },
        { kind: "disk", name: "c", total: 400 }
      ]
    }

    expect(mounted({ logical: volumes }, disk)).toMatchObject([
      { mountpoint: "disk:c", total_bytes: 500, fs_type: "" },
      { mountpoint: "/a", total_bytes: 300, fs_type: "ext4" },
      { mountpoint: "/b", total_bytes: 100, fs_type: "xfs" }
    ])
  })

  it("are not led astray by mount points named like members of every object", () => {
    const disk = { logical: [{ kind: "disk", name: "a", mountpoint: "constructor", mountpoints: {} }] }

    expect(mounted({ logical: [volume("a")] }, disk)).toMatchObject([{ mountpoint: "constructor", fs_type: "" }])
  })
})

describe("the io of a node", () => {
  const disk = (...devices: ReadonlyArray<BaseIo>) =>
    diskOf(viewOf(reportWith(({ metrics }) => (metrics.disk.base_io = devices), smallReport())), true).io
  const one = { read_bps: 10, write_bps: 20, read_iops: 1, write_iops: 2, iops: 3 }
  const none = { read_bps: 0, write_bps: 0, read_iops: 0, write_iops: 0, iops: 0 }

  it("is the sum over plain disks, which have no primary one", () => {
    expect(disk(baseIo("sda"), baseIo("sdb")).total).toEqual({
      read_bps: 20,
      write_bps: 40,
      read_iops: 2,
      write_iops: 4,
      iops: 6
    })
  })

  it("is that of the first device when there are arrays or pools", () => {
    expect(disk(baseIo("md0", { kind: "raid" }), baseIo("md1", { kind: "raid", read_iops: 9 })).total).toEqual(one)
    expect(disk(baseIo("sda"), baseIo("tank", { kind: "logical" })).total).toEqual(one)
  })

  it("is zero, without devices, for a node that has none and for one that never reported", () => {
    expect(disk()).toEqual({ total: none })
    expect(ioTotal(emptyView(NodeId.make(1)))).toEqual(none)
  })

  it("adds read and write where a device tells no iops", () => {
    expect(disk(baseIo("sda", { iops: null })).total.iops).toBe(3)
    expect(disk(baseIo("sda", { iops: 0 })).total.iops).toBe(0)
  })

  it("is keyed by ref, else by name, in ascending order", () => {
    const { by_device } = disk(
      baseIo("sdc"),
      baseIo("a", { ref: "" }),
      baseIo("sdb"),
      baseIo("x", { ref: "__proto__" })
    )

    expect(Object.keys(by_device ?? {})).toEqual(["__proto__", "a", "disk:sdb", "disk:sdc"])
    expect(Object.values(by_device ?? {})).toEqual([one, one, one, one])
  })
})

describe("SMART in a snapshot", () => {
  const shown = (guest: boolean, ...devices: ReadonlyArray<SmartDevice>) =>
    diskOf(viewOf(reportWith(({ metrics }) => (metrics.disk.smart = smart(...devices)), smallReport())), guest)
  const disk = smartDevice("sda", { serial: "SERIAL-1", wwn: "WWN-1" })

  it("tells guests neither serial number nor WWN", () => {
    const { smart: view } = shown(true, disk)

    expect(view?.devices[0]).toMatchObject({ name: "sda", model: "EXAMPLE-HD4000", temp_c: 36 })
    expect(JSON.stringify(view)).not.toMatch(/SERIAL-1|WWN-1|serial|wwn/)
    expect(shown(false, disk).smart?.devices[0]).toMatchObject({ serial: "SERIAL-1", wwn: "WWN-1" })
  })

  it("omits what a device does not tell", () => {
    const { serial, ...told } = { ...smartDevice("sda"), wwn: null, exit_status: null, serial: "" }

    expect(serial).toBe("")
    expect(shown(false, { ...told, serial }).smart?.devices[0]).toStrictEqual({
      name: "sda",
      source: "smartctl",
      status: "ok",
      device_path: "/dev/sda",
      device_type: "sat",
      protocol: "ATA",
      model: "EXAMPLE-HD4000",
      temp_c: 36
    })
  })

  it("keeps a device whose temperature is not above zero, without the temperature", () => {
    const { smart: view, temperature_devices } = shown(
      true,
      smartDevice("sda", { temp_c: 0 }),
      smartDevice("sdb", { temp_c: -3 })
    )

    expect(view?.devices.map((device) => [device.name, device.temp_c])).toEqual([
      ["sda", undefined],
      ["sdb", undefined]
    ])
    expect(view?.devices.some((device) => "temp_c" in device)).toBe(false)
    expect(temperature_devices).toBeUndefined()
  })

  it("names the disks that have a temperature", () => {
    expect(shown(true, disk, smartDevice("md0"), smartDevice("sdb")).temperature_devices).toEqual(["sda", "sdb"])
  })

  it("is absent when the report had none", () => {
    expect(diskOf(viewOf(smallReport()), true)).not.toHaveProperty("smart")
  })
})
