import { afterEach, describe, expect, it } from "vitest"
import {
  deviceOf,
  devicesUnder,
  ownerOf,
  readTopology,
  type Topology,
  volumeGroupOf
} from "../../../src/agent/linux/BlockDevices.ts"
import type { MeasuredMount } from "../../../src/agent/linux/Filesystems.ts"
import { parseMdstat } from "../../../src/agent/linux/Raid.ts"
import { volumesOf } from "../../../src/agent/linux/Volumes.ts"
import { type Machine, makeMachine } from "../support/Machine.ts"

let machine: Machine | null = null
afterEach(() => machine?.destroy())

/** sda: boot partition and LVM on an encrypted partition; sdb+sdc: md0; sdd+sde: one multipath disk. */
const storage = (): Topology => {
  const made = makeMachine({
    "sys/block/sda/dev": "8:0",
    "sys/block/sda/size": "2000",
    "sys/block/sda/device": null,
    "sys/block/sda/sda1/partition": "1",
    "sys/block/sda/sda1/dev": "8:1",
    "sys/block/sda/sda2/partition": "2",
    "sys/block/sda/sda2/dev": "8:2",
    "sys/block/sdb/dev": "8:16",
    "sys/block/sdb/sdb1/partition": "1",
    "sys/block/sdb/sdb1/dev": "8:17",
    "sys/block/sdc/dev": "8:32",
    "sys/block/md0/dev": "9:0",
    "sys/block/md0/size": "4000",
    "sys/block/md0/slaves/sdb1": null,
    "sys/block/md0/slaves/sdc": null,
    "sys/block/md0/md0p1/partition": "1",
    "sys/block/md0/md0p1/dev": "259:7",
    "sys/block/dm-0/dev": "253:0",
    "sys/block/dm-0/dm/name": "luks-1",
    "sys/block/dm-0/dm/uuid": "CRYPT-LUKS2-abc",
    "sys/block/dm-0/slaves/sda2": null,
    "sys/block/dm-1/dev": "253:1",
    "sys/block/dm-1/dm/name": "my--vg-root",
    "sys/block/dm-1/dm/uuid": "LVM-xyz",
    "sys/block/dm-1/slaves/dm-0": null,
    "sys/block/dm-2/dev": "253:2",
    "sys/block/dm-2/dm/name": "mpatha",
    "sys/block/dm-2/dm/uuid": "mpath-3600",
    "sys/block/dm-2/slaves/sdd": null,
    "sys/block/dm-2/slaves/sde": null,
    "sys/block/cciss!c0d0/dev": "104:0"
  })
  machine = made
  return readTopology(made.roots)
}

const measured = (path: string, deviceNumber: string, used: number, free: number, more = {}): MeasuredMount => ({
  mount: { deviceNumber, root: "/", path, fsType: "ext4", source: "/dev/x", ...more },
  usage: { total: used + free + 10, used, free, inodesTotal: 0, inodesFree: 0 }
})

describe("block devices", () => {
  it("are unknown where /sys/block is missing", () => {
    machine = makeMachine({})
    const topology = readTopology(machine.roots)
    expect(topology.devices).toBeNull()
    expect(ownerOf(topology, "sda1")).toEqual({ kind: "disk", name: "sda1", device: "sda1" })
  })

  it("end a stack that refers to itself", () => {
    machine = makeMachine({
      "sys/block/dm-0/dm/name": "a",
      "sys/block/dm-0/slaves/dm-1": null,
      "sys/block/dm-1/dm/name": "b",
      "sys/block/dm-1/slaves/dm-0": null
    })
    const topology = readTopology(machine.roots)
    expect(ownerOf(topology, "dm-0").kind).toBe("disk")
    expect([...devicesUnder(topology, "dm-0")].sort()).toEqual(["dm-0", "dm-1"])
  })

  it("are found by number, by path, and by mapped name", () => {
    const topology = storage()
    expect(deviceOf(topology, "8:2", "/dev/root")).toBe("sda2")
    expect(deviceOf(topology, "0:44", "/dev/sdb1")).toBe("sdb1")
    expect(deviceOf(topology, "0:44", "/dev/mapper/my--vg-root")).toBe("dm-1")
    expect(deviceOf(topology, "0:44", "nas:/export")).toBeNull()
  })

  it("belong to the group, array or disk that owns their space", () => {
    const topology = storage()
    expect(ownerOf(topology, "dm-1")).toMatchObject({ kind: "lvm_vg", name: "my-vg" })
    expect(ownerOf(topology, "dm-0")).toMatchObject({ kind: "disk", name: "sda" })
    expect(ownerOf(topology, "md0p1")).toMatchObject({ kind: "raid_md", name: "md0" })
    expect(ownerOf(topology, "dm-2")).toMatchObject({ kind: "disk", name: "mpatha", device: "dm-2" })
    expect([...devicesUnder(topology, "dm-1")].sort()).toEqual(["dm-0", "dm-1", "sda"])
  })

  it("keep the slash of a controller's disk", () => {
    expect(storage().devices?.has("cciss/c0d0")).toBe(true)
  })
})

