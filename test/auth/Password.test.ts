// The admin password: how it comes to be, how it is replaced, and that a check cannot be flooded.
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, Option, Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SessionId } from "../../schema/Ids.ts"
import * as Password from "../../src/auth/Password.ts"
import { SessionStore } from "../../src/store/Sessions.ts"
import { dump, rightPassword, storeLayer, wrongPassword } from "./Support.ts"

const open = { admitted: Effect.void, judged: () => Effect.void }
const check = (text: string) =>
  Effect.flatMap(Password.Password, (password) => password.check(Redacted.make(text), open))

const start = (configured: string | undefined) =>
  Layer.fresh(Password.layer(Option.map(Option.fromNullable(configured), Redacted.make)))

/** One database under several starts of the service. */
const onOneDatabase = <A, E>(body: Effect.Effect<A, E, SessionStore | SqlClient.SqlClient>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "password-"))),
    (folder) => body.pipe(Effect.provide(storeLayer(join(folder, "test.db")))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

const openSession = Effect.flatMap(SessionStore, (store) =>
  store.open({ id: SessionId.make("one"), tokenDigest: "digest", sessionOnly: false, expiresAt: 1e15 }, 0)
)
const liveSessions = Effect.flatMap(SessionStore, (store) => Effect.map(store.live(0), (rows) => rows.length))

describe("Password", () => {
  it.effect("refuses everything but the password, without ever throwing", () =>
    Effect.gen(function* () {
      const wrong = [
        "",
        " ",
        wrongPassword,
        ` ${rightPassword}`,
        rightPassword.toUpperCase(),
        "\0",
        "x".repeat(1_000_000)
      ]

      for (const text of wrong) expect(yield* check(text)).toBe(false)
      expect(yield* check(rightPassword)).toBe(true)
    }).pipe(Effect.provide(start(rightPassword)), onOneDatabase)
  )

  it.effect("answers a flood with a typed refusal, and the flood hashes no more than its turn allows", () =>
    Effect.gen(function* () {
      let judged = 0
      const turn = { admitted: Effect.void, judged: () => Effect.sync(() => (judged += 1)) }
      const password = yield* Password.Password

      const results = yield* Effect.forEach(
        Array.from({ length: 200 }),
        () => Effect.either(password.check(Redacted.make(wrongPassword), turn)),
        { concurrency: 200 }
      )

      const refused = results.filter(Either.isLeft)
      expect(refused.length).toBe(200 - 34)
      for (const { left } of refused) expect(left._tag).toBe("RateLimited")
      expect(judged).toBe(34)
      expect(yield* check(rightPassword)).toBe(true)
    }).pipe(Effect.provide(start(rightPassword)), onOneDatabase)
  )

  it.effect("asks for admission when the turn comes, so that those who queued meet the count of those before", () =>
    Effect.gen(function* () {
      let failures = 0
      const admitted = Effect.suspend(() => (failures >= 5 ? Effect.fail("refused" as const) : Effect.void))
      const judged = () => Effect.sync(() => (failures += 1))
      const password = yield* Password.Password

      yield* Effect.forEach(
        Array.from({ length: 30 }),
        () => Effect.either(password.check(Redacted.make(wrongPassword), { admitted, judged })),
        { concurrency: 30 }
      )

      // Two are hashed at once, so the count can be passed by one.
      expect(failures).toBeGreaterThanOrEqual(5)
      expect(failures).toBeLessThanOrEqual(6)
    }).pipe(Effect.provide(start(rightPassword)), onOneDatabase)
  )

  it.effect("makes up a strong readable password when there is none, tells it once and keeps only its hash", () =>
    onOneDatabase(
      Effect.gen(function* () {
        const made = yield* Effect.provide(
          Effect.map(Password.Password, ({ generated }) => Redacted.value(Option.getOrThrow(generated))),
          start(undefined)
        )

        expect(made).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){5}$/)
        expect(yield* dump).not.toContain(made)
        expect(yield* dump).toContain("$argon2id$v=19$m=19456,t=2,p=1$")
        yield* Effect.gen(function* () {
          expect((yield* Password.Password).generated).toEqual(Option.none())
          expect(yield* check(made)).toBe(true)
        }).pipe(Effect.provide(start(undefined)))
      })
    )
  )

  it.effect("keeps sessions when the environment repeats the password", () =>
    onOneDatabase(
      Effect.gen(function* () {
        yield* Effect.provide(check(rightPassword), start(rightPassword))
        yield* openSession
        const before = yield* dump

        expect(yield* Effect.provide(check(rightPassword), start(rightPassword))).toBe(true)
        expect(yield* dump).toBe(before)
      })
    )
  )

  it.effect("replaces the hash and revokes every session when the environment brings another password", () =>
    onOneDatabase(
      Effect.gen(function* () {
        yield* Effect.provide(check(rightPassword), start(rightPassword))
        yield* openSession
        expect(yield* liveSessions).toBe(1)

        yield* Effect.gen(function* () {
          expect(yield* check(rightPassword)).toBe(false)
          expect(yield* check("another password")).toBe(true)
          expect((yield* Password.Password).generated).toEqual(Option.none())
        }).pipe(Effect.provide(start("another password")))
        expect(yield* liveSessions).toBe(0)
      })
    )
  )

  it.effect("stays closed when the stored hash is damaged, until the environment brings a password", () =>
    onOneDatabase(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO settings (name, value) VALUES ('admin_password_hash', 'damaged')`

        const failed = yield* Effect.flip(Effect.provide(check(rightPassword), start(undefined)))
        expect(failed._tag).toBe("AuthUnavailable")
        expect(yield* Effect.provide(check(rightPassword), start(rightPassword))).toBe(true)
      })
    )
  )
})
