// Sessions at rest: one row per login family, hashes and sealed text only, and the hash of the admin password.
import { SqlClient, SqlError, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { SessionId } from "../../schema/Ids.ts"

const Flag = Schema.transform(Schema.Number, Schema.Boolean, {
  strict: true,
  decode: (flag) => flag !== 0,
  encode: (flag) => (flag ? 1 : 0)
})

/** One family. Times in milliseconds since 1970; digests are SHA-256, base64url. */
export const SessionRecord = Schema.Struct({
  id: SessionId,
  tokenDigest: Schema.String,
  parentDigest: Schema.NullOr(Schema.String),
  rotatedAt: Schema.NullOr(Schema.Number),
  successorSealed: Schema.NullOr(Schema.String),
  sessionOnly: Flag,
  expiresAt: Schema.Number,
  revokedAt: Schema.NullOr(Schema.Number)
})
export type SessionRecord = typeof SessionRecord.Type

export interface NewSession {
  readonly id: SessionId
  readonly tokenDigest: string
  readonly sessionOnly: boolean
  readonly expiresAt: number
}

export interface Rotation {
  readonly id: SessionId
  /** Digest of the token that is consumed. */
  readonly from: string
  /** Digest of its successor, and the successor itself, sealed. */
  readonly to: string
  readonly sealed: string
  readonly expiresAt: number
}

export class SessionStore extends Context.Tag("store/Sessions")<
  SessionStore,
  {
    /**
     * Adds a family and makes room for it: drops a slice of dead rows, and revokes the longest unused families
     * beyond the cap, whose ids it answers.
     */
    readonly open: (session: NewSession, nowMs: number) => Effect.Effect<ReadonlyArray<SessionId>, StorageUnavailable>
    readonly find: (id: SessionId) => Effect.Effect<Option.Option<SessionRecord>, StorageUnavailable>
    /** Consumes `from` in one statement; none when it is no longer the live token of a live family. */
    readonly rotate: (
      rotation: Rotation,
      nowMs: number
    ) => Effect.Effect<Option.Option<SessionRecord>, StorageUnavailable>
    /** Revoking an unknown or dead family is not an error. */
    readonly revoke: (id: SessionId, nowMs: number) => Effect.Effect<void, StorageUnavailable>
    readonly revokeAll: (nowMs: number) => Effect.Effect<void, StorageUnavailable>
    /** Live families, the one refreshed last first. */
    readonly live: (nowMs: number) => Effect.Effect<ReadonlyArray<SessionRecord>, StorageUnavailable>
    /** Drops one slice of expired and revoked families. */
    readonly purge: (nowMs: number) => Effect.Effect<void, StorageUnavailable>
    readonly adminHash: Effect.Effect<Option.Option<string>, StorageUnavailable>
    /** Replaces the hash of the admin password and revokes every session, in one transaction. */
    readonly replaceAdminHash: (hash: string, nowMs: number) => Effect.Effect<void, StorageUnavailable>
  }
>() {}

/** One administrator with some browsers and scripts; a script that logs in on every run meets the cap first. */
export const liveMax = 1000
/** Rows dropped per slice, so that no statement holds the connection for long. */
const slice = 200

const columns = `id, token_digest AS tokenDigest, parent_digest AS parentDigest, rotated_at AS rotatedAt,
  successor_sealed AS successorSealed, session_only AS sessionOnly, expires_at AS expiresAt, revoked_at AS revokedAt`

// A decoding failure quotes the row, and a row holds digests, so only what SQLite itself says is logged.
const reasonOf = (failed: unknown): string =>
  failed instanceof SqlError.SqlError ? String(failed.cause) : "a row of sessions is not of the expected shape"

const stored = <A, E>(query: Effect.Effect<A, E>): Effect.Effect<A, StorageUnavailable> =>
  query.pipe(
    Effect.tapError((failed) =>
      Effect.logWarning("a session query failed").pipe(Effect.annotateLogs({ reason: reasonOf(failed) }))
    ),
    Effect.mapError(() => new StorageUnavailable({ message: "the session store cannot be reached" }))
  )

const Ids = Schema.Struct({ id: SessionId })

const makeQueries = (sql: SqlClient.SqlClient) => ({
  find: SqlSchema.findOne({
    Request: SessionId,
    Result: SessionRecord,
    execute: (id) => sql`SELECT ${sql.literal(columns)} FROM sessions WHERE id = ${id}`
  }),
  live: SqlSchema.findAll({
    Request: Schema.Number,
    Result: SessionRecord,
    execute: (nowMs) => sql`SELECT ${sql.literal(columns)} FROM sessions
      WHERE revoked_at IS NULL AND expires_at > ${nowMs} ORDER BY expires_at DESC, id LIMIT ${liveMax}`
  }),
  // Sliding expiry makes the smallest expires_at the family that was silent longest.
  beyondCap: SqlSchema.findAll({
    Request: Schema.Number,
    Result: Ids,
    execute: (nowMs) => sql`UPDATE sessions SET revoked_at = ${nowMs}, successor_sealed = NULL WHERE id IN (
      SELECT id FROM sessions WHERE revoked_at IS NULL AND expires_at > ${nowMs}
      ORDER BY expires_at DESC, created_at DESC, id LIMIT -1 OFFSET ${liveMax - 1}) RETURNING id`
  }),
  adminHash: SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ value: Schema.String }),
    execute: () => sql`SELECT value FROM settings WHERE name = 'admin_password_hash'`
  })
})

