// Exact digits of counters past 2^53, from the text of a report to the text of a snapshot.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import { type Reading, readReport } from "../../src/core/Reading.ts"
import { snapshotOf, snapshotText } from "../../src/core/SnapshotView.ts"
import { wideCounters } from "../../src/core/Wide.ts"
import { hostileNames, names } from "../support/ArbitraryReports.ts"
import { arrivalOf, fullReport, nic, setAt, smallReport, titled, travelled, viewOf } from "../support/Reports.ts"

interface Counted {
  readonly name: string
  readonly recv: bigint
  readonly sent: bigint
}
/** The text of a report with these interfaces, digits as an agent writes them. */
const textOf = (counted: ReadonlyArray<Counted>, base: object = smallReport()): string => {
  const report = travelled(base)
  setAt(report, "metrics.network", "here")
  const network = counted.map(
    ({ name, recv, sent }) => `{"name":${JSON.stringify(name)},"bytes_recv":${recv},"bytes_sent": ${sent}}`
  )
  return JSON.stringify(report).replace('"here"', () => `[${network.join(",")}]`)
}
const readOf = (text: string): Reading<NodeReport> & { _tag: "Read" } => {
  const reading = readReport(text)
  if (reading._tag !== "Read") throw new Error(reading.message)
  return reading
}
const exactMax = 2n ** 53n
const uint64Max = 2n ** 64n - 1n
const counters = fc.oneof(
  fc.bigInt({ min: 0n, max: uint64Max }),
  fc.bigInt({ min: exactMax - 3n, max: exactMax + 3n }),
  fc.constantFrom(0n, exactMax - 1n, exactMax, exactMax + 1n, 2n ** 63n - 1n, 2n ** 63n + 1n, uint64Max - 1n, uint64Max)
)
const interfaces = fc.uniqueArray(fc.record({ name: names, recv: counters, sent: counters }), {
  maxLength: 4,
  selector: ({ name }) => name.trim()
})
const isWide = ({ recv, sent }: Counted): boolean => recv >= exactMax || sent >= exactMax
/** Own members in order; names such as __proto__ are names. */
const entriesOf = (found: object | null): ReadonlyArray<readonly [string, unknown]> => Object.entries(found ?? {})
const byName = (a: readonly [string, unknown], b: readonly [string, unknown]): number => (a[0] < b[0] ? -1 : 1)

describe("exact counters", () => {
  it("are found for the interfaces that have one past 2^53, with every digit, under any name", () => {
    fc.assert(
      fc.property(interfaces, (counted) => {
        const { wide } = readOf(textOf(counted))
        const expected = counted.filter(isWide).map(({ name, recv, sent }) => [name.trim(), [`${recv}`, `${sent}`]])

        expect(wide === null).toBe(expected.length === 0)
        expect([...entriesOf(wide)].sort(byName)).toEqual((expected as Array<[string, unknown]>).sort(byName))
      }),
      { numRuns: 500 }
    )
  })

  it.each([[2n ** 64n], [2n ** 64n + 1n], [18_446_744_073_709_552_000n]])(
    "past 64 bits refuse the report with 400: %s",
    (recv) => {
      expect(readReport(textOf([{ name: "eth0", recv, sent: 1n }]))).toEqual({
        _tag: "Undecodable",
        message: "metrics.network holds a counter past 64 bits"
      })
      expect(readReport(textOf([{ name: "eth0", recv: 1n, sent: recv }]))._tag).toBe("Undecodable")
    }
  )

  it.each([
    ["9007199254740993", "9007199254740993"],
    ["9007199254740993.0", "9007199254740992"],
    ["9.007199254740993e15", "9007199254740992"],
    ["9007199254740992e0", "9007199254740992"],
    ["1e19", "10000000000000000000"],
    ["18446744073709551615", "18446744073709551615"]
  ])("may be written as %s", (written, exact) => {
    const text = textOf([{ name: "eth0", recv: 1n, sent: 2n }]).replace('"bytes_recv":1,', `"bytes_recv":${written},`)

    expect(readOf(text).wide).toEqual({ eth0: [exact, "2"] })
  })

  it("count a missing or null counter beside a wide one as 0", () => {
    const text = textOf([{ name: "eth0", recv: uint64Max, sent: 2n }])

    expect(readOf(text.replace('"bytes_sent": 2', '"bytes_sent":null')).wide).toEqual({ eth0: [`${uint64Max}`, "0"] })
    expect(readOf(text.replace(',"bytes_sent": 2', "")).wide).toEqual({ eth0: [`${uint64Max}`, "0"] })
  })

  it("are not looked for in a report without any", () => {
    expect(readOf(textOf([{ name: "eth0", recv: exactMax - 1n, sent: 0n }])).wide).toBeNull()
    expect(wideCounters(JSON.stringify(fullReport()))).toBeNull()
  })
})

