// The prepared statements of the journal's store, on one connection.
import type Sqlite from "better-sqlite3"
import type { NodeId } from "../../schema/Ids.ts"

export interface TailRow {
  readonly seq: number
  readonly nodeId: NodeId
  readonly receivedAt: number
  /** Empty when the row's checksum fails, which no decoder takes for a vector: the damage costs this node alone. */
  readonly vector: Buffer
  readonly details: string | null
}

export const prepare = (db: Sqlite.Database) => ({
  db,
  begin: db.prepare("BEGIN IMMEDIATE"),
  commit: db.prepare("COMMIT"),
  rollback: db.prepare("ROLLBACK"),
  row: db.prepare(
    "INSERT INTO journal (seq, node_id, received_at, vector, details, is_applied) VALUES (?, ?, ?, ?, ?, ?)"
  ),
  checkpoint: db.prepare(
    "INSERT INTO checkpoints (node_id, seq, received_at, vector, details) VALUES (?, ?, ?, ?, ?) ON CONFLICT (node_id) DO UPDATE SET seq = excluded.seq, received_at = excluded.received_at, vector = excluded.vector, details = excluded.details"
  ),
  statics: db.prepare(
    "INSERT INTO node_statics (node_id, received_at, body) VALUES (?, ?, ?) ON CONFLICT (node_id) DO UPDATE SET received_at = excluded.received_at, body = excluded.body"
  ),
  rename: db.prepare("UPDATE nodes SET name = ? WHERE id = ? AND trim(name) IN ('', ?)"),
  lastSeq: db.prepare(
    "SELECT max(coalesce((SELECT max(seq) FROM journal), 0), coalesce((SELECT max(seq) FROM checkpoints), 0)) AS seq"
  ),
  readTail: db.prepare(
    "SELECT seq, node_id AS nodeId, received_at AS receivedAt, vector, details FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
  ),
  readPlaces: db.prepare(
    "SELECT seq, node_id AS nodeId, received_at AS receivedAt FROM journal WHERE seq > ? AND seq <= ? AND is_applied = 1 ORDER BY seq LIMIT ?"
  ),
  readRow: db.prepare(
    "SELECT seq, node_id AS nodeId, received_at AS receivedAt, vector, details FROM journal WHERE seq = ?"
  ),
  readUncovered: db.prepare(
    "SELECT j.seq, j.node_id AS nodeId, j.received_at AS receivedAt, j.vector, j.details FROM journal j LEFT JOIN checkpoints c ON c.node_id = j.node_id WHERE j.seq > ? AND j.seq <= ? AND j.seq > coalesce(c.seq, 0) ORDER BY j.seq LIMIT ?"
  ),
  readCheckpoints: db.prepare(
    "SELECT node_id AS nodeId, seq, received_at AS receivedAt, vector, details FROM checkpoints WHERE node_id > ? ORDER BY node_id LIMIT ?"
  ),
  readCheckpoint: db.prepare(
    "SELECT node_id AS nodeId, seq, received_at AS receivedAt, vector, details FROM checkpoints WHERE node_id = ?"
  ),
  forgetCheckpoints: db.prepare(
    "DELETE FROM checkpoints WHERE node_id IN (SELECT id FROM nodes WHERE deleted_at IS NOT NULL)"
  ),
  readStatics: db.prepare(
    "SELECT node_id AS nodeId, received_at AS receivedAt, body FROM node_statics WHERE node_id > ? ORDER BY node_id LIMIT ?"
  ),
  readStatic: db.prepare(
    "SELECT node_id AS nodeId, received_at AS receivedAt, body FROM node_statics WHERE node_id = ?"
  ),
  trimmable: db.prepare(
    "SELECT 1 FROM journal WHERE seq <= ? AND node_id NOT IN (SELECT value FROM json_each(?)) LIMIT 1"
  ),
  trimOthers: db.prepare(
    "DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE seq <= ? AND node_id NOT IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT ?)"
  ),
  trim: db.prepare(
    "DELETE FROM journal WHERE seq <= (SELECT max(seq) FROM (SELECT seq FROM journal WHERE seq <= ? ORDER BY seq LIMIT ?))"
  ),
  probe: db.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('journal_probe', hex(zeroblob(16384)))"),
  unprobe: db.prepare("DELETE FROM settings WHERE name = 'journal_probe'")
})
export type Statements = ReturnType<typeof prepare>
