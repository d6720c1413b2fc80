// Hostile bodies: nothing throws, no prototype changes, and the answer is one of the documented ones.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { namesIn } from "../../src/core/Layout.ts"
import { type Reading, readReport, readStatic } from "../../src/core/Reading.ts"
import { snapshotText } from "../../src/core/SnapshotView.ts"
import { hostileNames, reports } from "../support/ArbitraryReports.ts"
import { fullReport, fullReportText, fullStaticText, nic, setAt, titled, viewOf } from "../support/Reports.ts"

const readers = [readReport, readStatic] as const
const withMember = (member: string): string => fullReportText.replace('"hostname"', `${member},"hostname"`)
const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`
const nestedObjects = (depth: number): string => `${'{"metrics":'.repeat(depth)}1${"}".repeat(depth)}`

/** What a polluted process would show on an object that nobody touched. */
const expectCleanPrototypes = (): void => {
  const probe: Record<string, unknown> = {}

  expect(probe["polluted"]).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Object.keys(Array.prototype)).toEqual([])
}
const value = (reading: Reading<unknown>): object => {
  if (reading._tag !== "Read") throw new Error(reading.message)
  return reading.value as object
}

describe("members that reach for the prototype", () => {
  const evil = '{"polluted":true,"hostname":"evil","toJSON":1}'
  it.each([
    ["at the top", withMember(`"__proto__":${evil}`)],
    ["as constructor", withMember(`"constructor":{"prototype":${evil}}`)],
    ["in an interface", fullReportText.replace('"bytes_recv"', `"__proto__":${evil},"bytes_recv"`)],
    ["in metrics", fullReportText.replace('"cpu":', `"__proto__":${evil},"cpu":`)]
  ])("are ignored %s", (_, text) => {
    const reading = readReport(text)

    expect(reading).toMatchObject({ _tag: "Read", dropped: [] })
    expect(Object.getPrototypeOf(value(reading))).toBe(Object.prototype)
    expectCleanPrototypes()
  })

  it("do not stand in for members that are missing", () => {
    const report = fullReport()
    setAt(report, "hostname", undefined)
    const text = JSON.stringify(report).replace('"version"', '"__proto__":{"hostname":"evil"},"version"')

    expect(readReport(text)).toEqual({ _tag: "Meaningless", message: "hostname is required" })
  })

  it("become plain members of a Static", () => {
    const text = fullStaticText.replace('"mountpoint": "/srv",', '"mountpoints":{"__proto__":{"fs_type":"evil"}},')
    const body = value(readStatic(text)) as { disk: { logical: ReadonlyArray<{ mountpoints: object }> } }

    expect(Object.getPrototypeOf(body)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(body.disk.logical[0]?.mountpoints)).toBe(Object.prototype)
    expect(JSON.stringify(body)).toContain('"mountpoints":{"__proto__":{"fs_type":"evil"}}')
    expectCleanPrototypes()
  })

  it("may be names of devices", () => {
    const report = fullReport()
    setAt(
      report,
      "metrics.network",
      hostileNames.map((name) => nic(name))
    )
    const reading = readReport(JSON.stringify(report))
    const names = namesIn(value(reading) as never)

    expect(names.nics).toEqual(hostileNames.map((name) => name.trim()))
    expectCleanPrototypes()
  })
})

describe("deep nesting", () => {
  it.each([
    ["10,000 arrays as the body", nested(10_000)],
    ["half a million arrays as the body", nested(500_000)],
    ["10,000 objects that look like reports", nestedObjects(10_000)],
    ["10,000 arrays that are never closed", "[".repeat(10_000)]
  ])("is refused without a crash: %s", (_, text) => {
    for (const read of readers) expect(["Undecodable", "Meaningless"]).toContain(read(text)._tag)
  })

  it("is passed over in members that nobody knows", () => {
    const deep = `"strange":${nested(100_000)}`

    expect(readReport(withMember(deep))).toMatchObject({ _tag: "Read" })
    expect(readReport(withMember(`${deep},"more":9007199254740993`))).toMatchObject({ _tag: "Read" })
  })

  it("is passed over when exact digits are looked for in the text", () => {
    const wide = fullReportText.replace('"bytes_recv": 7188201443112', '"bytes_recv": 9007199254740993')
    const long = `"strange":${nested(100_000)},"long":"${'\\"9007199254740993'.repeat(30_000)}"`
    const reading = readReport(wide.replace('"hostname"', `${long},"hostname"`))

    expect(reading).toMatchObject({ _tag: "Read", wide: { eth0: ["9007199254740993", "9920115720448"] } })
  })
})

describe("numbers at the edge", () => {
  const place = '"usage_ratio": 0.2374581939799331'
  const counter = '"used": 5216440320'
  it.each([
    [place, '"usage_ratio": 1e309', "Undecodable"],
    [place, '"usage_ratio": -1e309', "Undecodable"],
    [place, '"usage_ratio": 1e308', "Meaningless"],
    [place, '"usage_ratio": "NaN"', "Undecodable"],
    [place, '"usage_ratio": NaN', "Undecodable"],
    [place, '"usage_ratio": Infinity', "Undecodable"],
    [place, '"usage_ratio": -0', "Read"],
    [place, '"usage_ratio": 5e-324', "Read"],
    [counter, '"used": -0', "Read"],
    [counter, '"used": 18446744073709551615', "Read"],
    [counter, '"used": 18446744073709553665', "Undecodable"],
    [counter, `"used": 1${"0".repeat(400)}`, "Undecodable"],
    [counter, '"used": 1e-400', "Read"],
    [counter, '"used": 0x10', "Undecodable"],
    [counter, '"used": 01', "Undecodable"],
    [counter, '"used": +1', "Undecodable"]
  ])("get the documented answer: %s becomes %s", (from, to, tag) => {
    expect(fullReportText).toContain(from)
    expect(readReport(fullReportText.replace(from, to))._tag).toBe(tag)
  })
})

describe("text at the edge", () => {
  it("keeps the last of two members of one name, as JSON.parse does", () => {
    const reading = readReport(
      withMember('"version":"9.9.9"').replace('"hostname": "edge-07"', '"hostname": "a","hostname": "b"')
    )

    expect(reading).toMatchObject({ _tag: "Read", value: { hostname: "b" } })
  })

  it("carries lone surrogates through to the snapshot as well-formed JSON", () => {
    const report = fullReport()
    setAt(report, "metrics.network", [nic("\ud800"), nic("\udfff\ud83d")])
    const reading = readReport(JSON.stringify(report))
    const text = snapshotText(viewOf(value(reading) as never), titled(), true)

    expect(text).toContain('"name":"\\ud800"')
    expect(() => new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode(text))).not.toThrow()
  })

  it("never throws, whatever the bytes decode to", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.json(),
          fc.jsonValue().map((any) => JSON.stringify(any))
        ),
        (text) => {
          for (const read of readers) expect(read(text)._tag).not.toBe("Read")
        }
      ),
      { numRuns: 400 }
    )
    expectCleanPrototypes()
  })

  it("never throws when a true report is cut, doubled or scratched", () => {
    fc.assert(
      fc.property(reports, fc.nat(), fc.nat(50), fc.string({ maxLength: 3 }), (report, at, length, scratch) => {
        const text = JSON.stringify(report)
        const from = at % text.length
        const scratched = text.slice(0, from) + scratch + text.slice(from + length)

        expect(["Read", "Undecodable", "Meaningless"]).toContain(readReport(scratched)._tag)
      }),
      { numRuns: 400 }
    )
    expectCleanPrototypes()
  })
})
