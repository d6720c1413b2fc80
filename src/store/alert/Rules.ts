// Custom alert rules as they are stored; the built-in ones are part of the program.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, type Either, Layer, Option, Schema } from "effect"
import { InvalidFields, NotFound, type StorageUnavailable } from "../../../schema/Errors.ts"
import type { AlertRule } from "../../core/alert/Rule.ts"
import { atBorder } from "../Border.ts"
import { columnsOf, ruleOut, StoredRule } from "./RuleRows.ts"

/** Each mounted rule costs every report some nanoseconds. */
export const rulesMax = 500

export class AlertRules extends Context.Tag("store/alert/Rules")<
  AlertRules,
  {
    /** Id descending. */
    readonly list: Effect.Effect<ReadonlyArray<AlertRule>, StorageUnavailable>
    /** The id of the new rule; refused when there are too many. */
    readonly create: (rule: Omit<AlertRule, "id">) => Effect.Effect<number, InvalidFields | StorageUnavailable>
    /** Puts what `decide` makes of a rule in its place, with nothing in between. */
    readonly change: <E>(
      id: number,
      decide: (rule: AlertRule) => Either.Either<AlertRule, E>
    ) => Effect.Effect<AlertRule, E | NotFound | StorageUnavailable>
    /** The rule, its mounts and its silences. */
    readonly remove: (id: number) => Effect.Effect<void, NotFound | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const OnlyId = Schema.Struct({ id: Schema.Int })

const statementsOf = (sql: SqlClient.SqlClient) => ({
  list: SqlSchema.findAll({
    Request: Schema.Void,
    Result: StoredRule,
    execute: () => sql`SELECT ${sql.literal(ruleOut)} FROM alert_rules ORDER BY id DESC`
  }),
  find: SqlSchema.findOne({
    Request: Schema.Int,
    Result: StoredRule,
    execute: (id) => sql`SELECT ${sql.literal(ruleOut)} FROM alert_rules WHERE id = ${id}`
  }),
  insert: SqlSchema.findOne({
    Request: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    Result: OnlyId,
    execute: (columns) => sql`INSERT INTO alert_rules ${sql.insert(columns)} RETURNING id`
  }),
  count: SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ count: Schema.Int }),
    execute: () => sql`SELECT count(*) AS count FROM alert_rules`
  })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const on = statementsOf(sql)
  const found = (id: number) =>
    Effect.flatMap(
      on.find(id),
      Option.match({
        onNone: () => Effect.fail(new NotFound({ message: `there is no rule ${id}` })),
        onSome: Effect.succeed<AlertRule>
      })
    )
  const create = Effect.fnUntraced(
    function* (rule: Omit<AlertRule, "id">) {
      const { count } = Option.getOrThrow(yield* on.count())
      if (count >= rulesMax) return yield* new InvalidFields({ message: `there are ${rulesMax} rules already` })
      return Option.getOrThrow(yield* on.insert(columnsOf(rule))).id
    },
    sql.withTransaction,
    atBorder("create an alert rule")
  )
  const change = <E>(id: number, decide: (rule: AlertRule) => Either.Either<AlertRule, E>) =>
    Effect.gen(function* () {
      const rule = yield* decide(yield* found(id))
      yield* sql`UPDATE alert_rules SET ${sql.update(columnsOf(rule))} WHERE id = ${id}`
      return rule
    }).pipe(sql.withTransaction, atBorder("change an alert rule"))
  const remove = Effect.fnUntraced(
    function* (id: number) {
      yield* found(id)
      yield* sql`DELETE FROM alert_rules WHERE id = ${id}`
      yield* sql`DELETE FROM alert_mounts WHERE rule_id = ${id}`
      yield* sql`DELETE FROM alert_silences WHERE scope = 'rule' AND target_id = ${id}`
    },
    sql.withTransaction,
    atBorder("delete an alert rule")
  )
  return AlertRules.of({ list: atBorder("list alert rules")(on.list()), create, change, remove })
})
