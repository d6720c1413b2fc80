// Which numbers of a report history keeps, under which metric and device labels, and where they stand in its vector.
import type { HistoryMetric } from "../../schema/History.ts"
import { hostMetrics } from "../../schema/HistoryTerms.ts"
import type { SmartDevice } from "../../schema/Report.ts"
import {
  type DeviceName,
  Fs,
  fsSize,
  type FsName,
  Heat,
  heatSize,
  Host,
  Io,
  ioSize,
  type KindName,
  type Layout,
  Nic,
  nicSize,
  Volume,
  volumeSize
} from "./Layout.ts"
import { hasDiskTemperature } from "./PhysicalDisk.ts"

/** One column of a chunk: a metric, and the names under which its device is asked for, the usual one first. */
export interface Series {
  readonly metric: HistoryMetric
  /** Empty for figures of the whole node. */
  readonly labels: ReadonlyArray<string>
}

const some = Host.pressure
const pressureAt = { cpu: some, memory: some + 8, io: some + 16 }
/** Position of every host metric in the vector; -1 where it is computed. */
const hostAt: Record<(typeof hostMetrics)[number], number> = {
  "cpu.usage_ratio": Host.cpuUsage,
  "cpu.load1": Host.load1,
  "cpu.load5": Host.load5,
  "cpu.load15": Host.load15,
  "cpu.temp_c": Host.cpuTemp,
  "mem.used": Host.memUsed,
  "mem.used_ratio": Host.memUsedRatio,
  "swap.used_ratio": Host.swapUsedRatio,
  "proc.count": Host.processes,
  "net.recv_bps": Host.netRecvRate,
  "net.sent_bps": Host.netSentRate,
  "conn.tcp": Host.tcp,
  "conn.udp": Host.udp,
  "thermal.max_temp_c": -1,
  "pressure.cpu.some_avg10": pressureAt.cpu,
  "pressure.cpu.some_avg60": pressureAt.cpu + 1,
  "pressure.cpu.some_avg300": pressureAt.cpu + 2,
  "pressure.memory.some_avg10": pressureAt.memory,
  "pressure.memory.some_avg60": pressureAt.memory + 1,
  "pressure.memory.some_avg300": pressureAt.memory + 2,
  "pressure.memory.full_avg10": pressureAt.memory + 4,
  "pressure.memory.full_avg60": pressureAt.memory + 5,
  "pressure.memory.full_avg300": pressureAt.memory + 6,
  "pressure.io.some_avg10": pressureAt.io,
  "pressure.io.some_avg60": pressureAt.io + 1,
  "pressure.io.some_avg300": pressureAt.io + 2,
  "pressure.io.full_avg10": pressureAt.io + 4,
  "pressure.io.full_avg60": pressureAt.io + 5,
  "pressure.io.full_avg300": pressureAt.io + 6
}
/** Agents send -1 where a system has no load average. */
const isLoad = (at: number): boolean => at >= Host.load1 && at <= Host.load15

const nicMetrics = [
  ["net.recv_bps", Nic.recvRate],
  ["net.sent_bps", Nic.sentRate]
] as const
const ioMetrics = [
  ["disk.read_bps", Io.readRate],
  ["disk.write_bps", Io.writeRate],
  ["disk.read_iops", Io.readIops],
  ["disk.write_iops", Io.writeIops],
  ["disk.iops", Io.iops],
  ["disk.util_ratio", Io.util]
] as const
const volumeMetrics = [
  ["disk.used", Volume.used],
  ["disk.used_ratio", Volume.usedRatio]
] as const
const fsMetrics = [
  ["disk.used", Fs.used],
  ["disk.used_ratio", Fs.usedRatio],
  ["disk.inodes_used_ratio", Fs.inodesRatio]
] as const

const labelsOf = (...names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(names.filter((name) => name !== ""))
]
const deviceLabels = ({ name, path, ref }: DeviceName) => labelsOf(name, ref, path)
/** Two volumes of one name but different kind are two: the kind stands second, where no ref or path can pose as it. */
const volumeLabels = ({ kind, name, path, ref }: KindName) => labelsOf(name, `${kind}:${name}`, ref, path)
const fsLabels = ({ device, mountpoint, path }: FsName) => labelsOf(mountpoint || path, path, device)
const smartLabels = ({ device_path, name, ref }: SmartDevice) =>
  labelsOf(name.trim(), ref?.trim() ?? "", device_path?.trim() ?? "")

