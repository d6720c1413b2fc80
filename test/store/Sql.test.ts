// The one connection: its promises to the disk, its turns, and what is left of both after a fault.
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { Database, layer as sqlLayer } from "../../src/store/Sql.ts"
import { onDisk } from "../support/Engine.ts"
import { quiet } from "./Support.ts"

const pragmas = Effect.map(Database, (database) => {
  const read = (name: string) => database.handle().pragma(name, { simple: true })
  return {
    journalMode: read("journal_mode"),
    synchronous: read("synchronous"),
    foreignKeys: read("foreign_keys"),
    busyTimeoutMs: read("busy_timeout"),
    logBytesMax: read("journal_size_limit")
  }
})
const promised = { journalMode: "wal", synchronous: 2, foreignKeys: 1, busyTimeoutMs: 2000, logBytesMax: 67_108_864 }

const withFile = <A, E>(body: (file: string) => Effect.Effect<A, E, SqlClient.SqlClient | Database>) =>
  onDisk((file) => Effect.provide(body(file), [sqlLayer(file), quiet]))

const made = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE things (name TEXT)`)
const put = (name: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql`INSERT INTO things VALUES (${name})`)
const names = Effect.map(
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT name FROM things ORDER BY rowid`.values),
  (rows) => rows.flat()
)
const transaction = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(body))
const busy = Effect.map(Database, (database) => database.busy())

describe("opening", { timeout: 30_000 }, () => {
  it.effect("refuses a file that is no database, in a sentence, and leaves it as it is", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const text = "a letter to the administrator ".repeat(200)
        writeFileSync(file, text)
        const failure = yield* Effect.flip(Effect.provide(pragmas, sqlLayer(file)))

        expect(failure._tag).toBe("StorageUnavailable")
        expect(failure.message).toContain("file is not a database")
        expect(readFileSync(file, "utf8")).toBe(text)
      })
    )
  )

  it.effect("refuses a folder that is not there", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(Effect.provide(pragmas, sqlLayer(`${file}/deeper.db`)))).toMatchObject({
          _tag: "StorageUnavailable"
        })
      })
    )
  )

  it.effect("Invariant 1: an acknowledged report is on disk: commits are synced, by a write-ahead log and FULL", () =>
    withFile(() =>
      Effect.gen(function* () {
        expect(yield* pragmas).toEqual(promised)
      })
    )
  )

  it.effect("closes the handle with its scope", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(sqlLayer(file), scope)
        const handle = yield* Effect.map(Database, (database) => database.handle()).pipe(Effect.provide(context))
        expect(handle.open).toBe(true)
        yield* Scope.close(scope, Exit.void)

        expect(handle.open).toBe(false)
      })
    )
  )
})

describe("opening again", { timeout: 30_000 }, () => {
  it.effect("keeps every promise, and every store goes on with the new handle", () =>
    withFile(() =>
      Effect.gen(function* () {
        const database = yield* Database
        const before = database.handle()
        yield* made
        yield* put("before")
        database.reopen()

        expect(before.open).toBe(false)
        expect(yield* pragmas).toEqual(promised)
        yield* put("after")
        expect(yield* names).toEqual(["before", "after"])
      })
    )
  )

  it.effect("may fail and be tried until it does not", () =>
    withFile((file) =>
      Effect.gen(function* () {
        const database = yield* Database
        yield* made
        yield* put("kept")
        database.handle().pragma("wal_checkpoint(TRUNCATE)")
        const bytes = readFileSync(file)
        writeFileSync(file, "not now")
        expect(() => database.reopen()).toThrow("file is not a database")
        expect(() => database.reopen()).toThrow("file is not a database")
        expect((yield* Effect.exit(names))._tag).toBe("Failure")
        writeFileSync(file, bytes)
        database.reopen()

        expect(yield* names).toEqual(["kept"])
      })
    )
  )

  it.effect("does nothing to a database in memory, which would be gone", () =>
    Effect.gen(function* () {
      const database = yield* Database
      yield* made
      yield* put("kept")
      database.reopen()

      expect(yield* names).toEqual(["kept"])
    }).pipe(Effect.provide([sqlLayer(":memory:"), quiet]))
  )
})

