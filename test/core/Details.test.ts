// What a report says beyond numbers: only what changed is told, and the changes folded give the whole again.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import { changesIn } from "../../src/core/DetailChanges.ts"
import { type Changes, type Details, merged, uptimeText } from "../../src/core/Details.ts"
import { layoutOf } from "../../src/core/Layout.ts"
import { reportRows, reports } from "../support/ArbitraryReports.ts"
import {
  arrivalOf,
  freshDetails,
  fullReport,
  fullReportText,
  layoutIn,
  nic,
  setAt,
  smallReport,
  travelled
} from "../support/Reports.ts"

/** Changes that a report brings to what is kept of another. */
const changesFrom = (kept: NodeReport, report: NodeReport, before = arrivalOf(), now = arrivalOf()) =>
  changesIn(freshDetails(kept, before), layoutIn(kept), report, now)

const arrivals = fc.record({
  ip: fc.constantFrom("203.0.113.9", "2001:db8::1"),
  wide: fc.constantFrom(
    null,
    { eth0: ["9007199254740993", "1"] as const },
    { eth0: ["9007199254740995", "1"] as const }
  ),
  dropped: fc.constantFrom([], ["a"], ["a", "b"])
})

describe("the changes of a report", () => {
  it("are none when the same report comes again, and none of its figures is one", () => {
    fc.assert(
      fc.property(reports, reports, (report, other) => {
        const figures = travelled(report)
        setAt(figures, "timestamp", other.timestamp)
        setAt(figures, "metrics.cpu", other.metrics.cpu ?? null)
        setAt(figures, "metrics.memory", other.metrics.memory ?? null)
        setAt(figures, "metrics.pressure", other.metrics.pressure ?? null)

        expect(changesFrom(report, travelled(report))).toBeUndefined()
        expect(changesFrom(report, figures)).toBeUndefined()
      }),
      { numRuns: 200 }
    )
  })

  it("are every section for a first report", () => {
    expect(Object.keys(freshDetails(fullReport())).sort()).toEqual([
      "dropped",
      "health",
      "hostname",
      "ip",
      "layout",
      "raid",
      "smart",
      "thermal",
      "uptime",
      "version",
      "wide"
    ])
    expect(Object.keys(freshDetails(smallReport()))).toHaveLength(11)
  })

  it("folded over a row of reports, as they travel through the journal, give the details of the last one", () => {
    fc.assert(
      fc.property(reportRows, fc.array(arrivals, { minLength: 12, maxLength: 12 }), (row, from) => {
        let kept: Details | undefined
        row.forEach((report, i) => {
          const layout = kept === undefined ? undefined : layoutOf(kept.layout)
          const changes = changesIn(kept, layout, report, from[i] ?? arrivalOf())
          kept = merged(kept, changes === undefined ? undefined : travelled(changes))

          expect(travelled(kept)).toEqual(travelled(freshDetails(report, from[i])))
        })
      }),
      { numRuns: 200 }
    )
  })

  it.each<[string, unknown, keyof Details, unknown]>([
    ["hostname", " edge-08 ", "hostname", "edge-08"],
    ["version", "0.2.3", "version", "0.2.3"],
    ["metrics.system.uptime", "12 days", "uptime", "12 days"],
    ["metrics.disk.logical[0].health", "degraded", "health", ["degraded"]],
    ["metrics.thermal.status", "stale", "thermal", ["stale", "ok", "ok", "ok"]],
    ["metrics.thermal.sensors[2].status", "timeout", "thermal", ["ok", "ok", "ok", "timeout"]],
    ["metrics.disk.smart", undefined, "smart", null]
  ])("name only the section that %s stands in", (path, to, section, told) => {
    const report = fullReport()
    setAt(report, path, to)

    expect(changesFrom(fullReport(), report)).toEqual({ [section]: told })
  })

  it("carry a piece of SMART or RAID whole when one of its members changed", () => {
    const report = fullReport()
    setAt(report, "metrics.disk.smart.devices[1].temp_c", 37)
    setAt(report, "metrics.raid.arrays[0].sync_progress", "8.5%")
    const changes = changesFrom(fullReport(), report)

    expect(Object.keys(changes ?? {}).sort()).toEqual(["raid", "smart"])
    expect(changes?.smart?.devices.map((device) => device.temp_c)).toEqual([43, 37, 38])
    expect(changes?.raid).toEqual(report.metrics.raid)
  })

  it("bring new names and statuses when a sensor is gone", () => {
    const report = fullReport()
    setAt(report, "metrics.thermal.sensors", report.metrics.thermal?.sensors.slice(1))
    const changes = changesFrom(fullReport(), report)

    expect(Object.keys(changes ?? {}).sort()).toEqual(["layout", "thermal"])
    expect(changes?.layout?.sensors.map((one) => one.name)).toEqual(["acpitz", "nvme_composite"])
  })

  it("tell what the edge knows: another address, exact counters, dropped pieces, and their end", () => {
    const wide = { eth0: ["9007199254740993", "1"] as const }
    const strange = arrivalOf({ ip: "198.51.100.1", wide, dropped: ["x"] })

    expect(changesFrom(fullReport(), fullReport(), arrivalOf(), strange)).toEqual({ ...strange })
    expect(changesFrom(fullReport(), fullReport(), strange, { ...strange, wide: { ...wide } })).toBeUndefined()
    expect(changesFrom(fullReport(), fullReport(), strange, arrivalOf({ ip: "198.51.100.1" }))).toEqual({
      wide: null,
      dropped: []
    })
  })

  it("hold no member that nobody knows", () => {
    const text = fullReportText
      .replace('"serial": "NV0000000042"', '"serial": "NV0000000042","password":"hunter2"')
      .replace('"sync_progress": "8.4%"', '"sync_progress": "8.4%","password":"hunter2"')
      .replace('"kind": "cpu"', '"kind": "cpu","password":"hunter2"')

    expect(text.split("hunter2")).toHaveLength(4)
    expect(JSON.stringify(freshDetails(JSON.parse(text) as NodeReport))).not.toContain("hunter2")
  })

  it("do not repeat themselves for words that arrive padded each time", () => {
    const report = fullReport()
    setAt(report, "metrics.thermal.status", " ok ")
    setAt(report, "metrics.thermal.sensors[0].status", "ok\t")
    setAt(report, "metrics.disk.logical[0].health", " healthy")
    setAt(report, "hostname", "edge-07 ")

    expect(changesFrom(fullReport(), report)).toBeUndefined()
  })
})

