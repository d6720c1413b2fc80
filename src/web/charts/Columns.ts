// Points of several series as columns over one ascending time axis, with gaps that stay gaps; figures about them.
import type { HistoryAnswer } from "../../../schema/History.ts"

type Points = HistoryAnswer["points"]

/** A number, null inside a gap, or undefined where the line goes on although this bucket is absent. */
export type Cell = number | null | undefined

export interface Columns {
  /** Ms, ascending. */
  readonly at: ReadonlyArray<number>
  readonly series: ReadonlyArray<ReadonlyArray<Cell>>
}

export interface Figures {
  readonly low: number
  readonly high: number
  readonly last: number
}

/** Absent buckets up to this many steps are jitter of the reports, not a gap. */
const gapFactor = 3.5

interface Run {
  readonly at: ReadonlyArray<number>
  readonly values: ReadonlyArray<number | null>
  /** Longest pause that the line crosses, in ms. */
  readonly bridgeMs: number
}

const median = (numbers: ReadonlyArray<number>): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** Nodes that report slower than the step leave every bucket between two reports empty. */
const runOf = (points: Points, stepMs: number): Run => {
  const at = points.map((point) => Date.parse(point.ts))
  const pauses = at.slice(1).map((time, i) => time - (at[i] ?? time))
  return { at, values: points.map((point) => point.value), bridgeMs: gapFactor * Math.max(stepMs, median(pauses)) }
}

const columnOf = (run: Run, at: ReadonlyArray<number>): ReadonlyArray<Cell> => {
  let next = 0
  return at.map((time) => {
    if (run.at[next] === time) return run.values[next++]
    const before = run.at[next - 1]
    const after = run.at[next]
    return before === undefined || after === undefined || after - before > run.bridgeMs ? null : undefined
  })
}

/** Puts series side by side. A gap that no other series has a time in gets one of its own, so that the line breaks. */
export const columnsOf = (series: ReadonlyArray<Points>, stepSec: number): Columns => {
  const runs = series.map((points) => runOf(points, stepSec * 1000))
  const times = new Set(runs.flatMap((run) => run.at))
  for (const run of runs) {
    run.at.forEach((time, i) => {
      const before = run.at[i - 1]
      if (before !== undefined && time - before > run.bridgeMs) times.add(before + stepSec * 1000)
    })
  }
  const at = [...times].sort((a, b) => a - b)
  return { at, series: runs.map((run) => columnOf(run, at)) }
}

export const isEmpty = (columns: Columns): boolean =>
  columns.series.every((cells) => cells.every((cell) => typeof cell !== "number"))

/** Lowest, highest and last value; null without any. */
export const figuresOf = (cells: ReadonlyArray<Cell>): Figures | null => {
  let low = Infinity
  let high = -Infinity
  let last: number | null = null
  for (const cell of cells) {
    if (typeof cell !== "number") continue
    low = Math.min(low, cell)
    high = Math.max(high, cell)
    last = cell
  }
  return last === null ? null : { low, high, last }
}

/** Indexes of values without a neighbour: no line passes through them, so they need a point. */
export const lonely = (cells: ReadonlyArray<Cell>): ReadonlyArray<number> => {
  const neighbour = (index: number, move: -1 | 1): Cell => {
    let i = index + move
    while (i >= 0 && i < cells.length && cells[i] === undefined) i += move
    return cells[i]
  }
  return cells.flatMap((cell, i) =>
    typeof cell === "number" && typeof neighbour(i, -1) !== "number" && typeof neighbour(i, 1) !== "number" ? [i] : []
  )
}

/** Indexes of rows that hold a figure, newest first. */
export const rowsOf = (columns: Columns): ReadonlyArray<number> =>
  columns.at.flatMap((_, i) => (columns.series.some((cells) => typeof cells[i] === "number") ? [i] : [])).reverse()
