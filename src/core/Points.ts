// Gathers samples and buckets of any width into the points of one answer: count, sum, min, max and last per step.
import type { HistoryAgg } from "../../schema/History.ts"
import type { Buckets } from "./Chunk.ts"
import { kept } from "./Column.ts"

/** Steps of an answer, aligned to absolute time; times and widths in milliseconds. */
export class Points {
  readonly fromMs: number
  readonly toMs: number
  readonly stepMs: number
  private readonly first: number
  private readonly count: Float64Array
  private readonly sum: Float64Array
  private readonly min: Float64Array
  private readonly max: Float64Array
  private readonly last: Float64Array
  private readonly lastAt: Float64Array

  /** Takes what lies in [fromMs, toMs): a step that begins before it holds only what lies in it. */
  constructor(fromMs: number, toMs: number, stepMs: number) {
    this.fromMs = fromMs
    this.toMs = toMs
    this.stepMs = stepMs
    this.first = Math.floor(fromMs / stepMs)
    const steps = Math.max(0, Math.ceil(toMs / stepMs) - this.first)
    this.count = new Float64Array(steps)
    this.sum = new Float64Array(steps)
    this.min = new Float64Array(steps).fill(Number.POSITIVE_INFINITY)
    this.max = new Float64Array(steps).fill(Number.NEGATIVE_INFINITY)
    this.last = new Float64Array(steps)
    this.lastAt = new Float64Array(steps).fill(Number.NEGATIVE_INFINITY)
  }

  private add(at: number, count: number, sum: number, min: number, max: number, last: number): void {
    const step = Math.floor(at / this.stepMs) - this.first
    this.count[step] = (this.count[step] as number) + count
    this.sum[step] = (this.sum[step] as number) + sum
    if (min < (this.min[step] as number)) this.min[step] = min
    if (max > (this.max[step] as number)) this.max[step] = max
    if (at >= (this.lastAt[step] as number)) {
      this.lastAt[step] = at
      this.last[step] = last
    }
  }

  /** Samples at report resolution; NaN counts nothing. */
  addValues(times: Float64Array, values: Float64Array): void {
    for (let i = 0; i < times.length; i++) {
      const at = times[i] as number
      const value = values[i] as number
      if (at >= this.fromMs && at < this.toMs && !Number.isNaN(value)) this.add(at, 1, value, value, value, value)
    }
  }

  /** Buckets of a width that divides the step, by their starts. One that reaches over an end of the answer counts. */
  addBuckets(times: Float64Array, buckets: Buckets, widthMs: number): void {
    for (let i = 0; i < times.length; i++) {
      const at = times[i] as number
      const count = buckets.count[i] as number
      if (count === 0 || at + widthMs <= this.fromMs || at >= this.toMs) continue
      this.add(
        at,
        count,
        buckets.sum[i] as number,
        buckets.min[i] as number,
        buckets.max[i] as number,
        buckets.last[i] as number
      )
    }
  }

  /** The sum by the count, which rounding must not carry past what was measured. */
  private average(i: number): number {
    const mean = kept(this.sum[i] as number) / (this.count[i] as number)
    return Math.min(Math.max(mean, this.min[i] as number), this.max[i] as number)
  }

  /** Calls `use` with the start of every step that has samples, ascending, and its value. Averages are sum by count. */
  each(agg: HistoryAgg, use: (startMs: number, value: number) => void): void {
    for (let i = 0; i < this.count.length; i++) {
      if (this.count[i] === 0) continue
      const value =
        agg === "avg" ? this.average(i) : agg === "max" ? this.max[i] : agg === "min" ? this.min[i] : this.last[i]
      use((this.first + i) * this.stepMs, value as number)
    }
  }
}