/** The columns of a report, and how its values are taken from it. */
export interface Columns {
  readonly series: ReadonlyArray<Series>
  /** Fills `out[0..series.length)`; NaN is absent. */
  readonly take: (vector: Float64Array, out: Float64Array) => void
}

type Draft = Array<readonly [Series, number]>

const addBlock = <D>(
  draft: Draft,
  devices: ReadonlyArray<D>,
  from: number,
  size: number,
  labels: (device: D) => ReadonlyArray<string>,
  metrics: ReadonlyArray<readonly [HistoryMetric, number]>
): void => {
  devices.forEach((device, i) => {
    const named = labels(device)
    for (const [metric, offset] of metrics) draft.push([{ metric, labels: named }, from + i * size + offset])
  })
}

const vectorColumns = (layout: Layout): Draft => {
  const draft: Draft = hostMetrics.map((metric) => [{ metric, labels: [] }, hostAt[metric]] as const)
  addBlock(draft, layout.nics, layout.nicsAt, nicSize, (name) => [name], nicMetrics)
  addBlock(draft, layout.baseIo, layout.baseIoAt, ioSize, deviceLabels, ioMetrics)
  addBlock(draft, layout.logical, layout.logicalAt, volumeSize, volumeLabels, volumeMetrics)
  addBlock(draft, layout.filesystems, layout.filesystemsAt, fsSize, fsLabels, fsMetrics)
  return draft
}

/** The hottest sensor; NaN without one. */
const hottest = ({ sensors, sensorsAt }: Layout, vector: Float64Array): number => {
  let found = Number.NaN
  for (let i = 0; i < sensors.length; i++) {
    const temp = vector[sensorsAt + i * heatSize + Heat.temp] as number
    if (!Number.isNaN(temp) && !(temp <= found)) found = temp
  }
  return found
}

/** What history keeps of reports with these devices; `smart` are the SMART devices that hold while they are taken. */
export const columnsOf = (layout: Layout, smart: ReadonlyArray<SmartDevice>): Columns => {
  const draft = vectorColumns(layout)
  const heated = smart.filter(hasDiskTemperature)
  const places = Int32Array.from(draft, ([, at]) => at)
  const temps = heated.map((device) => device.temp_c as number)
  return {
    series: [
      ...draft.map(([series]) => series),
      ...heated.map((device) => ({ metric: "disk.temp_c" as const, labels: smartLabels(device) }))
    ],
    take: (vector, out) => {
      for (let i = 0; i < places.length; i++) {
        const at = places[i] as number
        const value = at < 0 ? hottest(layout, vector) : (vector[at] as number)
        out[i] = value < 0 && isLoad(at) ? Number.NaN : value
      }
      for (let i = 0; i < temps.length; i++) out[places.length + i] = temps[i] as number
    }
  }
}

/** The stored form: one array per series, metric first. */
export const seriesText = (series: ReadonlyArray<Series>): string =>
  JSON.stringify(series.map(({ labels, metric }) => [metric, ...labels]))

/** Throws on text that `seriesText` did not write. */
export const seriesFrom = (text: string): ReadonlyArray<Series> =>
  (JSON.parse(text) as ReadonlyArray<ReadonlyArray<string>>).map(([metric, ...labels]) => ({
    metric: metric as HistoryMetric,
    labels
  }))

/** Equal keys are one series, in whatever chunk they stand. JSON, because a device may have any character in its name. */
export const seriesKey = ({ labels, metric }: Series): string => JSON.stringify([metric, ...labels])

const positionOf = (series: ReadonlyArray<Series>, metric: HistoryMetric, device: string): number => {
  const usual = series.findIndex((one) => one.metric === metric && one.labels[0] === device)
  return usual >= 0 ? usual : series.findIndex((one) => one.metric === metric && one.labels.includes(device))
}

/**
 * The column that answers to a metric and, when it has devices, to one of the labels asked for; -1 when none does.
 * Earlier labels are preferred to later ones, and a device whose usual name it is to one that also answers to it.
 * The network rates without a device are the whole node's.
 */
export const findSeries = (
  series: ReadonlyArray<Series>,
  metric: HistoryMetric,
  devices: ReadonlyArray<string>
): number => {
  if (devices.length === 0) return series.findIndex((one) => one.metric === metric && one.labels.length === 0)
  for (const device of devices) {
    const found = positionOf(series, metric, device)
    if (found >= 0) return found
  }
  return -1
}
