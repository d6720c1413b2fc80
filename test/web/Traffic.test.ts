// @vitest-environment node
// The pure parts of the traffic pages: slots and their rule, the pace, interfaces, orders, addresses, amounts.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { TrafficStats, TrafficSummary } from "../../schema/Traffic.ts"
import type { TrafficExplain, TrafficFact } from "../../schema/TrafficProof.ts"
import { makeCycleTimes } from "../../src/web/pages/traffic/CycleTimes.ts"
import { sumDays } from "../../src/web/pages/traffic/Days.ts"
import { busiestOf, candidatesMax, candidatesOf } from "../../src/web/pages/traffic/Interfaces.ts"
import { countedSide, fileNameOf, projectedOf } from "../../src/web/pages/traffic/Report.ts"
import { columnsOfSlots, headroomOf, leftOut, ranked, sides, slotMs } from "../../src/web/pages/traffic/Slots.ts"
import { emptyView, parseView, printView, zoomWithin } from "../../src/web/pages/traffic/TrafficView.ts"
import { elapsedOf, orderedIds, sumsOf, thinCoverage } from "../../src/web/pages/traffic/Usage.ts"
import { bits, volume } from "../../src/web/pages/traffic/Volume.ts"
import { english } from "../../src/web/text/English.ts"
import { makeFormat } from "../../src/web/text/Format.ts"
import { FakeFleet } from "./FakeFleet.ts"
import { FakeTraffic } from "./FakeTraffic.ts"

const format = makeFormat("en", english.units)
const startMs = Date.UTC(2026, 2, 1)
const utc = (ms: number): string => new Date(ms).toISOString()

/** Rates out; null is a slot with bytes that is no sample, undefined one that is absent. */
const explainOf = (rates: ReadonlyArray<number | null | undefined>, slots = 8928): TrafficExplain => {
  const facts = rates.flatMap((rate, i): ReadonlyArray<TrafficFact> => {
    if (rate === undefined) return []
    const counts = { covered_sec: 300, gap_count: 0, reset_count: 0, flags: [] }
    const bytes = { in_bytes: 0, out_bytes: (rate ?? 1) * 300, in_rate: rate === null ? null : 0, out_rate: rate }
    return [{ start: utc(startMs + i * slotMs), valid: rate !== null, ...bytes, ...counts }]
  })
  const sorted = facts.flatMap((fact) => (fact.out_rate === null ? [] : [fact.out_rate])).sort((a, b) => b - a)
  const discarded = Math.floor(sorted.length / 20)
  const level = sorted.length < 20 ? undefined : sorted[discarded]
  const side = { discarded, deciding: level === undefined ? null : { start: utc(startMs), bytes_per_sec: level } }
  const cycle = { mode: "calendar_month", billing_start_day: 1, timezone: "UTC" } as const
  return {
    server_id: 1,
    iface: "eth0",
    cycle: { ...cycle, start: utc(startMs), end: utc(startMs + slots * slotMs) },
    facts,
    p95: { rule: "", sample_count: sorted.length, in: side, out: side, total: side },
    gaps: [],
    resets: []
  }
}

const fleet = new FakeFleet(6, startMs)
const summaryOf = (
  stats: Partial<TrafficStats> = {},
  mode: TrafficSummary["direction_mode"] = "max"
): TrafficSummary => {
  const traffic = new FakeTraffic()
  traffic.settings = { ...traffic.settings, directionMode: mode }
  const params = new URLSearchParams({ server_id: "2", iface: "eth1" })
  const node = fleet.nodes[1]
  if (node === undefined) throw new Error("no node")
  const told = traffic.read("summary", node, params, startMs + 10 * 86_400_000) as TrafficSummary
  return { ...told, stats: { ...told.stats, ...stats } }
}

