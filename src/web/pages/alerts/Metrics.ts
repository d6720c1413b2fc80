// What the watched metrics are measured in: as they are typed, as they are read, and which of them a rule may watch.
import type { Format } from "../../text/Format.ts"
import { unknown } from "../../text/Format.ts"

export type Unit = "percent" | "none" | "gib" | "mbs" | "celsius"

/** In the order of the form. */
export const unitOf = {
  "cpu.usage_ratio": "percent",
  "cpu.load1": "none",
  "cpu.load5": "none",
  "cpu.load15": "none",
  "mem.used_ratio": "percent",
  "mem.used": "gib",
  "disk.usage.used_ratio": "percent",
  "net.recv_bps": "mbs",
  "net.sent_bps": "mbs",
  "conn.tcp": "none",
  "thermal.max_temp_c": "celsius",
  "disk.smart.max_temp_c": "celsius",
  "raid.failed": "none",
  "disk.smart.failed": "none",
  "disk.smart.nvme.critical_warning": "none",
  "disk.smart.attribute_failing": "none"
} as const satisfies Readonly<Record<string, Unit>>
export type Watched = keyof typeof unitOf

const watched: ReadonlyMap<string, Unit> = new Map(Object.entries(unitOf))
const offline = "node.offline"

export const watchedMetrics = Object.keys(unitOf) as ReadonlyArray<Watched>
/** Those and the one that only a built-in rule watches. */
export const eventMetrics: ReadonlyArray<string> = [offline, ...watchedMetrics]

/** Also for metrics that this page does not know. */
export const unitOfMetric = (metric: string): Unit => watched.get(metric) ?? "none"

/** Load is the only metric that a number of cores means something to. */
export const takesCores = (metric: string): boolean => /^cpu\.load(1|5|15)$/.test(metric)

/** What the service keeps no past of, so that a rule on it cannot be tried (contract, history metrics). */
const unkept: ReadonlySet<string> = new Set([
  "raid.failed",
  "disk.smart.failed",
  "disk.smart.nvme.critical_warning",
  "disk.smart.attribute_failing"
])
export const hasPast = (metric: string): boolean => !unkept.has(metric)

const scale: Readonly<Record<Unit, number>> = { percent: 0.01, none: 1, gib: 1024 ** 3, mbs: 1_000_000, celsius: 1 }

/** Twelve digits, so that 0.07 of a share is typed as 7 and nothing else. */
const digits = 12

/** A figure of the service as it stands in a field. */
export const typedOf = (metric: string, value: number): string => {
  const unit = unitOfMetric(metric)
  return String(Number((unit === "percent" ? value * 100 : value / scale[unit]).toPrecision(digits)))
}

/** What was typed as a figure of the service; null when it is no number. A comma counts as a point. */
export const figureOf = (metric: string, typed: string): number | null => {
  const text = typed.trim().replace(",", ".")
  if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text)) return null
  const unit = unitOfMetric(metric)
  // Dividing by 100 rounds once; multiplying with 0.01 would round twice.
  return unit === "percent" ? Number(text) / 100 : Number(text) * scale[unit]
}

/** A figure with its unit as it is read; decimals only where there are some. */
export const shownFigure = (metric: string, value: number, localeName: string): string => {
  const unit = unitOfMetric(metric)
  const number = new Intl.NumberFormat(localeName, { maximumFractionDigits: 2 })
  const shown = number.format(Number(typedOf(metric, value)))
  return unit === "none" ? shown : `${shown} ${{ percent: "%", gib: "GiB", mbs: "MB/s", celsius: "°C" }[unit]}`
}

/** The value of an event: sizes and rates in the unit that suits them. */
export const eventFigure = (
  metric: string,
  value: number | undefined,
  format: Pick<Format, "bytes" | "rate">,
  localeName: string
): string => {
  if (value === undefined) return unknown
  const unit = unitOfMetric(metric)
  if (unit === "gib") return format.bytes(value)
  return unit === "mbs" ? format.rate(value) : shownFigure(metric, value, localeName)
}
