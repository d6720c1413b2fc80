// The SQL of the alerts' hot tables, prepared once per connection.
import type Sqlite from "better-sqlite3"

/** A row waits while an earlier one of the same event and channel does: nobody hears of an end before the beginning. */
const eligible = `o.channel_id = ? AND o.state = 'pending' AND NOT EXISTS (
  SELECT 1 FROM alert_outbox e
  WHERE e.event_id = o.event_id AND e.channel_id = o.channel_id AND e.id < o.id AND e.state = 'pending')`
const outboxOut = `o.id, o.event_id AS eventId, o.transition, o.channel_id AS channelId, o.channel_type AS channelType,
  o.title, o.body, o.meta, o.created_at AS createdAt, o.next_at AS nextAt, o.attempts`

export const prepareReads = (db: Sqlite.Database) => ({
  db,
  states: db.prepare("SELECT node_id AS nodeId, body FROM alert_states WHERE node_id > ? ORDER BY node_id LIMIT ?"),
  lastEventId: db.prepare("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'alert_events'), 0)").pluck(),
  backlogs: db.prepare(
    "SELECT channel_id AS channelId, pending, overflowed FROM alert_backlogs ORDER BY channel_id LIMIT ?"
  ),
  next: db.prepare(`SELECT ${outboxOut} FROM alert_outbox o WHERE ${eligible} ORDER BY o.next_at, o.id LIMIT 1`),
  nextSingle: db.prepare(
    `SELECT ${outboxOut} FROM alert_outbox o WHERE ${eligible} AND o.group_key IS NULL ORDER BY o.next_at, o.id LIMIT 1`
  ),
  nextOfGroup: db.prepare(
    `SELECT ${outboxOut} FROM alert_outbox o
     WHERE ${eligible} AND o.group_key IS NOT NULL AND o.transition = ? ORDER BY o.next_at, o.id LIMIT 1`
  ),
  groups: db.prepare(
    `SELECT o.transition, sum(o.next_at <= ?) AS due, min(o.created_at) AS firstAt, max(o.created_at) AS lastAt,
       min(o.next_at) AS nextAt
     FROM alert_outbox o WHERE ${eligible} AND o.group_key IS NOT NULL GROUP BY o.transition`
  ),
  members: db.prepare(
    `SELECT o.id, o.event_id AS eventId, o.transition, o.created_at AS createdAt, o.attempts, o.meta,
       coalesce(v.node_id, 0) AS nodeId, coalesce(v.server_name, '') AS serverName, coalesce(v.first_at, o.created_at) AS firstAt, v.closed_at AS closedAt
     FROM alert_outbox o LEFT JOIN alert_events v ON v.id = o.event_id
     WHERE ${eligible} AND o.group_key IS NOT NULL AND o.transition = ? AND o.next_at <= ?
     ORDER BY o.next_at, o.id LIMIT ?`
  ),
  pendingIds: db
    .prepare("SELECT id FROM alert_outbox WHERE channel_id = ? AND state = 'pending' ORDER BY next_at, id LIMIT ?")
    .pluck(),
  agedIds: db
    .prepare("SELECT id FROM alert_outbox WHERE channel_id = ? AND state = 'pending' AND created_at <= ? LIMIT ?")
    .pluck(),
  isKnown: db.prepare("SELECT 1 FROM alert_outbox WHERE id = ?").pluck(),
  hasEnded: db
    .prepare(
      `SELECT EXISTS (SELECT 1 FROM alert_events WHERE closed_at < $before)
         OR EXISTS (SELECT 1 FROM alert_outbox WHERE settled_at < $before)
         OR EXISTS (SELECT 1 FROM alert_deliveries WHERE at < $before)`
    )
    .pluck()
})

