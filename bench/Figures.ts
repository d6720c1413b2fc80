// Owns the figures: how they are summed up, named and printed, and the machine they were taken on.
import { cpus, totalmem } from "node:os"

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
}

/** What a benchmark found; notes say how it was measured and what else was seen. */
export interface Result {
  readonly figures: ReadonlyArray<Figure>
  readonly notes: ReadonlyArray<string>
}

/** Value at a share of an ascending list, by nearest rank; NaN for none. */
export const quantile = (ascending: ArrayLike<number>, share: number): number =>
  ascending.length === 0
    ? Number.NaN
    : (ascending[Math.min(ascending.length - 1, Math.max(0, Math.ceil(ascending.length * share) - 1))] as number)

/** The middle one, or the mean of the middle two. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  if (sorted.length === 0) return Number.NaN
  if (sorted.length % 2 === 1) return sorted[Math.floor(half)] as number
  return ((sorted[half - 1] as number) + (sorted[half] as number)) / 2
}

/** Three digits behind the point below 100, none above: more would claim a precision that is not there. */
export const rounded = (value: number): number =>
  Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000

/** Processor, cores, memory, Node and date on one line. */
export const machine = (now: Date): string => {
  const cores = cpus()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const model = (cores[0]?.model ?? "unknown processor").trim()
  return `${model}, ${cores.length} cores, ${memory}, Node ${process.version}, ${now.toISOString().slice(0, 10)}`
}

/** A figure as one line of JSON. */
export const lineOf = ({ name, unit, value }: Figure): string => JSON.stringify({ name, value: rounded(value), unit })

/** Figures in columns, notes below them. */
export const tableOf = (title: string, { figures, notes }: Result): string => {
  const cells = figures.map(({ name, unit, value }) => [name, String(rounded(value)), unit] as const)
  const width = (column: 0 | 1): number => Math.max(0, ...cells.map((row) => row[column].length))
  const lines = cells.map(([name, value, unit]) =>
    `  ${name.padEnd(width(0))}  ${value.padStart(width(1))}  ${unit}`.trimEnd()
  )
  return [title, ...lines, ...notes.map((note) => `    ${note}`), ""].join("\n")
}
