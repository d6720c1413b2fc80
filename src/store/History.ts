// Chunks of history at rest: written in the journal's transactions, read by node and time, dropped oldest first.
import type Sqlite from "better-sqlite3"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import type { NodeId } from "../../schema/Ids.ts"
import { type FoldedTier, perTier, type Tier } from "../core/Tier.ts"
import { Database } from "./Sql.ts"
import { onDisk } from "./ChunkSpace.ts"
import { chunkFormat, type HistoryReader, historyReader } from "./HistoryReader.ts"
import { perConnection } from "./PerConnection.ts"

export interface ChunkWrite {
  readonly tier: Tier
  readonly startAt: number
  /** Exclusive. */
  readonly endAt: number
  /** Its series, as `seriesText` gives them. */
  readonly series: string
  readonly bytes: Uint8Array
}
/** Rows up to `sealedSeq` leave the journal for a chunk; none when every one of them was unreadable. */
export interface SealWrite {
  readonly kind: "seal"
  readonly nodeId: NodeId
  readonly sealedSeq: number
  /** What the next row's changes build upon, JSON. */
  readonly details: string
  readonly chunk: ChunkWrite | undefined
}
/** Chunks of a tier up to an id are folded into the next one; no chunk when every one of them was damaged. */
export interface FoldWrite {
  readonly kind: "fold"
  readonly nodeId: NodeId
  readonly from: FoldedTier
  readonly upToId: number
  readonly chunk: ChunkWrite | undefined
  /** One chunk in the place of those that were folded: a small one alone fills a page of the file. */
  readonly joined: { readonly chunk: ChunkWrite; readonly ids: ReadonlyArray<number> } | undefined
}
export interface DropWrite {
  readonly kind: "drop"
  readonly tier: Tier
  readonly ids: ReadonlyArray<number>
}
export interface RunWrite {
  readonly kind: "run"
  readonly startedAt: number
  readonly aliveUntil: number
  readonly isNew: boolean
}
/** What deleted nodes leave, and runs that ended before an instant. */
export interface ForgetWrite {
  readonly kind: "forget"
  readonly runsBefore: number
}
export type HistoryWrite = SealWrite | FoldWrite | DropWrite | RunWrite | ForgetWrite

export interface OldestRow {
  readonly id: number
  readonly nodeId: NodeId
  readonly endAt: number
  readonly size: number
}
export interface MarkRow {
  readonly nodeId: NodeId
  readonly sealedSeq: number
  readonly rawFolded: number
  readonly minuteFolded: number
  readonly quarterFolded: number
}
export interface TierSize {
  readonly tier: Tier
  readonly chunks: number
  readonly bytes: number
}
export interface RunRow {
  readonly startedAt: number
  readonly aliveUntil: number
}

/** All members are synchronous and throw what SQLite throws. */
export class HistoryStore extends Context.Tag("store/History")<
  HistoryStore,
  {
    /** On the service's own connection: its reads hold up the event loop. */
    readonly reader: HistoryReader
    readonly marks: (after: NodeId | 0, limit: number) => ReadonlyArray<MarkRow>
    /** Start of the first chunk behind an id. */
    readonly firstAfter: (tier: Tier, id: NodeId, afterId: number) => number | undefined
    /** The oldest chunks of a tier, whosever they are. */
    readonly oldest: (tier: Tier, limit: number) => ReadonlyArray<OldestRow>
    readonly sizes: () => ReadonlyArray<TierSize>
    readonly runs: () => ReadonlyArray<RunRow>
  }
>() {}

