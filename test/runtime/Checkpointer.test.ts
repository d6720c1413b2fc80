// The log of a real database file, copied by a thread: what happens to it when that fails, beside readers, and under load.
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Layer, TestClock } from "effect"
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs"
import * as Checkpointer from "../../runtime/Checkpointer.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Database, layer as sqlLayer, logBytesKept } from "../../src/store/Sql.ts"
import { full, journalOn, makeDisk } from "../support/Disk.ts"
import { onDisk, pass, turns, until } from "../support/Engine.ts"
import {
  autocheckpointOf,
  commit,
  eventually,
  fill,
  inRoom,
  logOf,
  markOf,
  readerOf,
  watched
} from "../support/LogRoom.ts"

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
          yield* eventually("commits to leave it to the thread again", () => autocheckpointOf(database) === 0)
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
  it.effect("that is large is synced while commits wait, for three quarters of a second at most", () =>
    inRoom(
      (room) =>
        Effect.gen(function* () {
          const { database, file, passes } = room
          yield* commit(database, 4500)
          const first = readerOf(file)
          yield* pass(200)
          yield* until("the first pass", () => logOf(database).copied > 4500)
          // A reader keeps the log from being begun anew, so that the second pass finds something.
          yield* commit(database, 10)
          expect(database.busy()).toBe(false)
          writeFileSync(`${markOf(room)}1`, "")
          yield* until("the second pass", () => passes() === 2)
          expect(database.busy()).toBe(true)
          yield* TestClock.adjust(749)
          yield* turns(5)
          expect(database.busy()).toBe(true)
          yield* TestClock.adjust(1)
          yield* turns(5)

          expect(database.busy()).toBe(false)
          first.close()
          writeFileSync(`${markOf(room)}2`, "")
          const { frames } = logOf(database)
          yield* eventually("the log to be copied", () => logOf(database).copied === frames)
        }),
      {
        // The first has copied when it waits for its mark, the second waits before it copies.
        pass: `const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    while (passes === 2 && !existsSync(mark + 2)) wait()
    const found = copy()
    while (passes === 1 && !existsSync(mark + 1)) wait()
    return found`
      }
    )
  )

  it.effect("that outgrew its file during a backup is begun anew and cut by the thread, not by the next commit", () =>
    inRoom(({ database, file }) =>
      Effect.gen(function* () {
        const id = database.handle().pragma("application_id", { simple: true })
        yield* commit(database, 10)
        const backup = readerOf(file)
        yield* commit(database, 17_000)
        const size = statSync(`${file}-wal`).size
        yield* pass(500)
        backup.close()
        yield* eventually("the log to be begun anew", () => logOf(database).frames < 100)

        expect(size).toBeGreaterThan(logBytesKept)
        expect(statSync(`${file}-wal`).size).toBeLessThanOrEqual(logBytesKept)
        expect(database.busy()).toBe(false)
        expect(database.handle().pragma("application_id", { simple: true })).toBe(id)
        expect(database.handle().prepare("SELECT count(*) AS n FROM things").get()).toEqual({ n: 17_010 })
      })
    )
  )

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
