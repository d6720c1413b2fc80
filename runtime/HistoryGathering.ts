// Gathers what history and online reads ask for: chunks of the fitting tier, finer ones where it is not folded yet, the tail.
import type { HistoryAnswer, HistoryMetric } from "../schema/History.ts"
import type { NodeId } from "../schema/Ids.ts"
import { RawReader, TierReader } from "../src/core/Chunk.ts"
import { kept } from "../src/core/Column.ts"
import type { HistoryQuery } from "../src/core/HistoryQuery.ts"
import { historyText } from "../src/core/HistoryText.ts"
import { isoSeconds, receivedIn, type Span } from "../src/core/Online.ts"
import { Points } from "../src/core/Points.ts"
import { Sealing } from "../src/core/Sealing.ts"
import { findSeries, type Series, seriesFrom } from "../src/core/Series.ts"
import { type Tier, tierNames, tiers } from "../src/core/Tier.ts"
import type { ChunkRow, HistoryReader, Standing } from "../src/store/HistoryReader.ts"
import { addRow, detailsOf, TailRows } from "./TailRows.ts"

/** Damaged stretches that an answer lists. */
const missingMax = 100
/** Series lists of layouts kept parsed: many nodes share one, and a chunk refers to one. */
const layoutsMax = 512

/** Of which node, and its committed rows as far as the service knows them: those that are sealed by now are left out. */
interface Subject {
  readonly id: NodeId
  readonly unsealed: ReadonlyArray<number>
}
/** A chart. */
export interface ChartQuestion extends Subject {
  readonly query: HistoryQuery
  /** Names under which the asked device may stand; none for the whole node. */
  readonly devices: ReadonlyArray<string>
}
export interface ChartAnswer {
  /** The answer's JSON, one line. */
  readonly text: string
  /** Chunks and rows that could not be read. */
  readonly damaged: number
}
/** How many reports came in each part of a span. */
export interface CountQuestion extends Subject {
  /** The coarsest tier to be read. */
  readonly tier: Tier
  readonly span: Span
}
export interface CountAnswer {
  readonly counts: Float64Array
  readonly damaged: number
}

/** What answers are gathered with, and kept between them. */
export interface Tools {
  readonly reader: HistoryReader
  readonly tails: TailRows
  readonly layouts: Map<number, ReadonlyArray<Series>>
}
export const toolsOf = (reader: HistoryReader): Tools => ({
  reader,
  tails: new TailRows(reader.rows),
  layouts: new Map()
})

const readerOf = (tier: Tier, row: ChunkRow, bytes: Uint8Array): RawReader | TierReader =>
  (row.reader ??= tier === "raw" ? new RawReader(bytes) : new TierReader(bytes))

const seriesOf = ({ layouts, reader }: Tools, layoutId: number): ReadonlyArray<Series> => {
  let series = layouts.get(layoutId)
  if (series === undefined) {
    series = seriesFrom(reader.layout(layoutId) ?? "[]")
    if (layouts.size >= layoutsMax) layouts.delete(layouts.keys().next().value as number)
    layouts.set(layoutId, series)
  }
  return series
}

/**
 * Hands over a node's chunks in [from, to), coarsest tier first and oldest first; each instant is in exactly one of
 * them, because a finer tier is read only behind what is folded of it.
 */
const eachChunk = (
  { reader }: Tools,
  { folded }: Standing,
  { id, span: { fromMs, toMs }, tier }: Omit<CountQuestion, "unsealed">,
  use: (tier: Tier, row: ChunkRow) => void
): void => {
  for (const shelf of tierNames.slice(0, tierNames.indexOf(tier) + 1).reverse()) {
    const behind = shelf === tier || shelf === "hour" ? 0 : folded[shelf]
    for (const stand of reader.standsBetween(shelf, id, fromMs, toMs, behind)) {
      const row = reader.chunkAt(shelf, stand)
      if (row !== undefined) use(shelf, row)
    }
  }
}

