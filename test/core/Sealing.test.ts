// Sealing: rows become columns, and devices that come, go or change their name leave gaps, never values of another.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import { changesIn } from "../../src/core/DetailChanges.ts"
import { type Details, merged } from "../../src/core/Details.ts"
import { type Layout, layoutOf } from "../../src/core/Layout.ts"
import { Sealing, type Sealed, type SealRow } from "../../src/core/Sealing.ts"
import { columnsOf, findSeries, seriesKey } from "../../src/core/Series.ts"
import type { HistoryMetric } from "../../schema/History.ts"
import { reportRows } from "../support/ArbitraryReports.ts"
import {
  arrivalOf,
  baseIo,
  flattened,
  fullReport,
  layoutIn,
  nic,
  reportWith,
  smart,
  smartDevice,
  volume
} from "../support/Reports.ts"

const firstAt = Date.UTC(2031, 2, 4, 5)
const gone = Number.NaN

/** The journal rows of one node that sends these reports, 3 s apart. */
const rowsOf = (reports: ReadonlyArray<NodeReport>): ReadonlyArray<SealRow> => {
  let details: Details | undefined
  let layout: Layout | undefined
  return reports.map((report, i) => {
    const changes = changesIn(details, layout, report, arrivalOf())
    details = merged(details, changes)
    if (layout === undefined || changes?.layout !== undefined) layout = layoutOf(details.layout)
    return { receivedAt: firstAt + i * 3000, vector: flattened(report, layout), changes }
  })
}
const sealed = (
  rows: ReadonlyArray<SealRow>,
  details?: Details,
  metric?: HistoryMetric
): Sealed & { readonly sealing: Sealing } => {
  const sealing = new Sealing(details, rows.length, metric)
  for (const row of rows) sealing.add(row)
  return { ...sealing.finish(), sealing }
}
const columnOf = ({ chunk, series }: Sealed, metric: HistoryMetric, ...devices: ReadonlyArray<string>) => {
  const column = chunk.columns[findSeries(series, metric, devices)]
  return column === undefined ? undefined : [...column]
}

/** The present values of each row by series, each row taken by itself from its own report. */
const expected = (reports: ReadonlyArray<NodeReport>): ReadonlyMap<string, ReadonlyArray<number>> => {
  const found = new Map<string, Array<number>>()
  reports.forEach((report, i) => {
    const { series, take: takeFrom } = columnsOf(layoutIn(report), report.metrics.disk.smart?.devices ?? [])
    const out = new Float64Array(series.length)
    takeFrom(flattened(report), out)
    series.forEach((one, index) => {
      const key = seriesKey(one)
      const column = found.get(key) ?? reports.map(() => gone)
      column[i] = out[index] as number
      found.set(key, column)
    })
  })
  return new Map([...found].filter(([, column]) => column.some((value) => !Number.isNaN(value))))
}
const asMap = ({ chunk, series }: Sealed) =>
  new Map(series.map((one, i) => [seriesKey(one), [...(chunk.columns[i] ?? [])]]))

const nics = (...named: ReadonlyArray<readonly [name: string, rate: number]>) =>
  reportWith(({ metrics }) => {
    metrics.network = named.map(([name, rate]) => nic(name, { recv_rate_bytes_per_sec: rate }))
  })

describe("a row whose vector does not fit the devices that hold at it", () => {
  it("is refused, and leaves no trace in what is sealed", () => {
    const broken = fc.record({ at: fc.nat(), size: fc.nat(400) })
    fc.assert(
      fc.property(reportRows, fc.array(broken, { minLength: 1, maxLength: 4 }), (reports, bad) => {
        const rows = rowsOf(reports)
        const sealing = new Sealing(undefined, rows.length)
        rows.forEach((row, i) => {
          expect(sealing.add(row)).toBe(true)
          for (const { at, size } of bad) {
            if (at % rows.length !== i) continue
            const length = size === row.vector.length ? size + 1 : size
            const vector = new Float64Array(length).fill(666)
            expect(sealing.add({ receivedAt: row.receivedAt + 1, vector, changes: undefined })).toBe(false)
          }
          expect(sealing.length).toBe(i + 1)
          expect(sealing.lastAt).toBe(row.receivedAt)
        })

        expect(sealing.finish()).toEqual(sealed(rows).sealing.finish())
        expect(sealing.details).toEqual(sealed(rows).sealing.details)
      })
    )
  })

  it("still says which devices hold from there on", () => {
    const [one, two, three] = rowsOf([
      nics(["eth0", 1]),
      nics(["wan0", 2], ["eth0", 3]),
      nics(["wan0", 4], ["eth0", 5])
    ])
    const result = sealed([one, { ...two, vector: new Float64Array(3) }, three] as ReadonlyArray<SealRow>)

    expect(columnOf(result, "net.recv_bps", "eth0")).toEqual([1, 5])
    expect(columnOf(result, "net.recv_bps", "wan0")).toEqual([gone, 4])
    expect([...result.chunk.times]).toEqual([firstAt, firstAt + 6000])
  })

  it("is refused as the very first, when nothing is known of the node", () => {
    const { chunk, sealing, series } = sealed([
      { receivedAt: firstAt, vector: new Float64Array(1), changes: undefined }
    ])

    expect(series).toEqual([])
    expect(chunk).toEqual({ times: new Float64Array(0), columns: [] })
    expect([sealing.length, sealing.lastAt]).toEqual([0, Number.NEGATIVE_INFINITY])
  })
})

