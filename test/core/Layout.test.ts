// The layout of a node's vector: blocks that do not overlap, and the test whether a report still has these devices.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import {
  fits,
  Fs,
  fsSize,
  Heat,
  heatSize,
  Host,
  hostSize,
  Io,
  ioSize,
  layoutOf,
  namesIn,
  namesOf,
  Nic,
  nicSize,
  pressureGroups,
  Volume,
  volumeSize
} from "../../src/core/Layout.ts"
import { reportRows, reports } from "../support/ArbitraryReports.ts"
import { fullReport, physical, reportWith, sensor, setAt, thermal, travelled } from "../support/Reports.ts"

/** The same devices as a sloppy sender writes them: padded, with a ref only where it says more than the name. */
const sloppy = (report: NodeReport): NodeReport => {
  const copy = travelled(report)
  for (const one of [...copy.metrics.disk.physical, ...copy.metrics.disk.base_io, ...copy.metrics.disk.logical]) {
    const ref = one.ref?.trim() ?? ""
    setAt(one, "ref", ref === one.name.trim() ? null : ref)
    setAt(one, "name", `\t${one.name} `)
    setAt(one, "device_path", ` ${one.device_path ?? ""}`)
  }
  for (const one of copy.metrics.network) setAt(one, "name", `${one.name}\n`)
  return copy
}

describe("the blocks of a vector", () => {
  it.each([
    ["host series", Object.values(Host), hostSize - pressureGroups * 4 + 1],
    ["interface", Object.values(Nic), nicSize],
    ["disk", Object.values(Io), ioSize],
    ["volume", Object.values(Volume), volumeSize],
    ["filesystem", Object.values(Fs), fsSize],
    ["sensor", Object.values(Heat), heatSize]
  ])("give each figure of a %s a place of its own", (_, places, size) => {
    expect([...places].sort((a, b) => a - b)).toEqual(Array.from({ length: size }, (_, i) => i))
  })

  it("lie one behind the other without a gap, as many as there are devices", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { disk, network, thermal: heat } = report.metrics
        const layout = layoutOf(namesIn(report))
        const blocks = [
          [layout.nicsAt, network.length * nicSize],
          [layout.physicalAt, disk.physical.length * ioSize],
          [layout.logicalAt, disk.logical.length * volumeSize],
          [layout.filesystemsAt, disk.filesystems.length * fsSize],
          [layout.baseIoAt, disk.base_io.length * ioSize],
          [layout.sensorsAt, (heat?.sensors.length ?? 0) * heatSize]
        ] as const
        let at = hostSize
        for (const [start, length] of blocks) {
          expect(start).toBe(at)
          at += length
        }

        expect(layout.size).toBe(at)
      })
    )
  })

  it("are made again from the names alone, after these travelled as JSON", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const layout = layoutOf(namesIn(report))

        expect(namesOf(layout)).toEqual(namesIn(report))
        expect(layoutOf(travelled(namesOf(layout)))).toEqual(layout)
      })
    )
  })
})

describe("names in a report", () => {
  it("are trimmed, and a missing or blank ref becomes the name", () => {
    const report = reportWith(({ metrics }) => {
      metrics.disk.physical = [{ name: " sda " }, { name: "sdb", ref: "  ", device_path: null }, physical("sdc")]
      metrics.disk.logical = [{ kind: " lvm_vg ", name: " data", ref: " lvm_vg:data " }]
    })
    const names = namesIn(report)

    expect(names.physical).toEqual([
      { name: "sda", path: "", ref: "sda" },
      { name: "sdb", path: "", ref: "sdb" },
      { name: "sdc", path: "/dev/sdc", ref: "disk:sdc" }
    ])
    expect(names.logical).toEqual([{ kind: "lvm_vg", name: "data", path: "", ref: "lvm_vg:data" }])
  })
})

describe("a layout fits a report", () => {
  it("exactly when the report has its names, in its order", () => {
    const seen = { fits: 0, differs: 0 }
    fc.assert(
      fc.property(reportRows, (row) => {
        const layout = layoutOf(namesIn(row[0] as NodeReport))
        for (const report of row.flatMap((one) => [one, sloppy(one)])) {
          const equal = JSON.stringify(namesIn(report)) === JSON.stringify(namesOf(layout))

          expect(fits(layout, report)).toBe(equal)
          seen[equal ? "fits" : "differs"]++
        }
      }),
      { numRuns: 200 }
    )

    expect(Math.min(seen.fits, seen.differs)).toBeGreaterThan(20)
  })

  it.each([
    "network[0].name",
    "disk.physical[1].name",
    "disk.physical[0].ref",
    "disk.physical[0].device_path",
    "disk.logical[0].kind",
    "disk.logical[0].name",
    "disk.logical[0].ref",
    "disk.filesystems[0].path",
    "disk.filesystems[0].device",
    "disk.filesystems[0].mountpoint",
    "disk.filesystems[0].fs_type",
    "disk.base_io[0].kind",
    "disk.base_io[0].name",
    "disk.base_io[0].ref",
    "thermal.sensors[0].kind",
    "thermal.sensors[0].name",
    "thermal.sensors[0].sensor_key",
    "thermal.sensors[0].source"
  ])("no more once %s is another", (path) => {
    const report = fullReport()
    const layout = layoutOf(namesIn(report))
    setAt(report, `metrics.${path}`, "another")

    expect(fits(layout, report)).toBe(false)
  })

  it("no more once a ref is gone that said more than the name", () => {
    const report = fullReport()
    const layout = layoutOf(namesIn(report))
    setAt(report, "metrics.disk.physical[0].ref", null)

    expect(fits(layout, report)).toBe(false)
  })

  it.each(["network", "disk.physical", "disk.logical", "disk.filesystems", "disk.base_io", "thermal.sensors"])(
    "no more once a device of %s is gone or two stand in another order",
    (path) => {
      const pair = ["one", "two"].map((name) => ({
        ...sensor(name),
        kind: "x",
        path: name
      }))
      const report = reportWith((draft) => (draft.metrics.thermal = thermal(sensor("cpu0"))))
      setAt(report, `metrics.${path}`, pair)
      const layout = layoutOf(namesIn(report))

      expect(fits(layout, report)).toBe(true)
      setAt(report, `metrics.${path}`, pair.slice(1))
      expect(fits(layout, report)).toBe(false)
      setAt(report, `metrics.${path}`, [...pair].reverse())
      expect(fits(layout, report)).toBe(false)
    }
  )

  it("whatever the figures and words of the devices say", () => {
    const report = fullReport()
    const layout = layoutOf(namesIn(report))
    setAt(report, "metrics.network[0].bytes_recv", 5)
    setAt(report, "metrics.disk.logical[0].health", "degraded")
    setAt(report, "metrics.thermal.sensors[0].status", "timeout")
    setAt(report, "metrics.disk.smart", null)

    expect(fits(layout, report)).toBe(true)
  })
})
