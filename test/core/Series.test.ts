// What history keeps of a report: every metric with its value, under every name that its device answers to.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { HistoryMetric } from "../../schema/History.ts"
import { deviceMetrics, hostMetrics } from "../../schema/HistoryTerms.ts"
import type { NodeReport } from "../../schema/Report.ts"
import { layoutOf, namesOf } from "../../src/core/Layout.ts"
import { hasDiskTemperature } from "../../src/core/PhysicalDisk.ts"
import { columnsOf, findSeries, type Series, seriesFrom, seriesKey, seriesText } from "../../src/core/Series.ts"
import { hostileNames, reports } from "../support/ArbitraryReports.ts"
import {
  baseIo,
  filesystem,
  flattened,
  fullReport,
  layoutIn,
  nic,
  reportWith,
  sensor,
  smart,
  smartDevice,
  thermal,
  volume
} from "../support/Reports.ts"

const columnsIn = (report: NodeReport) => columnsOf(layoutIn(report), report.metrics.disk.smart?.devices ?? [])

/** What a report's columns hold, in their order. */
const takenOf = (report: NodeReport) => {
  const { series, take } = columnsIn(report)
  const out = new Float64Array(series.length).fill(12_345.678)
  take(flattened(report), out)
  return { series, out }
}

/** The value that answers to a metric and its device; undefined when no column does, NaN when it is absent. */
const valueIn = (report: NodeReport, metric: HistoryMetric, ...devices: ReadonlyArray<string>): number | undefined => {
  const { out, series } = takenOf(report)
  return out[findSeries(series, metric, devices)]
}
const valuesOf = (report: NodeReport, metric: HistoryMetric): ReadonlyArray<number | undefined> => {
  const { out, series } = takenOf(report)
  return series.flatMap((one, i) => (one.metric === metric && one.labels.length > 0 ? [out[i]] : []))
}

/** The contract's report with a value of its own wherever two metrics could be taken for each other. */
const distinctReport = reportWith(({ metrics }) => {
  Object.assign(metrics.memory ?? {}, { swap_used_ratio: 0.125 })
  metrics.thermal = thermal(sensor("package", { temp_c: 58 }), sensor("board", { kind: "acpi", temp_c: 71.5 }))
  const stall = (first: number) => ({ avg10: first, avg60: first + 1, avg300: first + 2, total: 1000 })
  metrics.pressure = {
    cpu: { some: stall(1), full: stall(91) },
    memory: { some: stall(4), full: stall(7) },
    io: { some: stall(10), full: stall(13) }
  }
  metrics.disk.base_io = [
    baseIo("sda", {
      read_rate_bytes_per_sec: 101,
      write_rate_bytes_per_sec: 102,
      read_iops: 103,
      write_iops: 104,
      iops: 105,
      util_ratio: 0.106
    })
  ]
  metrics.disk.filesystems = [filesystem("/srv", { used: 201, used_ratio: 0.202, inodes_used_ratio: 0.203 })]
})

const hostValues: Record<(typeof hostMetrics)[number], number> = {
  "cpu.usage_ratio": 0.2374581939799331,
  "cpu.load1": 1.42,
  "cpu.load5": 1.17,
  "cpu.load15": 0.98,
  "cpu.temp_c": 58,
  "mem.used": 5_216_440_320,
  "mem.used_ratio": 0.31262184,
  "swap.used_ratio": 0.125,
  "proc.count": 214,
  "net.recv_bps": 1_843_141,
  "net.sent_bps": 2_750_232,
  "conn.tcp": 318,
  "conn.udp": 27,
  "thermal.max_temp_c": 71.5,
  "pressure.cpu.some_avg10": 1,
  "pressure.cpu.some_avg60": 2,
  "pressure.cpu.some_avg300": 3,
  "pressure.memory.some_avg10": 4,
  "pressure.memory.some_avg60": 5,
  "pressure.memory.some_avg300": 6,
  "pressure.memory.full_avg10": 7,
  "pressure.memory.full_avg60": 8,
  "pressure.memory.full_avg300": 9,
  "pressure.io.some_avg10": 10,
  "pressure.io.some_avg60": 11,
  "pressure.io.some_avg300": 12,
  "pressure.io.full_avg10": 13,
  "pressure.io.full_avg60": 14,
  "pressure.io.full_avg300": 15
}
const deviceValues: Record<(typeof deviceMetrics)[number], readonly [device: string, value: number]> = {
  "disk.read_bps": ["sda", 101],
  "disk.write_bps": ["sda", 102],
  "disk.read_iops": ["sda", 103],
  "disk.write_iops": ["sda", 104],
  "disk.iops": ["sda", 105],
  "disk.util_ratio": ["sda", 0.106],
  "disk.used": ["/srv", 201],
  "disk.used_ratio": ["/srv", 0.202],
  "disk.inodes_used_ratio": ["/srv", 0.203],
  "disk.temp_c": ["nvme0", 43]
}