describe("the uptime text", () => {
  it.each([
    [0, "0d 0h 0m"],
    [59, "0d 0h 0m"],
    [60, "0d 0h 1m"],
    [86_399, "0d 23h 59m"],
    [273_900, "3d 4h 5m"],
    [1_040_413, "12d 1h 0m"]
  ])("of %i seconds is %s", (seconds, text) => {
    expect(uptimeText(seconds)).toBe(text)
  })

  it("is not kept while it says what the seconds say, so that a minute more is no change", () => {
    const later = fullReport()
    setAt(later, "metrics.system", { alive: true, uptime_seconds: 1_040_473, uptime: "12d 1h 1m" })

    expect(freshDetails(fullReport()).uptime).toBe("")
    expect(changesFrom(fullReport(), later)).toBeUndefined()
  })

  it("is kept as sent when it says something else", () => {
    const report = fullReport()
    setAt(report, "metrics.system.uptime", " up 12 days ")

    expect(freshDetails(report).uptime).toBe("up 12 days")
  })
})

describe("merged details", () => {
  it("are the kept ones themselves when nothing changed", () => {
    const kept = freshDetails(fullReport())

    expect(merged(kept, undefined)).toBe(kept)
  })

  it("are complete even when a first row of the journal holds few sections", () => {
    const changes: Changes = { hostname: "h" }
    const kept = merged(undefined, changes)

    expect(kept).toMatchObject({ hostname: "h", version: "", smart: null, wide: null, dropped: [] })
    expect(kept.layout).toEqual({ nics: [], physical: [], logical: [], filesystems: [], baseIo: [], sensors: [] })
  })

  it("leave what was kept before as it was", () => {
    const kept = freshDetails(fullReport())
    const copy = travelled(kept)
    merged(kept, changesFrom(fullReport(), { ...fullReport(), hostname: "other" }))

    expect(travelled(kept)).toEqual(copy)
  })

  it("keep exact counters of interfaces with hostile names apart", () => {
    const report = fullReport()
    setAt(report, "metrics.network", [nic("__proto__"), nic("constructor")])
    const wide = JSON.parse('{"__proto__":["9007199254740993","1"],"constructor":["9007199254740995","2"]}') as never
    const kept = travelled(merged(undefined, freshDetails(report, arrivalOf({ wide }))))

    expect(JSON.stringify(kept.wide)).toBe(JSON.stringify(wide))
  })
})
