import { describe, expect, it } from "vitest"
import { arrayReport, parseMdstat, raidReport, raidStatic } from "../../../src/agent/linux/Raid.ts"

const mdstat = (body: string): string =>
  `Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]\n${body}unused devices: <none>\n`
const only = (body: string) => {
  const [array] = parseMdstat(mdstat(body))
  if (array === undefined) throw new Error("no array parsed")
  return arrayReport(array)
}

describe("parseMdstat", () => {
  it("finds nothing where no array is assembled", () => {
    expect(parseMdstat("Personalities : \nunused devices: <none>\n")).toEqual([])
    expect(parseMdstat("")).toEqual([])
    expect(raidReport([])).toEqual({ supported: true, available: false, arrays: [] })
  })

  it("calls an array with a faulty member degraded and names the member", () => {
    expect(
      only("md0 : active raid1 sdb1[1](F) sda1[0]\n      976630336 blocks super 1.2 [2/1] [U_]\n      \n")
    ).toEqual({
      name: "md0",
      status: "active",
      active: 1,
      working: 1,
      failed: 1,
      health: "degraded",
      members: [
        { name: "sdb1", state: "down" },
        { name: "sda1", state: "up" }
      ]
    })
  })

  it("calls an array with a missing member degraded", () => {
    const array = only(
      "md1 : active raid5 sdc1[3] sda1[0]\n      100 blocks level 5, 64k chunk, algorithm 2 [3/2] [U_U]\n"
    )
    expect(array).toMatchObject({ active: 2, failed: 1, health: "degraded" })
  })

  it("tells the progress of a recovery, and that the new member is not up yet", () => {
    const array = only(
      "md0 : active raid1 sdc1[2] sda1[0]\n      100 blocks super 1.2 [2/1] [U_]\n" +
        "      [=>...................]  recovery =  8.4% (328110464/3906887168) finish=301.2min speed=198010K/sec\n" +
        "      bitmap: 1/8 pages [4KB], 65536KB chunk\n"
    )
    expect(array).toMatchObject({
      health: "degraded",
      sync_status: "[=>...................]  recovery =  8.4% (328110464/3906887168) finish=301.2min speed=198010K/sec",
      sync_progress: "8.4%",
      members: [
        { name: "sdc1", state: "unknown" },
        { name: "sda1", state: "up" }
      ]
    })
  })

  it("tells of a resync that waits, which has no progress", () => {
    const array = only("md0 : active raid1 sdb1[1] sda1[0]\n      100 blocks [2/2] [UU]\n      \tresync=PENDING\n")
    expect(array.sync_status).toBe("resync=PENDING")
    expect(array).not.toHaveProperty("sync_progress")
    expect(array.health).toBe("healthy")
  })

  it("calls the health of an array that is not running unknown", () => {
    expect(only("md127 : inactive sdc1[0](S) sdd1[1](S)\n      100 blocks super 1.2\n       \n")).toEqual({
      name: "md127",
      status: "inactive",
      active: 0,
      working: 2,
      failed: 0,
      health: "unknown",
      members: [
        { name: "sdc1", state: "unknown" },
        { name: "sdd1", state: "unknown" }
      ]
    })
  })

  it("counts a spare as working but not as active", () => {
    const array = only("md0 : active raid1 sdc1[2](S) nvme0n1p2[1] nvme1n1p2[0]\n      100 blocks [2/2] [UU]\n")
    expect(array).toMatchObject({ active: 2, working: 3, failed: 0, health: "healthy" })
    expect(array.members.every(({ state }) => state === "up")).toBe(true)
  })

  it("calls a striped array healthy, which has no slots", () => {
    expect(only("md4 : active raid0 sdb[1] sda[0]\n      200 blocks super 1.2 512k chunks\n")).toMatchObject({
      active: 2,
      working: 2,
      health: "healthy"
    })
  })

  it("describes level, devices and members of several arrays, sorted by name", () => {
    const arrays = parseMdstat(
      mdstat(
        "md2 : active (auto-read-only) raid1 sdb2[1] sda2[0]\n      100 blocks [2/2] [UU]\n\n" +
          "md0 : active raid6 sda1[0] sdb1[1] sdc1[2](W) sdd1[3](J)\n      100 blocks [4/4] [UUUU]\n\n"
      )
    )
    expect(raidStatic(arrays)).toEqual([
      { name: "md0", level: "raid6", devices: 4, members: ["sda1", "sdb1", "sdc1", "sdd1"].map((name) => ({ name })) },
      { name: "md2", level: "raid1", devices: 2, members: ["sdb2", "sda2"].map((name) => ({ name })) }
    ])
  })
})