describe("transactions", { timeout: 30_000 }, () => {
  it.effect("take everything back when they fail, and are no longer open", () =>
    withFile(() =>
      Effect.gen(function* () {
        yield* made
        const result = yield* Effect.exit(
          transaction(
            Effect.gen(function* () {
              yield* put("half")
              expect(yield* busy).toBe(true)
              return yield* Effect.fail("no")
            })
          )
        )

        expect(result).toEqual(Exit.fail("no"))
        expect([yield* busy, yield* names]).toEqual([false, []])
      })
    )
  )

  it.effect("meet a full disk as a failure, take everything back, and work when there is space again", () =>
    withFile(() =>
      Effect.gen(function* () {
        const { handle } = yield* Database
        yield* made
        yield* put("kept")
        handle().pragma(`max_page_count = ${handle().pragma("page_count", { simple: true })}`)
        const filling = transaction(
          Effect.forEach(Array.from({ length: 100 }), () => put("x".repeat(1000)), { discard: true })
        )
        const failure = yield* Effect.flip(filling)

        expect(failure.cause).toMatchObject({ code: "SQLITE_FULL" })
        expect([yield* busy, yield* names]).toEqual([false, ["kept"]])
        handle().pragma("max_page_count = 100000")
        yield* filling
        expect((yield* names).length).toBe(101)
        expect(handle().pragma("integrity_check", { simple: true })).toBe("ok")
      })
    )
  )

  it.effect("that cannot commit are a failure like any other, and none is left open for the journal to wait for", () =>
    withFile(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE owners (id INTEGER PRIMARY KEY)`
        yield* sql`CREATE TABLE owned (owner INTEGER REFERENCES owners (id) DEFERRABLE INITIALLY DEFERRED)`
        const failure = yield* Effect.flip(transaction(sql`INSERT INTO owned VALUES (7)`))

        expect(failure).toMatchObject({ _tag: "SqlError", cause: { code: "SQLITE_CONSTRAINT_FOREIGNKEY" } })
        expect(yield* busy).toBe(false)
        yield* made
        yield* transaction(put("next"))
        expect(yield* names).toEqual(["next"])
        expect(yield* sql`SELECT * FROM owned`).toEqual([])
      })
    )
  )

  it.effect("inside a transaction can be taken back alone", () =>
    withFile(() =>
      Effect.gen(function* () {
        yield* made
        yield* transaction(
          Effect.gen(function* () {
            yield* put("outer")
            yield* Effect.ignore(transaction(Effect.andThen(put("inner"), Effect.fail("no"))))
            yield* put("last")
          })
        )

        expect(yield* names).toEqual(["outer", "last"])
      })
    )
  )

  it.effect("have the connection to themselves, also against single statements", () =>
    withFile(() =>
      Effect.gen(function* () {
        yield* made
        const gate = yield* Deferred.make<void>()
        const long = yield* Effect.fork(
          transaction(put("1").pipe(Effect.andThen(Deferred.await(gate)), Effect.andThen(put("2"))))
        )
        yield* Effect.yieldNow()
        const others = yield* Effect.fork(
          Effect.all([transaction(Effect.andThen(put("3"), put("4"))), put("5")], { concurrency: 2 })
        )
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        expect(yield* busy).toBe(true)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(long)
        yield* Fiber.join(others)

        expect(yield* names).toEqual(["1", "2", "3", "4", "5"])
        expect(yield* busy).toBe(false)
      })
    )
  )

  it.effect("interrupted in the middle or while they wait leave the connection to the next", () =>
    withFile(() =>
      Effect.gen(function* () {
        yield* made
        const stuck = yield* Effect.fork(transaction(Effect.andThen(put("half"), Effect.never)))
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        const waiting = yield* Effect.fork(transaction(put("never")))
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        yield* Fiber.interruptFork(waiting)
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        yield* Fiber.interrupt(stuck)
        expect(Exit.isInterrupted(yield* Fiber.await(waiting))).toBe(true)
        yield* transaction(put("next"))

        expect([yield* busy, yield* names]).toEqual([false, ["next"]])
      })
    )
  )
})

describe("statements", { timeout: 30_000 }, () => {
  it.effect("work in any number, more than are kept prepared", () =>
    withFile(() =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (let i = 0; i < 450; i++) expect(yield* sql.unsafe(`SELECT ${i} AS n`)).toEqual([{ n: i }])
        expect(yield* sql.unsafe("SELECT 7 AS n")).toEqual([{ n: 7 }])
      })
    )
  )
})
