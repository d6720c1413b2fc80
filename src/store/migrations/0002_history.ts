// Tables of history: one of chunks per tier, the series that chunks hold, marks per node, and the service's own runs.
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * One row per chunk: a node's series over a stretch of time. Ids ascend with age, so the oldest go first. Times are
 * milliseconds, `end_at` is exclusive; `checksum` is the CRC-32 of `bytes`, `format` says how they are to be read.
 */
const chunkTable = (tier: string): ReadonlyArray<string> => [
  `CREATE TABLE history_${tier} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    layout_id INTEGER NOT NULL,
    format INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    bytes BLOB NOT NULL
  )`,
  `CREATE INDEX history_${tier}_by_node ON history_${tier} (node_id, start_at, end_at)`
]

const statements = [
  // 1 when the report changed the node's figures; late, repeated and foreign reports are kept for replay alone.
  `ALTER TABLE journal ADD COLUMN is_applied INTEGER NOT NULL DEFAULT 1`,
  // The series of a chunk in column order, as JSON; chunks counts who refers to it, the unreferenced go.
  `CREATE TABLE history_layouts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE,
    series TEXT NOT NULL,
    chunks INTEGER NOT NULL
  )`,
  ...chunkTable("raw"),
  ...chunkTable("minute"),
  ...chunkTable("quarter"),
  ...chunkTable("hour"),
  `CREATE TABLE history_tiers (
    tier TEXT PRIMARY KEY,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `INSERT INTO history_tiers (tier, chunks, bytes) VALUES ('raw', 0, 0), ('minute', 0, 0), ('quarter', 0, 0), ('hour', 0, 0)`,
  // Journal rows up to sealed_seq are in chunks; details is what the next row's changes build upon. Per tier the id of
  // the last chunk that is folded into the next one.
  `CREATE TABLE history_marks (
    node_id INTEGER PRIMARY KEY REFERENCES nodes(id),
    sealed_seq INTEGER NOT NULL,
    details TEXT NOT NULL,
    raw_folded INTEGER NOT NULL DEFAULT 0,
    minute_folded INTEGER NOT NULL DEFAULT 0,
    quarter_folded INTEGER NOT NULL DEFAULT 0
  )`,
  // Stretches in which this service could take reports; what lies between them is its own outage.
  `CREATE TABLE service_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at INTEGER NOT NULL,
    alive_until INTEGER NOT NULL
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
