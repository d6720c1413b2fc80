// Which mounts are worth measuring: /proc/self/mountinfo, its escapes, and the filesystems that hold nothing.
import { textLengthMax } from "../Collector.ts"

export interface Mount {
  /** `8:1` as the kernel numbers the filesystem's device; `0:n` for those without one. */
  readonly deviceNumber: string
  /** The folder of the filesystem that is mounted; not `/` for bind mounts. */
  readonly root: string
  readonly path: string
  readonly fsType: string
  /** Device, export or dataset. */
  readonly source: string
}

/** Decodes the octal escapes (`\040`) the kernel writes for spaces, tabs, line ends, backslashes and hashes. */
export const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-3][0-7]{2})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** Parses mountinfo in mount order; lines that do not have the fixed fields are left out. */
export const parseMountinfo = (text: string): ReadonlyArray<Mount> => {
  const mounts: Array<Mount> = []
  for (const line of text.split("\n")) {
    const [before, after] = line.split(" - ", 2)
    const left = before?.split(" ") ?? []
    const right = after?.split(" ") ?? []
    const [, , deviceNumber, root, path] = left
    const [fsType, source] = right
    if (deviceNumber === undefined || root === undefined || path === undefined) continue
    if (fsType === undefined || source === undefined) continue
    mounts.push({
      deviceNumber,
      root: unescapeOctal(root),
      path: unescapeOctal(path),
      fsType: unescapeOctal(fsType),
      source: unescapeOctal(source)
    })
  }
  return mounts
}

/** Filesystems without a capacity of their own, and read-only images that are always full. */
const pseudoTypes = new Set(
  (
    "anon_inodefs aufs autofs bdev binder binfmt_misc bpf cgroup cgroup2 configfs cpuset cramfs debugfs devfs devpts " +
    "devtmpfs drm efivarfs erofs fdescfs functionfs fuse.gvfsd-fuse fuse.lxcfs fuse.portal fuse.snapfuse " +
    "fuse.squashfuse fusectl hugetlbfs iso9660 mqueue none nfsd nsfs overlay overlayfs pipefs proc pstore ramfs " +
    "resctrl romfs rootfs rpc_pipefs securityfs selinuxfs smackfs sockfs squashfs sysfs tmpfs tracefs udf usbfs"
  ).split(" ")
)

/** Filesystems that live on another machine or in another process, so that asking them may never be answered. */
export const isRemote = (fsType: string): boolean =>
  /^(?:nfs|nfs4|cifs|smb3|smbfs|ncpfs|afs|ceph|glusterfs|lustre|gfs2?|ocfs2|9p|davfs|fuse)$|^fuse\./.test(fsType)

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
const isKernelTree = (path: string): boolean => ["/proc", "/sys", "/dev"].some((folder) => isBelow(path, folder))

/** The three files every container runtime mounts over; they show the host's disk under a file's name. */
const containerFiles = new Set(["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"])

/** A root pool has a dozen inner datasets; only the two that an operator fills are told. */
const isInnerDataset = (mount: Mount): boolean =>
  mount.fsType === "zfs" && isBelow(mount.source, "rpool") && mount.path !== "/" && mount.path !== "/var/lib/vz"

const isWorthMeasuring = (mount: Mount): boolean =>
  !pseudoTypes.has(mount.fsType) &&
  !isKernelTree(mount.path) &&
  !containerFiles.has(mount.path) &&
  mount.path.length <= textLengthMax &&
  !isInnerDataset(mount)

/** Whole filesystems before bind mounts, then shorter paths, then by name: the mount an operator would name. */
const isBetter = (candidate: Mount, known: Mount): boolean => {
  const rank = (mount: Mount): number => (mount.root === "/" || mount.fsType === "btrfs" ? 0 : 1)
  if (rank(candidate) !== rank(known)) return rank(candidate) < rank(known)
  if (candidate.path.length !== known.path.length) return candidate.path.length < known.path.length
  return candidate.path < known.path
}

/**
 * The mounts to measure, sorted by path: of mounts stacked on one path the last, of several mounts of one device
 * the best-named.
 */
export const selectMounts = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> => {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]))
  const byDevice = new Map<string, Mount>()
  for (const mount of byPath.values()) {
    if (!isWorthMeasuring(mount)) continue
    const known = byDevice.get(mount.deviceNumber)
    if (known === undefined || isBetter(mount, known)) byDevice.set(mount.deviceNumber, mount)
  }
  return [...byDevice.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}
