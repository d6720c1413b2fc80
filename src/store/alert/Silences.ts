// Silences: for how long nobody is told about a node, a group or a rule.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { InvalidFields, NotFound, type StorageUnavailable } from "../../../schema/Errors.ts"
import { builtIns } from "../../core/alert/Rule.ts"
import { atBorder } from "../Border.ts"

const Stored = Schema.Struct({
  id: Schema.Int,
  scope: Schema.Literal("node", "group", "rule"),
  targetId: Schema.Int,
  /** Exclusive, milliseconds. */
  untilMs: Schema.Number,
  comment: Schema.String,
  createdAt: Schema.Number
})
export type StoredSilence = typeof Stored.Type
export type SilenceChange = Omit<StoredSilence, "id" | "createdAt">

export const silencesMax = 1000
export const silenceCommentMax = 255
/** The longest silence: a year. */
export const silenceMsMax = 366 * 86_400_000
/** Ended ones are shown for a week and then go with the next one that is made. */
const endedKeptMs = 7 * 86_400_000

export class AlertSilences extends Context.Tag("store/alert/Silences")<
  AlertSilences,
  {
    /** Id descending; those that ended lately too. */
    readonly list: Effect.Effect<ReadonlyArray<StoredSilence>, StorageUnavailable>
    readonly create: (silence: SilenceChange) => Effect.Effect<number, InvalidFields | StorageUnavailable>
    readonly replace: (
      id: number,
      silence: SilenceChange
    ) => Effect.Effect<void, InvalidFields | NotFound | StorageUnavailable>
    readonly remove: (id: number) => Effect.Effect<void, NotFound | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const tables = {
  node: "nodes WHERE deleted_at IS NULL",
  group: "node_groups WHERE deleted_at IS NULL",
  rule: "alert_rules"
}
const OnlyId = Schema.Struct({ id: Schema.Int })

const statementsOf = (sql: SqlClient.SqlClient) => ({
  list: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Stored,
    execute: () => sql`
      SELECT id, scope, target_id AS "targetId", until_at AS "untilMs", comment, created_at AS "createdAt"
      FROM alert_silences ORDER BY id DESC`
  }),
  targets: SqlSchema.findAll({
    Request: Schema.Struct({ scope: Schema.Literal("node", "group", "rule"), id: Schema.Int }),
    Result: OnlyId,
    execute: ({ id, scope }) => sql`SELECT id FROM (SELECT id FROM ${sql.literal(tables[scope])}) WHERE id = ${id}`
  }),
  insert: SqlSchema.findOne({
    Request: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    Result: OnlyId,
    execute: (columns) => sql`INSERT INTO alert_silences ${sql.insert(columns)} RETURNING id`
  })
})

const columnsOf = ({ comment, scope, targetId, untilMs }: SilenceChange) => ({
  scope,
  target_id: targetId,
  until_at: untilMs,
  comment
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const on = statementsOf(sql)
  const checked = ({ comment, scope, targetId, untilMs }: SilenceChange, now: number) =>
    Effect.gen(function* () {
      if (comment.length > silenceCommentMax) {
        return yield* new InvalidFields({ message: `comment must be at most ${silenceCommentMax} characters` })
      }
      if (!(untilMs > now && untilMs <= now + silenceMsMax)) {
        return yield* new InvalidFields({ message: "until must lie ahead, at most 366 days" })
      }
      if (scope === "rule" && builtIns.some(({ id }) => id === targetId)) return
      if ((yield* on.targets({ scope, id: targetId })).length === 0) {
        return yield* new InvalidFields({ message: `there is no ${scope} ${targetId}` })
      }
    })
  const affected = (id: number, rows: ReadonlyArray<unknown>) =>
    rows.length === 0 ? Effect.fail(new NotFound({ message: `there is no silence ${id}` })) : Effect.void
  const create = Effect.fnUntraced(
    function* (silence: SilenceChange) {
      const now = yield* Clock.currentTimeMillis
      yield* checked(silence, now)
      yield* sql`DELETE FROM alert_silences WHERE until_at < ${now - endedKeptMs}`
      if ((yield* on.list()).length >= silencesMax) {
        return yield* new InvalidFields({ message: `there are ${silencesMax} silences already` })
      }
      return Option.getOrThrow(yield* on.insert({ ...columnsOf(silence), created_at: now })).id
    },
    sql.withTransaction,
    atBorder("create a silence")
  )
  const replace = Effect.fnUntraced(
    function* (id: number, silence: SilenceChange) {
      yield* checked(silence, yield* Clock.currentTimeMillis)
      yield* affected(
        id,
        yield* sql`UPDATE alert_silences SET ${sql.update(columnsOf(silence))} WHERE id = ${id} RETURNING id`
      )
    },
    sql.withTransaction,
    atBorder("change a silence")
  )
  return AlertSilences.of({
    list: atBorder("list silences")(on.list()),
    create,
    replace,
    remove: (id) =>
      sql`DELETE FROM alert_silences WHERE id = ${id} RETURNING id`.pipe(
        Effect.flatMap((rows) => affected(id, rows)),
        atBorder("delete a silence")
      )
  })
})
