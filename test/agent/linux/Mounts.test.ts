import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isRemote, parseMountinfo, selectMounts, unescapeOctal } from "../../../src/agent/linux/Mounts.ts"

const line = (device: string, root: string, path: string, type: string, source: string, optional = ""): string =>
  `27 1 ${device} ${root} ${path} rw,relatime ${optional}- ${type} ${source} rw\n`

const paths = (text: string): ReadonlyArray<string> => selectMounts(parseMountinfo(text)).map(({ path }) => path)

describe("parseMountinfo", () => {
  it("leaves out lines without the fixed fields", () => {
    expect(parseMountinfo("\n27 1 8:1\n27 1 8:1 / /a rw no separator\n")).toEqual([])
  })

  it("reads lines with any number of optional fields", () => {
    const text =
      line("8:1", "/", "/", "ext4", "/dev/sda1") + line("8:2", "/", "/b", "xfs", "/dev/sda2", "shared:1 master:2 ")
    expect(parseMountinfo(text).map(({ path, source }) => [path, source])).toEqual([
      ["/", "/dev/sda1"],
      ["/b", "/dev/sda2"]
    ])
  })

  it("decodes escaped spaces, tabs, line ends and backslashes", () => {
    const [mount] = parseMountinfo(line("8:1", "/", "/mnt/my\\040disk\\011x\\134y\\012z", "ext4", "//nas/my\\040share"))
    expect(mount).toMatchObject({ path: "/mnt/my disk\tx\\y\nz", source: "//nas/my share" })
  })
})

describe("unescapeOctal", () => {
  it("undoes what the kernel escapes, for any text", () => {
    const escape = (text: string): string =>
      text.replace(/[ \t\n\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`)
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(unescapeOctal(escape(text))).toBe(text)
      })
    )
  })
})

describe("selectMounts", () => {
  it("drops filesystems without a capacity and everything below /proc, /sys and /dev", () => {
    expect(
      paths(
        line("0:21", "/", "/proc", "proc", "proc") +
          line("0:5", "/", "/run", "tmpfs", "tmpfs") +
          line("0:50", "/", "/", "overlay", "overlay") +
          line("7:0", "/", "/snap/core/1", "squashfs", "/dev/loop0") +
          line("8:5", "/", "/dev/hidden", "ext4", "/dev/sda5") +
          line("8:1", "/docker/hosts", "/etc/hosts", "ext4", "/dev/sda1") +
          line("8:2", "/", "/srv", "ext4", "/dev/sda2")
      )
    ).toEqual(["/srv"])
  })

  it("drops a path longer than a report may carry", () => {
    expect(paths(line("8:1", "/", `/${"x".repeat(300)}`, "ext4", "/dev/sda1"))).toEqual([])
  })

  it("tells a device that is mounted several times once, by its whole and shortest mount", () => {
    expect(
      paths(
        line("8:1", "/data", "/a", "ext4", "/dev/sda1") +
          line("8:1", "/", "/mnt/whole", "ext4", "/dev/sda1") +
          line("8:1", "/", "/mnt/a/whole", "ext4", "/dev/sda1")
      )
    ).toEqual(["/mnt/whole"])
  })

  it("prefers the root of a filesystem with subvolumes", () => {
    expect(
      paths(line("0:30", "/@home", "/home", "btrfs", "/dev/sda2") + line("0:30", "/@", "/", "btrfs", "/dev/sda2"))
    ).toEqual(["/"])
  })

  it("measures only the last of mounts stacked on one path", () => {
    expect(paths(line("8:1", "/", "/mnt", "ext4", "/dev/sda1") + line("0:9", "/", "/mnt", "tmpfs", "tmpfs"))).toEqual(
      []
    )
  })

  it("tells only the filled datasets of a root pool, and all of any other", () => {
    expect(
      paths(
        line("0:31", "/", "/", "zfs", "rpool/ROOT/pve-1") +
          line("0:32", "/", "/rpool", "zfs", "rpool") +
          line("0:33", "/", "/var/lib/vz", "zfs", "rpool/var-lib-vz") +
          line("0:34", "/", "/tank", "zfs", "tank/files")
      )
    ).toEqual(["/", "/tank", "/var/lib/vz"])
  })

  it("knows which filesystems may never answer", () => {
    expect(["nfs4", "cifs", "fuse.sshfs", "ceph", "9p"].every(isRemote)).toBe(true)
    expect(["ext4", "xfs", "btrfs", "zfs", "vfat", "fuseblk"].some(isRemote)).toBe(false)
  })
})