/** The rows that are committed but in no chunk yet, as columns; one that cannot be read is left out and counted. */
const tailOf = (
  { tails }: Tools,
  { details, sealedSeq }: Standing,
  { id, unsealed }: Subject,
  metric?: HistoryMetric
) => {
  const seqs = unsealed.filter((seq) => seq > sealedSeq)
  if (seqs.length === 0) return undefined
  const sealing = new Sealing(detailsOf(details), seqs.length, metric)
  let damaged = 0
  for (const row of tails.of(id, seqs)) if (!addRow(sealing, row, tails.valuesOf)) damaged++
  return { damaged, ...sealing.finish() }
}

/** Adds what a chunk says of the metric; false when it is damaged. */
const addChunk = (
  tools: Tools,
  to: Points,
  { devices, query: { metric } }: ChartQuestion,
  tier: Tier,
  row: ChunkRow
): boolean => {
  if (row.bytes === undefined) return false
  const index = findSeries(seriesOf(tools, row.layoutId), metric, devices)
  if (index < 0) return true
  try {
    const reader = readerOf(tier, row, row.bytes)
    if (reader instanceof RawReader) to.addValues(reader.times(), reader.column(index))
    else to.addBuckets(reader.times(), reader.series(index), tiers[tier].widthMs)
    return true
  } catch {
    return false
  }
}

/** Answers a question about a chart. The reader shows one moment until this returns. Throws what SQLite throws. */
export const chart = (tools: Tools, question: ChartQuestion): ChartAnswer => {
  const { id, query } = question
  const { agg, device, fromMs, metric, range, stepMs, tier, toMs } = query
  const standing = tools.reader.standing(id)
  const points = new Points(fromMs, toMs, stepMs)
  const missing: Array<HistoryAnswer["missing"][number]> = []
  let damaged = 0
  eachChunk(tools, standing, { id, tier, span: query }, (shelf, row) => {
    if (addChunk(tools, points, question, shelf, row)) return
    damaged++
    if (missing.length < missingMax) missing.push({ from: isoSeconds(row.startAt), to: isoSeconds(row.endAt) })
  })
  const tail = tailOf(tools, standing, question, metric)
  const index = tail === undefined ? -1 : findSeries(tail.series, metric, question.devices)
  if (tail !== undefined && index >= 0) {
    points.addValues(tail.chunk.times, (tail.chunk.columns[index] as Float64Array).map(kept))
  }
  const head = {
    server_id: id,
    metric,
    range,
    agg,
    step_sec: stepMs / 1000,
    ...(device === "" ? {} : { device }),
    from: isoSeconds(fromMs),
    // A range ends with this very millisecond: its span counts from there.
    to: isoSeconds(range === "custom" ? toMs : toMs - 1),
    missing
  }
  return { text: historyText(head, points), damaged: damaged + (tail?.damaged ?? 0) }
}

/** Rows of a chunk with their times: reports at raw resolution, counts per bucket in the tiers. */
const eachRow = (reader: RawReader | TierReader, use: (at: number, rows: number) => void): void => {
  if (reader instanceof RawReader) return reader.times().forEach((at) => use(at, 1))
  const rows = reader.rows()
  reader.times().forEach((at, i) => use(at, rows[i] as number))
}

/** Reports received in each part of a span, as `receivedIn` counts them; of one moment like `chart`. */
export const count = (tools: Tools, question: CountQuestion): CountAnswer => {
  const { add, counts } = receivedIn(question.span)
  const standing = tools.reader.standing(question.id)
  let damaged = 0
  eachChunk(tools, standing, question, (shelf, row) => {
    try {
      if (row.bytes !== undefined) return eachRow(readerOf(shelf, row, row.bytes), add)
    } catch {
      // A damaged chunk: counted like one whose checksum does not hold.
    }
    damaged++
  })
  const tail = tailOf(tools, standing, question)
  tail?.chunk.times.forEach((at) => add(at, 1))
  return { counts, damaged: damaged + (tail?.damaged ?? 0) }
}
