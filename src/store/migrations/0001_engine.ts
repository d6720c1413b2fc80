// Tables of the first slice: groups, nodes, sessions, settings and the journal of reports.
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  `CREATE TABLE node_groups (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    remark TEXT NOT NULL DEFAULT '',
    deleted_at INTEGER
  )`,
  // secret_digest is a keyed digest for look-up, secret_sealed the encrypted text for the install command.
  `CREATE TABLE nodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    secret_digest TEXT UNIQUE,
    secret_sealed TEXT,
    tags TEXT NOT NULL DEFAULT '[]',
    display_order INTEGER NOT NULL,
    is_guest_visible INTEGER NOT NULL DEFAULT 0,
    traffic_p95_enabled INTEGER NOT NULL DEFAULT 0,
    traffic_cycle_mode TEXT NOT NULL DEFAULT 'default',
    traffic_billing_start_day INTEGER NOT NULL DEFAULT 1,
    traffic_billing_anchor_date TEXT NOT NULL DEFAULT '',
    traffic_billing_timezone TEXT NOT NULL DEFAULT '',
    traffic_direction_mode TEXT NOT NULL DEFAULT 'default',
    created_at INTEGER NOT NULL,
    deleted_at INTEGER
  )`,
  `CREATE TABLE node_group_members (
    node_id INTEGER NOT NULL REFERENCES nodes(id),
    group_id INTEGER NOT NULL REFERENCES node_groups(id),
    PRIMARY KEY (node_id, group_id)
  ) WITHOUT ROWID`,
  `CREATE INDEX node_group_members_by_group ON node_group_members (group_id)`,
  // One family per login. A rotated token's parent stays known, so that its reuse can be told from a lost answer.
  `CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    token_digest TEXT NOT NULL UNIQUE,
    parent_digest TEXT,
    rotated_at INTEGER,
    successor_sealed TEXT,
    session_only INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) WITHOUT ROWID`,
  `CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID`,
  // The last Static of a node, as JSON, with the receive time.
  `CREATE TABLE node_statics (
    node_id INTEGER PRIMARY KEY REFERENCES nodes(id),
    received_at INTEGER NOT NULL,
    body TEXT NOT NULL
  )`,
  // The tail: one row per applied report, append-only; details is null when nothing but numbers changed.
  `CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    node_id INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    vector BLOB NOT NULL,
    details TEXT
  )`,
  // A node's state up to and including seq; replay starts behind it.
  `CREATE TABLE checkpoints (
    node_id INTEGER PRIMARY KEY REFERENCES nodes(id),
    seq INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    vector BLOB NOT NULL,
    details TEXT NOT NULL
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
