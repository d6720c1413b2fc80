// Between a commit and its sync: nobody outside is told, nothing else is written, and a sync that fails closes the journal.
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { stat } from "node:fs"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { rowsMax } from "../../runtime/JournalWriter.ts"
import { Readiness } from "../../runtime/Readiness.ts"
import { type Disk, endSync, journalOn, makeDisk, plainRow } from "../support/Disk.ts"
import { pass, turns, until } from "../support/Engine.ts"
import { work } from "../support/Work.ts"

type Service = typeof Journal.Service

const eio = () => Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" })

/** A row that says in the disk's log how it was settled, and what was told of the disk. */
const offer = (journal: Service, disk: Disk, name: string): number =>
  journal.offerRow(plainRow, Float64Array.of(1, 2, 3), 3, (committed) => {
    disk.log.push(`${name} ${committed}`)
    if (committed) journal.onDisk((isOnDisk) => void disk.log.push(`${name} on disk: ${isOnDisk}`))
  })

const test = (name: string, body: (journal: Service, disk: Disk) => Effect.Effect<void, never, FiberRegister>) =>
  it.effect(name, () => {
    const disk = makeDisk()
    disk.holdsSyncs = true
    return Effect.flatMap(Journal, (journal) => body(journal, disk)).pipe(Effect.provide(journalOn(disk)))
  })

const syncing = (disk: Disk, count = 1) => until(`${count} syncs under way`, () => disk.syncs.length === count)

describe("while the log is synced", () => {
  test("Invariant 1: an acknowledged report is on disk: nobody is told before the sync has ended", (journal, disk) =>
    Effect.gen(function* () {
      const first = offer(journal, disk, "first")
      const flushing = yield* Effect.fork(journal.flushed)
      yield* syncing(disk)
      journal.onDisk((isOnDisk) => void disk.log.push(`repeat on disk: ${isOnDisk}`))
      const late = yield* Effect.fork(journal.flushed)
      yield* pass(100, 20)
      // What the service itself knows goes with what it reads in the database.
      expect(disk.log).toEqual(["begin", "commit 1", "first true"])
      expect([journal.lastSeq(), flushing.unsafePoll(), late.unsafePoll()]).toEqual([first, null, null])

      endSync(disk)
      yield* Fiber.join(flushing)
      yield* Fiber.join(late)

      expect(disk.log.slice(3)).toEqual(["first on disk: true", "repeat on disk: true"])
      expect([disk.syncs.length, journal.figures]).toMatchObject([0, { rows: 1, commits: 1, failures: 0 }])
      journal.onDisk((isOnDisk) => void disk.log.push(`now on disk: ${isOnDisk}`))
      expect(disk.log.at(-1)).toBe("now on disk: true")
    }))

  test("rows are taken and counted against the bound, and written in one transaction behind it", (journal, disk) =>
    Effect.gen(function* () {
      offer(journal, disk, "first")
      yield* syncing(disk)
      for (let i = 0; i < 300; i++) expect(offer(journal, disk, "next")).toBe(i + 2)
      yield* pass(100, 20)
      expect(disk.log).toEqual(["begin", "commit 1", "first true"])
      expect((yield* FiberRegister).list()).toMatchObject([{ name: "Journal", depth: 301 }])

      endSync(disk)
      yield* syncing(disk)
      expect(disk.log.filter((line) => line.startsWith("commit"))).toEqual(["commit 1", "commit 256"])
      endSync(disk)
      yield* syncing(disk)
      endSync(disk)
      yield* until("everybody", () => disk.log.filter((line) => line === "next on disk: true").length === 300)
      expect([disk.rows.length, disk.log.filter((line) => line === "next true").length]).toEqual([301, 300])
      expect((yield* FiberRegister).list()).toMatchObject([{ depth: 0 }])
    }))

  test("those who wait for the disk are told in order, for some milliseconds in each turn", (journal, disk) =>
    Effect.gen(function* () {
      const [waiting, late] = [60, 20]
      const told: Array<number> = []
      /** How many were told in each turn of the event loop, as the loop itself counts its turns. */
      const perTurn = new Map<number, number>()
      const slow = (name: number) => () => {
        work(1)
        told.push(name)
        const { loopCount } = performance.nodeTiming.uvMetricsInfo
        perTurn.set(loopCount, (perTurn.get(loopCount) ?? 0) + 1)
      }
      offer(journal, disk, "row")
      yield* syncing(disk)
      for (let i = 0; i < waiting; i++) journal.onDisk(slow(i))
      // As a sync ends: with a turn's sockets and files, before its immediates.
      stat(import.meta.filename, () => {
        endSync(disk)
        // Each by itself behind those who wait, though the sync is over.
        for (let i = waiting; i < waiting + late; i++) journal.onDisk(slow(i))
      })
      yield* until("all", () => told.length === waiting + late)

      expect(told).toEqual(Array.from({ length: waiting + late }, (_, i) => i))
      const [first = 0, ...others] = perTurn.values()
      // Six milliseconds when the sync ends, which leaves the immediates of the same turn the least: three.
      expect(first).toBeLessThanOrEqual(6 + 3)
      // Immediates alone: one portion in a turn, also where one group ends and others follow.
      expect(Math.max(...others)).toBeLessThanOrEqual(6)
    }))

  test("is full when too many wait for the disk, and takes rows again when they were told", (journal, disk) =>
    Effect.gen(function* () {
      offer(journal, disk, "row")
      yield* syncing(disk)
      for (let left = rowsMax - 1; left > 0; left--) journal.onDisk(() => undefined)
      expect([journal.room(), offer(journal, disk, "over"), journal.afterCommit(() => undefined)]).toEqual([
        false,
        0,
        false
      ])
      endSync(disk)
      yield* until("room", () => journal.room())
      expect(offer(journal, disk, "next")).toBeGreaterThan(0)
    }))

  test("somebody who throws when told does not keep it from the others, and is a defect of the journal", (journal, disk) =>
    Effect.gen(function* () {
      const told: Array<string> = []
      offer(journal, disk, "row")
      yield* syncing(disk)
      journal.onDisk(() => {
        throw new Error("the answer could not be sent")
      })
      journal.onDisk(() => void told.push("next"))
      endSync(disk)
      yield* until("the next", () => told.length === 1)
      yield* pass(150, 50)
      const [status] = (yield* FiberRegister).list()
      expect(status).toMatchObject({ restarts: 1, last_error: expect.stringContaining("could not be sent") })
      offer(journal, disk, "after")
      yield* syncing(disk)
    }))

  it.effect("the end of the service syncs by itself, tells everybody once and leaves nothing unwritten", () =>
    Effect.gen(function* () {
      for (const fault of [undefined, eio()]) {
        const disk = makeDisk()
        disk.holdsSyncs = true
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(journalOn(disk), scope)
        const journal = Context.get(context, Journal)
        offer(journal, disk, "written")
        yield* syncing(disk)
        for (let i = 0; i < 200; i++) offer(journal, disk, "waiting")
        disk.syncFault = fault
        yield* Scope.close(scope, Exit.void)
        // The disk's own words come late.
        disk.syncFault = undefined
        endSync(disk)
        endSync(disk)

        const isKept = fault === undefined
        const told = disk.log.filter((line) => line.includes("on disk"))
        const waiting = isKept ? Array.from({ length: 200 }, () => "waiting on disk: true") : []
        expect(told).toEqual([`written on disk: ${isKept}`, ...waiting])
        expect(disk.log.filter((line) => line === `waiting ${isKept}`).length).toBe(200)
        expect(disk.log.indexOf("sync now")).toBeLessThan(disk.log.indexOf(`written on disk: ${isKept}`))
        expect(disk.rows.length).toBe(isKept ? 201 : 1)
      }
    })
  )
})