describe("a device that comes, goes or is renamed within a chunk", () => {
  it("leaves a gap before it came and after it went", () => {
    const result = sealed(
      rowsOf([
        nics(["eth0", 1]),
        nics(["eth0", 2], ["eth1", 20]),
        nics(["eth1", 30], ["eth0", 3]),
        nics(["eth1", 40]),
        nics(["eth0", 5])
      ])
    )

    expect(columnOf(result, "net.recv_bps", "eth0")).toEqual([1, 2, 3, gone, 5])
    expect(columnOf(result, "net.recv_bps", "eth1")).toEqual([gone, 20, 30, 40, gone])
    expect(columnOf(result, "net.recv_bps")).toEqual([1, 22, 33, 40, 5])
  })

  it("is another under its new name, with vectors of the same length", () => {
    const result = sealed(rowsOf([nics(["eth0", 1]), nics(["wan0", 2]), nics(["eth0", 3])]))

    expect(columnOf(result, "net.recv_bps", "eth0")).toEqual([1, gone, 3])
    expect(columnOf(result, "net.recv_bps", "wan0")).toEqual([gone, 2, gone])
  })

  it("swaps places with another and keeps its own values", () => {
    const volumes = (...used: ReadonlyArray<readonly [kind: string, used: number]>) =>
      reportWith(({ metrics }) => {
        metrics.disk.logical = used.map(([kind, n]) => volume("data", { kind, ref: `${kind}:data`, used: n }))
        metrics.disk.base_io = used.map(([kind, n]) => baseIo(`of-${kind}`, { read_rate_bytes_per_sec: 10 * n }))
      })
    const result = sealed(rowsOf([volumes(["lvm", 1], ["zfs", 2]), volumes(["zfs", 4], ["lvm", 3])]))

    expect(columnOf(result, "disk.used", "lvm:data")).toEqual([1, 3])
    expect(columnOf(result, "disk.used", "zfs:data")).toEqual([2, 4])
    expect(columnOf(result, "disk.read_bps", "of-lvm")).toEqual([10, 30])
  })

  it("has its temperature while SMART tells one, and a gap when it stops", () => {
    const heats = (...temps: ReadonlyArray<readonly [name: string, temp: number | null]>) =>
      reportWith(({ metrics }) => {
        metrics.disk.smart =
          temps.length === 0 ? null : smart(...temps.map(([name, temp_c]) => smartDevice(name, { temp_c })))
      })
    const result = sealed(
      rowsOf([
        heats(["sda", 30], ["sdb", 40]),
        heats(["sdb", 41], ["sda", 31]),
        heats(["sda", null], ["sdb", 42]),
        heats()
      ])
    )

    expect(columnOf(result, "disk.temp_c", "sda")).toEqual([30, 31, gone, gone])
    expect(columnOf(result, "disk.temp_c", "sdb")).toEqual([40, 41, 42, gone])
  })
})

describe("what is sealed", () => {
  it("holds of every row just what its own report says, whatever came before", () => {
    fc.assert(
      fc.property(reportRows, (reports) => {
        const rows = rowsOf(reports)
        const result = sealed(rows)

        expect(asMap(result)).toEqual(expected(reports))
        expect([...result.chunk.times]).toEqual(rows.map(({ receivedAt }) => receivedAt))
        expect(new Set(result.series.map(seriesKey)).size).toBe(result.series.length)
      })
    )
  })

  it("is the same in two chunks as in one, when the second goes on with what the first knew", () => {
    fc.assert(
      fc.property(reportRows, fc.nat(), (reports, place) => {
        const rows = rowsOf(reports)
        const border = place % (rows.length + 1)
        const first = sealed(rows.slice(0, border))
        const second = sealed(rows.slice(border), first.sealing.details)
        const [before, behind] = [asMap(first), asMap(second)]
        const joined = new Map(
          [...new Set([...before.keys(), ...behind.keys()])].map((key) => [
            key,
            [
              ...(before.get(key) ?? rows.slice(0, border).map(() => gone)),
              ...(behind.get(key) ?? rows.slice(border).map(() => gone))
            ]
          ])
        )

        expect(joined).toEqual(asMap(sealed(rows)))
        expect(second.sealing.details).toEqual(sealed(rows).sealing.details)
      })
    )
  })

  it("is of one metric just the columns that it would have among all", () => {
    fc.assert(
      fc.property(reportRows, fc.nat(), (reports, pick) => {
        const rows = rowsOf(reports)
        const all = sealed(rows)
        const metric = all.series[pick % Math.max(1, all.series.length)]?.metric ?? "cpu.usage_ratio"
        const own = [...asMap(all)].filter(([key]) => (JSON.parse(key) as [string])[0] === metric)

        expect(asMap(sealed(rows, undefined, metric))).toEqual(new Map(own))
      })
    )
  })

  it("has no column for what was absent throughout", () => {
    const bare = reportWith(({ metrics }) => {
      metrics.pressure = null
      metrics.thermal = null
    })
    const metrics = (report: NodeReport) => sealed(rowsOf([report, report])).series.map(({ metric }) => metric)

    expect(metrics(bare).filter((metric) => /^pressure|^thermal|^cpu\.temp/.test(metric))).toEqual([])
    expect(metrics(fullReport()).filter((metric) => metric.startsWith("pressure"))).toHaveLength(15)
  })
})
