// Between a transaction and its sync: nobody is told, nothing else is written, and a sync that fails closes the journal.
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { Readiness } from "../../runtime/Readiness.ts"
import { type Disk, endSync, journalOn, makeDisk, plainRow } from "../support/Disk.ts"
import { pass, turns, until } from "../support/Engine.ts"

type Service = typeof Journal.Service

const eio = () => Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" })

/** A row that says in the disk's log how it was settled. */
const offer = (journal: Service, disk: Disk, name: string): number =>
  journal.offerRow(plainRow, Float64Array.of(1, 2, 3), 3, (committed) => void disk.log.push(`${name} ${committed}`))

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
      journal.afterCommit((committed) => void disk.log.push(`repeat ${committed}`))
      const flushing = yield* Effect.fork(journal.flushed)
      yield* syncing(disk)
      yield* pass(100, 20)
      expect(disk.log).toEqual(["begin", "commit 1"])
      expect([journal.lastSeq(), journal.figures.rows, flushing.unsafePoll()]).toEqual([0, 0, null])

      endSync(disk)
      yield* Fiber.join(flushing)

      expect(disk.log).toEqual(["begin", "commit 1", "first true", "repeat true"])
      expect([journal.lastSeq(), journal.figures.rows]).toEqual([first, 1])
    }))

  test("rows are taken and counted against the bound, and written in one transaction behind it", (journal, disk) =>
    Effect.gen(function* () {
      offer(journal, disk, "first")
      yield* syncing(disk)
      for (let i = 0; i < 300; i++) expect(offer(journal, disk, "next")).toBe(i + 2)
      journal.afterCommit((committed) => void disk.log.push(`repeat ${committed}`))
      yield* pass(100, 20)
      expect(disk.log).toEqual(["begin", "commit 1"])
      expect((yield* FiberRegister).list()).toMatchObject([{ name: "Journal", depth: 302 }])

      endSync(disk)
      yield* syncing(disk)
      expect(disk.log.filter((line) => line.startsWith("commit"))).toEqual(["commit 1", "commit 256"])
      endSync(disk)
      yield* syncing(disk)
      endSync(disk)
      yield* until("everybody", () => disk.log.at(-1) === "repeat true")
      expect(disk.rows.length).toBe(301)
      expect(disk.log.filter((line) => line === "next true").length).toBe(300)
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
        const told = disk.log.filter((line) => /^(written|waiting)/.test(line))
        expect(told).toEqual([`written ${isKept}`, ...Array.from({ length: 200 }, () => `waiting ${isKept}`)])
        expect(disk.log.indexOf("sync now")).toBeLessThan(disk.log.indexOf(`written ${isKept}`))
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
      yield* until("both", () => disk.log.length === 4)
      yield* pass(3_600_000, 600_000)

      expect(disk.log.slice(0, 4)).toEqual(["begin", "commit 1", "written false", "waiting false"])
      expect([disk.syncs.length, disk.probes, disk.reopens, disk.rows.length]).toEqual([0, 0, 0, 1])
      expect([offer(journal, disk, "later"), journal.room()]).toEqual([0, false])
      expect(readiness.reason()).toBe("the journal cannot write to the disk")
      expect(journal.figures).toMatchObject({ rows: 0, commits: 0, failures: 1 })
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
      yield* until("the refusal", () => disk.log.at(-1) === "row false")
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
