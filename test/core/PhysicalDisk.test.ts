// Which SMART devices count as physical disks with a temperature: the contract's rule, row by row.
import { describe, expect, it } from "vitest"
import type { SmartDevice } from "../../schema/Report.ts"
import { hasDiskTemperature, temperatureDevices } from "../../src/core/PhysicalDisk.ts"
import { smartDevice } from "../support/Reports.ts"

/** A device that says nothing but what a row tells. */
const bare = (over: Partial<SmartDevice>): SmartDevice => ({
  name: "sda",
  source: "smartctl",
  status: "ok",
  temp_c: 36,
  protocol: "ATA",
  ...over
})

describe("a device has no disk temperature", () => {
  it.each<[string, Partial<SmartDevice>]>([
    ["without one", { temp_c: undefined }],
    ["with null", { temp_c: null }],
    ["at zero", { temp_c: 0 }],
    ["below zero", { temp_c: -7 }],
    ["as md array", { name: "md0" }],
    ["as device mapper", { name: "dm-0" }],
    ["as virtio disk", { name: "vda" }],
    ["as Xen disk", { name: "xvda" }],
    ["in capital letters", { name: "MD0" }],
    ["behind padding", { name: "  md0" }],
    ["by a ref that is an array", { ref: "raid:md0" }],
    ["by a ref that names an md device", { ref: "disk:md127" }],
    ["by the path of an array", { device_path: "/dev/md/root" }],
    ["by the path of a mapper", { device_path: "/dev/mapper/vg-root" }],
    ["by the path of device mapper", { device_path: "/dev/dm-3" }],
    ["by the path of a virtio disk", { device_path: "/dev/vdb" }],
    ["by the path of a Xen disk", { device_path: "/dev/xvdb" }],
    ["by a model that is virtual", { model: "QEMU HARDDISK" }],
    ["by a model of VMware", { model: "VMware Virtual disk" }],
    ["by a model of VirtualBox", { model: "VBOX HARDDISK" }],
    ["by a model of Hyper-V", { model: "Hyper-V disk" }],
    ["by a model behind a RAID controller", { model: "LSI MegaRAID" }],
    ["by a device type behind one", { device_type: "sat+megaraid,4" }],
    ["by a protocol that is virtual", { protocol: "virtio" }],
    ["by no protocol at all", { protocol: undefined }],
    ["by an unknown protocol", { protocol: "USB", device_type: "usbjmicron" }],
    ["as SCSI disk without serial and WWN", { protocol: "SCSI", device_type: "scsi" }],
    ["as SCSI disk with blank ones", { protocol: "SCSI", serial: " ", wwn: "" }]
  ])("%s", (_, over) => {
    expect(hasDiskTemperature(bare(over))).toBe(false)
  })
})

describe("a device has a disk temperature", () => {
  it.each<[string, Partial<SmartDevice>]>([
    ["as ATA disk", {}],
    ["by its device type alone", { protocol: undefined, device_type: "sat" }],
    ["as NVMe disk", { name: "nvme0", protocol: "NVMe", device_type: "nvme" }],
    ["as SATA disk in small letters", { protocol: "sata" }],
    ["as SCSI disk with a serial", { protocol: "SCSI", serial: "S1" }],
    ["as SCSI disk with a WWN", { protocol: undefined, device_type: "scsi", wwn: "5000c500" }],
    ["just above zero", { temp_c: 0.5 }],
    ["when a virtual word stands inside a name, not at its start", { name: "sdmd", device_path: "/dev/sdvd" }]
  ])("%s", (_, over) => {
    expect(hasDiskTemperature(bare(over))).toBe(true)
  })
})

describe("the devices with a temperature", () => {
  it("are named once each, trimmed, in the order of the report", () => {
    const names = ["sdb", " sda ", "md0", "nvme0", "sdb", "sda"]

    expect(temperatureDevices(names.map((name) => smartDevice(name, { device_path: null })))).toEqual([
      "sdb",
      "sda",
      "nvme0"
    ])
    expect(temperatureDevices([])).toEqual([])
  })
})