describe("the slots of a cycle", () => {
  it("have no line, no headroom and none left out while there are fewer than twenty samples", () => {
    const explain = explainOf(Array.from({ length: 19 }, (_, i) => i))

    expect(headroomOf(explain, "out", startMs)).toBe(null)
    expect(leftOut(explain, "out")).toEqual([])
    expect(columnsOfSlots(explain, "out", null).series.length).toBe(1)
  })

  it("leave out what is ranked above the deciding one, the older of equals first", () => {
    const explain = explainOf([...Array.from({ length: 18 }, () => 10), 50, 100, null])

    expect(leftOut(explain, "out").map((slot) => slot.rate)).toEqual([100])
    expect(ranked(explain.facts, "out").length).toBe(20)
    expect(ranked(explainOf([7, 7]).facts, "total").map((slot) => slot.start)).toEqual([
      utc(startMs),
      utc(startMs + slotMs)
    ])
  })

  it("have exactly as much headroom as high slots can follow without raising the line", () => {
    const rates = fc.array(fc.nat(50), { minLength: 20, maxLength: 120 })
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 200 }), (known, left) => {
        const whole = known.length + left
        const explain = explainOf(known, whole)
        const level = explain.p95.out.deciding?.bytes_per_sec ?? 0
        const room = headroomOf(explain, "out", startMs + known.length * slotMs) ?? -1
        expect(room).toBeGreaterThanOrEqual(0)
        const after = (high: number): number => {
          const rest = Array.from({ length: left }, (_, i) => (i < high ? 1000 : 0))
          return explainOf([...known, ...rest], whole).p95.out.deciding?.bytes_per_sec ?? -1
        }
        expect(after(Math.min(room, left))).toBeLessThanOrEqual(level)
        if (room < left) expect(after(room + 1)).toBeGreaterThan(level)
      })
    )
  })

  it("break the line of rates where one is absent or no sample, and draw the percentile from end to end", () => {
    const columns = columnsOfSlots(explainOf([5, undefined, 6, null, 7], 10), "out", 6)
    const at = (ms: number): number => (ms - startMs) / slotMs

    expect(columns.at.map(at)).toEqual([0, 1, 2, 3, 4, 5, 10].filter((one) => one !== 5))
    expect(columns.series[0]).toEqual([5, null, 6, null, 7, null])
    expect(columns.series[1]).toEqual([6, 6, 6, 6, 6, 6])
    expect(columnsOfSlots(explainOf([undefined, undefined, 5], 10), "in", null).at.map(at)).toEqual([0, 2, 10])
  })
})

describe("the figures of a cycle", () => {
  it("tell thin coverage rounded down, never as enough, and not where no samples are taken", () => {
    const of = (coverage_ratio: number, expected_sample_count = 100) =>
      thinCoverage(summaryOf({ coverage_ratio, expected_sample_count }).stats)

    expect([of(0.9499), of(0.95), of(0.805), of(0, 0), of(0)]).toEqual([94, null, 80, null, 0])
  })

  it("promise nothing for a cycle that is over or has hardly begun", () => {
    const hours = (count: number) => ({
      effective_start: utc(startMs),
      effective_end: utc(startMs + count * 3_600_000)
    })
    expect(projectedOf(summaryOf({ cycle_complete: true }))).toBe(null)
    expect(projectedOf(summaryOf(hours(5)))).toBe(null)
    expect(projectedOf(summaryOf({ effective_end: "" }))).toBe(null)
    const summary = summaryOf({ ...hours(10 * 24), selected_bytes: 1000 })
    const end = Date.parse(summary.cycle.end)
    expect(projectedOf(summary)).toBeCloseTo((1000 * (end - startMs)) / (10 * 24 * 3_600_000), 3)
  })

  it("show the side that is billed", () => {
    expect(countedSide(summaryOf({}, "both"))).toBe("total")
    expect(countedSide(summaryOf({}, "out"))).toBe("out")
    expect(countedSide(summaryOf({ selected_p95_direction: "in" }))).toBe("in")
    expect(
      countedSide({ direction_mode: "max", stats: { ...summaryOf().stats, selected_bytes_direction: "in" } })
    ).toBe("out")
  })

  it("know how far the cycle is, whatever the clock says", () => {
    const cycle = { start: utc(startMs), end: utc(startMs + 1000) }

    expect([-5, 0, 250, 1000, 9999].map((ms) => elapsedOf(cycle, startMs + ms))).toEqual([0, 0, 0.25, 1, 1])
    expect(elapsedOf({ start: "", end: "" }, startMs)).toBe(0)
  })

  it("sum up nodes and days, and scale bars by the largest", () => {
    const summary = summaryOf({ in_bytes: 2, out_bytes: 3, selected_bytes: 3 })
    expect(sumsOf([summary, summary])).toEqual({ inBytes: 4, outBytes: 6, selectedBytes: 6 })
    const day = { ...summary, start: "", end: "" }
    const sums = sumDays([day, { ...day, stats: { ...day.stats, out_bytes: 12 } }])
    expect([sums.inBytes, sums.outBytes, sums.share(6), sumDays([]).share(5)]).toEqual([4, 15, 0.5, 0])
  })
})

