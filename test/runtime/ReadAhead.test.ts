// Threads that read before others do: what they tell when they can, when they cannot, and that they leave nothing behind.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as CommitPages from "../../runtime/CommitPages.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { type Ahead, layerWith, nothingAhead, ReadAhead } from "../../runtime/ReadAhead.ts"
import type { Look } from "../../src/store/ReadAhead.ts"
import { Database, layer as sqlLayer } from "../../src/store/Sql.ts"
import { epoch, onDisk, until } from "../support/Engine.ts"
import { elapse, inHistory } from "../support/History.ts"
import { libraryWith, realLibrary } from "../support/ThreadLibrary.ts"

interface Room {
  readonly file: string
  /** Statements that the threads have prepared so far. */
  readonly read: () => ReadonlyArray<string>
}

/** Runs the body beside threads on a database file with one table. */
const inRoom = <A, E>(
  body: (room: Room) => Effect.Effect<A, E, ReadAhead | Database | FiberRegister>,
  { library, prepare = "" }: { readonly library?: string; readonly prepare?: string } = {}
) =>
  onDisk((file) => {
    const log = join(dirname(file), "read")
    const read = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [])
    return Effect.gen(function* () {
      const { handle } = yield* Database
      handle().exec("CREATE TABLE things (body BLOB)")
      handle().exec("INSERT INTO things VALUES (zeroblob(100000))")
      return yield* body({ file, read })
    }).pipe(
      Effect.provide(
        layerWith(library ?? libraryWith(dirname(file), prepare)).pipe(
          Layer.provideMerge(Layer.merge(FiberRegister.layer, sqlLayer(file)))
        )
      )
    )
  })

const things: Look = { sql: "SELECT count(substr(body, -1)) FROM things", values: [] }
const nothing: Look = { sql: "SELECT count(*) FROM nowhere", values: [] }
const marked = (mark: string): Look => ({ sql: `SELECT '${mark}'`, values: [] })

const status = Effect.map(FiberRegister, (register) => {
  const find = () => register.list().find(({ name }) => name === "ReadAhead")
  return find() as NonNullable<ReturnType<typeof find>>
})

/** How long it took. */
const timed = (ahead: Ahead, looks: ReadonlyArray<Look>) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    yield* ahead.bring(looks)
    return performance.now() - startedAt
  })

