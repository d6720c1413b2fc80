// Login, rotation, reuse and revocation on a real database and a clock that the test moves.
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Either, Exit, Fiber, Layer, Logger, LogLevel, Redacted, Runtime, TestClock } from "effect"
import fc from "fast-check"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SessionId } from "../../schema/Ids.ts"
import { type Granted, layer as SessionsLayer, Sessions } from "../../runtime/Sessions.ts"
import { SessionStore } from "../../src/store/Sessions.ts"
import { authLayer, broken, dump, mended, rightPassword, wrongPassword } from "../auth/Support.ts"

const address = "192.0.2.1"
const login = (text = rightPassword, from = address) =>
  Effect.flatMap(Sessions, (sessions) =>
    sessions.login({ password: Redacted.make(text), sessionOnly: false, address: from })
  )
const refresh = (token: Redacted.Redacted) => Effect.flatMap(Sessions, (sessions) => sessions.refresh(token))
const isLive = (granted: Granted) =>
  Effect.map(Sessions, (sessions) => sessions.verify(granted.access.token) !== undefined)
const rows = Effect.flatMap(Sessions, (sessions) => sessions.list)

/** Collects what is logged while `body` runs. */
const logged = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    const logger = Logger.make(
      (entry) => void lines.push(JSON.stringify([entry.logLevel.label, entry.message, ...entry.annotations]))
    )
    return Effect.map(Effect.provide(body, Logger.replace(Logger.defaultLogger, logger)), (result) => ({
      result,
      lines
    }))
  })

/** For tests that hash many passwords, on a machine that may be busy. */
const slowMs = 30_000

const quiet = Logger.minimumLogLevel(LogLevel.None)

