// Every metric of the catalogue from what a report says, and where each is absent.
import { describe, expect, it } from "vitest"
import type { SmartDevice } from "../../../schema/Report.ts"
import { Fs, fsSize, Heat, heatSize, Host, type LayoutNames, Volume, volumeSize } from "../../../src/core/Layout.ts"
import { conditionOf, coresOf, isBeyond, valueOf } from "../../../src/core/alert/Measures.ts"
import { metrics } from "../../../src/core/alert/Rule.ts"
import { cpuRule, measuredOf, staticsOf } from "./AlertCases.ts"

const fs = (mountpoint: string) => ({ path: mountpoint, device: "", mountpoint, fsType: "ext4" })
const volume = (name: string) => ({ kind: "lvm", name, path: "", ref: name })
const disk = (fields: Partial<SmartDevice> = {}): SmartDevice => ({
  name: "sda",
  source: "smartctl",
  status: "ok",
  ...fields
})
const withSmart = (...devices: ReadonlyArray<SmartDevice>) =>
  measuredOf(() => {}, {}, { details: { smart: { status: "ok", devices } } })
const withRaid = (available: boolean, ...arrays: ReadonlyArray<{ failed?: number; health: string }>) =>
  measuredOf(
    () => {},
    {},
    {
      details: {
        raid: {
          supported: true,
          available,
          arrays: arrays.map((one) => ({ name: "md0", status: "active", members: [], ...one }))
        }
      }
    }
  )
const withFilesystems = (sizes: Readonly<Record<string, readonly [ratio: number, total: number]>>) =>
  measuredOf(
    (vector, layout) =>
      Object.values(sizes).forEach(([ratio, total], i) => {
        vector[layout.filesystemsAt + i * fsSize + Fs.usedRatio] = ratio
        vector[layout.filesystemsAt + i * fsSize + Fs.total] = total
      }),
    { filesystems: Object.keys(sizes).map(fs) }
  )

describe("a metric", () => {
  it("is absent without what it is measured by", () => {
    const bare = measuredOf(() => {})
    const absent = metrics.filter((metric) => valueOf(metric, bare) === undefined)

    expect(absent).toEqual([
      "disk.usage.used_ratio",
      "raid.failed",
      "disk.smart.failed",
      "disk.smart.nvme.critical_warning",
      "disk.smart.attribute_failing",
      "disk.smart.max_temp_c",
      "thermal.max_temp_c",
      "node.offline"
    ])
  })

  it.each([
    ["cpu.usage_ratio", Host.cpuUsage],
    ["cpu.load1", Host.load1],
    ["cpu.load5", Host.load5],
    ["cpu.load15", Host.load15],
    ["mem.used", Host.memUsed],
    ["mem.used_ratio", Host.memUsedRatio],
    ["net.recv_bps", Host.netRecvRate],
    ["net.sent_bps", Host.netSentRate],
    ["conn.tcp", Host.tcp]
  ] as const)("%s is a series of the host", (metric, series) => {
    expect(
      valueOf(
        metric,
        measuredOf((vector) => void (vector[series] = 42.5))
      )
    ).toBe(42.5)
  })
})

describe("disk.usage.used_ratio", () => {
  const ratio = (sizes: Readonly<Record<string, readonly [number, number]>>) =>
    valueOf("disk.usage.used_ratio", withFilesystems(sizes))

  it("is that of / wherever it stands and however small it is", () => {
    expect(ratio({ "/data": [0.9, 900], "/": [0.2, 10], "/home": [0.5, 50] })).toBe(0.2)
  })

  it("is that of the largest mount where there is no /, the first by name of equal ones", () => {
    expect(ratio({ "C:": [0.3, 100], "D:": [0.8, 900] })).toBe(0.8)
    expect(ratio({ "F:": [0.3, 100], "E:": [0.8, 100], "G:": [0.1, 100] })).toBe(0.8)
  })

  it("takes the total from Static where the report has none, else from what is used and free", () => {
    const sized = (statics: ReturnType<typeof staticsOf>) =>
      measuredOf(
        (vector, layout) => {
          for (const i of [0, 1]) {
            const at = layout.filesystemsAt + i * fsSize
            vector.set([100 + i, 0, 0.1 * (i + 1), Number.NaN], at)
          }
        },
        { filesystems: [fs("/a"), fs("/b")] },
        { statics }
      )
    const told = staticsOf({ disk: { filesystems: [{ path: "/a", total: 5000 }] } })

    expect(valueOf("disk.usage.used_ratio", sized(staticsOf()))).toBe(0.2)
    expect(valueOf("disk.usage.used_ratio", sized(told))).toBe(0.1)
  })

  it("looks at logical volumes, with the mount points that Static tells, where there are no filesystems", () => {
    const names: Partial<LayoutNames> = { logical: [volume("big"), volume("root")] }
    const fill = (vector: Float64Array, layout: { readonly logicalAt: number }) => {
      vector.set([0, 0, 0.4, 900], layout.logicalAt)
      vector.set([0, 0, 0.7, 10], layout.logicalAt + volumeSize)
    }
    const statics = staticsOf({ disk: { logical: [{ kind: "lvm", name: "root", ref: "root", mountpoint: "/" }] } })

    expect(Volume.usedRatio).toBe(2)
    expect(valueOf("disk.usage.used_ratio", measuredOf(fill, names))).toBe(0.4)
    expect(valueOf("disk.usage.used_ratio", measuredOf(fill, names, { statics }))).toBe(0.7)
  })

  it("follows a node whose devices change", () => {
    const statics = staticsOf()
    const one = { ...withFilesystems({ "/": [0.1, 10] }), statics }
    const two = { ...withFilesystems({ "/data": [0.6, 99], "/": [0.2, 10] }), statics }

    expect([one, two, one].map((measured) => valueOf("disk.usage.used_ratio", measured))).toEqual([0.1, 0.2, 0.1])
  })
})

