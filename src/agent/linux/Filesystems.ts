// How full the mounted filesystems are, measured so that a dead mount cannot hold anything up.
import { textLengthMax, volumesMax } from "../Collector.ts"
import { ratioOf } from "../Rate.ts"
import type { Filesystem, StaticFilesystem } from "../Report.ts"
import { isRemote, type Mount } from "./Mounts.ts"

/** Bytes and inodes of one filesystem; free is what an ordinary user may still take. */
export interface Usage {
  readonly total: number
  readonly used: number
  readonly free: number
  readonly inodesTotal: number
  readonly inodesFree: number
}

export interface MeasuredMount {
  readonly mount: Mount
  readonly usage: Usage
}

/** The numbers of statfs(2), as node:fs gives them. */
export interface StatFs {
  readonly bsize: number
  readonly blocks: number
  readonly bfree: number
  readonly bavail: number
  readonly files: number
  readonly ffree: number
}

export type StatFsCall = (path: string) => Promise<StatFs>

/** A mount that has not answered by then is served from its last good value. */
export const probeLimitMs = 800
/**
 * A call that never returns keeps one of the four threads of the runtime's pool, which name look-ups and sensor reads
 * need too. So only one remote mount and one local mount may be unanswered at a time; others wait for their turn.
 */
const unansweredMax = 1

/** Translates statfs; null for a filesystem without blocks. */
export const usageOf = (stat: StatFs): Usage | null => {
  if (!(stat.blocks > 0) || !(stat.bsize > 0)) return null
  const free = Math.max(0, Math.min(stat.bavail, stat.bfree))
  return {
    total: stat.blocks * stat.bsize,
    used: Math.max(0, stat.blocks - stat.bfree) * stat.bsize,
    free: free * stat.bsize,
    inodesTotal: Math.max(0, stat.files),
    inodesFree: Math.max(0, Math.min(stat.ffree, stat.files))
  }
}

interface Probe {
  mount: Mount
  last: Usage | null
  isUnanswered: boolean
}

export interface FilesystemProbe {
  /** Measures the mounts one after the other; ends after 800 ms per unanswered one, at most two of them. */
  readonly refresh: (mounts: ReadonlyArray<Mount>) => Promise<void>
  /** The last good values, sorted by path. */
  readonly measured: () => ReadonlyArray<MeasuredMount>
}

export const makeFilesystemProbe = (statfs: StatFsCall): FilesystemProbe => {
  const probes = new Map<string, Probe>()
  const isKept = (probe: Probe, mounts: ReadonlyArray<Mount>): boolean =>
    probe.isUnanswered || mounts.includes(probe.mount)
  const unanswered = (remote: boolean): number =>
    [...probes.values()].filter((probe) => probe.isUnanswered && isRemote(probe.mount.fsType) === remote).length

  const measure = async (probe: Probe): Promise<void> => {
    if (probe.isUnanswered || unanswered(isRemote(probe.mount.fsType)) >= unansweredMax) return
    probe.isUnanswered = true
    const answer = statfs(probe.mount.path).then(
      (stat) => {
        probe.isUnanswered = false
        probe.last = usageOf(stat)
      },
      () => {
        probe.isUnanswered = false
        probe.last = null
      }
    )
    await within(answer, probeLimitMs)
  }

  let current: ReadonlySet<string> = new Set()
  const refresh = async (mounts: ReadonlyArray<Mount>): Promise<void> => {
    const wanted = localFirst(mounts).slice(0, volumesMax)
    for (const mount of wanted) {
      const known = probes.get(mount.path)
      if (known === undefined) probes.set(mount.path, { mount, last: null, isUnanswered: false })
      else {
        if (known.mount.deviceNumber !== mount.deviceNumber) known.last = null
        known.mount = mount
      }
    }
    for (const [path, probe] of probes) if (!isKept(probe, wanted)) probes.delete(path)
    current = new Set(wanted.map(({ path }) => path))
    for (const mount of wanted) {
      const probe = probes.get(mount.path)
      if (probe !== undefined) await measure(probe)
    }
  }
  const measured = (): ReadonlyArray<MeasuredMount> =>
    [...probes.values()]
      .flatMap(({ last, mount }) => (last !== null && current.has(mount.path) ? [{ mount, usage: last }] : []))
      .sort((a, b) => (a.mount.path < b.mount.path ? -1 : 1))
  return { refresh, measured }
}

const localFirst = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> => [
  ...mounts.filter((mount) => !isRemote(mount.fsType)),
  ...mounts.filter((mount) => isRemote(mount.fsType))
]

/** Waits for the work, but no longer than the limit; the work itself goes on. */
const within = async (work: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}

const identityOf = (mount: Mount) => ({
  path: mount.path,
  ...(mount.source === "" || mount.source.length > textLengthMax ? {} : { device: mount.source }),
  mountpoint: mount.path
})

/** The filesystem as a report tells it. */
export const filesystemReport = ({ mount, usage }: MeasuredMount): Filesystem => {
  const inodesUsed = usage.inodesTotal - usage.inodesFree
  return {
    ...identityOf(mount),
    used: usage.used,
    free: usage.free,
    used_ratio: ratioOf(usage.used, usage.used + usage.free),
    inodes_used: inodesUsed,
    inodes_free: usage.inodesFree,
    inodes_used_ratio: ratioOf(inodesUsed, usage.inodesTotal)
  }
}

/** The filesystem as Static describes it. */
export const filesystemStatic = ({ mount, usage }: MeasuredMount): StaticFilesystem => ({
  ...identityOf(mount),
  total: usage.total,
  fs_type: mount.fsType,
  inodes_total: usage.inodesTotal
})