describe("a sync that fails", () => {
  test("is never tried again: everybody is refused, and the journal stays closed for good", (journal, disk) =>
    Effect.gen(function* () {
      const readiness = yield* Effect.provide(
        Readiness,
        Layer.provide(Readiness.layer, Layer.succeed(Journal, journal))
      )
      offer(journal, disk, "written")
      yield* syncing(disk)
      offer(journal, disk, "waiting")
      disk.syncFault = eio()
      endSync(disk)
      disk.syncFault = undefined
      yield* until("both", () => disk.log.length === 5)
      yield* pass(3_600_000, 600_000)

      const expected = ["begin", "commit 1", "written true", "written on disk: false", "waiting false"]
      expect(disk.log.slice(0, 5)).toEqual(expected)
      journal.onDisk((isOnDisk) => void disk.log.push(`now on disk: ${isOnDisk}`))
      expect(disk.log.at(-1)).toBe("now on disk: false")
      expect([disk.syncs.length, disk.probes, disk.reopens, disk.rows.length]).toEqual([0, 0, 0, 1])
      expect([offer(journal, disk, "later"), journal.room()]).toEqual([0, false])
      expect(readiness.reason()).toBe("the journal cannot write to the disk")
      expect(journal.figures).toMatchObject({ rows: 1, commits: 1, failures: 1 })
      expect((yield* FiberRegister).list()).toMatchObject([
        { state: "restarting", last_error: expect.stringMatching("EIO") }
      ])
    }))

  test("asks for a new start once the disk takes a file again, and not before", (journal, disk) =>
    Effect.gen(function* () {
      const lost = yield* Effect.fork(journal.lost)
      offer(journal, disk, "row")
      yield* syncing(disk)
      expect(lost.unsafePoll()).toBe(null)
      disk.syncFault = disk.besideFault = eio()
      endSync(disk)
      yield* until("the refusal", () => disk.log.at(-1) === "row on disk: false")
      yield* pass(60_000, 1000)
      const tries = disk.log.filter((line) => line === "probe beside").length
      expect(tries).toBeGreaterThan(10)
      expect(tries).toBeLessThan(20)
      expect(lost.unsafePoll()).toBe(null)

      disk.besideFault = undefined
      yield* pass(6000, 1000)
      yield* turns(5)
      expect(lost.unsafePoll()).toEqual(Exit.void)
      yield* TestClock.adjust("1 hour")
      expect(journal.closed()).toContain("EIO")
    }))
})
