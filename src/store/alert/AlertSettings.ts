// The one row of alert settings: whether and whom to tell, how to group, and when a node counts as offline.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { InvalidFields, type StorageUnavailable } from "../../../schema/Errors.ts"
import { atBorder } from "../Border.ts"
import { Flag } from "./RuleRows.ts"

/** Times in milliseconds. */
export interface AlertSettings {
  readonly enabled: boolean
  /** In the order of notification; channels that were deleted since are left out. */
  readonly channelIds: ReadonlyArray<number>
  /** Whether people are told of many silent nodes in one message. */
  readonly groupOffline: boolean
  /** How many single messages come first. */
  readonly groupOfflineOver: number
  /** How long the first of a group waits for the others at most. */
  readonly groupOfflineWindowSec: number
  readonly offlineAfterSec: number
  /** Whether notifications may go to private addresses. */
  readonly allowPrivateTargets: boolean
  readonly createdAt: number
  readonly updatedAt: number
}
/** What is left out stays as it is. */
export type AlertSettingsChange = Partial<Omit<AlertSettings, "createdAt" | "updatedAt">> &
  Pick<AlertSettings, "enabled" | "channelIds">

export class AlertSettingsStore extends Context.Tag("store/alert/AlertSettings")<
  AlertSettingsStore,
  {
    readonly get: Effect.Effect<AlertSettings, StorageUnavailable>
    readonly put: (change: AlertSettingsChange) => Effect.Effect<void, InvalidFields | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const Stored = Schema.Struct({
  enabled: Flag,
  channelIds: Schema.parseJson(Schema.Array(Schema.Int)),
  groupOffline: Flag,
  groupOfflineOver: Schema.Int,
  groupOfflineWindowSec: Schema.Int,
  offlineAfterSec: Schema.Int,
  allowPrivateTargets: Flag,
  createdAt: Schema.Number,
  updatedAt: Schema.Number
})

/** Bounds, with their names on the wire: a fleet's size, half a minute's patience times ten, and an hour. */
const bounds = [
  ["groupOfflineOver", "group_offline_over", 0, 10_000],
  ["groupOfflineWindowSec", "group_offline_window_sec", 5, 300],
  ["offlineAfterSec", "offline_after_sec", 3, 3600]
] as const

const checked = (change: AlertSettingsChange) =>
  Effect.gen(function* () {
    for (const [member, name, least, most] of bounds) {
      const value = change[member]
      if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
        return yield* new InvalidFields({ message: `${name} must be an integer from ${least} to ${most}` })
      }
    }
    if (!change.channelIds.every((id) => Number.isSafeInteger(id) && id > 0)) {
      return yield* new InvalidFields({ message: "channel_ids must be positive ids" })
    }
    return { ...change, channelIds: [...new Set(change.channelIds)] }
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const read = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Stored,
    execute: () => sql`
      SELECT enabled, group_offline AS "groupOffline", group_offline_over AS "groupOfflineOver",
        group_offline_window_sec AS "groupOfflineWindowSec", offline_after_sec AS "offlineAfterSec",
        allow_private_targets AS "allowPrivateTargets", created_at AS "createdAt", updated_at AS "updatedAt",
        (SELECT json_group_array(value) FROM (
          SELECT value FROM json_each(channel_ids)
          WHERE value IN (SELECT id FROM alert_channels WHERE deleted_at IS NULL) ORDER BY key)) AS "channelIds"
      FROM alert_settings WHERE id = 1`
  })
  const get = read().pipe(
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.dieMessage("the row of alert settings is missing"),
        onSome: Effect.succeed<AlertSettings>
      })
    ),
    atBorder("read the alert settings")
  )
  const active = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.Int }),
    execute: () => sql`SELECT id FROM alert_channels WHERE deleted_at IS NULL`
  })
  const put = Effect.fnUntraced(
    function* (change: AlertSettingsChange) {
      const given = yield* checked(change)
      const known = new Set((yield* active()).map(({ id }) => id))
      const unknown = given.channelIds.find((id) => !known.has(id))
      if (unknown !== undefined) return yield* new InvalidFields({ message: `there is no channel ${unknown}` })
      const next = { ...(yield* get), ...given }
      yield* sql`UPDATE alert_settings SET ${sql.update({
        enabled: next.enabled ? 1 : 0,
        channel_ids: JSON.stringify(next.channelIds),
        group_offline: next.groupOffline ? 1 : 0,
        group_offline_over: next.groupOfflineOver,
        group_offline_window_sec: next.groupOfflineWindowSec,
        offline_after_sec: next.offlineAfterSec,
        allow_private_targets: next.allowPrivateTargets ? 1 : 0,
        updated_at: yield* Clock.currentTimeMillis
      })} WHERE id = 1`
    },
    sql.withTransaction,
    atBorder("write the alert settings")
  )
  return AlertSettingsStore.of({ get, put })
})
