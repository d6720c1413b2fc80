// The value of every alert metric, read from what a node last reported, and what a rule makes of it.
import type { Raid, RaidArray, Smart } from "../../../schema/Report.ts"
import type { Details } from "../Details.ts"
import { Fs, fsSize, Heat, heatSize, Host, type Layout, Volume, volumeSize } from "../Layout.ts"
import type { Statics } from "../NodeState.ts"
import type { AlertMetric, AlertRule, Operator } from "./Rule.ts"

/** What one report says; `vector` is read through `layout` and never kept. */
export interface Measured {
  readonly layout: Layout
  readonly vector: Float64Array
  readonly details: Details
  readonly statics: Statics | undefined
}

/**
 * The value of a metric (semantics 4.2): ratios 0 to 1, bytes, bytes per second, counts, degrees Celsius; undefined
 * where it is absent. `node.offline` is no measure, it is told by silence.
 */
export const valueOf = (metric: AlertMetric, measured: Measured): number | undefined => {
  const series = hostSeries[metric]
  if (series !== undefined) return present(measured.vector[series])
  switch (metric) {
    case "disk.usage.used_ratio":
      return rootRatio(measured)
    case "raid.failed":
      return raidFailed(measured.details)
    case "thermal.max_temp_c":
      return hottest(measured)
    default:
      return smartFigure(metric, measured.details.smart)
  }
}

/** Number of cores that a load is judged by: logical, else physical, else 0. */
export const coresOf = (statics: Statics | undefined): number => {
  const info = statics?.body.cpu?.info
  return positive(info?.cores_logical) ?? positive(info?.cores_physical) ?? 0
}

/** A threshold or clear threshold of the rule with what its mode adds. */
export const effective = (rule: AlertRule, threshold: number, cores: number): number =>
  rule.thresholdMode === "core_plus" ? cores + threshold + rule.thresholdOffset : threshold

/** Whether `value operator threshold` holds. */
export const isBeyond = (value: number, operator: Operator, threshold: number): boolean => {
  switch (operator) {
    case ">":
      return value > threshold
    case ">=":
      return value >= threshold
    case "<":
      return value < threshold
    case "<=":
      return value <= threshold
    case "==":
      return value === threshold
    case "!=":
      return value !== threshold
  }
}

/** What the value means to the rule: beyond the threshold, clear, or between the two (hysteresis). */
export const conditionOf = (rule: AlertRule, value: number, cores: number): "holds" | "between" | "clear" => {
  if (isBeyond(value, rule.operator, effective(rule, rule.threshold, cores))) return "holds"
  if (rule.clearThreshold === null) return "clear"
  return isBeyond(value, rule.operator, effective(rule, rule.clearThreshold, cores)) ? "between" : "clear"
}

const hostSeries: { readonly [M in AlertMetric]?: number } = {
  "cpu.usage_ratio": Host.cpuUsage,
  "cpu.load1": Host.load1,
  "cpu.load5": Host.load5,
  "cpu.load15": Host.load15,
  "mem.used": Host.memUsed,
  "mem.used_ratio": Host.memUsedRatio,
  // The node's total: a bond is not added to its members, nor a bridge to its ports.
  "net.recv_bps": Host.netRecvRate,
  "net.sent_bps": Host.netSentRate,
  "conn.tcp": Host.tcp
}

const present = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value
const positive = (value: number | null | undefined): number | undefined =>
  value !== undefined && value !== null && value > 0 ? value : undefined

/** A mount that the disk metric may be about: where its block begins, and the total that the Static tells. */
interface Mount {
  readonly at: number
  readonly label: string
  readonly toldTotal: number | undefined
}
interface Mounts {
  readonly layout: Layout
  readonly isFilesystem: boolean
  /** Those mounted at `/`, else all. */
  readonly candidates: ReadonlyArray<Mount>
}

/** By the Static, of which each node has its own; without one by the layout. One entry lives as long as its key. */
const mountsBy = new WeakMap<object, Mounts>()

const mountsIn = (layout: Layout, statics: Statics | undefined): Mounts => {
  const key = statics ?? layout
  let mounts = mountsBy.get(key)
  if (mounts?.layout !== layout) mountsBy.set(key, (mounts = readMounts(layout, statics)))
  return mounts
}

