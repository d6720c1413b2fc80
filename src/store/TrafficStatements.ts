// The SQL of the traffic ledger, prepared once per connection.
import type Sqlite from "better-sqlite3"
import { bucketMs } from "../core/Bucket.ts"

/** In the order of the values of a fact; the key comes last, so that insert and update take the same parameters. */
const factColumns = [
  "in_bytes",
  "out_bytes",
  "covered_ms",
  "valid_ms",
  "valid_in",
  "valid_out",
  "gaps",
  "resets",
  "quarantined",
  "flags",
  "best_in",
  "best_out",
  "best_both"
]
const factOut = `bucket * ${bucketMs} AS start, in_bytes AS inBytes, out_bytes AS outBytes, covered_ms AS coveredMs,
  coalesce(valid_ms, covered_ms) AS validMs, coalesce(valid_in, in_bytes) AS validIn,
  coalesce(valid_out, out_bytes) AS validOut, gaps, resets, quarantined, flags,
  best_in AS bestIn, best_out AS bestOut, best_both AS bestBoth`
const monthOut = `mode, start_day AS startDay, anchor_date AS anchorDate, zone, cycle_start AS cycleStart,
  cycle_end AS cycleEnd, status, covered_until AS coveredUntil, generated_at AS generatedAt, sealed_at AS sealedAt, body`
const byConfig = "iface_id = ? AND mode = ? AND start_day = ? AND anchor_date = ? AND zone = ?"
const deletedIfaces =
  "SELECT i.id FROM traffic_ifaces i JOIN nodes n ON n.id = i.node_id WHERE n.deleted_at IS NOT NULL"

export const prepareReads = (db: Sqlite.Database) => ({
  db,
  ifaces: db.prepare(
    "SELECT id, name, first_seen_at AS firstSeenAt FROM traffic_ifaces WHERE node_id = ? ORDER BY name"
  ),
  iface: db.prepare("SELECT id, name, first_seen_at AS firstSeenAt FROM traffic_ifaces WHERE node_id = ? AND name = ?"),
  allIfaces: db.prepare(
    `SELECT id, node_id AS nodeId, name, first_seen_at AS firstSeenAt,
       (SELECT min(bucket) FROM traffic_facts WHERE iface_id = traffic_ifaces.id) AS firstBucket
     FROM traffic_ifaces WHERE id > ? ORDER BY id LIMIT ?`
  ),
  facts: db.prepare(
    `SELECT ${factOut} FROM traffic_facts WHERE iface_id = ? AND bucket >= ? AND bucket < ? ORDER BY bucket`
  ),
  firstFact: db.prepare(`SELECT ${factOut} FROM traffic_facts WHERE iface_id = ? ORDER BY bucket LIMIT 1`),
  lastFact: db.prepare(`SELECT ${factOut} FROM traffic_facts WHERE iface_id = ? ORDER BY bucket DESC LIMIT 1`),
  factCount: db.prepare("SELECT facts FROM traffic_sizes").pluck(),
  months: db.prepare(`SELECT ${monthOut} FROM traffic_months WHERE ${byConfig} ORDER BY cycle_start DESC LIMIT ?`),
  month: db.prepare(`SELECT ${monthOut} FROM traffic_months WHERE ${byConfig} AND cycle_start = ?`),
  deletedIfaces: db.prepare(`SELECT count(*) FROM (${deletedIfaces})`).pluck()
})

export const prepareWrites = (db: Sqlite.Database) => ({
  db,
  ifaceId: db.prepare("SELECT id FROM traffic_ifaces WHERE node_id = ? AND name = ?").pluck(),
  newIface: db
    .prepare("INSERT INTO traffic_ifaces (node_id, name, first_seen_at) VALUES (?, ?, ?) RETURNING id")
    .pluck(),
  newFact: db.prepare(
    `INSERT INTO traffic_facts (${factColumns.join(", ")}, iface_id, bucket)
     VALUES (${factColumns.map(() => "?").join(", ")}, ?, ?) ON CONFLICT (iface_id, bucket) DO NOTHING`
  ),
  setFact: db.prepare(
    `UPDATE traffic_facts SET ${factColumns.map((name) => `${name} = ?`).join(", ")} WHERE iface_id = ? AND bucket = ?`
  ),
  grow: db.prepare("UPDATE traffic_sizes SET facts = facts + ?"),
  month: db.prepare(
    `INSERT INTO traffic_months (iface_id, mode, start_day, anchor_date, zone, cycle_start, cycle_end, status,
       covered_until, generated_at, sealed_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (iface_id, mode, start_day, anchor_date, zone, cycle_start) DO UPDATE SET
       cycle_end = excluded.cycle_end, status = excluded.status, covered_until = excluded.covered_until,
       generated_at = excluded.generated_at, sealed_at = excluded.sealed_at, body = excluded.body`
  ),
  // Interface by interface: a stretch of one lies together, while the oldest of all lie in as many pages.
  dropFacts: db.prepare(
    `DELETE FROM traffic_facts WHERE (iface_id, bucket) IN (
       SELECT f.iface_id, f.bucket FROM traffic_ifaces i CROSS JOIN traffic_facts f
       WHERE i.id > ? AND f.iface_id = i.id AND f.bucket < ? ORDER BY i.id LIMIT ?)`
  ),
  dropMonths: db.prepare(
    `DELETE FROM traffic_months WHERE (iface_id, mode, start_day, anchor_date, zone, cycle_start) IN (
       SELECT iface_id, mode, start_day, anchor_date, zone, cycle_start FROM traffic_months WHERE cycle_end < ? LIMIT ?)`
  ),
  dropDeletedFacts: db.prepare(
    `DELETE FROM traffic_facts WHERE (iface_id, bucket) IN (
       SELECT f.iface_id, f.bucket FROM (${deletedIfaces}) i CROSS JOIN traffic_facts f WHERE f.iface_id = i.id LIMIT ?)`
  ),
  emptied: db
    .prepare(
      `SELECT d.id FROM (${deletedIfaces}) d WHERE NOT EXISTS (SELECT 1 FROM traffic_facts WHERE iface_id = d.id) LIMIT ?`
    )
    .pluck(),
  dropMonthsOf: db.prepare("DELETE FROM traffic_months WHERE iface_id = ?"),
  dropIface: db.prepare(
    `DELETE FROM traffic_ifaces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM traffic_facts WHERE iface_id = traffic_ifaces.id)
       AND NOT EXISTS (SELECT 1 FROM traffic_months WHERE iface_id = traffic_ifaces.id)`
  )
})
export type Writes = ReturnType<typeof prepareWrites>
