// The log of a real database file, copied by a thread: what happens to it when that fails, beside readers, and under load.
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { type Context, Effect, Layer, Logger, LogLevel, TestClock } from "effect"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import * as Checkpointer from "../../runtime/Checkpointer.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { pause } from "../../runtime/Pause.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Database, layer as sqlLayer } from "../../src/store/Sql.ts"
import { type Disk, full, journalOn, makeDisk } from "../support/Disk.ts"
import { onDisk, pass, turns, until } from "../support/Engine.ts"

const realLibrary = createRequire(import.meta.url).resolve("better-sqlite3")

type Service = Context.Tag.Service<typeof Database>

/** Frames of the log, and how many of them are in the database. */
const logOf = (database: Service) => {
  const [found] = database.handle().pragma("wal_checkpoint(NOOP)") as [{ log: number; checkpointed: number }]
  return { frames: found.log, copied: found.checkpointed }
}
const autocheckpointOf = (database: Service) => database.handle().pragma("wal_autocheckpoint", { simple: true })

/** One commit of so many pages, as soon as the database is free: what the journal does. */
const commit = (database: Service, pages: number) =>
  Effect.gen(function* () {
    while (database.busy()) yield* pause
    const db = database.handle()
    db.exec("CREATE TABLE IF NOT EXISTS things (page BLOB)")
    const put = db.prepare("INSERT INTO things VALUES (zeroblob(3900))")
    db.transaction(() => {
      for (let i = 0; i < pages; i++) put.run()
    })()
  })

/** A log that is due: more than the 1000 frames from which on it is copied. */
const fill = (database: Service) => commit(database, 1200)

/** Somebody who needs the database as it is now until he closes. */
const readerOf = (file: string) => {
  const reader = new Sqlite(file, { readonly: true })
  reader.exec("BEGIN")
  reader.prepare("SELECT count(*) FROM things").get()
  return reader
}

const watched = Effect.map(FiberRegister, (register) => {
  const find = () => register.list().find(({ name }) => name === "Checkpointer")
  return () => find() as NonNullable<ReturnType<typeof find>>
})

/** Waits for what a thread does, while the checkpointer's own clock goes on. */
const eventually = (what: string, holds: () => boolean) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    while (!holds()) {
      if (performance.now() - startedAt > 8000) return yield* Effect.dieMessage(`waited in vain for: ${what}`)
      yield* pass(50)
    }
  })

const capture = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
  )

interface Room {
  readonly file: string
  /** What the journal writes to. It has a disk of its own, which fails when it is told to. */
  readonly disk: Disk
  readonly database: Service
  readonly logs: ReadonlyArray<string>
  /** Passes of a library that counts them. */
  readonly passes: () => number
}

/** What the thread loads: the real library, with `pass` as the body of every pass. `mark` is a file name of the test's. */
const libraryWith = (folder: string, pass: string) => {
  const library = join(folder, "library.cjs")
  writeFileSync(
    library,
    `const Real = require(${JSON.stringify(realLibrary)})
const { appendFileSync, existsSync } = require("node:fs")
const mark = ${JSON.stringify(join(folder, "mark"))}
let passes = 0
module.exports = class extends Real {
  pragma(text, options) {
    if (!text.startsWith("wal_checkpoint")) return super.pragma(text, options)
    passes++
    appendFileSync(${JSON.stringify(join(folder, "passes"))}, "x")
    const copy = () => super.pragma(text, options)
    ${pass}
  }
}
`
  )
  return library
}

/** Runs the body beside a checkpointer on a file; `pass` is what its library does in each pass. */
const inRoom = <A, E>(
  body: (room: Room) => Effect.Effect<A, E, FiberRegister | Journal | Database>,
  { library, pass = "return copy()" }: { readonly library?: string; readonly pass?: string } = {}
) =>
  onDisk((file) => {
    const folder = dirname(file)
    const disk = makeDisk()
    const logs: Array<string> = []
    const counted = join(folder, "passes")
    const passes = () => (existsSync(counted) ? readFileSync(counted).length : 0)
    return Effect.flatMap(Database, (database) => body({ file, disk, database, logs, passes })).pipe(
      Effect.provide(
        Checkpointer.layerWith(library ?? libraryWith(folder, pass)).pipe(
          // The journal that fails on purpose says nothing, and would silence everyone else.
          Layer.provide([capture(logs), Logger.minimumLogLevel(LogLevel.Info)]),
          Layer.provideMerge(Layer.merge(journalOn(disk), sqlLayer(file)))
        )
      )
    )
  })

const markOf = ({ file }: Room) => join(dirname(file), "mark")

