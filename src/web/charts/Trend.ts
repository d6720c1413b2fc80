// A series of the last minutes as the figures and the path of a line chart.

export interface Series {
  readonly name: string
  /** What a sample lacks comes as null or as a negative number. */
  readonly values: ReadonlyArray<number | null>
}

export interface Scale {
  /** Value at the upper edge. */
  readonly max: number
  /** Values of the grid lines, ascending, the upper edge included. */
  readonly ticks: ReadonlyArray<number>
}

/** Missing samples make a gap when the pause is longer than this many usual ones. */
const gapFactor = 3.5
const gridLines = 4

/** Round steps of 1, 2, 2.5 or 5 times a power of ten, so that the labels are short. */
export const scaleOf = (series: ReadonlyArray<Series>, fixedMax: number | null): Scale => {
  const top = fixedMax ?? Math.max(1, ...series.map((one) => Math.max(0, ...one.values.map((value) => value ?? 0))))
  const rough = top / gridLines
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = fixedMax === null ? power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) : rough
  const count = fixedMax === null ? Math.max(1, Math.ceil(top / step)) : gridLines
  return { max: step * count, ticks: Array.from({ length: count + 1 }, (_, i) => step * i) }
}

/** The usual pause between two samples, in ms. */
export const usualStepMs = (at: ReadonlyArray<number>): number => {
  const steps = at.slice(1).map((time, i) => time - (at[i] ?? time))
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0
}

export interface Frame {
  readonly width: number
  readonly height: number
  readonly fromMs: number
  readonly toMs: number
  readonly max: number
}

export const xOf = (frame: Frame, timeMs: number): number =>
  frame.toMs === frame.fromMs ? frame.width : ((timeMs - frame.fromMs) / (frame.toMs - frame.fromMs)) * frame.width

export const yOf = (frame: Frame, value: number): number =>
  frame.height - (Math.min(frame.max, Math.max(0, value)) / frame.max) * frame.height

/** The unbroken runs of one series; a negative or missing value and a long pause end a run. */
const runsOf = (
  at: ReadonlyArray<number>,
  values: Series["values"],
  frame: Frame
): ReadonlyArray<ReadonlyArray<string>> => {
  const longMs = usualStepMs(at) * gapFactor
  const runs: Array<Array<string>> = []
  let lastMs: number | null = null
  at.forEach((timeMs, i) => {
    const value = values[i] ?? -1
    if (value < 0) {
      lastMs = null
      return
    }
    const point = `${xOf(frame, timeMs).toFixed(1)} ${yOf(frame, value).toFixed(1)}`
    if (lastMs === null || timeMs - lastMs > longMs) runs.push([point])
    else runs.at(-1)?.push(point)
    lastMs = timeMs
  })
  return runs
}

/** SVG path of one series with its gaps. */
export const linePath = (at: ReadonlyArray<number>, values: Series["values"], frame: Frame): string =>
  runsOf(at, values, frame)
    .map((run) => `M${run.join("L")}`)
    .join("")

/** The same down to the base line, to be filled. */
export const areaPath = (at: ReadonlyArray<number>, values: Series["values"], frame: Frame): string =>
  runsOf(at, values, frame)
    .map((run) => `M${run.join("L")}V${frame.height}H${run[0]?.split(" ")[0] ?? 0}Z`)
    .join("")

/** The sample nearest to a place on the x axis; -1 without samples. */
export const nearest = (at: ReadonlyArray<number>, timeMs: number): number => {
  let best = -1
  at.forEach((one, i) => {
    if (best < 0 || Math.abs(one - timeMs) < Math.abs((at[best] ?? 0) - timeMs)) best = i
  })
  return best
}

/** At most `count` indexes, evenly spread, the newest always among them. */
export const spread = (length: number, count: number): ReadonlyArray<number> => {
  const size = Math.min(length, count)
  return Array.from({ length: size }, (_, i) => length - 1 - Math.round((i * (length - 1)) / Math.max(1, size - 1)))
}