const onDisk = <A, E>(body: (file: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sessions-"))),
    (folder) => body(join(folder, "test.db")),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

/** A store that dawdles between the rotation on disk and its answer. */
const slowRotation = Layer.fresh(SessionsLayer).pipe(
  Layer.provide(
    Layer.effect(
      SessionStore,
      Effect.map(SessionStore, (store) => ({
        ...store,
        rotate: (...args: Parameters<typeof store.rotate>) =>
          Effect.zipLeft(store.rotate(...args), Effect.repeatN(Effect.yieldNow(), 100))
      }))
    )
  ),
  Layer.provideMerge(authLayer())
)

describe("login", () => {
  it.effect("refuses the attempt after five failures of a network, the right password included, and only there", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 5; i++) expect((yield* Effect.flip(login(wrongPassword)))._tag).toBe("Unauthorized")

      const refused = yield* Effect.flip(login(rightPassword, "192.0.2.99"))
      expect(refused).toMatchObject({ _tag: "LoginRefused", limit: 5, remaining: 0 })
      expect(yield* isLive(yield* login(rightPassword, "198.51.100.1"))).toBe(true)

      yield* TestClock.adjust("2 minutes")
      expect(yield* isLive(yield* login())).toBe(true)
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect(
    "judges at most one attempt more than the quota when a thousand come at once",
    () =>
      Effect.gen(function* () {
        const attempts = Array.from({ length: 1000 })
        const { result, lines } = yield* logged(
          Effect.forEach(attempts, () => Effect.flip(login(wrongPassword)), { concurrency: 1000 })
        )

        const judged = result.filter(({ _tag }) => _tag === "Unauthorized").length
        expect(judged).toBeGreaterThanOrEqual(5)
        expect(judged).toBeLessThanOrEqual(6)
        expect(result.length - judged).toBe(result.filter(({ _tag }) => _tag === "LoginRefused").length)
        expect(lines.filter((line) => line.includes("a login failed")).length).toBe(judged)
        expect(lines.join()).not.toContain(wrongPassword)
      }).pipe(Effect.provide(authLayer())),
    slowMs
  )

  it.effect(
    "does not count what succeeds",
    () =>
      Effect.gen(function* () {
        for (let i = 0; i < 20; i++) yield* login()

        expect((yield* rows).length).toBe(20)
      }).pipe(Effect.provide(authLayer())),
    slowMs
  )
})

describe("refresh", () => {
  it.effect("gives fifty parallel callers one and the same successor, and the family lives on", () =>
    Effect.gen(function* () {
      const first = yield* login()

      const { result, lines } = yield* logged(
        Effect.forEach(Array.from({ length: 50 }), () => refresh(first.refresh.token), { concurrency: 50 })
      )

      expect(new Set(result.map((granted) => Redacted.value(granted.refresh.token))).size).toBe(1)
      expect(new Set(result.map((granted) => granted.access.token)).size).toBe(50)
      for (const granted of [first, ...result]) expect(yield* isLive(granted)).toBe(true)
      expect(lines).toEqual([])
      expect((yield* rows).map(({ id }) => id)).toEqual([first.sessionId])
      expect((yield* refresh(result[0]?.refresh.token ?? first.refresh.token)).sessionId).toBe(first.sessionId)
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("revokes the family at once when a consumed token is shown after its grace, and says so in the log", () =>
    Effect.gen(function* () {
      const [first, bystander] = [yield* login(), yield* login()]
      const second = yield* refresh(first.refresh.token)
      yield* TestClock.adjust(Duration.millis(10_001))

      const { result, lines } = yield* logged(Effect.flip(refresh(first.refresh.token)))

      expect(result._tag).toBe("Unauthorized")
      for (const granted of [first, second]) expect(yield* isLive(granted)).toBe(false)
      expect((yield* Effect.flip(refresh(second.refresh.token)))._tag).toBe("Unauthorized")
      expect((yield* rows).map(({ id }) => id)).toEqual([bystander.sessionId])
      expect(yield* isLive(bystander)).toBe(true)
      expect(lines.length).toBe(1)
      expect(lines[0]).toContain("WARN")
      for (const { access, refresh } of [first, second]) {
        expect(lines[0]).not.toContain(Redacted.value(refresh.token))
        expect(lines[0]).not.toContain(access.token)
      }
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect(
    "behaves like a list of tokens, whatever is shown and whenever",
    () =>
      Effect.gen(function* () {
        const runtime = yield* Effect.runtime<Sessions>()
        const step = fc.record({
          back: fc.integer({ min: 0, max: 3 }),
          waitMs: fc.constantFrom(0, 4_000, 9_999, 10_001)
        })
        const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) =>
          Runtime.runPromise(runtime)(followsModel(steps))
        )
        yield* Effect.promise(() => fc.assert(property, { numRuns: 60 }))
      }).pipe(Effect.provide([authLayer(), quiet])),
    slowMs
  )

  it.effect("slides by fourteen days and ends with them", () =>
    Effect.gen(function* () {
      const first = yield* login()
      yield* TestClock.adjust("13 days")
      const second = yield* refresh(first.refresh.token)
      yield* TestClock.adjust(Duration.subtract("14 days", "1 millis"))
      const third = yield* refresh(second.refresh.token)
      yield* TestClock.adjust("14 days")

      expect((yield* Effect.flip(refresh(third.refresh.token)))._tag).toBe("Unauthorized")
      expect(yield* rows).toEqual([])
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("refuses what this installation never made, without touching any family", () =>
    Effect.gen(function* () {
      const { refresh: own } = yield* login()
      const text = Redacted.value(own.token)

      for (const forged of ["", "x", "A".repeat(86), text.slice(0, -1), `${text.slice(0, 40)}AAAA${text.slice(44)}`]) {
        expect((yield* Effect.flip(refresh(Redacted.make(forged))))._tag).toBe("Unauthorized")
      }
      expect((yield* rows).length).toBe(1)
    }).pipe(Effect.provide(authLayer()))
  )
})

type Step = { readonly back: number; readonly waitMs: number }

/** Shows the token `back` generations old and compares with what decision 36 says. */
const followsModel = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const start = yield* login()
    const texts = [Redacted.value(start.refresh.token)]
    let sinceRotationMs = Infinity
    let alive = true
    for (const { back, waitMs } of steps) {
      yield* TestClock.adjust(waitMs)
      sinceRotationMs += waitMs
      const index = Math.max(0, texts.length - 1 - back)
      const age = texts.length - 1 - index
      const result = yield* Effect.either(sessions.refresh(Redacted.make(texts[index] ?? "")))

      const given = Either.isRight(result) ? Redacted.value(result.right.refresh.token) : undefined
      if (alive && age === 0) {
        expect(texts).not.toContain(given)
        texts.push(given ?? "")
        sinceRotationMs = 0
      } else if (alive && age === 1 && sinceRotationMs <= 10_000) {
        expect(given).toBe(texts.at(-1))
      } else {
        expect(given).toBeUndefined()
        alive = false
      }
      expect((yield* sessions.list).some(({ id }) => id === start.sessionId)).toBe(alive)
    }
    yield* sessions.revokeAll
  })

describe("revocation", () => {
  it.effect("takes effect on the next look, for one session and for all", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const granted = [yield* login(), yield* login(), yield* login()] as const

      yield* sessions.revoke(granted[0].sessionId)
      expect(yield* Effect.forEach(granted, isLive)).toEqual([false, true, true])
      yield* sessions.logout(granted[1].refresh.token)
      expect(yield* Effect.forEach(granted, isLive)).toEqual([false, false, true])
      yield* sessions.revokeAll
      expect(yield* Effect.forEach(granted, isLive)).toEqual([false, false, false])

      for (const { refresh: own } of granted) {
        expect((yield* Effect.flip(refresh(own.token)))._tag).toBe("Unauthorized")
      }
      yield* sessions.revoke(SessionId.make("never made"))
      yield* sessions.logout(Redacted.make("never made"))
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("by logout works with a token that was rotated long ago", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const first = yield* login()
      const second = yield* refresh(first.refresh.token)
      const third = yield* refresh(second.refresh.token)

      yield* sessions.logout(first.refresh.token)

      expect(yield* isLive(third)).toBe(false)
      expect(yield* rows).toEqual([])
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("wins over a refresh that already has its new row but no access token yet", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const first = yield* login()

      const refreshing = yield* Effect.fork(Effect.either(refresh(first.refresh.token)))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      yield* sessions.revoke(first.sessionId)

      const granted = Either.getOrThrow(yield* Fiber.join(refreshing))
      expect(yield* isLive(granted)).toBe(false)
      expect((yield* Effect.flip(refresh(granted.refresh.token)))._tag).toBe("Unauthorized")
    }).pipe(Effect.provide(slowRotation))
  )

  it.effect("meets the session that was silent longest when there is one too many", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* login()
      yield* sql.withTransaction(
        Effect.forEach(
          Array.from({ length: 999 }),
          (_, i) => sql`INSERT INTO sessions (id, token_digest, session_only, created_at, expires_at)
            VALUES (${`s${i}`}, ${`s${i}`}, 0, 1, 1e15)`
        )
      )

      const last = yield* login()

      expect([yield* isLive(first), yield* isLive(last)]).toEqual([false, true])
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("leaves access tokens their quarter of an hour otherwise, also after a refresh", () =>
    Effect.gen(function* () {
      const first = yield* login()
      yield* TestClock.adjust("10 minutes")
      const second = yield* refresh(first.refresh.token)

      yield* TestClock.adjust(Duration.subtract("5 minutes", "1 millis"))
      expect(yield* isLive(first)).toBe(true)
      yield* TestClock.adjust("1 millis")
      expect(yield* isLive(first)).toBe(false)
      expect(yield* isLive(second)).toBe(true)
    }).pipe(Effect.provide(authLayer()))
  )
})

describe("storage", () => {
  it.effect("that fails makes AuthUnavailable of everything, never a refusal, and nothing is lost by it", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const first = yield* login()
      yield* broken
      const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        Effect.provideService(login(), Sessions, sessions),
        sessions.refresh(first.refresh.token),
        sessions.logout(first.refresh.token),
        sessions.list,
        sessions.revokeAll,
        sessions.purge
      ]

      for (const call of calls) expect((yield* Effect.flip(call))._tag).toBe("AuthUnavailable")
      yield* mended
      expect((yield* refresh(first.refresh.token)).sessionId).toBe(first.sessionId)
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("holds no token and no password in a usable form", () =>
    Effect.gen(function* () {
      const first = yield* login()
      const second = yield* refresh(first.refresh.token)
      const text = yield* dump

      for (const { access, refresh: own } of [first, second]) {
        expect(text).not.toContain(access.token)
        expect(text).not.toContain(Redacted.value(own.token))
        // Nor the random part of it, wherever it may have been cut out.
        expect(text).not.toContain(Redacted.value(own.token).slice(24, 60))
      }
      expect(text).not.toContain(rightPassword)
    }).pipe(Effect.provide(authLayer()))
  )

  it.effect("keeps refresh tokens over a restart, the grace of a parent included, and no access token", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const first = yield* Effect.provide(login(), authLayer(file))
        const second = yield* Effect.provide(refresh(first.refresh.token), authLayer(file))

        yield* Effect.gen(function* () {
          expect(yield* isLive(second)).toBe(false)
          const again = yield* refresh(first.refresh.token)
          expect(Redacted.value(again.refresh.token)).toBe(Redacted.value(second.refresh.token))
          expect(yield* isLive(yield* refresh(second.refresh.token))).toBe(true)
        }).pipe(Effect.provide(authLayer(file)))
      })
    )
  )

  it.effect("loses every session when the environment brings another password", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const first = yield* Effect.provide(login(), authLayer(file))
        const result = yield* Effect.exit(
          Effect.provide(refresh(first.refresh.token), authLayer(file, "another password"))
        )

        expect(Exit.isFailure(result)).toBe(true)
        expect(yield* Effect.provide(rows, authLayer(file, "another password"))).toEqual([])
      })
    )
  )
})