describe("a thread that fails", { timeout: 30_000 }, () => {
  it.effect("to start leaves the copying to commits, as it was, and that is said once", () =>
    inRoom(
      ({ database, logs }) =>
        Effect.gen(function* () {
          const status = yield* watched
          yield* fill(database)
          yield* eventually("the checkpointer to give up", () => status().state === "parked")
          yield* commit(database, 1)
          yield* commit(database, 1)

          expect(logOf(database).frames).toBeLessThan(100)
          expect(autocheckpointOf(database)).toBe(1000)
          yield* fill(database)
          yield* pass(60_000, 500)
          expect(logs).toEqual([expect.stringMatching(/level=WARN .*copied between commits.*nowhere/)])
          expect(status()).toMatchObject({ restarts: 0, last_error: expect.stringMatching("nowhere") })
        }),
      { library: "/nowhere/at-all.cjs" }
    )
  )

  it.effect("in the middle is replaced by another, which does the work", () =>
    inRoom(
      ({ database }) =>
        Effect.gen(function* () {
          const status = yield* watched
          yield* fill(database)
          yield* eventually("the log to be copied", () => logOf(database).copied > 1200)

          expect(status()).toMatchObject({ state: "running", restarts: 1 })
          expect(status().last_error).toContain("thread")
          expect(autocheckpointOf(database)).toBe(0)
        }),
      { pass: 'if (!existsSync(mark)) { appendFileSync(mark, ""); process.exit(3) }; return copy()' }
    )
  )

  it.effect("three times in the middle is not replaced for ever", () =>
    inRoom(
      ({ database, logs, passes }) =>
        Effect.gen(function* () {
          const status = yield* watched
          yield* fill(database)
          yield* eventually("the checkpointer to give up", () => status().state === "parked")
          yield* pass(60_000, 500)

          expect(passes()).toBe(3)
          expect(autocheckpointOf(database)).toBe(1000)
          expect(logs.filter((line) => line.includes("level=WARN")).length).toBe(1)
        }),
      { pass: "process.exit(3)" }
    )
  )

  it.effect("by an error of SQLite's is noted and tried again; commits go on, and step in when the log is long", () =>
    inRoom(
      (room) =>
        Effect.gen(function* () {
          const { database, logs, passes } = room
          const status = yield* watched
          writeFileSync(markOf(room), "")
          yield* fill(database)
          yield* eventually("an attempt to fail twice", () => passes() >= 2)
          yield* commit(database, 1)

          expect(status()).toMatchObject({ state: "running", restarts: 0 })
          expect(status().last_error).toContain("is full")
          expect([autocheckpointOf(database), logs]).toEqual([16_384, []])
          rmSync(markOf(room))
          yield* eventually("the log to be copied", () => logOf(database).copied > 1200)
          expect(autocheckpointOf(database)).toBe(0)
        }),
      {
        pass: 'if (existsSync(mark)) throw new Error("database or disk is full"); return copy()'
      }
    )
  )

  it.effect("to come to an end in time holds commits up for a quarter of a second, not longer", () =>
    inRoom(
      (room) =>
        Effect.gen(function* () {
          const { database, file, passes } = room
          yield* fill(database)
          const first = readerOf(file)
          yield* pass(200)
          yield* until("the first pass", () => logOf(database).copied > 1200)
          // Readers keep the log from being begun anew, so that each pass finds something.
          yield* commit(database, 10)
          const second = readerOf(file)
          first.close()
          writeFileSync(`${markOf(room)}1`, "")
          yield* until("the second pass", () => passes() === 2 && logOf(database).copied === logOf(database).frames)
          yield* commit(database, 10)
          expect(database.busy()).toBe(false)
          writeFileSync(`${markOf(room)}2`, "")
          yield* until("the last pass", () => passes() === 3)
          expect(database.busy()).toBe(true)
          yield* TestClock.adjust(249)
          yield* turns(5)
          expect(database.busy()).toBe(true)
          yield* TestClock.adjust(1)
          yield* turns(5)

          expect(database.busy()).toBe(false)
          second.close()
          writeFileSync(`${markOf(room)}3`, "")
          const { frames } = logOf(database)
          yield* eventually("the log to be copied", () => logOf(database).copied === frames)
        }),
      {
        // Two have copied when they wait for their marks, the third one waits before it copies.
        pass: `const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    while (passes === 3 && !existsSync(mark + 3)) wait()
    const found = copy()
    while (passes < 3 && !existsSync(mark + passes)) wait()
    return found`
      }
    )
  )
})

