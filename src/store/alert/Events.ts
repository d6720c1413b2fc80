// Alert events as the administrator reads them: page by page, summed up by node, and the nodes that ever had one.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import type { StorageUnavailable } from "../../../schema/Errors.ts"
import { atBorder } from "../Border.ts"
import { Flag } from "./RuleRows.ts"

const Stored = Schema.Struct({
  id: Schema.Int,
  ruleId: Schema.Int,
  ruleGeneration: Schema.Int,
  ruleName: Schema.String,
  nodeId: Schema.Int,
  serverName: Schema.String,
  serverHostname: Schema.String,
  serverIp: Schema.NullOr(Schema.String),
  metric: Schema.String,
  firstAt: Schema.Number,
  lastAt: Schema.Number,
  closedAt: Schema.NullOr(Schema.Number),
  closeReason: Schema.NullOr(Schema.String),
  value: Schema.NullOr(Schema.Number),
  threshold: Schema.NullOr(Schema.Number),
  isMuted: Flag,
  title: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String)
})
/** Times in milliseconds. */
export type EventRow = typeof Stored.Type

/** The last row of a page: what comes next began before it, or at the same time with a smaller id. */
export interface EventCursor {
  readonly firstAt: number
  readonly id: number
}
export interface EventQuery {
  readonly nodeId?: number
  readonly status: "open" | "closed" | "all"
  readonly metric?: string
  /** Bounds of the beginning, milliseconds, both inclusive. */
  readonly fromMs?: number
  readonly toMs?: number
  readonly after?: EventCursor
  readonly limit: number
}
export interface EventPage {
  /** The latest beginning first. */
  readonly items: ReadonlyArray<EventRow>
  /** Null on the last page. */
  readonly next: EventCursor | null
}

const Summary = Schema.Struct({
  nodeId: Schema.Int,
  openCount: Schema.Int,
  lastAt: Schema.Number,
  /** Of the event that was true last. */
  metric: Schema.String,
  ruleName: Schema.String,
  metrics: Schema.parseJson(Schema.Array(Schema.String))
})
export type EventSummary = typeof Summary.Type

export class AlertEvents extends Context.Tag("store/alert/Events")<
  AlertEvents,
  {
    readonly list: (query: EventQuery) => Effect.Effect<EventPage, StorageUnavailable>
    /** Nodes with open events, by id. */
    readonly summary: Effect.Effect<ReadonlyArray<EventSummary>, StorageUnavailable>
    /** Nodes that have an event, by id. */
    readonly servers: Effect.Effect<ReadonlyArray<{ readonly id: number; readonly name: string }>, StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const out = `id, rule_id AS "ruleId", rule_generation AS "ruleGeneration", rule_name AS "ruleName", node_id AS "nodeId",
  server_name AS "serverName", server_hostname AS "serverHostname", server_ip AS "serverIp", metric,
  first_at AS "firstAt", last_at AS "lastAt", closed_at AS "closedAt", close_reason AS "closeReason", value, threshold,
  is_muted AS "isMuted", title, message`

/** Rules times nodes could be more, but nobody reads more. */
const summaryMax = 20_000

const filtersOf = (sql: SqlClient.SqlClient, query: EventQuery) => {
  const { after, fromMs, metric, nodeId, status, toMs } = query
  return sql.and([
    status === "all" ? sql`true` : status === "open" ? sql`closed_at IS NULL` : sql`closed_at IS NOT NULL`,
    ...(nodeId === undefined ? [] : [sql`node_id = ${nodeId}`]),
    ...(metric === undefined ? [] : [sql`metric = ${metric}`]),
    ...(fromMs === undefined ? [] : [sql`first_at >= ${fromMs}`]),
    ...(toMs === undefined ? [] : [sql`first_at <= ${toMs}`]),
    ...(after === undefined ? [] : [sql`(first_at, id) < (${after.firstAt}, ${after.id})`])
  ])
}

const decodeRows = Schema.decodeUnknown(Schema.Array(Stored))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const page = (query: EventQuery) =>
    Effect.flatMap(
      sql`
        SELECT ${sql.literal(out)} FROM alert_events WHERE ${filtersOf(sql, query)}
        ORDER BY first_at DESC, id DESC LIMIT ${query.limit + 1}`,
      decodeRows
    )
  const list = Effect.fnUntraced(function* (query: EventQuery) {
    const rows = yield* page(query)
    const items = rows.slice(0, query.limit)
    const last = items[items.length - 1]
    const next = rows.length > query.limit && last !== undefined ? { firstAt: last.firstAt, id: last.id } : null
    return { items, next }
  }, atBorder("list alert events"))
  // Columns beside max() are those of the row that has the maximum.
  const summary = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Summary,
    execute: () => sql`
      SELECT node_id AS "nodeId", count(*) AS "openCount", max(last_at) AS "lastAt", metric, rule_name AS "ruleName",
        json_group_array(DISTINCT metric) AS metrics
      FROM alert_events WHERE closed_at IS NULL GROUP BY node_id ORDER BY node_id LIMIT ${summaryMax}`
  })
  const servers = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.Int, name: Schema.String }),
    execute: () => sql`
      SELECT id, name FROM nodes n WHERE EXISTS (SELECT 1 FROM alert_events WHERE node_id = n.id)
      ORDER BY id LIMIT ${summaryMax}`
  })
  return AlertEvents.of({
    list,
    summary: atBorder("sum up alert events")(summary()),
    servers: atBorder("list nodes with alert events")(servers())
  })
})
