// @vitest-environment node
// The pure parts of a node's history: columns with gaps, the address, figures, turns of reads, texts.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { historyRanges, hostMetrics, deviceMetrics, optionalDeviceMetrics } from "../../schema/HistoryTerms.ts"
import { groupsOf } from "../../src/web/pages/node/history/ChartSpecs.ts"
import { columnsOf, figuresOf, isEmpty, lonely, rowsOf } from "../../src/web/charts/Columns.ts"
import { historyChinese } from "../../src/web/pages/node/history/HistoryChinese.ts"
import { historyEnglish } from "../../src/web/pages/node/history/HistoryEnglish.ts"
import * as View from "../../src/web/pages/node/history/HistoryView.ts"
import { Lane } from "../../src/web/api/Lane.ts"
import { cellState, floorPercent, shareOf } from "../../src/web/pages/node/history/Online.ts"
import { makeTimes } from "../../src/web/charts/Times.ts"
import { figurePrinter, heightOf } from "../../src/web/charts/Units.ts"
import { english } from "../../src/web/text/English.ts"
import { makeFormat } from "../../src/web/text/Format.ts"
import { FakeFleet, snapshotOf } from "./FakeFleet.ts"
import { withTemperatures } from "./FakeHistory.ts"

const startMs = Date.parse("2031-03-04T05:00:00Z")
/** Points at these steps of `stepSec`; a value may be given beside its place. */
const points = (stepSec: number, places: ReadonlyArray<number | readonly [number, number | null]>) =>
  places.map((place) => {
    const [at, value] = typeof place === "number" ? [place, place] : place
    return { ts: new Date(startMs + at * stepSec * 1000).toISOString(), value }
  })
const places = (columns: { readonly at: ReadonlyArray<number> }, stepSec: number) =>
  columns.at.map((ms) => (ms - startMs) / stepSec / 1000)

describe("columns", () => {
  it("break a line where more than three buckets are absent, even if no other series has a time there", () => {
    const columns = columnsOf([points(3, [0, 1, 2, 9, 10])], 3)

    expect(places(columns, 3)).toEqual([0, 1, 2, 3, 9, 10])
    expect(columns.series).toEqual([[0, 1, 2, null, 9, 10]])
  })

  it("draw through single absent buckets, which are jitter", () => {
    const columns = columnsOf([points(6, [0, 2, 3, 5]), points(6, [0, 1, 2, 3, 4, 5])], 6)

    expect(columns.series[0]).toEqual([0, undefined, 2, 3, undefined, 5])
    expect(columns.series[1]).not.toContain(null)
  })

  it("draw through the pauses of a node that reports slower than the step, and still break at its gaps", () => {
    const columns = columnsOf([points(3, [0, 5, 10, 15, 20, 60, 65])], 3)

    expect(columns.series[0]).toEqual([0, 5, 10, 15, 20, null, 60, 65])
  })

  it("keep a null of the service as a break, and draw nothing before the first or after the last value", () => {
    const columns = columnsOf([points(60, [0, [1, null], 2]), points(60, [1])], 60)

    expect(columns.series).toEqual([
      [0, null, 2],
      [null, 1, null]
    ])
  })

  it("hold every value of every series at its own time, in ascending order", () => {
    const series = fc.uniqueArray(fc.nat(200), { maxLength: 60 }).map((all) => all.sort((a, b) => a - b))
    fc.assert(
      fc.property(fc.array(series, { minLength: 1, maxLength: 3 }), fc.constantFrom(3, 60, 900), (all, stepSec) => {
        const columns = columnsOf(
          all.map((one) => points(stepSec, one)),
          stepSec
        )
        expect(columns.at.every((ms, i) => i === 0 || ms > (columns.at[i - 1] ?? ms))).toBe(true)
        all.forEach((one, i) => {
          const kept = columns.series[i]?.flatMap((cell, at) => (typeof cell === "number" ? [[at, cell]] : [])) ?? []
          expect(kept.map(([at]) => places(columns, stepSec)[at ?? 0])).toEqual(one)
          expect(kept.map(([, value]) => value)).toEqual(one)
        })
      })
    )
  })

  it("know their figures, their lonely values, their rows and whether there is anything at all", () => {
    const nothing = columnsOf([[], points(3, [[4, null]])], 3)
    expect([isEmpty(nothing), rowsOf(nothing), figuresOf(nothing.series[1] ?? [])]).toEqual([true, [], null])

    const columns = columnsOf(
      [
        points(3, [
          [0, 5],
          [1, 2],
          [2, 9],
          [10, 4],
          [20, 6]
        ])
      ],
      3
    )
    expect(figuresOf(columns.series[0] ?? [])).toEqual({ low: 2, high: 9, last: 6 })
    expect(rowsOf(columns).map((row) => places(columns, 3)[row])).toEqual([20, 10, 2, 1, 0])
    expect(lonely([5, undefined, 2, null, 4, null, undefined, 6])).toEqual([4, 7])
  })
})