describe("the interfaces of a node", () => {
  it("are looked at where traffic leaves the machine, but never more than a few", () => {
    expect(candidatesOf(["br-1a2b", "docker0", "eth0", "eth1", "lo", "veth12"])).toEqual(["eth0", "eth1"])
    expect(candidatesOf(["Ethernet 2", "Loopback Pseudo-Interface 1"])).toEqual(["Ethernet 2"])
    expect(candidatesOf(["docker0", "lo"])).toEqual(["docker0", "lo"])
    expect(candidatesOf(Array.from({ length: 99 }, (_, i) => `eth${i}`)).length).toBe(candidatesMax)
  })

  it("are led by the busiest, the first of equals", () => {
    const of = (iface: string, selected_bytes: number) => ({ ...summaryOf({ selected_bytes }), iface })

    expect(busiestOf([])).toBe(undefined)
    expect(busiestOf([of("a", 0), of("b", 9), of("c", 9)])?.iface).toBe("b")
  })
})

describe("the order of nodes", () => {
  it("puts the unknown last by use, numbers in names as numbers, and else keeps the display order", () => {
    const nodes = [
      { id: 1, title: "alpha", selectedBytes: null },
      { id: 2, title: "web-10", selectedBytes: 5 },
      { id: 3, title: "web-9", selectedBytes: 0 },
      { id: 4, title: "Web-9", selectedBytes: 7 }
    ]
    expect(orderedIds(nodes, "use")).toEqual([4, 2, 3, 1])
    expect(orderedIds(nodes, "name")).toEqual([1, 3, 4, 2])
    expect(orderedIds(nodes, "display")).toEqual([1, 2, 3, 4])
  })
})

describe("a traffic address", () => {
  it("falls back to the default where it means nothing", () => {
    for (const search of ["", "?period=next&months=7&since=x&side=up&from=1", "?from=100&to=50", "?from=1e9&to=2e9"]) {
      expect([search, parseView(search)]).toEqual([search, emptyView])
    }
  })

  it("gives back the view it was written from", () => {
    const view = fc.record({
      iface: fc.constantFrom("", "eth0", "Ethernet 2", "a&b=c"),
      period: fc.constantFrom("current" as const, "previous" as const),
      months: fc.constantFrom(6 as const, 12 as const, 24 as const),
      since: fc.constantFrom("current" as const, "previous" as const),
      side: fc.option(fc.constantFrom(...sides)),
      zoom: fc.option(
        fc.nat(2_000_000).map((from) => ({ fromMs: from * slotMs, toMs: (from + 12) * slotMs })),
        { nil: null }
      )
    })
    fc.assert(
      fc.property(view, (one) => {
        expect(parseView(printView(one))).toEqual(one)
      })
    )
  })

  it("zooms to whole slots within the cycle, at least six, and is plain again when all is shown", () => {
    const cycle = { fromMs: startMs, toMs: startMs + 1000 * slotMs }

    expect(zoomWithin(startMs + 1, startMs + 2, cycle)).toEqual({ fromMs: startMs, toMs: startMs + 6 * slotMs })
    expect(zoomWithin(startMs - 99, cycle.toMs + 99, cycle)).toBe(null)
  })
})

describe("an amount and a time", () => {
  it("are given in units of a thousand and with three digits", () => {
    expect([0, 999, 1000, 999_499, 999_500, 1_234_567_890_123].map((one) => volume(one, format))).toEqual([
      "0 B",
      "999 B",
      "1.00 kB",
      "999 kB",
      "1.00 MB",
      "1.23 TB"
    ])
    expect([volume(-1, format), bits(1_250_000, format)]).toEqual(["–", "10.0 Mbit/s"])
  })

  it("go by the days of the bill's zone, and by UTC where the browser does not know it", () => {
    const berlin = makeCycleTimes("en", "Europe/Berlin")
    expect(berlin.span("2031-02-14T23:00:00Z", "2031-03-14T23:00:00Z")).toEqual(["Feb 15, 2031", "Mar 14, 2031"])
    expect(makeCycleTimes("en", "Mars/Base").zone).toBe("UTC")
    expect(berlin.day("")).toBe("–")
  })

  it("name a file without anything that a path could mean", () => {
    expect(fileNameOf("days", "7", "../eth0/ä:1", "2026-03-01T00:00:00Z")).toBe(
      "traffic-7-..-eth0-1-days-2026-03-01.csv"
    )
  })
})