describe("a figure that a report does not have", () => {
  it("is absent: loads of systems without them, temperatures, pressure", () => {
    const report = reportWith(({ metrics }) => {
      Object.assign(metrics.cpu ?? {}, { load1: -1, load5: -1, load15: -1 })
      metrics.thermal = thermal(sensor("package", { temp_c: 0 }), sensor("board", { kind: "acpi", temp_c: null }))
      metrics.pressure = null
    })
    const absent = hostMetrics.filter((metric) => Number.isNaN(valueIn(report, metric)))

    expect(absent).toEqual(hostMetrics.filter((metric) => /^(cpu\.(load|temp)|thermal|pressure)/.test(metric)))
  })

  it("is absent for one load alone, and a load of 0 is a load", () => {
    const report = reportWith(({ metrics }) => Object.assign(metrics.cpu ?? {}, { load1: 0, load5: -1, load15: 0.5 }))

    expect(valueIn(report, "cpu.load1")).toBe(0)
    expect(valueIn(report, "cpu.load5")).toBeNaN()
    expect(valueIn(report, "cpu.load15")).toBe(0.5)
  })

  it("has no column when its device is not there, or is asked for by no name at all", () => {
    for (const metric of deviceMetrics) {
      expect(valueIn(distinctReport, metric, "sdz")).toBeUndefined()
      expect(valueIn(distinctReport, metric)).toBeUndefined()
      expect(valueIn(distinctReport, metric, "")).toBeUndefined()
    }
    expect(valueIn(distinctReport, "net.recv_bps", "eth9")).toBeUndefined()
  })

  it("is no temperature of what is not a confirmed physical disk", () => {
    const report = reportWith(({ metrics }) => {
      metrics.disk.smart = smart(
        smartDevice("md0"),
        smartDevice("vda"),
        smartDevice("sda", { model: "QEMU HARDDISK" }),
        smartDevice("sdb", { temp_c: 0 }),
        smartDevice("sdc", { temp_c: null }),
        smartDevice("sdd", { protocol: "SCSI", device_type: "scsi", serial: "", wwn: null }),
        smartDevice("sde", { temp_c: 41 })
      )
    })

    expect(valuesOf(report, "disk.temp_c")).toEqual([41])
    expect(valueIn(report, "disk.temp_c", "sde")).toBe(41)
  })
})