describe("the address of a history", () => {
  it("falls back to the last day where it asks for what there is not", () => {
    for (const search of [
      "",
      "?range=2h&agg=last&online=30d",
      "?from=1&to=2",
      "?from=100",
      "?from=2000&to=1000",
      "?from=-5&to=1e9",
      "?from=0&to=99999999999",
      "?range=constructor"
    ]) {
      expect([search, View.parseView(search)]).toEqual([search, View.emptyView])
    }
  })

  it("says everything that was chosen, and means it when it is opened again", () => {
    const view = fc.record({
      range: fc.constantFrom(...View.rangeNames),
      zoom: fc.option(
        fc.tuple(fc.integer({ min: 0, max: 2 ** 31 }), fc.integer({ min: 30, max: 1e6 })).map(([from, sec]) => ({
          fromMs: from * 1000,
          toMs: (from + sec) * 1000
        }))
      ),
      agg: fc.option(fc.constantFrom(...View.aggNames)),
      iface: fc.string({ maxLength: 40 }),
      online: fc.constantFrom(...View.onlineNames)
    })
    fc.assert(fc.property(view, (one) => void expect(View.parseView(View.printView(one))).toEqual(one)))
    expect(View.printView(View.emptyView)).toBe("?view=history")
  })

  it("knows the service's ranges and steps", () => {
    expect(View.ranges).toEqual(historyRanges)
  })

  it("never asks for the future nor for less than half a minute", () => {
    const now = startMs
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e9 }),
        fc.nat(1e9),
        fc.constantFrom(-1, 1),
        (before, spanMs, direction) => {
          const from = now - before
          for (const one of [
            View.fit(from, from + spanMs, now),
            View.shift({ fromMs: from, toMs: from + spanMs }, direction, now),
            View.narrow({ fromMs: from, toMs: from + spanMs }, now)
          ]) {
            expect(one.toMs).toBeLessThanOrEqual(now)
            expect(one.toMs - one.fromMs).toBeGreaterThanOrEqual(View.zoomMinMs)
            expect([one.fromMs % 1000, one.toMs % 1000]).toEqual([0, 0])
          }
        }
      )
    )
  })

  it("reads again with the step of its range, never faster than every 15 s, and never when it stands still", () => {
    const pauses = View.rangeNames.map((range) => View.refreshMs({ ...View.emptyView, range }))

    expect(pauses).toEqual([15_000, 15_000, 60_000, 120_000, 900_000, 1_800_000, 3_600_000])
    expect(View.refreshMs({ ...View.emptyView, zoom: { fromMs: 0, toMs: 60_000 } })).toBeNull()
  })
})

describe("the charts of a node", () => {
  const nodes = new FakeFleet(40, startMs).nodes
  const linux = nodes.find((node) => node.os === "linux")
  const windows = nodes.find((node) => node.os === "windows")
  if (linux === undefined || windows === undefined) throw new Error("the fleet has no such node")
  const charts = groupsOf(withTemperatures(snapshotOf(linux)), "").flatMap((group) => group.devices.flat())

  it("ask only for metrics that exist, and name a device exactly where one is needed", () => {
    for (const { metric, device } of charts.flatMap((chart) => chart.series)) {
      expect([metric, [...hostMetrics, ...deviceMetrics].includes(metric)]).toEqual([metric, true])
      expect([metric, device !== null]).toEqual([metric, (deviceMetrics as ReadonlyArray<string>).includes(metric)])
    }
    const network = groupsOf(snapshotOf(linux), "eth0")[0]
      ?.devices.flat()
      .find((chart) => chart.kind === "network")
    expect(network?.series.map(({ metric, device }) => [metric, device])).toEqual(
      optionalDeviceMetrics.map((metric) => [metric, "eth0"])
    )
  })

  it("take the highest temperature and connections, the last count of processes, else the mean", () => {
    const special = charts.filter((chart) => chart.agg !== "avg").map(({ kind, agg }) => `${kind} ${agg}`)

    expect([...new Set(special)]).toEqual(["temperature max", "connections max", "processes last", "diskTemp max"])
  })

  it("have keys of their own even where a node names a mount twice, and put last what is not reported now, without the load of Windows", () => {
    const twice = snapshotOf(linux)
    const doubled = { ...twice, disk: { ...twice.disk, mounts: [...twice.disk.mounts, ...twice.disk.mounts] } }
    const keys = groupsOf(doubled, "").flatMap((group) => group.devices.flat().map((chart) => chart.key))

    expect(new Set(keys).size).toBe(keys.length)
    const kinds = groupsOf(snapshotOf(windows), "").map((group) => [
      group.kind,
      group.devices.flat().map((one) => one.kind)
    ])
    expect(kinds).toEqual([
      ["host", ["cpu", "memory", "network", "connections", "processes"]],
      ["mounts", ["used", "used"]],
      ["rest", ["temperature", "pressure"]]
    ])
  })
})