/** The same mounts as the snapshot shows: filesystems, else logical volumes (decision 8). */
const readMounts = (layout: Layout, statics: Statics | undefined): Mounts => {
  const disk = statics?.body.disk
  const isFilesystem = layout.filesystems.length > 0
  const all = isFilesystem
    ? layout.filesystems.map((fs, i): Mount => {
        const label = fs.mountpoint || fs.path
        const told = disk?.filesystems?.find((one) => (one.mountpoint || one.path) === label)
        return { at: layout.filesystemsAt + i * fsSize, label, toldTotal: positive(told?.total) }
      })
    : layout.logical.map((volume, i): Mount => {
        const told =
          disk?.logical?.find((one) => one.ref === volume.ref) ?? disk?.logical?.find((one) => one.name === volume.name)
        const label = told?.mountpoint || volume.ref || volume.name
        return { at: layout.logicalAt + i * volumeSize, label, toldTotal: positive(told?.total) }
      })
  const roots = all.filter(({ label }) => label === "/")
  return { layout, isFilesystem, candidates: roots.length > 0 ? roots : all }
}

/** The ratio of `/`, else of the largest mount, by name where two are equally large. */
const rootRatio = ({ layout, statics, vector }: Measured): number | undefined => {
  const { candidates, isFilesystem } = mountsIn(layout, statics)
  const series = isFilesystem ? Fs : Volume
  let chosen: Mount | undefined
  let largest = -1
  for (const mount of candidates) {
    const { at, label, toldTotal } = mount
    const total =
      positive(vector[at + series.total]) ??
      toldTotal ??
      (vector[at + series.used] as number) + (vector[at + series.free] as number)
    if (chosen !== undefined && (total < largest || (total === largest && label >= chosen.label))) continue
    chosen = mount
    largest = total
  }
  return chosen === undefined ? undefined : present(vector[chosen.at + series.usedRatio])
}

const failuresIn = (array: RaidArray): number => {
  const failed = array.failed ?? 0
  if (failed !== 0) return failed
  const health = array.health.trim().toLowerCase()
  return health === "" || health === "healthy" ? 0 : 1
}

/** Arrays change their state once in years; counted once per section that was sent. NaN: not available. */
const failedBy = new WeakMap<Raid, number>()

const raidFailed = ({ raid }: Details): number | undefined => {
  let failed = failedBy.get(raid)
  if (failed === undefined) {
    failed = raid.available === true ? raid.arrays.reduce((sum, array) => sum + failuresIn(array), 0) : Number.NaN
    failedBy.set(raid, failed)
  }
  return present(failed)
}

const hottest = ({ layout, vector }: Measured): number | undefined => {
  let highest = Number.NaN
  for (let i = 0; i < layout.sensors.length; i++) {
    const temp = vector[layout.sensorsAt + i * heatSize + Heat.temp] as number
    // Also true for the first one, where `highest` is no number yet.
    if (temp > 0 && !(temp <= highest)) highest = temp
  }
  return present(highest)
}

type SmartMetric = Extract<AlertMetric, `disk.smart.${string}`>
type SmartFigures = Readonly<Record<SmartMetric, number | undefined>>

/** SMART is collected every few minutes and carried by every report; its figures are made once per collection. */
const figuresBy = new WeakMap<Smart, SmartFigures>()

const smartFigure = (metric: AlertMetric, smart: Smart | null): number | undefined => {
  if (smart === null) return undefined
  let figures = figuresBy.get(smart)
  if (figures === undefined) figuresBy.set(smart, (figures = figuresOf(smart)))
  return figures[metric as SmartMetric]
}

const sumOf = (counts: ReadonlyArray<number>): number | undefined =>
  counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0)

const figuresOf = ({ devices }: Smart): SmartFigures => {
  const warnings: Array<number> = []
  const failing: Array<number> = []
  let failed = 0
  let highest = 0
  for (const { critical_warning, failing_attrs, health, temp_c } of devices) {
    if (health?.trim().toLowerCase() === "failed") failed++
    if (critical_warning !== undefined && critical_warning !== null) warnings.push(critical_warning === 0 ? 0 : 1)
    if (failing_attrs) failing.push(failing_attrs.filter(isFailing).length)
    highest = Math.max(highest, temp_c ?? 0)
  }
  return {
    "disk.smart.failed": failed,
    "disk.smart.nvme.critical_warning": sumOf(warnings),
    "disk.smart.attribute_failing": sumOf(failing),
    "disk.smart.max_temp_c": positive(highest)
  }
}

const isFailing = ({ when_failed }: { readonly when_failed: string }): boolean =>
  when_failed.trim().toUpperCase() === "FAILING_NOW"
