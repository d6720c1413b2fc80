// Malformed pieces of smart, thermal, raid and pressure go alone, each named with its path; the report stays.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import { readReport } from "../../src/core/Reading.ts"
import { fullReport, raidArray, sensor, setAt, smart, smartDevice, thermal } from "../support/Reports.ts"

interface Kept {
  readonly report: NodeReport
  readonly dropped: ReadonlyArray<string>
}
const keptOf = (report: object): Kept => {
  const reading = readReport(JSON.stringify(report))
  if (reading._tag !== "Read") throw new Error(reading.message)
  return { report: reading.value, dropped: reading.dropped }
}
const keptWith = (path: string, to: unknown): Kept => {
  const report = fullReport()
  setAt(report, path, to)
  return keptOf(report)
}

const lists = {
  smart: {
    path: "metrics.disk.smart.devices",
    good: smartDevice("sdz"),
    in: (r: NodeReport) => r.metrics.disk.smart?.devices
  },
  thermal: { path: "metrics.thermal.sensors", good: sensor("cpu9"), in: (r: NodeReport) => r.metrics.thermal?.sensors },
  raid: { path: "metrics.raid.arrays", good: raidArray("md9"), in: (r: NodeReport) => r.metrics.raid.arrays }
} as const

describe("a malformed element", () => {
  const failing = [{ id: "5", name: "Reallocated_Sector_Ct", when_failed: "FAILING_NOW" }]
  it.each([
    ["smart", null, " must not be null"],
    ["smart", 5, " must be an object"],
    ["smart", [], " must be an object"],
    ["smart", { ...smartDevice("sda"), name: " " }, ".name must not be blank"],
    ["smart", { ...smartDevice("sda"), source: undefined }, ".source is required"],
    ["smart", { ...smartDevice("sda"), status: null }, ".status is required"],
    ["smart", { ...smartDevice("sda"), temp_c: "36" }, ".temp_c must be a number"],
    ["smart", { ...smartDevice("sda"), exit_status: 0.5 }, ".exit_status must be an integer"],
    ["smart", { ...smartDevice("sda"), model: "x".repeat(257) }, ".model must be at most 256 characters"],
    ["smart", { ...smartDevice("sda"), failing_attrs: failing }, ".failing_attrs[0].id must be a number"],
    ["thermal", { ...sensor("cpu0"), kind: "" }, ".kind must not be blank"],
    ["thermal", { ...sensor("cpu0"), sensor_key: undefined }, ".sensor_key is required"],
    ["thermal", { ...sensor("cpu0"), high_c: {} }, ".high_c must be a number"],
    ["thermal", "hot", " must be an object"],
    ["raid", { ...raidArray("md0"), health: "" }, ".health must not be blank"],
    ["raid", { ...raidArray("md0"), members: null }, ".members is required"],
    ["raid", { ...raidArray("md0"), members: [{ name: "sda1", state: " " }] }, ".members[0].state must not be blank"],
    ["raid", { ...raidArray("md0"), active: "2" }, ".active must be a number"]
  ] as const)("of %s is dropped alone: %j", (piece, bad, message) => {
    const { good, in: held, path } = lists[piece]
    const { dropped, report } = keptWith(path, [good, bad, good])

    expect(held(report)).toEqual([good, good])
    expect(dropped).toEqual([`${path}[1]${message}`])
  })

  it("is dropped wherever it stands, and the others keep their order", () => {
    const broken = fc.array(fc.boolean(), { maxLength: 8 })
    fc.assert(
      fc.property(fc.constantFrom("smart", "thermal", "raid"), broken, (piece, flags) => {
        const { good, in: held, path } = lists[piece as keyof typeof lists]
        const items = flags.map((bad, i) => ({ ...good, name: bad ? "" : `${good.name}-${i}` }))
        const { dropped, report } = keptWith(path, items)
        const bad = flags.flatMap((flag, i) => (flag ? [`${path}[${i}].name must not be blank`] : []))

        expect(held(report)).toEqual(items.filter((item) => item.name !== ""))
        expect(dropped).toEqual(bad.slice(0, 3))
      })
    )
  })
})

describe("a malformed piece", () => {
  const smartPath = "metrics.disk.smart"
  it.each([
    [smartPath, "n/a", " must be an object"],
    [smartPath, [], " must be an object"],
    [`${smartPath}.status`, "", " must not be blank"],
    [`${smartPath}.devices`, null, " is required"],
    [`${smartPath}.devices`, {}, " must be an array"],
    [`${smartPath}.ttl_seconds`, "300", " must be a number"],
    ["metrics.thermal", 4, " must be an object"],
    ["metrics.thermal.status", undefined, " is required"],
    ["metrics.thermal.sensors", null, " is required"],
    [
      "metrics.thermal.sensors",
      Array.from({ length: 513 }, (_, i) => sensor(`s${i}`)),
      " must hold at most 512 elements"
    ],
    ["metrics.pressure", true, " must be an object"],
    ["metrics.pressure.cpu", 1, " must be an object"],
    ["metrics.pressure.memory.some", [], " must be an object"],
    ["metrics.pressure.io.full.avg10", "0.2", " must be a number"],
    ["metrics.pressure.io.full.total", -1, " must be an unsigned 64-bit integer"]
  ])("goes as a whole when %s is %j", (path, to, message) => {
    const { dropped, report } = keptWith(path, to)
    const expected = fullReport()
    const whole = /^metrics\.(?:disk\.smart|thermal|pressure(?:\.\w+)?)/.exec(path)?.[0] as string
    setAt(expected, whole, undefined)

    expect(report).toEqual(expected)
    expect(dropped).toEqual([path + message])
  })

  it("is named beside the elements that it had lost before", () => {
    const report = fullReport()
    setAt(report, "metrics.disk.smart", { ...smart({ ...smartDevice("a"), name: "" }), status: "ok" })
    setAt(report, "metrics.thermal", thermal({ ...sensor("x"), source: "" }))
    setAt(report, "metrics.pressure.io", 1)

    expect(keptOf(report).dropped).toEqual([
      "metrics.disk.smart.devices[0].name must not be blank",
      "metrics.thermal.sensors[0].source must not be blank",
      "metrics.pressure.io must be an object"
    ])
  })

  it("is named for the first three only: the text is kept with every node", () => {
    const { dropped } = keptWith(
      "metrics.raid.arrays",
      Array.from({ length: 512 }, () => null)
    )

    expect(dropped).toEqual([0, 1, 2].map((i) => `metrics.raid.arrays[${i}] must not be null`))
  })
})

describe("what the agent must send", () => {
  it.each([
    ["metrics.network[0].name", ""],
    ["metrics.disk.physical[0].name", ""],
    ["metrics.cpu.load1", "x"],
    ["metrics.memory.used", -1]
  ])("is not forgiven: %s as %j refuses the report", (path, to) => {
    const report = fullReport()
    setAt(report, path, to)

    expect(readReport(JSON.stringify(report))._tag).not.toBe("Read")
  })
})