describe("digits elsewhere in the text", () => {
  const eth0 = { name: "eth0", recv: exactMax + 1n, sent: 7n }
  it.each([
    "9007199254740993",
    'a "quoted" 9007199254740993',
    "\\",
    'back\\slash\\" 9007199254740993',
    "\u00009007199254740993",
    ":9007199254740993,",
    '"bytes_recv":9007199254740995'
  ])("stay inside the string they stand in: %j", (hostname) => {
    const report = { ...smallReport(), hostname, strange: { [hostname]: hostname } }
    const reading = readOf(textOf([eth0], report))

    expect(reading.value.hostname).toBe(hostname)
    expect(reading.wide).toEqual({ eth0: ["9007199254740993", "7"] })
  })

  it("may stand in any other number, long, negative or broken", () => {
    const strange =
      "[1234567890123456789012345678901234567890,-9007199254740993,0.12345678901234567,1e0000000000000017]"
    const text = textOf([eth0]).replace('"hostname"', `"strange":${strange},"hostname"`)

    expect(readOf(text).wide).toEqual({ eth0: ["9007199254740993", "7"] })
  })

  it("do not make an interface of text that only looks like one", () => {
    const fake = '{"network":[{"name":"eth0","bytes_recv":18446744073709551615}]}'
    const text = textOf([eth0]).replace('"hostname"', `"metrics":${fake},"x":${JSON.stringify(fake)},"hostname"`)

    expect(readOf(text).wide).toEqual({ eth0: ["9007199254740993", "7"] })
  })
})

/** The value of a counter in the snapshot's text, with its digits. */
const shown = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/"bytes_(?:recv|sent)":(\d+|[^,}]*)/g)].map(([, value]) => value as string)

describe("the text of a snapshot", () => {
  /** As after a restart: what the journal kept came back from JSON, with a prototype. */
  it.each(["live", "replayed"])("prints them exactly, interface by interface, %s", (how) => {
    fc.assert(
      fc.property(interfaces, (counted) => {
        const { value, wide } = readOf(textOf(counted))
        const arrival = arrivalOf({ wide: how === "live" ? wide : travelled(wide) })
        const text = snapshotText(viewOf(value, { arrival }), titled(), true)
        const exact = counted.flatMap(({ recv, sent }) => [recv, sent])
        const [, ...rest] = text.split('"by_interface":')

        expect(shown(rest.join("")).map(BigInt)).toEqual(exact)
        expect(JSON.parse(text)).toEqual(
          JSON.parse(JSON.stringify(snapshotOf(viewOf(value, { arrival }), titled(), true)))
        )
      }),
      { numRuns: 300 }
    )
  })

  it("lets no name pose as a counter", () => {
    const wide = { eth9: ["18446744073709551615", "18446744073709551615"] as const }
    const report = fullReport()
    const marks = [
      ...hostileNames,
      '","bytes_recv":"\u0001exact:666',
      "\u0001exact:666",
      '\\u0001exact:666"',
      "bytes_sent"
    ]
    setAt(report, "metrics.network", [nic("eth9"), ...marks.map((name) => nic(name, { bytes_recv: 1, bytes_sent: 2 }))])
    for (const path of [
      "disk.logical[0]",
      "disk.base_io[0]",
      "raid.arrays[0]",
      "thermal.sensors[0]",
      "disk.smart.devices[0]"
    ]) {
      setAt(report, `metrics.${path}.name`, '"bytes_recv":"\u0001exact:666"')
    }
    setAt(report, "metrics.disk.base_io[0].ref", "bytes_recv")
    const title = '"bytes_recv":"\u0001exact:666"'
    const text = snapshotText(
      viewOf(report, { arrival: arrivalOf({ wide }) }),
      titled({ name: title, tags: [title] }),
      false
    )
    const plain = snapshotOf(viewOf(report), titled({ name: title, tags: [title] }), false)
    const [first, ...others] = plain.network.by_interface ?? []

    expect(text.match(/18446744073709551615/g)).toHaveLength(2)
    expect(JSON.parse(text)).toEqual(
      travelled({
        ...plain,
        network: { ...plain.network, by_interface: [{ ...first, bytes_recv: 2 ** 64, bytes_sent: 2 ** 64 }, ...others] }
      })
    )
  })

  it("is plain JSON while no counter is wide", () => {
    const view = viewOf(fullReport())

    expect(snapshotText(view, titled(), true)).toBe(JSON.stringify(snapshotOf(view, titled(), true)))
  })
})
