import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import {
  filesystemReport,
  makeFilesystemProbe,
  probeLimitMs,
  type StatFs,
  usageOf
} from "../../../src/agent/linux/Filesystems.ts"
import type { Mount } from "../../../src/agent/linux/Mounts.ts"
import { statFs } from "../support/Machine.ts"

const mount = (path: string, fsType = "ext4", deviceNumber = path): Mount => ({
  deviceNumber,
  root: "/",
  path,
  fsType,
  source: `/dev${path}`
})
const never = new Promise<StatFs>(() => undefined)
const pathsOf = (probe: ReturnType<typeof makeFilesystemProbe>) => probe.measured().map((entry) => entry.mount.path)

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe("makeFilesystemProbe", () => {
  it("leaves out a mount that never answered, and measures the others", async () => {
    const probe = makeFilesystemProbe((path) => (path === "/dead" ? never : Promise.resolve(statFs(10, 5, 4))))
    const done = probe.refresh([mount("/"), mount("/dead", "nfs4"), mount("/srv")])
    await vi.advanceTimersByTimeAsync(probeLimitMs)
    await done
    expect(pathsOf(probe)).toEqual(["/", "/srv"])
  })

  it("serves the last good value of a mount that stopped answering, without asking it again", async () => {
    let isDead = false
    let calls = 0
    const probe = makeFilesystemProbe(() => {
      calls += 1
      return isDead ? never : Promise.resolve(statFs(10, 5, 4))
    })
    await probe.refresh([mount("/nas", "nfs4")])
    isDead = true
    const second = probe.refresh([mount("/nas", "nfs4")])
    await vi.advanceTimersByTimeAsync(probeLimitMs)
    await second
    await probe.refresh([mount("/nas", "nfs4")])
    expect(pathsOf(probe)).toEqual(["/nas"])
    expect(calls).toBe(2)
  })

  it("never leaves more than one remote and one local call unanswered", async () => {
    const asked: Array<string> = []
    const probe = makeFilesystemProbe((path) => {
      asked.push(path)
      return never
    })
    const all = ["/a", "/b", "/c"].flatMap((path) => [mount(path), mount(`/net${path}`, "nfs4")])
    const done = probe.refresh(all)
    await vi.advanceTimersByTimeAsync(2 * probeLimitMs)
    await done
    expect(asked).toEqual(["/a", "/net/a"])
  })

  it("takes a late answer, and asks again after it", async () => {
    let answer: (stat: StatFs) => void = () => undefined
    const probe = makeFilesystemProbe(() => new Promise((resolve) => (answer = resolve)))
    const first = probe.refresh([mount("/slow")])
    await vi.advanceTimersByTimeAsync(probeLimitMs)
    await first
    answer(statFs(10, 5, 5))
    await vi.advanceTimersByTimeAsync(0)
    expect(pathsOf(probe)).toEqual(["/slow"])
  })

  it("leaves out a mount whose call fails, and one without blocks", async () => {
    const probe = makeFilesystemProbe((path) =>
      path === "/broken" ? Promise.reject(new Error("EIO")) : Promise.resolve(statFs(0, 0, 0))
    )
    await probe.refresh([mount("/broken"), mount("/empty")])
    expect(pathsOf(probe)).toEqual([])
  })

  it("forgets a mount that is gone, and the value of another filesystem on the same path", async () => {
    let isDead = false
    const probe = makeFilesystemProbe(() => (isDead ? never : Promise.resolve(statFs(10, 5, 4))))
    await probe.refresh([mount("/a"), mount("/b")])
    await probe.refresh([mount("/a")])
    expect(pathsOf(probe)).toEqual(["/a"])
    isDead = true
    const third = probe.refresh([mount("/a", "ext4", "8:99")])
    await vi.advanceTimersByTimeAsync(probeLimitMs)
    await third
    expect(pathsOf(probe)).toEqual([])
  })
})

describe("filesystemReport", () => {
  it("counts what is reserved for root as neither used nor free", () => {
    const usage = usageOf(statFs(100, 40, 20, 10, 4))
    if (usage === null) throw new Error("no usage")
    expect(filesystemReport({ mount: mount("/"), usage })).toEqual({
      path: "/",
      device: "/dev/",
      mountpoint: "/",
      used: 60 * 4096,
      free: 20 * 4096,
      used_ratio: 0.75,
      inodes_used: 6,
      inodes_free: 4,
      inodes_used_ratio: 0.6
    })
  })

  it("has no inode share where the filesystem counts none", () => {
    const usage = usageOf(statFs(100, 40, 40, 0, 0))
    if (usage === null) throw new Error("no usage")
    expect(filesystemReport({ mount: mount("/boot/efi", "vfat"), usage })).toMatchObject({
      inodes_used: 0,
      inodes_free: 0,
      inodes_used_ratio: 0
    })
  })
})
