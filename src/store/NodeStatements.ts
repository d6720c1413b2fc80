// The SQL of the nodes table and its memberships, one function per statement.
import { SqlSchema, type SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { GroupId, NodeId } from "../../schema/Ids.ts"
import { MemberRow, Row } from "./NodeRows.ts"

export const statements = (sql: SqlClient.SqlClient) => ({ ...reads(sql), ...writes(sql), ...many(sql) })
export type Statements = ReturnType<typeof statements>

/** Rows of one insert: far below the number of parameters that SQLite takes. */
const memberRowsMax = 500

const OnlyId = Schema.Struct({ id: NodeId })

/** The look-ups: each gives decoded rows. */
const reads = (sql: SqlClient.SqlClient) => ({
  activeIds: SqlSchema.findAll({
    Request: Schema.Void,
    Result: OnlyId,
    execute: () => sql`SELECT id FROM nodes WHERE deleted_at IS NULL`
  }),
  active: SqlSchema.findOne({
    Request: NodeId,
    Result: OnlyId,
    execute: (id) => sql`SELECT id FROM nodes WHERE id = ${id} AND deleted_at IS NULL`
  }),
  byDigest: SqlSchema.findOne({
    Request: Schema.String,
    Result: OnlyId,
    execute: (digest) => sql`SELECT id FROM nodes WHERE secret_digest = ${digest}`
  }),
  topOrder: SqlSchema.single({
    Request: Schema.Void,
    Result: Schema.Struct({ top: Schema.Int }),
    execute: () => sql`SELECT coalesce(max(display_order), 0) AS top FROM nodes WHERE deleted_at IS NULL`
  }),
  groupIds: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: GroupId }),
    execute: () => sql`SELECT id FROM node_groups WHERE deleted_at IS NULL`
  }),
  page: SqlSchema.findAll({
    Request: Schema.Struct({ after: Schema.Int, limit: Schema.Int }),
    Result: Row,
    execute: ({ after, limit }) => sql`
      SELECT id, name, secret_digest, secret_sealed, tags, display_order, is_guest_visible, traffic_p95_enabled,
        traffic_cycle_mode, traffic_billing_start_day, traffic_billing_anchor_date, traffic_billing_timezone,
        traffic_direction_mode, created_at
      FROM nodes WHERE id > ${after} AND deleted_at IS NULL ORDER BY id LIMIT ${limit}`
  }),
  members: SqlSchema.findAll({
    Request: Schema.Struct({ from: Schema.Int, to: Schema.Int }),
    Result: MemberRow,
    execute: ({ from, to }) => sql`
      SELECT node_id, group_id FROM node_group_members
      WHERE node_id >= ${from} AND node_id <= ${to} ORDER BY node_id, group_id`
  })
})

const writes = (sql: SqlClient.SqlClient) => ({
  insert: SqlSchema.single({
    Request: Schema.Struct({
      name: Schema.String,
      secret_digest: Schema.String,
      display_order: Schema.Int,
      created_at: Schema.Int
    }),
    Result: OnlyId,
    execute: (row) => sql`INSERT INTO nodes ${sql.insert(row)} RETURNING id`
  }),
  change: (id: NodeId, set: Record<string, string | number | null>) =>
    sql`UPDATE nodes SET ${sql.update(set)} WHERE id = ${id}`,
  join: (id: NodeId, groupIds: ReadonlyArray<GroupId>) =>
    Effect.forEach(
      slices(groupIds, memberRowsMax),
      (slice) =>
        sql`INSERT INTO node_group_members ${sql.insert(slice.map((group_id) => ({ node_id: id, group_id })))}`,
      { discard: true }
    ),
  leaveAll: (id: NodeId) => sql`DELETE FROM node_group_members WHERE node_id = ${id}`
})

/** One statement each however many nodes there are: `ids` is a JSON array. */
const many = (sql: SqlClient.SqlClient) => ({
  /** The first of the ids that no active node has. */
  stranger: SqlSchema.findOne({
    Request: Schema.String,
    Result: OnlyId,
    execute: (ids) =>
      sql.onDialectOrElse({
        pg: () => sql`
          SELECT o.id FROM (
            SELECT value::bigint AS id, ordinality FROM json_array_elements_text(${ids}::json) WITH ORDINALITY
          ) AS o
          WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = o.id AND deleted_at IS NULL)
          ORDER BY o.ordinality LIMIT 1`,
        orElse: () => sql`
          SELECT o.value AS id FROM json_each(${ids}) AS o
          WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = o.value AND deleted_at IS NULL)
          ORDER BY o.key LIMIT 1`
      })
  }),
  switchP95: (ids: string, enabled: boolean) =>
    sql.onDialectOrElse({
      pg: () => sql`
        UPDATE nodes SET traffic_p95_enabled = ${Number(enabled)}
        WHERE id IN (SELECT value::bigint FROM json_array_elements_text(${ids}::json))`,
      orElse: () => sql`
        UPDATE nodes SET traffic_p95_enabled = ${Number(enabled)} WHERE id IN (SELECT value FROM json_each(${ids}))`
    }),
  /** The first of the ids gets the largest order. */
  order: (ids: string, count: number) =>
    sql.onDialectOrElse({
      pg: () => sql`
        UPDATE nodes SET display_order = o.place
        FROM (
          SELECT value::integer AS id, ${count} - ordinality + 1 AS place
          FROM json_array_elements_text(${ids}::json) WITH ORDINALITY
        ) AS o WHERE nodes.id = o.id`,
      orElse: () => sql`
        UPDATE nodes SET display_order = o.place
        FROM (SELECT value AS id, ${count} - key AS place FROM json_each(${ids})) AS o WHERE nodes.id = o.id`
    })
})

const slices = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
