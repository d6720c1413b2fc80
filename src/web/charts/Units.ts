// How the figures of a chart are printed and how high its axis reaches.
import type { Format } from "../text/Format.ts"
import { scaleOf } from "./Trend.ts"

/** `share` 0..1, `percent` 0..100, `rate` bytes per second, `degrees` Celsius. */
export type Unit = "share" | "percent" | "rate" | "load" | "count" | "degrees"

/** A figure as the reader sees it beside the chart and in its table. */
export const figurePrinter = (unit: Unit, format: Format): ((value: number) => string) =>
  ({
    share: (value: number) => `${format.decimal(value * 100, 1)}%`,
    percent: (value: number) => `${format.decimal(value, 1)}%`,
    rate: format.rate,
    load: (value: number) => format.decimal(value, 2),
    count: (value: number) =>
      value < 10 && !Number.isInteger(value) ? format.decimal(value, 1) : format.integer(value),
    degrees: (value: number) => `${format.decimal(value, 1)} °C`
  })[unit]

/** The label of a grid line, which is always a round figure. */
export const tickPrinter = (unit: Unit, format: Format): ((value: number) => string) =>
  ({
    share: format.percent,
    percent: (value: number) => `${format.decimal(value, Number.isInteger(value) ? 0 : 1)}%`,
    rate: format.rate,
    load: (value: number) => format.decimal(value, Number.isInteger(value) ? 0 : 2),
    count: (value: number) => format.decimal(value, Number.isInteger(value) ? 0 : 1),
    degrees: (value: number) => `${format.decimal(value, 0)} °C`
  })[unit]

export interface Height {
  readonly low: number
  readonly high: number
  readonly ticks: ReadonlyArray<number>
}

const degreesStep = 10

/** Shares reach to the whole, temperatures lie around their figures, everything else stands on zero. */
export const heightOf = (unit: Unit, low: number | null, high: number | null): Height => {
  if (unit === "degrees") {
    const from = Math.floor(((low ?? 20) - 2) / degreesStep) * degreesStep
    const to = Math.max(from + 2 * degreesStep, Math.ceil(((high ?? 60) + 2) / degreesStep) * degreesStep)
    const step = degreesStep * Math.max(1, Math.ceil((to - from) / degreesStep / 5))
    const count = Math.ceil((to - from) / step)
    return { low: from, high: from + count * step, ticks: Array.from({ length: count + 1 }, (_, i) => from + i * step) }
  }
  const { max, ticks } = scaleOf([{ name: unit, values: [high] }], unit === "share" ? 1 : null)
  return { low: 0, high: max, ticks }
}
