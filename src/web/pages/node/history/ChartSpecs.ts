// Which charts a node's history has: their metrics, devices, units and the aggregate that suits them.
import type { HistoryAgg, HistoryMetric } from "../../../../../schema/History.ts"
import type { Snapshot } from "../../../../../schema/Snapshot.ts"
import type { Unit } from "../../../charts/Units.ts"
import type { HistoryCatalogue } from "./HistoryEnglish.ts"

export interface SeriesSpec {
  readonly name: keyof HistoryCatalogue["series"]
  readonly metric: HistoryMetric
  readonly device: string | null
}

export interface ChartSpec {
  /** Unique on the page. */
  readonly key: string
  readonly kind: keyof HistoryCatalogue["charts"]
  /** What the chart is about, when there may be several of its kind. */
  readonly device: string | null
  readonly unit: Unit
  /** Whether the node reports such figures now; others are only shown once there are some. */
  readonly isLikely: boolean
  /** When nobody chose one. */
  readonly agg: HistoryAgg
  readonly series: ReadonlyArray<SeriesSpec>
}

export interface ChartGroup {
  readonly kind: "host" | keyof HistoryCatalogue["groups"]
  /** Charts of one device stand together; a group shows its first devices. */
  readonly devices: ReadonlyArray<ReadonlyArray<ChartSpec>>
}

type Lines = ReadonlyArray<readonly [SeriesSpec["name"], HistoryMetric]>

const chart = (
  kind: ChartSpec["kind"],
  unit: Unit,
  agg: HistoryAgg,
  device: string | null,
  lines: Lines
): ChartSpec => ({
  key: device === null ? kind : `${kind} ${device}`,
  kind,
  device,
  unit,
  agg,
  isLikely: true,
  series: lines.map(([name, metric]) => ({ name, metric, device }))
})

const hostCharts = (iface: string): ReadonlyArray<ChartSpec> => {
  const network = chart("network", "rate", "avg", null, [
    ["recv", "net.recv_bps"],
    ["sent", "net.sent_bps"]
  ])
  const device = iface === "" ? null : iface
  return [
    chart("cpu", "share", "avg", null, [["usage", "cpu.usage_ratio"]]),
    chart("load", "load", "avg", null, [
      ["load1", "cpu.load1"],
      ["load5", "cpu.load5"],
      ["load15", "cpu.load15"]
    ]),
    chart("memory", "share", "avg", null, [
      ["memory", "mem.used_ratio"],
      ["swap", "swap.used_ratio"]
    ]),
    { ...network, series: network.series.map((one) => ({ ...one, device })) },
    chart("temperature", "degrees", "max", null, [
      ["cpuTemp", "cpu.temp_c"],
      ["hottest", "thermal.max_temp_c"]
    ]),
    chart("pressure", "percent", "avg", null, [
      ["stallCpu", "pressure.cpu.some_avg10"],
      ["stallMemory", "pressure.memory.some_avg10"],
      ["stallIo", "pressure.io.some_avg10"]
    ]),
    chart("connections", "count", "max", null, [
      ["tcp", "conn.tcp"],
      ["udp", "conn.udp"]
    ]),
    chart("processes", "count", "last", null, [["processes", "proc.count"]])
  ]
}

const ioCharts = (device: string): ReadonlyArray<ChartSpec> => [
  chart("throughput", "rate", "avg", device, [
    ["read", "disk.read_bps"],
    ["write", "disk.write_bps"]
  ]),
  chart("operations", "count", "avg", device, [
    ["read", "disk.read_iops"],
    ["write", "disk.write_iops"]
  ]),
  chart("busy", "share", "avg", device, [["busy", "disk.util_ratio"]])
]

/** A node may name a device twice; keys must not repeat. */
const unique = (names: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(names)]

/** Whether the node reports now what a chart of the host shows. Windows has no load average; it sends zeros. */
const isReported = ({ system, thermal, pressure }: Snapshot, { kind }: ChartSpec): boolean => {
  if (kind === "load") return system.os_family !== "windows"
  if (kind === "temperature") return (thermal?.sensors.length ?? 0) > 0
  return kind !== "pressure" || pressure !== undefined
}

/** All charts of a node, grouped; a group without devices is left out. What is not reported now comes last. */
export const groupsOf = (snapshot: Snapshot, iface: string): ReadonlyArray<ChartGroup> => {
  const { disk } = snapshot
  const host = hostCharts(iface)
  const rest = host.filter((one) => !isReported(snapshot, one) && one.kind !== "load")
  const groups: ReadonlyArray<ChartGroup> = [
    { kind: "host", devices: [host.filter((one) => isReported(snapshot, one))] },
    { kind: "disks", devices: unique(Object.keys(disk.io.by_device ?? {})).map(ioCharts) },
    {
      kind: "mounts",
      devices: unique(disk.mounts.map((mount) => mount.mountpoint)).map((device) => [
        chart("used", "share", "avg", device, [["used", "disk.used_ratio"]])
      ])
    },
    {
      kind: "temperatures",
      devices: unique(disk.temperature_devices ?? []).map((device) => [
        chart("diskTemp", "degrees", "max", device, [["temperature", "disk.temp_c"]])
      ])
    },
    { kind: "rest", devices: rest.length === 0 ? [] : [rest.map((one) => ({ ...one, isLikely: false }))] }
  ]
  return groups.filter((group) => group.devices.length > 0)
}