describe("the log", { timeout: 30_000 }, () => {
  it.effect("is left alone while it is short: no thread is started for it", () =>
    inRoom(({ database, passes }) =>
      Effect.gen(function* () {
        const status = yield* watched
        yield* commit(database, 900)
        yield* pass(10_000, 100)

        expect([passes(), logOf(database).copied]).toEqual([0, 0])
        expect(status().depth).toBeGreaterThan(900)
      })
    )
  )

  it.effect("is left as it is while the journal refuses to write, because then the disk or the file is not sound", () =>
    inRoom(({ database, disk, passes }) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        disk.fault = full()
        journal.offer({ kind: "static", nodeId: NodeId.make(1), receivedAt: 1, body: "{}", hostname: "host" }, () => {})
        yield* until("the journal to refuse", () => journal.closed() !== undefined)
        yield* fill(database)
        yield* pass(10_000, 100)
        expect([passes(), logOf(database).copied]).toEqual([0, 0])
        disk.fault = undefined
        yield* eventually("the log to be copied", () => logOf(database).copied > 1200)

        expect(journal.closed()).toBeUndefined()
      })
    )
  )

  it.effect("that is due is copied to its end, so that the next commit begins it anew", () =>
    inRoom(({ database, passes }) =>
      Effect.gen(function* () {
        yield* fill(database)
        const { frames } = logOf(database)
        yield* eventually("the log to be copied", () => logOf(database).copied === frames)
        yield* pass(10_000, 100)
        expect([passes(), database.busy()]).toEqual([1, false])
        yield* commit(database, 10)

        expect(logOf(database).frames).toBeLessThan(20)
      })
    )
  )

  it.effect("that a reader needs is waited for without spinning, and copied when the reader has ended", () =>
    inRoom(({ database, file, passes }) =>
      Effect.gen(function* () {
        yield* commit(database, 1)
        const reader = readerOf(file)
        yield* fill(database)
        yield* eventually("the first attempt", () => passes() > 0)
        for (let i = 0; i < 10; i++) {
          yield* commit(database, 100)
          yield* pass(2000, 50)
        }
        // Twenty seconds: rests of 0.1, 0.2, 0.4, 0.8, 1.6 and from then on 2, one pass after each and none that holds commits up.
        expect(passes()).toBeGreaterThan(5)
        expect(passes()).toBeLessThanOrEqual(15)
        expect(logOf(database).frames).toBeGreaterThan(2200)
        reader.close()
        const { frames } = logOf(database)
        yield* eventually("the log to be copied", () => logOf(database).copied === frames)
        yield* commit(database, 10)

        expect(logOf(database).frames).toBeLessThan(20)
      })
    )
  )

  it.live("stays bounded under a writer that never rests, and nothing is lost", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        let [most, sum] = [0, 0]
        yield* Effect.gen(function* () {
          const database = yield* Database
          for (; sum < 30_000; sum += 100) {
            yield* commit(database, 100)
            most = Math.max(most, logOf(database).frames)
            yield* Effect.sleep(5)
          }
          const db = database.handle()
          expect(db.pragma("integrity_check", { simple: true })).toBe("ok")
          expect(db.prepare("SELECT count(*) FROM things").pluck().get()).toBe(sum)
        }).pipe(
          Effect.provide(
            Checkpointer.layer.pipe(Layer.provideMerge(Layer.merge(journalOn(makeDisk()), sqlLayer(file))))
          )
        )

        expect(most).toBeGreaterThan(1000)
        expect(most).toBeLessThan(15_000)
        // The service's connection was the last one: it has copied the rest and removed the log.
        expect(existsSync(`${file}-wal`)).toBe(false)
        const db = new Sqlite(file, { readonly: true })
        expect(db.prepare("SELECT count(*) FROM things").pluck().get()).toBe(sum)
        db.close()
      })
    )
  )

  it.effect("is copied as before after the database was opened again", () =>
    inRoom(({ database }) =>
      Effect.gen(function* () {
        yield* fill(database)
        yield* eventually("the log to be copied", () => logOf(database).copied > 1200)
        yield* until("the end of the hold", () => !database.busy())
        database.reopen()
        expect(autocheckpointOf(database)).toBe(0)
        yield* fill(database)
        const { frames } = logOf(database)
        yield* eventually("the log to be copied again", () => logOf(database).copied === frames)
        yield* commit(database, 1)

        expect(logOf(database).frames).toBeLessThan(20)
      })
    )
  )

  it.effect("is copied by commits again when the checkpointer has ended, and the thread's connection is closed", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const database = yield* Database
        yield* Effect.gen(function* () {
          expect(autocheckpointOf(database)).toBe(0)
          yield* fill(database)
          yield* eventually("the log to be copied", () => logOf(database).copied > 1200)
        }).pipe(Effect.provide(Checkpointer.layer))

        expect([autocheckpointOf(database), database.busy()]).toEqual([1000, false])
        database.handle().close()
        expect(existsSync(`${file}-wal`)).toBe(false)
      }).pipe(Effect.provide(Layer.merge(journalOn(makeDisk()), sqlLayer(file))))
    )
  )

  it.effect("of a database in memory does not exist, so that nobody watches it", () =>
    Effect.gen(function* () {
      expect((yield* FiberRegister).list().map(({ name }) => name)).toEqual(["Journal"])
    }).pipe(
      Effect.provide(
        Checkpointer.layer.pipe(Layer.provideMerge(Layer.merge(journalOn(makeDisk()), sqlLayer(":memory:"))))
      )
    )
  )
})