describe("volumeGroupOf", () => {
  it.each([
    ["vg-root", "vg"],
    ["my--vg-root", "my-vg"],
    ["my--vg-lv--with--hyphens", "my-vg"],
    ["a----b-c", "a--b"],
    ["nohyphen", "nohyphen"]
  ])("reads %s as a volume of %s", (mapped, group) => {
    expect(volumeGroupOf(mapped)).toBe(group)
  })
})

describe("volumesOf", () => {
  const mdstat = "md0 : active raid1 sdc[1] sdb1[0]\n      100 blocks [2/1] [U_]\n"

  it("keeps the boot disk beside a group and an array, sorted by kind and name", () => {
    const mounts = [
      measured("/", "253:1", 30, 70),
      measured("/boot", "8:1", 1, 3),
      measured("/home", "253:1", 10, 90),
      measured("/nas", "0:60", 5, 5, { fsType: "nfs4", source: "nas:/export" })
    ]
    const volumes = volumesOf(storage(), mounts, parseMdstat(mdstat), [])
    expect(volumes.map(({ report }) => report)).toEqual([
      { kind: "disk", name: "sda", device_path: "/dev/sda", ref: "disk:sda", used: 1, free: 3, used_ratio: 0.25 },
      { kind: "lvm_vg", name: "my-vg", ref: "lvm_vg:my-vg", used: 40, free: 160, used_ratio: 0.2 },
      {
        kind: "raid_md",
        name: "md0",
        device_path: "/dev/md0",
        ref: "raid:md0",
        used: 0,
        free: 0,
        used_ratio: 0,
        health: "degraded"
      }
    ])
    expect(volumes.map(({ fixed }) => fixed)).toEqual([
      {
        kind: "disk",
        name: "sda",
        device_path: "/dev/sda",
        ref: "disk:sda",
        total: 14,
        mountpoint: "/boot",
        fs_type: "ext4"
      },
      {
        kind: "lvm_vg",
        name: "my-vg",
        ref: "lvm_vg:my-vg",
        total: 220,
        mountpoint: "/",
        fs_type: "ext4",
        devices: ["dm-0"]
      },
      {
        kind: "raid_md",
        name: "md0",
        device_path: "/dev/md0",
        ref: "raid:md0",
        total: 4000 * 512,
        devices: ["sdb1", "sdc"]
      }
    ])
  })

  it("counts the shared free space of a pool once", () => {
    const zfs = (path: string, source: string, used: number, free: number) =>
      measured(path, "0:70", used, free, { fsType: "zfs", source })
    const mounts = [zfs("/tank", "tank", 10, 50), zfs("/tank/a", "tank/a", 30, 60)]
    const volumes = volumesOf(storage(), mounts, [], [{ name: "tank", state: "ONLINE" }])
    expect(volumes.find(({ report }) => report.kind === "zfs_pool")?.report).toEqual({
      kind: "zfs_pool",
      name: "tank",
      ref: "zfs:tank",
      used: 40,
      free: 60,
      used_ratio: 0.4,
      health: "ONLINE"
    })
  })

  it("names a multipath disk by its alias", () => {
    const [disk] = volumesOf(storage(), [measured("/data", "253:2", 1, 1)], [], [])
    expect(disk?.report).toMatchObject({ kind: "disk", name: "mpatha", device_path: "/dev/mapper/mpatha" })
  })
})