describe("a figure of the history", () => {
  const format = makeFormat("en", english.units)

  it("carries the unit of its chart", () => {
    const printed = (["share", "percent", "rate", "load", "count", "degrees"] as const).map((unit) =>
      figurePrinter(unit, format)(0.5)
    )
    expect(printed).toEqual(["50.0%", "0.5%", "1 B/s", "0.50", "0.5", "0.5 °C"])
  })

  it("lies within the height of its chart, whose grid is not too dense", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 1e9, noNaN: true }),
        fc.constantFrom("percent", "rate", "load", "count", "degrees"),
        (value, unit) => {
          const high = unit === "degrees" ? value % 150 : value
          const { low, high: top, ticks } = heightOf(unit, high, high)
          expect(low).toBeLessThanOrEqual(high)
          expect(top).toBeGreaterThanOrEqual(high)
          expect(ticks.length).toBeLessThanOrEqual(7)
        }
      )
    )
    expect(heightOf("share", 0.1, 0.2).high).toBe(1)
  })

  it("stands at a time that names the day where the hours alone would not tell", () => {
    const times = makeTimes("en-GB")
    const noon = new Date(2031, 2, 4, 12, 30, 15).getTime()
    const midnight = new Date(2031, 2, 5).getTime()
    expect([times.tick(noon, 3600_000), times.tick(noon, 15_000), times.tick(midnight, 3600_000)]).toEqual([
      "12:30",
      "12:30:15",
      "5 Mar"
    ])
    expect(times.span(noon, noon + 3600_000)[1]).toBe("13:30")
    expect(times.span(noon, midnight)[1]).toContain("5 Mar")
  })
})

describe("the reports of a node", () => {
  const point = (received: number, expected: number, status: 0 | 1 | 2 = 0) => ({
    ts: "2031-03-04T05:00:00Z",
    status,
    rate: expected === 0 ? 0 : received / expected,
    received,
    expected
  })

  it("are not whole because a surplus elsewhere makes up for what is missing", () => {
    expect(shareOf([point(1200, 600), point(0, 600)])).toBe(0.5)
    expect(shareOf([point(0, 0)])).toBeNull()
  })

  it("never read as 100 % when one is missing", () => {
    expect([0.99999, 1, 1.2, 0.998].map(floorPercent)).toEqual([99.9, 100, 100, 99.8])
  })

  it("tell a stretch without due reports from one without reports", () => {
    expect([point(0, 0, 2), point(0, 9, 2), point(5, 9, 2), point(9, 9, 1), point(9, 9)].map(cellState)).toEqual([
      "idle",
      "none",
      "part",
      "most",
      "whole"
    ])
  })
})

describe("the lane of reads", () => {
  it("runs no more than its width at once, passes the turn on after failures and refuses who was aborted", async () => {
    const lane = new Lane(2)
    const gone = new AbortController()
    const open: Array<() => void> = []
    let running = 0
    let peak = 0
    const task = async (): Promise<void> => {
      peak = Math.max(peak, ++running)
      await new Promise<void>((done) => open.push(done))
      running--
      throw new Error("refused")
    }
    const never = new AbortController().signal
    const all = [never, never, gone.signal, never, never].map((signal) => lane.run(task, signal))
    const settled = Promise.allSettled(all)
    gone.abort(new Error("aborted"))
    for (let i = 0; i < 4; i++) {
      await expect.poll(() => open.length).toBeGreaterThan(0)
      open.shift()?.()
    }
    const reasons = (await settled).map((one) => (one.status === "rejected" ? String(one.reason) : "done"))

    expect(peak).toBe(2)
    expect(reasons).toEqual(["refused", "refused", "aborted", "refused", "refused"].map((word) => `Error: ${word}`))
  })
})

/** Paths of all leaves, with what each is. */
const leaves = (value: unknown, path = ""): ReadonlyArray<string> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`))
    : [`${path}: ${typeof value}${typeof value === "function" ? value.length : ""}${value === "" ? " EMPTY" : ""}`]

describe("the texts of the history", () => {
  it("are the same in both languages, with the same arguments, and none is empty", () => {
    expect([...leaves(historyChinese)].sort()).toEqual([...leaves(historyEnglish)].sort())
    expect(leaves(historyEnglish).filter((leaf) => leaf.includes("EMPTY"))).toEqual([])
  })
})
