// The two steps of compaction for one node, without a fiber: seal journal rows into a chunk, fold chunks into a tier.
import type { Context } from "effect"
import { type Buckets, encodingRaw, encodingTier, RawReader, TierReader } from "../src/core/Chunk.ts"
import { Sealing } from "../src/core/Sealing.ts"
import { seriesFrom, seriesText } from "../src/core/Series.ts"
import {
  type FoldedTier,
  foldingRaw,
  foldingTier,
  joinRaw,
  nextTier,
  type RawPart,
  stretchStart,
  type TierPart,
  tiers
} from "../src/core/Tier.ts"
import type { ChunkWrite, FoldWrite, HistoryStore, SealWrite } from "../src/store/History.ts"
import type { ChunkRow } from "../src/store/HistoryReader.ts"
import type { JournalStore } from "../src/store/Journal.ts"
import {
  type FoldQuestion,
  type FoldSource,
  foldSource,
  rowsAtOnce,
  type SealQuestion,
  type SealSource,
  sealSource
} from "./CompactionSources.ts"
import type { NodeActor } from "./NodeActor.ts"
import type { NodeId } from "../schema/Ids.ts"
import type { HistoryMarks, Mark } from "./HistoryMarks.ts"
import { addRow, detailsOf } from "./TailRows.ts"

/** Rows of a chunk at most; a node with as many is sealed whatever the time, also when the clock was set back. */
export const sealRowsMax = 256

export interface Shelves {
  readonly journal: Context.Tag.Service<typeof JournalStore>
  readonly history: Context.Tag.Service<typeof HistoryStore>
  readonly marks: Context.Tag.Service<typeof HistoryMarks>
}

export interface Seal {
  readonly write: SealWrite
  /** How many of the node's waiting rows it takes away. */
  readonly taken: number
  readonly values: number
  readonly lost: number
  /** When the next row was received, if it is known. */
  readonly nextAt: number | undefined
}

/** What is asked to seal a node's oldest rows. */
export const sealQuestion = ({ id, unsealed }: NodeActor): SealQuestion => ({
  id,
  seqs: unsealed.slice(0, sealRowsMax)
})

/**
 * Seals a node's oldest rows that were received before an instant. A chunk's times ascend and span at most two
 * stretches, so that reads find it by its start; a clock that was set begins a new one. Between two yields the node
 * may take more rows; nobody else may take any away. A source that was brought counts if it still fits.
 */
export function* sealOf(
  shelves: Shelves,
  actor: NodeActor,
  before: number,
  brought?: SealSource
): Generator<void, Seal | undefined> {
  const { reader } = shelves.history
  // Rows are taken away at the front, and added at the end.
  const isFitting = brought !== undefined && brought.seqs[0] === actor.unsealed[0]
  const { details, rows, seqs } = isFitting ? brought : yield* sealSource(reader, sealQuestion(actor))
  const sealing = new Sealing(detailsOf(details), seqs.length)
  let firstAt: number | undefined
  let [read, lost] = [0, 0]
  for (; read < seqs.length; read++) {
    if (read % rowsAtOnce === 0) yield
    const row = rows.get(seqs[read] as number)
    if (row === undefined) {
      lost++
      continue
    }
    const at = row.receivedAt
    firstAt ??= at
    if (at >= before || at < sealing.lastAt || at >= firstAt + 2 * tiers.raw.chunkMs) break
    if (!addRow(sealing, row)) lost++
  }
  if (read === 0) return undefined
  const { chunk, series } = sealing.finish()
  const startAt = chunk.times[0]
  const sealed: SealWrite = {
    kind: "seal",
    nodeId: actor.id,
    sealedSeq: seqs[read - 1] as number,
    details: JSON.stringify(sealing.details ?? null),
    chunk: undefined
  }
  const values = chunk.times.length * series.length
  const nextAt = rows.get(seqs[read] ?? 0)?.receivedAt
  if (startAt === undefined) return { taken: read, lost, nextAt, values, write: sealed }
  const bytes = yield* encodingRaw(chunk)
  reader.touch("raw", actor.id)
  const written: ChunkWrite = { tier: "raw", startAt, endAt: sealing.lastAt + 1, series: seriesText(series), bytes }
  return { taken: read, lost, nextAt, values, write: { ...sealed, chunk: written } }
}

/** The rows are taken off the node's list: they are in a chunk, or given up. */
export const settleSeal = (
  { journal }: Shelves,
  actor: NodeActor,
  mark: Mark,
  { nextAt, taken }: Pick<Seal, "nextAt" | "taken">
): void => {
  mark.sealedSeq = actor.unsealed[taken - 1] ?? mark.sealedSeq
  actor.unsealed.splice(0, taken)
  const next = actor.unsealed[0]
  if (next !== undefined) actor.unsealedFrom = nextAt ?? journal.row(next)?.receivedAt ?? actor.unsealedFrom
}

/** Whether rows wait whose stretch is over. `now` and the grace are milliseconds. */
export const isSealDue = (actor: NodeActor, now: number, graceMs: number): boolean =>
  actor.unsealed.length >= sealRowsMax ||
  (actor.unsealed.length > 0 && actor.unsealedFrom < stretchStart(actor.id, tiers.raw.chunkMs, now - graceMs))

