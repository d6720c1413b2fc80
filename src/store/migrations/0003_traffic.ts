// Tables of the traffic ledger: interfaces, their five-minute facts, and snapshots of billing cycles.
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // Every name that a node ever counted bytes under. Times of this file are milliseconds unless said otherwise.
  `CREATE TABLE traffic_ifaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    node_id INTEGER NOT NULL REFERENCES nodes(id),
    name TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    UNIQUE (node_id, name)
  )`,
  // One row per interface and bucket, the bucket in units of 300 s since 1970. Zeros and NULLs take no room, and nearly
  // all time is valid: valid_ms, valid_in and valid_out are NULL where they equal covered_ms, in_bytes and out_bytes.
  `CREATE TABLE traffic_facts (
    iface_id INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    in_bytes INTEGER NOT NULL,
    out_bytes INTEGER NOT NULL,
    covered_ms INTEGER NOT NULL,
    valid_ms INTEGER,
    valid_in INTEGER,
    valid_out INTEGER,
    gaps INTEGER NOT NULL,
    resets INTEGER NOT NULL,
    quarantined INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    best_in REAL NOT NULL,
    best_out REAL NOT NULL,
    best_both REAL NOT NULL,
    PRIMARY KEY (iface_id, bucket)
  ) WITHOUT ROWID`,
  // How many facts there are: counting them would read them all.
  `CREATE TABLE traffic_sizes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    facts INTEGER NOT NULL
  )`,
  `INSERT INTO traffic_sizes (id, facts) VALUES (1, 0)`,
  // What a cycle came to, by the settings that cut it; body is JSON. It outlives the facts it was made of.
  `CREATE TABLE traffic_months (
    iface_id INTEGER NOT NULL,
    mode TEXT NOT NULL,
    start_day INTEGER NOT NULL,
    anchor_date TEXT NOT NULL,
    zone TEXT NOT NULL,
    cycle_start INTEGER NOT NULL,
    cycle_end INTEGER NOT NULL,
    status TEXT NOT NULL,
    covered_until INTEGER,
    generated_at INTEGER NOT NULL,
    sealed_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (iface_id, mode, start_day, anchor_date, zone, cycle_start)
  ) WITHOUT ROWID`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
