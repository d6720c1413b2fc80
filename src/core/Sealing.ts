// Gathers a node's journal rows into the columns of one raw chunk, whatever devices come and go in between.
import type { HistoryMetric } from "../../schema/History.ts"
import type { SmartDevice } from "../../schema/Report.ts"
import type { RawChunk } from "./Chunk.ts"
import { type Changes, type Details, merged } from "./Details.ts"
import { layoutOf, type LayoutNames } from "./Layout.ts"
import { type Columns, columnsOf, type Series, seriesKey } from "./Series.ts"

export interface SealRow {
  readonly receivedAt: number
  readonly vector: Float64Array
  readonly changes: Changes | undefined
}

export interface Sealed {
  readonly series: ReadonlyArray<Series>
  readonly chunk: RawChunk
}

const noDevices: ReadonlyArray<SmartDevice> = []

/** Where a column's value stands among all that a row has. */
interface Pick {
  readonly at: number
  readonly values: Float64Array
}

export class Sealing {
  /** What the next row's changes build upon; undefined before the first. */
  details: Details | undefined
  length = 0
  private readonly capacity: number
  private readonly metric: HistoryMetric | undefined
  private readonly times: Float64Array
  private readonly columns = new Map<string, { readonly series: Series; readonly values: Float64Array }>()
  private layout: LayoutNames | undefined
  private smart: Details["smart"] | undefined
  private size = 0
  private taken: Columns | undefined
  private picks: ReadonlyArray<Pick> = []
  private scratch = new Float64Array(0)

  /** With a metric only its columns are gathered: what a read wants. */
  constructor(details: Details | undefined, capacity: number, metric?: HistoryMetric) {
    this.details = details
    this.capacity = capacity
    this.metric = metric
    this.times = new Float64Array(capacity)
  }

  /** Adds a row; false when its vector does not fit the devices that hold at it, so that it says nothing. */
  add({ changes, receivedAt, vector }: SealRow): boolean {
    this.details = merged(this.details, changes)
    this.follow(this.details)
    if (vector.length !== this.size) return false
    this.taken?.take(vector, this.scratch)
    for (const { at, values } of this.picks) values[this.length] = this.scratch[at] as number
    this.times[this.length] = receivedAt
    this.length++
    return true
  }

  /** Time of the last row added, milliseconds. */
  get lastAt(): number {
    return this.times[this.length - 1] ?? Number.NEGATIVE_INFINITY
  }

  /** The columns, without series that were absent throughout. */
  finish(): Sealed {
    const kept = [...this.columns.values()].filter(({ values }) => {
      for (let i = 0; i < this.length; i++) if (!Number.isNaN(values[i])) return true
      return false
    })
    return {
      series: kept.map(({ series }) => series),
      chunk: {
        times: this.times.subarray(0, this.length),
        columns: kept.map(({ values }) => values.subarray(0, this.length))
      }
    }
  }

  /** Devices changed: rows from here on fill other columns, those before stay as they are. */
  private follow({ layout, smart }: Details): void {
    if (this.layout === layout && this.smart === smart) return
    this.layout = layout
    this.smart = smart
    const full = layoutOf(layout)
    this.size = full.size
    this.taken = columnsOf(full, smart?.devices ?? noDevices)
    this.scratch = new Float64Array(this.taken.series.length)
    this.picks = this.taken.series.flatMap((series, at) =>
      this.metric === undefined || series.metric === this.metric ? [{ at, values: this.column(series) }] : []
    )
  }

  private column(series: Series): Float64Array {
    const key = seriesKey(series)
    let column = this.columns.get(key)
    if (column === undefined) {
      column = { series, values: new Float64Array(this.capacity).fill(Number.NaN) }
      this.columns.set(key, column)
    }
    return column.values
  }
}