describe("a full report", () => {
  it("has every metric of the contract", () => {
    const contract = `cpu.usage_ratio cpu.load1 cpu.load5 cpu.load15 cpu.temp_c mem.used mem.used_ratio proc.count
      net.recv_bps net.sent_bps conn.tcp conn.udp disk.temp_c disk.read_bps disk.write_bps disk.read_iops
      disk.write_iops disk.iops disk.used disk.used_ratio`.split(/\s+/)
    const pressure = ["cpu.some", "memory.some", "memory.full", "io.some", "io.full"].flatMap((group) =>
      ["avg10", "avg60", "avg300"].map((average) => `pressure.${group}_${average}`)
    )
    const { series } = takenOf(fullReport())

    expect(HistoryMetric.literals).toEqual(expect.arrayContaining([...contract, ...pressure]))
    expect(new Set(series.map(({ metric }) => metric))).toEqual(new Set(HistoryMetric.literals))
  })

  it.each(Object.entries(hostValues))("keeps %s of the whole node", (metric, value) => {
    expect(valueIn(distinctReport, metric as HistoryMetric)).toBe(value)
  })

  it.each(Object.entries(deviceValues))("keeps %s of its device", (metric, [device, value]) => {
    expect(valueIn(distinctReport, metric as HistoryMetric, device)).toBe(value)
  })

  it("keeps the rates of each interface beside those of the node", () => {
    expect(valueIn(distinctReport, "net.recv_bps", "eth0")).toBe(1_843_021)
    expect(valueIn(distinctReport, "net.sent_bps", "eth0")).toBe(2_750_114)
    expect(valueIn(distinctReport, "net.recv_bps", "eth1")).toBe(120)
    expect(valueIn(distinctReport, "net.sent_bps", "eth1")).toBe(118)
  })

  it("gives every device of any report its own values, in the report's order", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { disk, network } = report.metrics
        const heated = (disk.smart?.devices ?? []).filter(hasDiskTemperature)
        const used = [...disk.logical, ...disk.filesystems]

        expect(valuesOf(report, "net.recv_bps")).toEqual(network.map((one) => one.recv_rate_bytes_per_sec ?? 0))
        expect(valuesOf(report, "net.sent_bps")).toEqual(network.map((one) => one.sent_rate_bytes_per_sec ?? 0))
        expect(valuesOf(report, "disk.read_bps")).toEqual(disk.base_io.map((one) => one.read_rate_bytes_per_sec ?? 0))
        expect(valuesOf(report, "disk.write_iops")).toEqual(disk.base_io.map((one) => one.write_iops ?? 0))
        expect(valuesOf(report, "disk.util_ratio")).toEqual(disk.base_io.map((one) => one.util_ratio ?? 0))
        expect(valuesOf(report, "disk.used")).toEqual(used.map((one) => one.used ?? 0))
        expect(valuesOf(report, "disk.used_ratio")).toEqual(used.map((one) => one.used_ratio ?? 0))
        expect(valuesOf(report, "disk.temp_c")).toEqual(heated.map((one) => one.temp_c))
      })
    )
  })
})