const makeRotate = (sql: SqlClient.SqlClient) => {
  const one = (rotation: Rotation, nowMs: number) =>
    SqlSchema.findOne({
      Request: Schema.Void,
      Result: SessionRecord,
      execute: () => sql`UPDATE sessions SET token_digest = ${rotation.to}, parent_digest = ${rotation.from},
        rotated_at = ${nowMs}, successor_sealed = ${rotation.sealed}, expires_at = ${rotation.expiresAt}
        WHERE id = ${rotation.id} AND token_digest = ${rotation.from} AND revoked_at IS NULL AND expires_at > ${nowMs}
        RETURNING ${sql.literal(columns)}`
    })(undefined)
  return (rotation: Rotation, nowMs: number) => stored(one(rotation, nowMs))
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const queries = makeQueries(sql)
  const purge = (nowMs: number) => sql`DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE expires_at <= ${nowMs} OR revoked_at IS NOT NULL LIMIT ${slice})`
  const revokeAll = (nowMs: number) =>
    sql`UPDATE sessions SET revoked_at = ${nowMs}, successor_sealed = NULL WHERE revoked_at IS NULL`

  return SessionStore.of({
    open: Effect.fnUntraced(
      function* (session: NewSession, nowMs: number) {
        yield* purge(nowMs)
        const displaced = yield* queries.beyondCap(nowMs)
        yield* sql`INSERT INTO sessions (id, token_digest, session_only, created_at, expires_at)
          VALUES (${session.id}, ${session.tokenDigest}, ${session.sessionOnly ? 1 : 0}, ${nowMs}, ${session.expiresAt})`
        return displaced.map(({ id }) => id)
      },
      (transaction) => stored(sql.withTransaction(transaction))
    ),
    find: (id) => stored(queries.find(id)),
    rotate: makeRotate(sql),
    revoke: (id, nowMs) =>
      stored(
        Effect.asVoid(
          sql`UPDATE sessions SET revoked_at = ${nowMs}, successor_sealed = NULL WHERE id = ${id} AND revoked_at IS NULL`
        )
      ),
    revokeAll: (nowMs) => stored(Effect.asVoid(revokeAll(nowMs))),
    live: (nowMs) => stored(queries.live(nowMs)),
    purge: (nowMs) => stored(Effect.asVoid(purge(nowMs))),
    adminHash: stored(
      Effect.map(
        queries.adminHash(undefined),
        Option.map(({ value }) => value)
      )
    ),
    replaceAdminHash: Effect.fnUntraced(
      function* (hash: string, nowMs: number) {
        yield* sql`INSERT INTO settings (name, value) VALUES ('admin_password_hash', ${hash})
          ON CONFLICT (name) DO UPDATE SET value = excluded.value`
        yield* revokeAll(nowMs)
      },
      (transaction) => stored(sql.withTransaction(transaction))
    )
  })
})

export const layer: Layer.Layer<SessionStore, never, SqlClient.SqlClient> = Layer.effect(SessionStore, make)