/** Rows received before this are to be sealed now. A full list goes whole, whatever the clock says. */
export const sealBefore = (actor: NodeActor, now: number, graceMs: number): number =>
  actor.unsealed.length >= sealRowsMax
    ? Number.POSITIVE_INFINITY
    : stretchStart(actor.id, tiers.raw.chunkMs, now - graceMs)

/** Chunks of a stretch wait this long beyond its end, so that the last of them are there. */
const foldDelayMs = (from: FoldedTier): number => tiers[from].chunkMs + 120_000

/** Whether a whole stretch of a tier waits to be folded. */
export const isFoldDue = ({ history }: Shelves, id: NodeId, mark: Mark, from: FoldedTier, now: number): boolean => {
  const waiting = (mark.waiting[from] ??= history.firstAfter(from, id, mark.folded[from]) ?? Number.POSITIVE_INFINITY)
  const { chunkMs } = tiers[nextTier[from]]
  return Number.isFinite(waiting) && waiting < stretchStart(id, chunkMs, now - foldDelayMs(from))
}

/** What is asked to fold a node's oldest stretch. */
export const foldQuestion = (id: NodeId, mark: Mark, from: FoldedTier): FoldQuestion => ({
  id,
  from,
  afterId: mark.folded[from]
})

type Readable = ChunkRow & { readonly bytes: Uint8Array }
const isReadable = (row: ChunkRow): row is Readable => row.bytes !== undefined

type Layouts = FoldSource["layouts"]
const rawPart = (layouts: Layouts, row: Readable): RawPart => {
  const reader = new RawReader(row.bytes)
  return {
    series: seriesFrom(layouts.get(row.layoutId) ?? "[]"),
    times: reader.times(),
    column: (index) => reader.column(index)
  }
}
const tierPart = (layouts: Layouts, row: Readable): TierPart => {
  const reader = new TierReader(row.bytes)
  return {
    series: seriesFrom(layouts.get(row.layoutId) ?? "[]"),
    times: reader.times(),
    rows: reader.rows(),
    buckets: (index) => reader.series(index)
  }
}

/** A part, or nothing when its bytes make no sense although their checksum holds. */
const readable = <P>(layouts: Layouts, rows: ReadonlyArray<Readable>, part: (layouts: Layouts, row: Readable) => P) =>
  rows.flatMap((row) => {
    try {
      return [part(layouts, row)]
    } catch {
      return []
    }
  })

export interface Fold {
  readonly write: FoldWrite
  readonly damaged: number
}

/** Values of a joined chunk at most: coding them takes some 10 ms. Wider nodes' chunks are large anyway. */
const joinValuesMax = 150_000

/** Raw chunks of a stretch as one, or nothing when there is nothing to gain. */
function* joined(rows: ReadonlyArray<ChunkRow>, parts: ReadonlyArray<RawPart>): Generator<void, FoldWrite["joined"]> {
  const all = joinRaw(parts)
  // A damaged chunk stays where it is: its stretch is missing, and is said to be.
  if (rows.length < 2 || parts.length < rows.length || all.times.length * all.series.length > joinValuesMax) {
    return undefined
  }
  const columns: Array<Float64Array> = []
  for (let index = 0; index < all.series.length; index++) {
    columns.push(all.column(index))
    yield
  }
  const bytes = yield* encodingRaw({ times: all.times, columns })
  const startAt = all.times[0] as number
  const endAt = Math.max(...rows.map((row) => row.endAt))
  return {
    ids: rows.map(({ id }) => id),
    chunk: { tier: "raw", startAt, endAt, series: seriesText(all.series), bytes }
  }
}

/**
 * Folds a node's oldest unfolded chunks of one stretch into a chunk of the next tier, a series between two yields.
 * Buckets that a border cuts, or that a later chunk adds to, stand in two chunks; reads add them up. A source that was
 * brought counts if it still fits.
 */
export function* foldOf(
  { history: { reader } }: Pick<Shelves, "history">,
  id: NodeId,
  mark: Mark,
  from: FoldedTier,
  brought?: FoldSource
): Generator<void, Fold | undefined> {
  const to = nextTier[from]
  const { widthMs } = tiers[to]
  const question = foldQuestion(id, mark, from)
  const isFitting = brought !== undefined && brought.afterId === question.afterId
  const { layouts, rows } = isFitting ? brought : yield* foldSource(reader, question)
  const last = rows[rows.length - 1]
  if (last === undefined) return undefined
  const sound = rows.filter(isReadable)
  const raw = from === "raw" ? readable(layouts, sound, rawPart) : []
  const parts = from === "raw" ? raw : readable(layouts, sound, tierPart)
  yield
  const all = from === "raw" ? foldingRaw(raw, widthMs) : foldingTier(parts as ReadonlyArray<TierPart>, widthMs)
  const series: Array<Buckets> = []
  for (let index = 0; index < all.series.length; index++) {
    series.push(all.buckets(index))
    yield
  }
  const { rows: counts, times } = all
  const write = { kind: "fold", nodeId: id, from, upToId: last.id } as const
  const damaged = rows.length - parts.length
  if (times.length === 0) return { damaged, write: { ...write, chunk: undefined, joined: undefined } }
  const bytes = yield* encodingTier({ times, rows: counts, series })
  reader.touch(to, id)
  const startAt = times[0] as number
  const endAt = (times[times.length - 1] as number) + widthMs
  const chunk = { tier: to, startAt, endAt, series: seriesText(all.series), bytes }
  return { damaged, write: { ...write, chunk, joined: from === "raw" ? yield* joined(rows, raw) : undefined } }
}