const prepareDrops = (db: Sqlite.Database) => ({
  dropAttempts: db.prepare(
    "DELETE FROM alert_deliveries WHERE id IN (SELECT id FROM alert_deliveries WHERE at < ? LIMIT ?)"
  ),
  dropOutbox: db.prepare(
    "DELETE FROM alert_outbox WHERE id IN (SELECT id FROM alert_outbox WHERE settled_at < ? LIMIT ?)"
  ),
  dropEvents: db.prepare(
    "DELETE FROM alert_events WHERE id IN (SELECT id FROM alert_events WHERE closed_at < ? LIMIT ?)"
  ),
  dropMounts: db.prepare(
    `DELETE FROM alert_mounts WHERE (rule_id, node_id) IN (
       SELECT m.rule_id, m.node_id FROM nodes n CROSS JOIN alert_mounts m
       WHERE n.deleted_at IS NOT NULL AND m.node_id = n.id LIMIT ?)`
  )
})

export const prepareWrites = (db: Sqlite.Database) => ({
  db,
  ...prepareDrops(db),
  states: db.prepare(
    "INSERT INTO alert_states (node_id, body) VALUES (?, ?) ON CONFLICT (node_id) DO UPDATE SET body = excluded.body"
  ),
  dropStates: db.prepare("DELETE FROM alert_states WHERE node_id = ?"),
  // A repeated id must not fail the reports that share the transaction.
  open: db.prepare(
    `INSERT INTO alert_events (id, rule_id, rule_generation, rule_name, node_id, server_name, server_hostname, server_ip,
       metric, first_at, last_at, value, threshold, is_muted, title, message)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
  ),
  beat: db.prepare("UPDATE alert_events SET last_at = ?, value = ?, threshold = ? WHERE id = ? AND closed_at IS NULL"),
  unmute: db.prepare(
    "UPDATE alert_events SET is_muted = 0, title = coalesce(?, title), message = coalesce(?, message) WHERE id = ?"
  ),
  close: db.prepare(
    `UPDATE alert_events SET closed_at = ?, close_reason = ?, value = coalesce(?, value),
       threshold = coalesce(?, threshold), title = coalesce(?, title), message = coalesce(?, message)
     WHERE id = ? AND closed_at IS NULL`
  ),
  enqueue: db.prepare(
    `INSERT INTO alert_outbox (event_id, transition, channel_id, channel_type, title, body, meta, group_key, state,
       created_at, next_at, attempts)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, 0) ON CONFLICT (event_id, channel_id, transition) DO NOTHING`
  ),
  grow: db
    .prepare(
      `INSERT INTO alert_backlogs (channel_id, pending, overflowed) VALUES (?, ?, 0)
       ON CONFLICT (channel_id) DO UPDATE SET pending = pending + excluded.pending RETURNING pending`
    )
    .pluck(),
  overflow: db.prepare(
    "UPDATE alert_backlogs SET pending = pending - 1, overflowed = overflowed + 1 WHERE channel_id = ?"
  ),
  firstDue: db
    .prepare("SELECT id FROM alert_outbox WHERE channel_id = ? AND state = 'pending' ORDER BY next_at, id LIMIT 1")
    .pluck(),
  rowState: db.prepare("SELECT state, channel_id AS channelId FROM alert_outbox WHERE id = ?"),
  tried: db.prepare("UPDATE alert_outbox SET attempts = attempts + 1, last_at = ?, lead_id = ? WHERE id = ?"),
  settle: db.prepare("UPDATE alert_outbox SET state = ?, next_at = ?, reason = ?, settled_at = ? WHERE id = ?"),
  requeue: db
    .prepare(
      `UPDATE alert_outbox SET state = 'pending', created_at = ?, next_at = ?, attempts = 0, reason = NULL,
         settled_at = NULL WHERE id = ? AND state <> 'pending' RETURNING channel_id`
    )
    .pluck(),
  attempt: db.prepare(
    `INSERT INTO alert_deliveries (outbox_id, at, latency_ms, outcome, reason, message, row_count)
     VALUES (?, ?, ?, ?, ?, ?, ?)`
  )
})
export type Writes = ReturnType<typeof prepareWrites>
