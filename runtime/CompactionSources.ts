// What a seal or a fold is made of, read by whoever has a connection: a thread that goes before, or else the event loop.
import type { NodeId } from "../schema/Ids.ts"
import { type FoldedTier, nextTier, stretchStart, tiers } from "../src/core/Tier.ts"
import type { ChunkRow, HistoryReader } from "../src/store/HistoryReader.ts"
import type { TailRow } from "../src/store/JournalStatements.ts"

/** Rows that are read between two yields: half a millisecond. */
export const rowsAtOnce = 32
/** Chunks that one fold takes: more than a stretch usually has, so that nodes that crash often are folded too. */
const foldPartsMax = 64
/** Bytes after which a fold takes no further chunk: two of them wait in memory, and a usual stretch has a fiftieth. */
const foldBytesMax = 8_388_608

export interface SealQuestion {
  readonly id: NodeId
  /** The node's oldest unsealed rows, ascending. */
  readonly seqs: ReadonlyArray<number>
}
/** What stands about a node that is to be sealed. Good until its next seal. */
export interface SealSource {
  readonly seqs: ReadonlyArray<number>
  /** Details after the last sealed row, JSON; undefined before the first. */
  readonly details: string | undefined
  /** By seq, as far as they are there. */
  readonly rows: ReadonlyMap<number, TailRow>
}

/** Throws what SQLite throws. */
export function* sealSource(reader: HistoryReader, { id, seqs }: SealQuestion): Generator<void, SealSource> {
  const { details } = reader.standing(id)
  const rows = new Map<number, TailRow>()
  for (let at = 0; at < seqs.length; at += rowsAtOnce) {
    for (const row of reader.rows(seqs.slice(at, at + rowsAtOnce))) rows.set(row.seq, row)
    yield
  }
  return { seqs, details, rows }
}

export interface FoldQuestion {
  readonly id: NodeId
  readonly from: FoldedTier
  /** The last chunk that is folded. */
  readonly afterId: number
}
/** What stands about a node that is to be folded. Good until the next fold of the same tier. */
export interface FoldSource {
  readonly afterId: number
  /** The oldest unfolded chunks of one stretch, at most as many as one fold takes. */
  readonly rows: ReadonlyArray<ChunkRow>
  /** Series of the chunks, JSON, by the number of their layout. */
  readonly layouts: ReadonlyMap<number, string>
}

/**
 * Each chunk is read by itself: on a busy disk one whose pages are not in memory takes milliseconds. Throws what SQLite
 * throws.
 */
export function* foldSource(reader: HistoryReader, question: FoldQuestion): Generator<void, FoldSource> {
  const { afterId, from, id } = question
  const { chunkMs } = tiers[nextTier[from]]
  const stretchOf = (startAt: number) => stretchStart(id, chunkMs, startAt)
  const places = reader.placesAfter(from, id, afterId, foldPartsMax)
  const rows: Array<ChunkRow> = []
  const layouts = new Map<number, string>()
  let bytes = 0
  for (const place of places) {
    if (stretchOf(place.startAt) !== stretchOf(places[0]?.startAt ?? 0) || bytes > foldBytesMax) break
    yield
    const row = reader.chunk(from, place.id)
    if (row === undefined) continue
    rows.push(row)
    bytes += row.bytes?.length ?? 0
    if (!layouts.has(row.layoutId)) layouts.set(row.layoutId, reader.layout(row.layoutId) ?? "[]")
  }
  return { afterId, rows, layouts }
}

/**
 * The source of a seal as a few large values: between threads every value is copied by itself, and hundreds of them
 * would take as long as reading the rows.
 */
export interface PackedSeal {
  readonly seqs: ReadonlyArray<number>
  readonly details: string | undefined
  /** Of the rows that are there. */
  readonly found: Float64Array
  readonly receivedAt: Float64Array
  readonly changes: ReadonlyArray<string | null>
  /** All of its buffer: one behind the other, each ends where `ends` says. */
  readonly vectors: Uint8Array
  readonly ends: Uint32Array
}

export const packed = ({ details, rows: bySeq, seqs }: SealSource): PackedSeal => {
  const rows = [...bySeq.values()]
  let end = 0
  return {
    seqs,
    details,
    found: Float64Array.from(rows, ({ seq }) => seq),
    receivedAt: Float64Array.from(rows, ({ receivedAt }) => receivedAt),
    changes: rows.map((row) => row.details),
    // A copy of its own: a short Buffer is a piece of a larger one, which would be sent along.
    vectors: new Uint8Array(Buffer.concat(rows.map(({ vector }) => vector))),
    ends: Uint32Array.from(rows, ({ vector }) => (end += vector.length))
  }
}

export const unpacked = (nodeId: NodeId, packedSeal: PackedSeal): SealSource => {
  const { changes, details, ends, found, receivedAt, seqs } = packedSeal
  const vectors = Buffer.from(packedSeal.vectors.buffer as ArrayBuffer)
  const rows = new Map<number, TailRow>()
  found.forEach((seq, i) => {
    rows.set(seq, {
      seq,
      nodeId,
      receivedAt: receivedAt[i] as number,
      vector: vectors.subarray(ends[i - 1] ?? 0, ends[i]),
      details: changes[i] ?? null
    })
  })
  return { seqs, details, rows }
}