const tierStatements = (db: Sqlite.Database, tier: Tier) => {
  const table = `history_${tier}`
  return {
    insert: db.prepare(
      `INSERT INTO ${table} (id, node_id, start_at, end_at, layout_id, format, checksum, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    ),
    firstAfter: db.prepare(`SELECT min(start_at) AS startAt FROM ${table} WHERE node_id = ? AND id > ?`),
    oldest: db.prepare(
      `SELECT id, node_id AS nodeId, end_at AS endAt, length(bytes) AS size FROM ${table} ORDER BY id LIMIT ?`
    ),
    drop: db.prepare(`DELETE FROM ${table} WHERE id = ? RETURNING layout_id AS layoutId, length(bytes) AS size`)
  }
}

const prepare = (db: Sqlite.Database) => ({
  db,
  ...perTier((tier) => tierStatements(db, tier)),
  layoutOf: db.prepare(
    "INSERT INTO history_layouts (digest, series, chunks) VALUES (?, ?, 1) ON CONFLICT (digest) DO UPDATE SET chunks = chunks + 1 RETURNING id"
  ),
  leaveLayout: db.prepare("UPDATE history_layouts SET chunks = chunks - 1 WHERE id = ? RETURNING chunks"),
  dropLayout: db.prepare("DELETE FROM history_layouts WHERE id = ?"),
  grow: db.prepare("UPDATE history_tiers SET chunks = chunks + ?, bytes = bytes + ? WHERE tier = ?"),
  sizes: db.prepare("SELECT tier, chunks, bytes FROM history_tiers"),
  seal: db.prepare(
    "INSERT INTO history_marks (node_id, sealed_seq, details) VALUES (?, ?, ?) ON CONFLICT (node_id) DO UPDATE SET sealed_seq = excluded.sealed_seq, details = excluded.details"
  ),
  raw_folded: db.prepare("UPDATE history_marks SET raw_folded = ? WHERE node_id = ?"),
  minute_folded: db.prepare("UPDATE history_marks SET minute_folded = ? WHERE node_id = ?"),
  quarter_folded: db.prepare("UPDATE history_marks SET quarter_folded = ? WHERE node_id = ?"),
  marks: db.prepare(
    "SELECT node_id AS nodeId, sealed_seq AS sealedSeq, raw_folded AS rawFolded, minute_folded AS minuteFolded, quarter_folded AS quarterFolded FROM history_marks WHERE node_id > ? ORDER BY node_id LIMIT ?"
  ),
  newRun: db.prepare("INSERT INTO service_runs (started_at, alive_until) VALUES (?, ?)"),
  aliveRun: db.prepare(
    "UPDATE service_runs SET alive_until = ? WHERE id = (SELECT max(id) FROM service_runs) AND alive_until <= ?"
  ),
  runs: db.prepare("SELECT started_at AS startedAt, alive_until AS aliveUntil FROM service_runs ORDER BY id"),
  forgetRuns: db.prepare("DELETE FROM service_runs WHERE alive_until < ?"),
  forgetMarks: db.prepare(
    "DELETE FROM history_marks WHERE node_id IN (SELECT id FROM nodes WHERE deleted_at IS NOT NULL)"
  )
})
type Statements = ReturnType<typeof prepare>

const putChunk = (on: Statements, nodeId: NodeId, chunk: ChunkWrite, id: number | null = null): void => {
  const { bytes, endAt, series, startAt, tier } = chunk
  const digest = createHash("sha256").update(series).digest("base64url")
  const layout = on.layoutOf.get(digest, series) as { id: number }
  on[tier].insert.run(id, nodeId, startAt, endAt, layout.id, chunkFormat, crc32(bytes), bytes)
  on.grow.run(1, onDisk(bytes.length), tier)
}

const dropChunks = (on: Statements, { ids, tier }: DropWrite): void => {
  for (const id of ids) {
    const row = on[tier].drop.get(id) as { layoutId: number; size: number } | undefined
    if (row === undefined) continue
    on.grow.run(-1, -onDisk(row.size), tier)
    const left = on.leaveLayout.get(row.layoutId) as { chunks: number } | undefined
    if (left !== undefined && left.chunks <= 0) on.dropLayout.run(row.layoutId)
  }
}

/** The first of the ids is kept, so that order of age and marks stay as they are. */
const joinChunks = (
  on: Statements,
  nodeId: NodeId,
  tier: Tier,
  { chunk, ids }: NonNullable<FoldWrite["joined"]>
): void => {
  dropChunks(on, { kind: "drop", tier, ids })
  putChunk(on, nodeId, chunk, ids[0])
}

/** Carries out a write inside the transaction that the journal has open. */
export const historyWriter = (): ((db: Sqlite.Database, write: HistoryWrite) => void) => {
  const prepared = perConnection(prepare)
  return (db, write) => {
    const on = prepared(db)
    switch (write.kind) {
      case "seal":
        if (write.chunk !== undefined) putChunk(on, write.nodeId, write.chunk)
        on.seal.run(write.nodeId, write.sealedSeq, write.details)
        return
      case "fold":
        if (write.chunk !== undefined) putChunk(on, write.nodeId, write.chunk)
        if (write.joined !== undefined) joinChunks(on, write.nodeId, write.from, write.joined)
        on[`${write.from}_folded`].run(write.upToId, write.nodeId)
        return
      case "drop":
        dropChunks(on, write)
        return
      case "run":
        if (write.isNew) on.newRun.run(write.startedAt, write.aliveUntil)
        else on.aliveRun.run(write.aliveUntil, write.aliveUntil)
        return
      case "forget":
        on.forgetRuns.run(write.runsBefore)
        on.forgetMarks.run()
    }
  }
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const prepared = perConnection(prepare)
  const on = () => prepared(database.handle())
  return HistoryStore.of({
    reader: historyReader(database.handle),
    marks: (after, limit) => on().marks.all(after, limit) as Array<MarkRow>,
    firstAfter: (tier, id, afterId) =>
      (on()[tier].firstAfter.get(id, afterId) as { startAt: number | null }).startAt ?? undefined,
    oldest: (tier, limit) => on()[tier].oldest.all(limit) as Array<OldestRow>,
    sizes: () => on().sizes.all() as Array<TierSize>,
    runs: () => on().runs.all() as Array<RunRow>
  })
})

export const layer = Layer.effect(HistoryStore, make)