describe("raid.failed", () => {
  it("is absent while RAID is not available, whatever the arrays say", () => {
    expect(valueOf("raid.failed", withRaid(false, { failed: 2, health: "degraded" }))).toBeUndefined()
  })

  it("adds failed members, and counts an array that is only unhealthy once", () => {
    expect(valueOf("raid.failed", withRaid(true))).toBe(0)
    expect(valueOf("raid.failed", withRaid(true, { failed: 0, health: " Healthy " }, { health: "healthy" }))).toBe(0)
    expect(valueOf("raid.failed", withRaid(true, { failed: 2, health: "degraded" }, { health: "degraded" }))).toBe(3)
  })
})

describe("SMART", () => {
  it("counts the devices that failed, never those that could not be read", () => {
    const measured = withSmart(disk({ health: " FAILED " }), disk({ health: "passed" }), disk({ status: "failed" }))

    expect(valueOf("disk.smart.failed", measured)).toBe(1)
    expect(valueOf("disk.smart.failed", withSmart())).toBe(0)
  })

  it("counts devices with a warning and failing attributes only where a device tells of them", () => {
    const nvme = withSmart(disk({ critical_warning: 0 }), disk({ critical_warning: 12 }), disk())
    const failing = (when_failed: string) => ({ name: "a", when_failed })
    const ata = withSmart(
      disk({ failing_attrs: [failing("FAILING_NOW"), failing("In_the_past")] }),
      disk({ failing_attrs: [failing("failing_now")] })
    )

    expect(valueOf("disk.smart.nvme.critical_warning", nvme)).toBe(1)
    expect(valueOf("disk.smart.attribute_failing", nvme)).toBeUndefined()
    expect(valueOf("disk.smart.attribute_failing", ata)).toBe(2)
    expect(valueOf("disk.smart.nvme.critical_warning", ata)).toBeUndefined()
    expect(valueOf("disk.smart.attribute_failing", withSmart(disk({ failing_attrs: [] })))).toBe(0)
  })

  it("has the highest temperature, of those above zero", () => {
    expect(valueOf("disk.smart.max_temp_c", withSmart(disk({ temp_c: 41 }), disk({ temp_c: 55 }), disk()))).toBe(55)
    expect(valueOf("disk.smart.max_temp_c", withSmart(disk({ temp_c: 0 }), disk({ temp_c: -3 })))).toBeUndefined()
  })
})

it("thermal.max_temp_c is the highest of all sensors, leaving out those without a value", () => {
  const sensor = { kind: "disk", name: "s", key: "k", source: "hwmon" }
  const heats = (...temps: ReadonlyArray<number>) =>
    measuredOf(
      (vector, layout) => temps.forEach((temp, i) => (vector[layout.sensorsAt + i * heatSize + Heat.temp] = temp)),
      { sensors: temps.map(() => sensor) }
    )

  expect(valueOf("thermal.max_temp_c", heats(Number.NaN, 40, 71, 55))).toBe(71)
  expect(valueOf("thermal.max_temp_c", heats(Number.NaN))).toBeUndefined()
})

describe("a threshold", () => {
  it.each([
    [">", [false, false, true]],
    [">=", [false, true, true]],
    ["<", [true, false, false]],
    ["<=", [true, true, false]],
    ["==", [false, true, false]],
    ["!=", [true, false, true]]
  ] as const)("with %s holds on its side", (operator, expected) => {
    expect([1, 2, 3].map((value) => isBeyond(value, operator, 2))).toEqual(expected)
  })

  it("counts logical cores, else physical ones, else none", () => {
    const cores = (info: { cores_logical?: number; cores_physical?: number }) => coresOf(staticsOf({ cpu: { info } }))

    expect(cores({ cores_logical: 8, cores_physical: 4 })).toBe(8)
    expect(cores({ cores_logical: 0, cores_physical: 4 })).toBe(4)
    expect(cores({})).toBe(0)
    expect(coresOf(undefined)).toBe(0)
  })

  it("leaves room between opening and clearing on either side", () => {
    const above = { ...cpuRule, operator: ">" as const, threshold: 10, clearThreshold: 8 }
    const below = { ...cpuRule, operator: "<=" as const, threshold: 3, clearThreshold: 5 }

    expect([11, 10, 8.1, 8].map((value) => conditionOf(above, value, 0))).toEqual([
      "holds",
      "between",
      "between",
      "clear"
    ])
    expect([3, 4, 5, 5.1].map((value) => conditionOf(below, value, 0))).toEqual([
      "holds",
      "between",
      "between",
      "clear"
    ])
  })
})