describe("reading ahead", { timeout: 30_000 }, () => {
  it.live("is told of once everything that was asked for was read", () =>
    inRoom(({ read }) =>
      Effect.gen(function* () {
        const { bring, figures } = yield* ReadAhead
        yield* bring([things, marked("more"), { freePages: 8 }, { logBytes: 1_000_000 }])
        expect(read()).toEqual([things.sql, "SELECT 'more'"])
        yield* bring([])
        expect(figures).toEqual({ brought: 1, passed: 0 })
      })
    )
  )

  it.live("waits for a disk that hardly answers for so long and no longer", () =>
    inRoom(
      () =>
        Effect.gen(function* () {
          const ahead = yield* ReadAhead
          const took = yield* timed(ahead, [marked("slow")])
          expect(took).toBeGreaterThan(4900)
          expect(took).toBeLessThan(6400)
          expect(ahead.figures).toEqual({ brought: 0, passed: 1 })
        }),
      { prepare: `if (sql.includes("slow")) sleep(6500)` }
    )
  )

  it.live("lets go on at once who comes when the thread has as much as it takes", () =>
    inRoom(
      () =>
        Effect.gen(function* () {
          const ahead = yield* ReadAhead
          const register = yield* FiberRegister
          const slow = Effect.forEach(Array.from({ length: 64 }), () => ahead.bring([marked("slow")]), {
            concurrency: "unbounded"
          })
          const waiting = yield* Effect.fork(slow)
          yield* until("their questions", () => register.list().some(({ depth }) => depth === 64))
          expect(yield* timed(ahead, [things])).toBeLessThan(100)
          expect(ahead.figures).toEqual({ brought: 0, passed: 1 })
          yield* Fiber.join(waiting)
          expect([ahead.figures.brought, (yield* status).depth]).toEqual([64, 0])
        }),
      { prepare: `if (sql.includes("slow")) sleep(700)` }
    )
  )

  it.live("goes on after what SQLite refuses, and says what it was", () =>
    inRoom(() =>
      Effect.gen(function* () {
        const { bring, figures } = yield* ReadAhead
        yield* bring([nothing])
        expect(yield* status).toMatchObject({ last_error: expect.stringMatching("no such table: nowhere") })
        yield* bring([things])
        expect(figures).toEqual({ brought: 1, passed: 1 })
      })
    )
  )

  it.live("starts another thread for one that ended, and does without after the third", () =>
    inRoom(
      ({ read }) =>
        Effect.gen(function* () {
          const { bring, figures } = yield* ReadAhead
          yield* bring([marked("end")])
          yield* bring([things])
          expect([read(), figures]).toEqual([[things.sql], { brought: 1, passed: 1 }])
          expect(yield* status).toMatchObject({ last_error: expect.stringMatching("reads ahead ended") })
          for (let i = 0; i < 3; i++) yield* bring([marked("end")])
          yield* bring([things])
          expect([read(), figures]).toEqual([[things.sql], { brought: 1, passed: 5 }])
        }),
      { prepare: `if (sql.includes("end")) process.exit(3)` }
    )
  )

  it.live("that can never begin holds up nobody", () =>
    inRoom(
      () =>
        Effect.gen(function* () {
          const ahead = yield* ReadAhead
          for (let i = 0; i < 5; i++) expect(yield* timed(ahead, [things])).toBeLessThan(3000)
          expect(ahead.figures).toEqual({ brought: 0, passed: 5 })
        }),
      { library: "/nowhere/at-all.cjs" }
    )
  )

  it.live("takes none of the service's locks away: another program that comes and goes leaves the log alone", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        yield* inFile(
          file,
          Effect.gen(function* () {
            const { handle } = yield* Database
            const { bring } = yield* ReadAhead
            handle().exec("CREATE TABLE things (body BLOB)")
            yield* bring([{ freePages: 8 }, { logBytes: 1_000_000 }, things])
            handle().exec("INSERT INTO things VALUES (1)")
            const visit = `const db = require(${JSON.stringify(realLibrary)})(${JSON.stringify(file)}); db.prepare("SELECT * FROM things").all(); db.close()`
            execFileSync(process.execPath, ["-e", visit])
            expect(existsSync(`${file}-wal`)).toBe(true)
          })
        )
        // The service's own connection was the last one.
        expect(existsSync(`${file}-wal`)).toBe(false)
      })
    )
  )

  it.live("has nothing to do for a database in memory", () =>
    inFile(
      ":memory:",
      Effect.gen(function* () {
        const { bring, figures } = yield* ReadAhead
        yield* bring([nothing])
        expect(figures).toEqual({ brought: 0, passed: 0 })
      })
    )
  )
})

const inFile = <A, E>(file: string, body: Effect.Effect<A, E, ReadAhead | Database>) =>
  Effect.provide(
    body,
    layerWith(realLibrary).pipe(Layer.provideMerge(Layer.merge(FiberRegister.layer, sqlLayer(file))))
  )

/** Writes down what is asked of it, and brings nothing. */
const recording = () => {
  const asked: Array<ReadonlyArray<Look>> = []
  const service = ReadAhead.of({
    ...nothingAhead,
    bring: (looks) => Effect.sync(() => void asked.push(looks)),
    figures: { brought: 0, passed: 0 }
  })
  const texts = () => asked.flat().map((look) => ("sql" in look ? look.sql : JSON.stringify(look)))
  return { texts, layer: Layer.succeed(ReadAhead, service) }
}

describe("what commits write over", { timeout: 30_000 }, () => {
  it.live(
    "is looked at every ten seconds, the log every second, and the ends of the ledger before a bucket of it ends",
    () =>
      Effect.gen(function* () {
        const { layer, texts } = recording()
        const about = (what: string) => texts().filter((text) => text.includes(what)).length
        yield* inHistory(
          Effect.gen(function* () {
            yield* elapse(1000)
            const kinds = ["freePages", "checkpoints", "history_marks"]
            expect(kinds.map(about)).toEqual([1, 1, 1])
            const logs = about("logBytes")
            yield* elapse(8000, 1000)
            expect([...kinds.map(about), about("logBytes") - logs]).toEqual([1, 1, 1, 8])
            expect([epoch % 300_000, about("traffic_facts")]).toEqual([0, 0])
            yield* elapse(250_000, 1000)
            expect(about("traffic_facts")).toBe(0)
            yield* elapse(60_000, 1000)
            expect(about("traffic_facts")).toBe(2)
            expect(about("checkpoints")).toBeGreaterThan(30)
          }).pipe(Effect.provide(CommitPages.layer.pipe(Layer.provide(layer))))
        )
      })
  )
})
