// Deliveries as the administrator reads them: one per notification and channel, with the attempts that were made.
import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { NotFound, type StorageUnavailable } from "../../../schema/Errors.ts"
import { atBorder } from "../Border.ts"

const Stored = Schema.Struct({
  id: Schema.Int,
  eventId: Schema.Int,
  transition: Schema.Literal("opened", "closed"),
  channelId: Schema.Int,
  /** Empty when the channel is gone for good. */
  channelName: Schema.String,
  channelType: Schema.String,
  title: Schema.String,
  status: Schema.Literal("pending", "sent", "failed"),
  createdAt: Schema.Number,
  /** While it is pending. */
  nextAt: Schema.NullOr(Schema.Number),
  attempts: Schema.Int,
  lastAt: Schema.NullOr(Schema.Number),
  settledAt: Schema.NullOr(Schema.Number),
  /** Why it is not sent, or was not at the last attempt. */
  reason: Schema.NullOr(Schema.String),
  nodeId: Schema.NullOr(Schema.Int),
  serverName: Schema.NullOr(Schema.String)
})
/** Times in milliseconds. */
export type DeliveryRow = typeof Stored.Type

const Tried = Schema.Struct({
  at: Schema.Number,
  latencyMs: Schema.Int,
  outcome: Schema.Literal("sent", "retry", "failed"),
  reason: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  /** Notifications that it told at once. */
  rowCount: Schema.Int
})
export type AttemptRow = typeof Tried.Type

export interface DeliveryQuery {
  readonly channelId?: number
  readonly eventId?: number
  readonly nodeId?: number
  readonly status?: DeliveryRow["status"]
  /** Only those with a smaller id. */
  readonly beforeId?: number
  readonly limit: number
}
export interface DeliveryPage {
  /** The newest first. */
  readonly items: ReadonlyArray<DeliveryRow>
  /** Where the next page begins; null on the last one. */
  readonly beforeId: number | null
}

export class AlertDeliveries extends Context.Tag("store/alert/Deliveries")<
  AlertDeliveries,
  {
    readonly list: (query: DeliveryQuery) => Effect.Effect<DeliveryPage, StorageUnavailable>
    /** The last attempts of a delivery, the latest first. */
    readonly attempts: (id: number) => Effect.Effect<ReadonlyArray<AttemptRow>, NotFound | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

/** A day of the longest pauses between two attempts. */
const attemptsMax = 300

const decodeRows = Schema.decodeUnknown(Schema.Array(Stored))
const decodeTried = Schema.decodeUnknown(Schema.Array(Tried))

const filtersOf = (sql: SqlClient.SqlClient, query: DeliveryQuery) => {
  const { beforeId, channelId, eventId, nodeId, status } = query
  return sql.and([
    sql`true`,
    ...(channelId === undefined ? [] : [sql`o.channel_id = ${channelId}`]),
    ...(eventId === undefined ? [] : [sql`o.event_id = ${eventId}`]),
    ...(nodeId === undefined ? [] : [sql`v.node_id = ${nodeId}`]),
    ...(status === undefined ? [] : [sql`o.state = ${status}`]),
    ...(beforeId === undefined ? [] : [sql`o.id < ${beforeId}`])
  ])
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const list = Effect.fnUntraced(function* (query: DeliveryQuery) {
    const rows = yield* Effect.flatMap(
      sql`
        SELECT o.id, o.event_id AS "eventId", o.transition, o.channel_id AS "channelId",
          coalesce(c.name, '') AS "channelName", o.channel_type AS "channelType", o.title, o.state AS status,
          o.created_at AS "createdAt", CASE WHEN o.state = 'pending' THEN o.next_at END AS "nextAt", o.attempts,
          o.last_at AS "lastAt", o.settled_at AS "settledAt", o.reason, v.node_id AS "nodeId",
          v.server_name AS "serverName"
        FROM alert_outbox o LEFT JOIN alert_channels c ON c.id = o.channel_id
          LEFT JOIN alert_events v ON v.id = o.event_id
        WHERE ${filtersOf(sql, query)} ORDER BY o.id DESC LIMIT ${query.limit + 1}`,
      decodeRows
    )
    const items = rows.slice(0, query.limit)
    return { items, beforeId: rows.length > query.limit ? (items[items.length - 1]?.id ?? null) : null }
  }, atBorder("list deliveries"))
  const attempts = Effect.fnUntraced(function* (id: number) {
    const rows = yield* sql`SELECT id FROM alert_outbox WHERE id = ${id}`
    if (rows.length === 0) return yield* new NotFound({ message: `there is no delivery ${id}` })
    return yield* Effect.flatMap(
      sql`
        SELECT at, latency_ms AS "latencyMs", outcome, reason, message, row_count AS "rowCount"
        FROM alert_deliveries
        WHERE outbox_id IN (SELECT ${id} UNION SELECT lead_id FROM alert_outbox WHERE id = ${id})
        ORDER BY id DESC LIMIT ${attemptsMax}`,
      decodeTried
    )
  }, atBorder("list attempts"))
  return AlertDeliveries.of({ list, attempts })
})
