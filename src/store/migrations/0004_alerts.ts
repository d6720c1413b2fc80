// Tables of alerts: what an administrator sets, the state of rules on nodes, events, and the outbox with its ledger.
import { SqlClient } from "@effect/sql"
import { Clock, Effect } from "effect"
import { seeds } from "../../core/alert/Rule.ts"
import { columnsOf } from "../alert/RuleRows.ts"

const statements = [
  // Custom rules. An id is never given twice, because events and mounts outlive a rule. Times are milliseconds here.
  `CREATE TABLE alert_rules (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL,
    name TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    metric TEXT NOT NULL,
    operator TEXT NOT NULL,
    threshold REAL NOT NULL,
    duration_sec INTEGER NOT NULL,
    cooldown_min INTEGER NOT NULL,
    threshold_mode TEXT NOT NULL,
    threshold_offset REAL NOT NULL,
    clear_threshold REAL,
    keep_firing_sec INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  )`,
  // Only where a rule is not as it is by default: built-in rules (negative ids) are mounted, custom ones are not.
  `CREATE TABLE alert_mounts (
    rule_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL REFERENCES nodes(id),
    mounted INTEGER NOT NULL,
    PRIMARY KEY (rule_id, node_id)
  ) WITHOUT ROWID`,
  `CREATE INDEX alert_mounts_node ON alert_mounts (node_id)`,
  // channel_ids is a JSON array in the order of notification.
  `CREATE TABLE alert_settings (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    enabled INTEGER NOT NULL,
    channel_ids TEXT NOT NULL,
    group_offline INTEGER NOT NULL,
    group_offline_over INTEGER NOT NULL,
    group_offline_window_sec INTEGER NOT NULL,
    offline_after_sec INTEGER NOT NULL,
    allow_private_targets INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  )`,
  // config is JSON of what may be shown; sealed holds what only a delivery reads.
  `CREATE TABLE alert_channels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    config TEXT NOT NULL,
    sealed TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
  )`,
  `CREATE TABLE alert_silences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    target_id INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    comment TEXT NOT NULL,
    created_at INTEGER NOT NULL
  )`,
  // Rules of a node that are pending, firing or in cooldown, as one JSON text.
  `CREATE TABLE alert_states (
    node_id INTEGER PRIMARY KEY REFERENCES nodes(id),
    body TEXT NOT NULL
  )`,
  // AUTOINCREMENT remembers the greatest id: receivers tell repeats by it, so it must not come again when rows are gone.
  `CREATE TABLE alert_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rule_id INTEGER NOT NULL,
    rule_generation INTEGER NOT NULL,
    rule_name TEXT NOT NULL,
    node_id INTEGER NOT NULL,
    server_name TEXT NOT NULL,
    server_hostname TEXT NOT NULL,
    server_ip TEXT,
    metric TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    closed_at INTEGER,
    close_reason TEXT,
    value REAL,
    threshold REAL,
    is_muted INTEGER NOT NULL,
    title TEXT,
    message TEXT
  )`,
  `CREATE INDEX alert_events_open ON alert_events (first_at, id) WHERE closed_at IS NULL`,
  `CREATE INDEX alert_events_first ON alert_events (first_at, id)`,
  `CREATE INDEX alert_events_node ON alert_events (node_id, first_at, id)`,
  `CREATE INDEX alert_events_closed ON alert_events (closed_at) WHERE closed_at IS NOT NULL`,
  // One row per event, transition and channel, which together are the dedupe key. A row is pending until it is settled.
  `CREATE TABLE alert_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id INTEGER NOT NULL,
    transition TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    channel_type TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    meta TEXT NOT NULL,
    group_key TEXT,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    last_at INTEGER,
    reason TEXT,
    settled_at INTEGER,
    lead_id INTEGER,
    UNIQUE (event_id, channel_id, transition)
  )`,
  `CREATE INDEX alert_outbox_due ON alert_outbox (channel_id, next_at, id) WHERE state = 'pending'`,
  `CREATE INDEX alert_outbox_settled ON alert_outbox (settled_at) WHERE settled_at IS NOT NULL`,
  // How many rows of a channel are pending, and how many were given up because there were too many: counting reads all.
  `CREATE TABLE alert_backlogs (
    channel_id INTEGER PRIMARY KEY,
    pending INTEGER NOT NULL,
    overflowed INTEGER NOT NULL
  )`,
  // Every attempt, under the first of the outbox rows that it was for.
  `CREATE TABLE alert_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    outbox_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    latency_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    message TEXT,
    row_count INTEGER NOT NULL
  )`,
  `CREATE INDEX alert_deliveries_row ON alert_deliveries (outbox_id, id)`,
  `CREATE INDEX alert_deliveries_at ON alert_deliveries (at)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  for (const statement of statements) yield* sql.unsafe(statement)
  for (const rule of seeds) {
    yield* sql`INSERT INTO alert_rules ${sql.insert({ id: rule.id, ...columnsOf(rule), created_at: now, updated_at: now })}`
  }
  yield* sql`INSERT INTO alert_settings ${sql.insert({
    id: 1,
    enabled: 1,
    channel_ids: "[]",
    group_offline: 1,
    group_offline_over: 20,
    group_offline_window_sec: 30,
    offline_after_sec: 14,
    allow_private_targets: 0,
    created_at: now,
    updated_at: now
  })}`
})
