// Reads chunks of history and what of it still waits in the journal, on any connection: the service's or a thread's.
import type Sqlite from "better-sqlite3"
import { crc32 } from "node:zlib"
import type { NodeId } from "../../schema/Ids.ts"
import type { RawReader, TierReader } from "../core/Chunk.ts"
import { type FoldedTier, perTier, type Tier, tiers } from "../core/Tier.ts"
import { unsealed } from "./Checksum.ts"
import { ChunkCache } from "./ChunkCache.ts"
import type { TailRow } from "./JournalStatements.ts"
import { perConnection } from "./PerConnection.ts"

export interface ChunkRow {
  readonly id: number
  readonly startAt: number
  readonly endAt: number
  readonly layoutId: number
  /** Of the bytes as they were written. */
  readonly checksum: number
  /** Undefined when the checksum does not hold, or nobody knows how to read them. */
  readonly bytes: Uint8Array | undefined
  /** What a reader has found out about the bytes, for as long as they are kept. */
  reader: RawReader | TierReader | undefined
}
export type ChunkPlace = Pick<ChunkRow, "id" | "startAt">
/** A chunk as it stood at a moment. */
export type ChunkStand = Pick<ChunkRow, "id" | "checksum">
/** How far a node's rows are sealed, and its chunks folded. */
export interface Standing {
  readonly sealedSeq: number
  readonly folded: Record<FoldedTier, number>
  /** Details after the last sealed row, JSON; undefined before the first. */
  readonly details: string | undefined
}

/** The one way of coding chunks so far; what has another number is of a later version and cannot be read. */
export const chunkFormat = 1

/** The longest a chunk can reach: a fold may span a stretch that a border cuts, and a silent node's rows wait. */
export const reachMs = (tier: Tier): number => 2 * tiers[tier].chunkMs + 86_400_000

/** A chunk as its table has it. */
type StoredChunk = Omit<ChunkRow, "bytes" | "reader"> & { readonly bytes: Uint8Array; readonly format: number }
const verified = ({ bytes, format, ...row }: StoredChunk): ChunkRow => ({
  ...row,
  bytes: format === chunkFormat && crc32(bytes) === row.checksum ? bytes : undefined,
  reader: undefined
})

const tierStatements = (db: Sqlite.Database, tier: Tier) => ({
  stands: db.prepare(
    `SELECT id, checksum FROM history_${tier} INDEXED BY history_${tier}_by_node WHERE node_id = ? AND start_at > ? AND start_at < ? AND end_at > ? AND id > ? ORDER BY id`
  ),
  places: db.prepare(
    `SELECT id, start_at AS startAt FROM history_${tier} INDEXED BY history_${tier}_by_node WHERE node_id = ? AND id > ? ORDER BY id LIMIT ?`
  ),
  chunk: db.prepare(
    `SELECT id, start_at AS startAt, end_at AS endAt, layout_id AS layoutId, format, checksum, bytes FROM history_${tier} WHERE id = ?`
  ),
  lastStart: db.prepare(
    `SELECT max(start_at) FROM history_${tier} INDEXED BY history_${tier}_by_node WHERE node_id = ?`
  )
})

const prepare = (db: Sqlite.Database) => ({
  db,
  ...perTier((tier) => tierStatements(db, tier)),
  layout: db.prepare("SELECT series FROM history_layouts WHERE id = ?"),
  rows: db.prepare(
    "SELECT seq, node_id AS nodeId, received_at AS receivedAt, vector, details FROM journal WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
  ),
  mark: db.prepare(
    "SELECT sealed_seq AS sealedSeq, raw_folded AS raw, minute_folded AS minute, quarter_folded AS quarter, details FROM history_marks WHERE node_id = ?"
  )
})
type Mark = { sealedSeq: number; raw: number; minute: number; quarter: number; details: string | null }

const nothing: Standing = { sealedSeq: 0, folded: { raw: 0, minute: 0, quarter: 0 }, details: undefined }

/** All members throw what SQLite throws. What they give is of one moment while nobody writes, or in one transaction. */
export interface HistoryReader {
  readonly standing: (id: NodeId) => Standing
  /** A node's chunks that overlap [fromMs, toMs), in order of age; only those behind an id. */
  readonly standsBetween: (
    tier: Tier,
    id: NodeId,
    fromMs: number,
    toMs: number,
    afterId: number
  ) => ReadonlyArray<ChunkStand>
  /** One of them; undefined when it was dropped or others were joined to it since. Kept when it is read again. */
  readonly chunkAt: (tier: Tier, stand: ChunkStand) => ChunkRow | undefined
  /** Where a node's chunks behind an id stand, oldest first. */
  readonly placesAfter: (tier: Tier, id: NodeId, afterId: number, limit: number) => ReadonlyArray<ChunkPlace>
  /** A chunk that is read once. */
  readonly chunk: (tier: Tier, chunkId: number) => ChunkRow | undefined
  /** Looks at the rows and pages that the next chunk of a node changes, so that they are in memory. */
  readonly touch: (tier: Tier, id: NodeId) => void
  readonly layout: (id: number) => string | undefined
  /** Rows of the journal by these seqs, ascending, as far as they are there. */
  readonly rows: (seqs: ReadonlyArray<number>) => ReadonlyArray<TailRow>
}

/** `handle` gives the open connection, another one once it was opened anew. */
export const historyReader = (handle: () => Sqlite.Database): HistoryReader => {
  const prepared = perConnection(prepare)
  const on = () => prepared(handle())
  const cache = new ChunkCache<ChunkRow>()
  const chunk = (tier: Tier, chunkId: number): ChunkRow | undefined => {
    const row = on()[tier].chunk.get(chunkId) as StoredChunk | undefined
    return row === undefined ? undefined : verified(row)
  }
  return {
    standing: (id) => {
      const mark = on().mark.get(id) as Mark | undefined
      if (mark === undefined) return nothing
      const { details, minute, quarter, raw, sealedSeq } = mark
      return { sealedSeq, folded: { raw, minute, quarter }, details: details ?? undefined }
    },
    standsBetween: (tier, id, fromMs, toMs, afterId) =>
      on()[tier].stands.all(id, fromMs - reachMs(tier), toMs, fromMs, afterId) as Array<ChunkStand>,
    chunkAt: (tier, { checksum, id }) => {
      const known = cache.get(tier, id, checksum)
      if (known !== undefined) return known
      const row = chunk(tier, id)
      if (row?.checksum !== checksum) return undefined
      if (row.bytes !== undefined) cache.put(tier, id, row)
      return row
    },
    placesAfter: (tier, id, afterId, limit) => on()[tier].places.all(id, afterId, limit) as Array<ChunkPlace>,
    chunk,
    touch: (tier, id) => {
      on()[tier].lastStart.get(id)
      on().mark.get(id)
    },
    layout: (id) => (on().layout.get(id) as { series: string } | undefined)?.series,
    rows: (seqs) => (on().rows.all(JSON.stringify(seqs)) as Array<TailRow>).map(unsealed)
  }
}
