// Groups of nodes as they are stored, among them the default group, which always exists.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { DefaultGroupKept, NotFound, type StorageUnavailable } from "../../schema/Errors.ts"
import { GroupId } from "../../schema/Ids.ts"
import type { GroupChanges, NewGroup } from "../core/GroupWrite.ts"
import { atBorder } from "./Border.ts"

export interface GroupRecord {
  readonly id: GroupId
  readonly name: string
  readonly remark: string
  /** Active members. */
  readonly nodeCount: number
}

/** The group that every new node joins; restored at start, refused to be deleted. */
export const defaultGroupId = GroupId.make(1)
const defaultGroupName = "default"

export class Groups extends Context.Tag("store/Groups")<
  Groups,
  {
    /** Active groups, id ascending. */
    readonly list: Effect.Effect<ReadonlyArray<GroupRecord>, StorageUnavailable>
    readonly create: (group: NewGroup) => Effect.Effect<GroupId, StorageUnavailable>
    readonly patch: (id: GroupId, changes: GroupChanges) => Effect.Effect<void, NotFound | StorageUnavailable>
    /** Soft: the group leaves every list and drops its memberships; its nodes stay. */
    readonly remove: (id: GroupId) => Effect.Effect<void, NotFound | DefaultGroupKept | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const Row = Schema.Struct({
  id: GroupId,
  name: Schema.String,
  remark: Schema.String,
  nodeCount: Schema.Int
})

const OnlyId = Schema.Struct({ id: GroupId })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* ensureDefault(sql)
  const list = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Row,
    execute: () => sql`
      SELECT g.id, g.name, g.remark, count(n.id) AS "nodeCount"
      FROM node_groups g
      LEFT JOIN node_group_members m ON m.group_id = g.id
      LEFT JOIN nodes n ON n.id = m.node_id AND n.deleted_at IS NULL
      WHERE g.deleted_at IS NULL
      GROUP BY g.id, g.name, g.remark
      ORDER BY g.id`
  })
  const insert = SqlSchema.single({
    Request: Schema.Struct({ name: Schema.String, remark: Schema.String }),
    Result: OnlyId,
    execute: (group) => sql`INSERT INTO node_groups ${sql.insert(group)} RETURNING id`
  })
  const update = SqlSchema.findOne({
    Request: Schema.Struct({ id: GroupId, set: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }),
    Result: OnlyId,
    execute: ({ id, set }) =>
      sql`UPDATE node_groups SET ${sql.update(set)} WHERE id = ${id} AND deleted_at IS NULL RETURNING id`
  })
  const change = Effect.fnUntraced(function* (id: GroupId, set: Record<string, unknown>) {
    if (Option.isNone(yield* update({ id, set }))) {
      return yield* new NotFound({ message: `there is no group ${id}` })
    }
  })
  const remove = Effect.fnUntraced(
    function* (id: GroupId) {
      yield* change(id, { deleted_at: yield* Clock.currentTimeMillis })
      yield* sql`DELETE FROM node_group_members WHERE group_id = ${id}`
    },
    sql.withTransaction,
    atBorder("delete a group")
  )
  return Groups.of({
    list: atBorder("list groups")(list()),
    create: (group) =>
      insert(group).pipe(
        Effect.map(({ id }) => id),
        Effect.catchTag("NoSuchElementException", () => Effect.dieMessage("an insert returned no row")),
        atBorder("create a group")
      ),
    patch: (id, changes) => atBorder("change a group")(change(id, { ...changes })),
    remove: (id) =>
      id === defaultGroupId
        ? Effect.fail(new DefaultGroupKept({ message: "the default group cannot be deleted" }))
        : remove(id)
  })
})

/** Creates the default group under its fixed id, or takes back its deletion. */
const ensureDefault = (sql: SqlClient.SqlClient) =>
  sql`
    INSERT INTO node_groups ${sql.insert({ id: defaultGroupId, name: defaultGroupName, remark: defaultGroupName })}
    ON CONFLICT (id) DO UPDATE SET deleted_at = NULL`.pipe(atBorder("restore the default group"))