describe("a device", () => {
  const report = reportWith(({ metrics }) => {
    metrics.network = [nic(" eth0 ", { recv_rate_bytes_per_sec: 5 })]
    metrics.disk.base_io = [baseIo("sda", { ref: "disk:one", device_path: "/dev/sda", read_rate_bytes_per_sec: 6 })]
    metrics.disk.logical = [volume("data", { kind: "lvm", ref: "lvm:vg/data", device_path: "/dev/dm-1", used: 7 })]
    metrics.disk.filesystems = [
      filesystem("/host/srv", { mountpoint: "/srv", device: "/dev/md0", used: 8 }),
      filesystem("/bare", { mountpoint: "", device: null, used: 9 })
    ]
    metrics.disk.smart = smart(smartDevice(" sda ", { ref: "disk:one", device_path: " /dev/sda ", temp_c: 44 }))
  })

  it.each<[HistoryMetric, number, ReadonlyArray<string>]>([
    ["net.recv_bps", 5, ["eth0"]],
    ["disk.read_bps", 6, ["sda", "disk:one", "/dev/sda"]],
    ["disk.used", 7, ["data", "lvm:vg/data", "/dev/dm-1", "lvm:data"]],
    ["disk.used", 8, ["/srv", "/host/srv", "/dev/md0"]],
    ["disk.used", 9, ["/bare"]],
    ["disk.temp_c", 44, ["sda", "disk:one", "/dev/sda"]]
  ])("of %s (%d) answers to each of %j", (metric, value, labels) => {
    for (const label of labels) expect(valueIn(report, metric, label)).toBe(value)
    for (const label of labels) expect(valueIn(report, metric, `${label} `)).toBeUndefined()
  })

  it("answers to the first of several names that any device has, whatever order the devices are in", () => {
    const one = volume("data", { kind: "lvm", ref: "lvm:data", used: 1 })
    const two = volume("data", { kind: "zfs", ref: "zfs:data", used: 2 })
    for (const logical of [
      [one, two],
      [two, one]
    ]) {
      const both = reportWith(({ metrics }) => Object.assign(metrics.disk, { logical }))

      expect(valueIn(both, "disk.used", "/mnt", "zfs:data", "data")).toBe(2)
      expect(valueIn(both, "disk.used", "/mnt", "lvm:data", "data")).toBe(1)
    }
  })

  it("whose usual name is asked for goes before another that merely answers to it", () => {
    const mounted = reportWith(({ metrics }) => {
      metrics.disk.filesystems = [
        filesystem("/", { mountpoint: "/host", used: 1 }),
        filesystem("/inner", { mountpoint: "/", used: 2 })
      ]
    })

    expect(valueIn(mounted, "disk.used", "/")).toBe(2)
    expect(valueIn(mounted, "disk.used", "/host")).toBe(1)
  })

  it("of one name but another kind is another, even where each has the other's kind and name for its ref", () => {
    const logical = [
      volume("data", { kind: "lvm", ref: "zfs:data", device_path: "lvm:data", used: 1 }),
      volume("data", { kind: "zfs", ref: "zfs:data", device_path: "lvm:data", used: 2 })
    ]
    const { out, series } = takenOf(reportWith(({ metrics }) => Object.assign(metrics.disk, { logical })))
    const used = series.flatMap((one, i) => (one.metric === "disk.used" ? [[seriesKey(one), out[i]] as const] : []))

    expect(new Map(used).size).toBe(used.length)
    expect(used.slice(0, 2).map(([, value]) => value)).toEqual([1, 2])
  })

  it("shares its column with no other, whatever the names, except for filesystems mounted one over the other", () => {
    fc.assert(
      fc.property(reports, (any) => {
        const layout = layoutOf({ ...namesOf(layoutIn(any)), filesystems: [] })
        const keys = columnsOf(layout, []).series.map(seriesKey)

        expect(new Set(keys).size).toBe(keys.length)
      })
    )
  })
})

const label = fc.oneof(
  fc.constantFrom(...hostileNames, "a", "b", "a\nb", "\n", "", '"', '","', "\\", "a,b", "密码"),
  fc.string({ unit: "binary", maxLength: 5 })
)
const someSeries: fc.Arbitrary<Series> = fc.record({
  metric: fc.constantFrom(...HistoryMetric.literals),
  labels: fc.array(label, { maxLength: 4 })
})

describe("the stored form of a list of series", () => {
  it.each(["", "{", "null", "{}", "[1]", "[null]"])("cannot be %j", (text) => {
    expect(() => seriesFrom(text)).toThrow()
  })

  it("brings back every name, whatever characters are in it", () => {
    fc.assert(
      fc.property(fc.array(someSeries), (series) => {
        expect(seriesFrom(seriesText(series))).toEqual(series)
      })
    )
  })
})

describe("the key of a series", () => {
  it("tells a name with a line break from two names", () => {
    const key = (...labels: ReadonlyArray<string>) => seriesKey({ metric: "disk.used", labels })

    expect(key("/a\n/b", "/c")).not.toBe(key("/a", "/b", "/c"))
    expect(key("/a\n/b", "/c")).not.toBe(key("/a", "/b\n/c"))
    expect(key("a")).not.toBe(key("a", ""))
  })

  it("is equal exactly when metric and names are", () => {
    const few = fc.record({
      metric: fc.constantFrom<HistoryMetric>("disk.used", "disk.used_ratio"),
      labels: fc.array(fc.constantFrom("a", "b", "a\nb", "\n", '"', '","', "\\", ""), { maxLength: 3 })
    })
    fc.assert(
      fc.property(few, few, (one, other) => {
        const isSame =
          one.metric === other.metric &&
          one.labels.length === other.labels.length &&
          one.labels.every((text, i) => text === other.labels[i])

        expect(seriesKey(one) === seriesKey(other)).toBe(isSame)
      }),
      { numRuns: 2000 }
    )
  })
})
