// Rows of sessions: consuming a token once, caps, purging, and what storage faults look like.
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Option } from "effect"
import { SessionId } from "../../schema/Ids.ts"
import { liveMax, SessionStore } from "../../src/store/Sessions.ts"
import { broken, storeLayer } from "../auth/Support.ts"

const day = 86_400_000
const nowMs = 1_900_000_000_000
const family = (name: string) => ({
  id: SessionId.make(name),
  tokenDigest: `${name}-0`,
  sessionOnly: false,
  expiresAt: nowMs + 14 * day
})
const rotation = (name: string, from: number) => ({
  id: SessionId.make(name),
  from: `${name}-${from}`,
  to: `${name}-${from + 1}`,
  sealed: `sealed-${from + 1}`,
  expiresAt: nowMs + 15 * day
})
const count = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM sessions`).pipe(
  Effect.map((rows) => rows.length)
)

describe("SessionStore", () => {
  it.effect("turns every storage fault into StorageUnavailable that names no row", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make((entry) => void logged.push(JSON.stringify([entry.message, ...entry.annotations])))
      const store = yield* SessionStore
      yield* broken
      const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.open(family("secret"), nowMs),
        store.find(SessionId.make("secret")),
        store.rotate(rotation("secret", 0), nowMs),
        store.revoke(SessionId.make("secret"), nowMs),
        store.revokeAll(nowMs),
        store.live(nowMs),
        store.purge(nowMs),
        store.replaceAdminHash("secret", nowMs)
      ]

      for (const call of calls) {
        const failed = yield* Effect.flip(call).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        expect(failed).toMatchObject({ _tag: "StorageUnavailable", message: "the session store cannot be reached" })
      }
      expect(logged.length).toBe(calls.length)
      expect(logged.join()).not.toContain("secret")
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("reports a row of another shape without quoting it", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make((entry) => void logged.push(JSON.stringify([entry.message, ...entry.annotations])))
      const store = yield* SessionStore
      const sql = yield* SqlClient.SqlClient
      yield* store.open(family("a"), nowMs)
      yield* sql`UPDATE sessions SET expires_at = 'not a number', token_digest = 'secret'`

      const failed = yield* Effect.flip(store.find(SessionId.make("a"))).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )

      expect(failed._tag).toBe("StorageUnavailable")
      expect(logged.join()).toContain("not of the expected shape")
      expect(logged.join()).not.toContain("secret")
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("consumes a token exactly once, however many ask", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      yield* store.open(family("a"), nowMs)

      const results = yield* Effect.forEach(
        Array.from({ length: 50 }),
        (_, i) => store.rotate({ ...rotation("a", 0), to: `winner-${i}` }, nowMs + 1),
        { concurrency: 50 }
      )

      const won = results.filter(Option.isSome)
      expect(won.length).toBe(1)
      const row = Option.getOrThrow(yield* store.find(SessionId.make("a")))
      expect(row).toEqual(won[0]?.value)
      expect(row).toMatchObject({ parentDigest: "a-0", rotatedAt: nowMs + 1, successorSealed: "sealed-1" })
      expect(row.expiresAt).toBe(nowMs + 15 * day)
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("rotates neither a revoked nor an expired family nor a foreign token", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      for (const name of ["a", "b", "c"]) yield* store.open(family(name), nowMs)
      yield* store.revoke(SessionId.make("a"), nowMs)

      expect(yield* store.rotate(rotation("a", 0), nowMs)).toEqual(Option.none())
      expect(yield* store.rotate(rotation("b", 0), nowMs + 14 * day)).toEqual(Option.none())
      expect(yield* store.rotate({ ...rotation("c", 0), from: "b-0" }, nowMs)).toEqual(Option.none())
      expect((yield* store.live(nowMs)).map(({ id }) => id)).toEqual(["b", "c"])
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("revokes the longest unused family when one more than the cap logs in", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      const displaced: Array<string> = []
      for (let i = 0; i <= liveMax; i++) {
        displaced.push(...(yield* store.open({ ...family(`s${i}`), expiresAt: nowMs + 14 * day + i }, nowMs + i)))
        // The first stays in use, so the second is the one that was silent longest.
        if (i === 500) yield* store.rotate(rotation("s0", 0), nowMs + i)
      }

      expect(displaced).toEqual(["s1"])
      expect((yield* store.live(nowMs)).length).toBe(liveMax)
      expect(Option.getOrThrow(yield* store.find(SessionId.make("s0"))).revokedAt).toBeNull()
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("forgets dead rows in slices, and on every login", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(
        Effect.forEach(
          Array.from({ length: 450 }),
          (_, i) =>
            sql`INSERT INTO sessions (id, token_digest, session_only, created_at, expires_at)
            VALUES (${`old${i}`}, ${`old${i}`}, 0, 0, ${nowMs})`
        )
      )

      yield* store.purge(nowMs)
      expect(yield* count).toBe(250)
      yield* store.open(family("a"), nowMs)
      expect(yield* count).toBe(51)
      yield* store.revoke(SessionId.make("a"), nowMs)
      yield* store.purge(nowMs)
      expect(yield* count).toBe(0)
    }).pipe(Effect.provide(storeLayer()))
  )

  it.effect("replaces the admin hash and revokes everything together", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      yield* store.open(family("a"), nowMs)

      expect(yield* store.adminHash).toEqual(Option.none())
      yield* store.replaceAdminHash("one", nowMs)
      expect(yield* store.live(nowMs)).toEqual([])
      yield* store.replaceAdminHash("two", nowMs)
      expect(yield* store.adminHash).toEqual(Option.some("two"))
    }).pipe(Effect.provide(storeLayer()))
  )
})
