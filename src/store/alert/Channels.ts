// Notification channels at rest: what may be shown as JSON, the whole configuration as one sealed text, opaque here.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Clock, Context, Effect, type Either, Layer, Option, Schema } from "effect"
import { InvalidFields, NotFound, type StorageUnavailable } from "../../../schema/Errors.ts"
import { channelTypes } from "../../core/alert/Channel.ts"
import { atBorder } from "../Border.ts"
import { Flag } from "./RuleRows.ts"

const Stored = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  type: Schema.Literal(...channelTypes),
  /** JSON of what may be shown. */
  config: Schema.String,
  /** What only a delivery reads. */
  sealed: Schema.String,
  enabled: Flag,
  /** From 1; grows with each change. */
  revision: Schema.Int,
  createdAt: Schema.Number,
  updatedAt: Schema.Number
})
export type ChannelRow = typeof Stored.Type

export interface NewChannel extends Pick<ChannelRow, "name" | "type" | "config" | "enabled"> {
  /** Seals the configuration for the row of this id. */
  readonly sealed: (id: number) => string
}
export type ChannelChange = Pick<ChannelRow, "name" | "type" | "config" | "enabled" | "sealed">

/** Each has a fiber of its own while it has something to tell. */
export const channelsMax = 64

export class AlertChannels extends Context.Tag("store/alert/Channels")<
  AlertChannels,
  {
    /** Id descending, without the deleted ones. */
    readonly list: Effect.Effect<ReadonlyArray<ChannelRow>, StorageUnavailable>
    readonly find: (id: number) => Effect.Effect<ChannelRow, NotFound | StorageUnavailable>
    readonly create: (channel: NewChannel) => Effect.Effect<number, InvalidFields | StorageUnavailable>
    /** Puts what `decide` makes of a channel in its place, with nothing in between. */
    readonly change: <E>(
      id: number,
      decide: (row: ChannelRow) => Either.Either<ChannelChange, E>
    ) => Effect.Effect<void, E | NotFound | StorageUnavailable>
    /** Soft: it leaves every list; its secrets are forgotten. */
    readonly remove: (id: number) => Effect.Effect<void, NotFound | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const out = `id, name, type, config, sealed, enabled, revision, created_at AS "createdAt", updated_at AS "updatedAt"`

const statementsOf = (sql: SqlClient.SqlClient) => ({
  list: SqlSchema.findAll({
    Request: Schema.Void,
    Result: Stored,
    execute: () => sql`SELECT ${sql.literal(out)} FROM alert_channels WHERE deleted_at IS NULL ORDER BY id DESC`
  }),
  find: SqlSchema.findOne({
    Request: Schema.Int,
    Result: Stored,
    execute: (id) => sql`SELECT ${sql.literal(out)} FROM alert_channels WHERE id = ${id} AND deleted_at IS NULL`
  }),
  insert: SqlSchema.findOne({
    Request: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    Result: Schema.Struct({ id: Schema.Int }),
    execute: (columns) => sql`INSERT INTO alert_channels ${sql.insert(columns)} RETURNING id`
  })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const on = statementsOf(sql)
  const found = (id: number) =>
    Effect.flatMap(
      on.find(id),
      Option.match({
        onNone: () => Effect.fail(new NotFound({ message: `there is no channel ${id}` })),
        onSome: Effect.succeed<ChannelRow>
      })
    )
  const create = Effect.fnUntraced(
    function* ({ config, enabled, name, sealed, type }: NewChannel) {
      if ((yield* on.list()).length >= channelsMax) {
        return yield* new InvalidFields({ message: `there are ${channelsMax} channels already` })
      }
      const now = yield* Clock.currentTimeMillis
      const columns = { name, type, config, sealed: "", enabled: enabled ? 1 : 0, revision: 1 }
      const { id } = Option.getOrThrow(yield* on.insert({ ...columns, created_at: now, updated_at: now }))
      yield* sql`UPDATE alert_channels SET sealed = ${sealed(id)} WHERE id = ${id}`
      return id
    },
    sql.withTransaction,
    atBorder("create a channel")
  )
  const change = <E>(id: number, decide: (row: ChannelRow) => Either.Either<ChannelChange, E>) =>
    Effect.gen(function* () {
      const before = yield* found(id)
      const { config, enabled, name, sealed, type } = yield* decide(before)
      yield* sql`UPDATE alert_channels SET ${sql.update({
        name,
        type,
        config,
        sealed,
        enabled: enabled ? 1 : 0,
        revision: before.revision + 1,
        updated_at: yield* Clock.currentTimeMillis
      })} WHERE id = ${id}`
    }).pipe(sql.withTransaction, atBorder("change a channel"))
  const remove = Effect.fnUntraced(
    function* (id: number) {
      yield* found(id)
      yield* sql`UPDATE alert_channels SET ${sql.update({
        sealed: "",
        config: "{}",
        deleted_at: yield* Clock.currentTimeMillis
      })} WHERE id = ${id}`
    },
    sql.withTransaction,
    atBorder("delete a channel")
  )
  return AlertChannels.of({
    list: atBorder("list channels")(on.list()),
    find: (id) => atBorder("read a channel")(found(id)),
    create,
    change,
    remove
  })
})
