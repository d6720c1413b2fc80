// Group commit, settling and repair of the journal, on a disk made of arrays that fails on demand.
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope, TestClock, TestContext } from "effect"
import fc from "fast-check"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { rowsMax } from "../../runtime/JournalWriter.ts"
import { NodeId } from "../../schema/Ids.ts"
import { type Disk, full, ioError, journalOn, makeDisk, plainRow } from "../support/Disk.ts"
import { pass, turns, until } from "../support/Engine.ts"
import { sleep } from "../support/Program.ts"

type Service = Context.Tag.Service<typeof Journal>

const one = NodeId.make(1)
const vector = Float64Array.of(1, 2, 3)

/** A journal on a disk of its own. The generator ends when everything it claims was seen. */
const test = (
  name: string,
  body: (journal: Service, disk: Disk) => Effect.Effect<void, never, FiberRegister>,
  timeoutMs = 30_000
) =>
  it.effect(
    name,
    () => {
      const disk = makeDisk()
      return Effect.flatMap(Journal, (journal) => body(journal, disk)).pipe(Effect.provide(journalOn(disk)))
    },
    timeoutMs
  )

/** Offers a row whose settling is appended to `settled`; gives its seq. */
const offer = (journal: Service, settled: Array<string>, name: string, values = vector): number =>
  journal.offerRow(plainRow, values, values.length, (committed) => void settled.push(`${name} ${committed}`))

const committedSoon = (settled: ReadonlyArray<string>, count = 1) =>
  until(`${count} settled offers`, () => settled.length >= count)

/** Offers one row that meets the fault and waits until it is refused. */
const broken = (journal: Service, disk: Disk, settled: Array<string>, fault: Error) =>
  Effect.suspend(() => {
    disk.fault = fault
    offer(journal, settled, "lost")
    return Effect.zipRight(
      committedSoon(settled),
      until("the first probe", () => disk.probes === 1)
    )
  })

describe("the journal", () => {
  test("settles every offer of a failed commit with false, once, and refuses from then on", (journal, disk) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      const settle = (name: string) => (committed: boolean) => void settled.push(`${name} ${committed}`)
      disk.fault = full()
      offer(journal, settled, "row")
      const body = { kind: "static", nodeId: one, receivedAt: 1, body: "{}", hostname: "h" } as const
      expect(journal.offer(body, settle("static"))).toBe(true)
      expect(journal.afterCommit(settle("repeat"))).toBe(true)
      offer(journal, settled, "last")

      yield* committedSoon(settled, 4)
      yield* turns(20)

      expect(settled).toEqual(["row false", "static false", "repeat false", "last false"])
      expect([journal.closed(), journal.room()]).toEqual(["database or disk is full", false])
      expect(offer(journal, settled, "later")).toBe(0)
      expect(journal.offer(body, settle("later"))).toBe(false)
      expect(settled.length).toBe(4)
      expect(journal.figures).toMatchObject({ rows: 0, commits: 0, failures: 1 })
    }))

  test("comes back by itself, probing after 250 ms, then twice as long each time up to five seconds", (journal, disk) =>
    Effect.gen(function* () {
      const register = yield* FiberRegister
      const settled: Array<string> = []
      yield* broken(journal, disk, settled, full())
      expect(register.list()).toMatchObject([
        { name: "Journal", state: "restarting", restarts: 1, last_error: "database or disk is full" }
      ])

      for (const waitMs of [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]) {
        const before = disk.probes
        yield* TestClock.adjust(waitMs - 1)
        expect(disk.probes, `before ${waitMs} ms`).toBe(before)
        yield* TestClock.adjust(1)
        expect(disk.probes, `after ${waitMs} ms`).toBe(before + 1)
      }
      expect([journal.closed(), journal.room()]).toEqual(["database or disk is full", false])
      disk.fault = undefined
      yield* TestClock.adjust("5 seconds")

      expect([journal.closed(), journal.room()]).toEqual([undefined, true])
      expect(register.list()).toMatchObject([{ state: "running", restarts: 1 }])
      expect(offer(journal, settled, "kept")).toBeGreaterThan(0)
      yield* committedSoon(settled, 2)
      expect(settled).toEqual(["lost false", "kept true"])
      expect(disk.reopens).toBe(0)
    }))

  test("opens the database again before it trusts it after an I/O error", (journal, disk) =>
    Effect.gen(function* () {
      yield* broken(journal, disk, [], ioError())
      disk.fault = undefined
      yield* TestClock.adjust(250)

      expect(journal.closed()).toBe(undefined)
      // The failed fsync is never tried again: what was lost stays refused.
      expect(disk.log).toEqual(["begin", "reopen", "probe", "reopen", "probe"])
      expect(disk.rows.length).toBe(0)
    }))

  test("does not close the database under a transaction that an administrator's change has open", (journal, disk) =>
    Effect.gen(function* () {
      yield* broken(journal, disk, [], ioError())
      disk.isBusy = true
      disk.fault = undefined
      yield* TestClock.adjust(300)
      expect([disk.reopens, journal.room()]).toEqual([1, false])

      disk.isBusy = false
      yield* TestClock.adjust(2)

      expect([disk.reopens, journal.room()]).toEqual([2, true])
    }))

  test("comes back even when the repair itself dies of a defect", (journal, disk) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      yield* broken(journal, disk, settled, full())
      disk.fault = undefined
      disk.seqFault = new Error("no idea")
      yield* pass(500, 250)

      expect(journal.room()).toBe(true)
      offer(journal, settled, "kept")
      yield* committedSoon(settled, 2)
      expect(settled).toEqual(["lost false", "kept true"])
    }))

  test("settles everybody else when one settling throws, and says what it was", (journal) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      offer(journal, settled, "first")
      journal.offerRow(plainRow, vector, 3, () => {
        throw new Error("the answer could not be sent")
      })
      offer(journal, settled, "third")
      yield* committedSoon(settled, 2)

      expect(settled).toEqual(["first true", "third true"])
      yield* pass(150, 50)
      const [status] = (yield* FiberRegister).list()
      expect(status).toMatchObject({ restarts: 1, last_error: expect.stringContaining("could not be sent") })
      offer(journal, settled, "next")
      yield* committedSoon(settled, 3)
      expect(settled[2]).toBe("next true")
      expect(journal.figures).toMatchObject({ failures: 0, rows: 4 })
    }))

  it.effect("commits what still waits when it closes, and refuses it when that fails", () =>
    Effect.gen(function* () {
      for (const fault of [undefined, full()]) {
        const disk = makeDisk()
        const settled: Array<string> = []
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(journalOn(disk), scope)
        disk.fault = fault
        for (let i = 0; i < 3; i++) offer(Context.get(context, Journal), settled, `${i}`)
        yield* Scope.close(scope, Exit.void)

        const committed = fault === undefined
        expect(settled).toEqual([`0 ${committed}`, `1 ${committed}`, `2 ${committed}`])
        expect(disk.rows.length).toBe(committed ? 3 : 0)
      }
    })
  )
})

describe("group commit", () => {
  test("Invariant 1: an acknowledged report is on disk: nothing is settled before its commit", (journal, disk) =>
    Effect.gen(function* () {
      for (let i = 0; i < 60; i++) offer(journal, disk.log, `row ${i}`)
      journal.afterCommit((committed) => void disk.log.push(`repeat ${committed}`))
      expect(disk.log).toEqual([])
      yield* until("the commit", () => disk.log.length === 63)

      const settled = Array.from({ length: 60 }, (_, i) => `row ${i} true`)
      expect(disk.log).toEqual(["begin", "commit 60", ...settled, "repeat true"])
      expect(disk.rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
      expect(journal.figures).toMatchObject({ rows: 60, commits: 1, failures: 0 })
    }))

  test("takes a burst in few transactions, each row settled after its own and before the next", (journal, disk) =>
    Effect.gen(function* () {
      for (let i = 0; i < 1000; i++) expect(offer(journal, disk.log, "row")).toBe(i + 1)
      yield* journal.flushed

      const text = disk.log.join(";")
      expect(text.replaceAll(/begin;commit \d+(?:;row true)+;?/g, "")).toBe("")
      for (const [block, count] of text.matchAll(/commit (\d+)((?:;row true)+)/g)) {
        // The last one holds the flush as well.
        expect([Number(count), Number(count) + 1]).toContain(block.split(";").length - 1)
      }
      expect(disk.rows.length).toBe(1000)
      expect(journal.figures.commits).toBeLessThanOrEqual(20)
    }))

  test("is bounded: past the limit everybody is refused, and room returns with the commit", (journal, disk) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      disk.isBusy = true
      for (let i = 0; i < rowsMax; i++) expect(offer(journal, settled, `${i}`)).toBe(i + 1)

      expect(journal.room()).toBe(false)
      expect((yield* FiberRegister).list()).toMatchObject([{ depth: rowsMax, depth_max: rowsMax }])
      expect(offer(journal, settled, "over")).toBe(0)
      const checkpoint = { kind: "checkpoint", seq: 1, nodeId: one, receivedAt: 1, checkpoint: "{}" } as const
      expect(journal.offer({ ...checkpoint, vector: Buffer.alloc(8) }, () => void settled.push("over"))).toBe(false)
      expect(journal.afterCommit(() => void settled.push("over"))).toBe(false)
      disk.isBusy = false
      yield* pass(3, 1)

      expect(settled).not.toContain("over")
      expect(settled.length).toBe(rowsMax)
      expect([journal.room(), offer(journal, settled, "next")]).toEqual([true, rowsMax + 1])
    }))

  test("is bounded in bytes: vectors past 32 MB are refused, and who asks for room first is not", (journal, disk) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      const mega = new Float64Array(1_048_576).fill(7)
      expect([offer(journal, settled, "a", mega), journal.room()]).toEqual([1, true])
      expect([offer(journal, settled, "b", mega), journal.room()]).toEqual([2, false])
      expect([offer(journal, settled, "c", mega), offer(journal, settled, "d", mega)]).toEqual([3, 4])
      expect(offer(journal, settled, "over", mega)).toBe(0)
      yield* committedSoon(settled, 4)

      expect(settled).toEqual(["a true", "b true", "c true", "d true"])
      expect(
        disk.rows.map(({ values }) => Buffer.compare(Buffer.from(values.buffer), Buffer.from(mega.buffer)))
      ).toEqual([0, 0, 0, 0])
      expect(journal.room()).toBe(true)
    }))

  test("gives each settling its own vector, also while others offer again and the memory grows", (journal, disk) =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const again = (name: string, round: number, size: number): void => {
        const mark = round * 10_000 + size
        const values = new Float64Array(size).fill(mark)
        journal.offerRow(plainRow, values, size, (committed, written) => {
          seen.push(`${name} ${committed} ${written.length === size && written.every((v) => v === mark)}`)
          if (round < 3) again(name, round + 1, size * 3)
        })
        values.fill(-1)
      }
      // More in each round than one commit waits for.
      for (let i = 0; i < 100; i++) again(`${i}`, 0, 20 + i)
      yield* until("all rounds", () => seen.length === 400)

      expect(seen.filter((line) => !line.endsWith("true true"))).toEqual([])
      expect(disk.rows.length).toBe(400)
      expect(disk.rows.every(({ values }) => (values[0] ?? 0) > 0 && values.every((v) => v === values[0]))).toBe(true)
    }))

  test("waits while an administrator's transaction is open, and commits when it is not", (journal, disk) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      disk.isBusy = true
      offer(journal, settled, "row")
      yield* pass(100, 20)
      expect([settled, disk.log]).toEqual([[], []])

      disk.isBusy = false
      yield* pass(2, 1)

      expect(settled).toEqual(["row true"])
    }))

  test("goes on at its pace when the clock of the machine is set back by an hour", (journal) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      yield* TestClock.setTime(7_200_000)
      offer(journal, settled, "before")
      yield* committedSoon(settled)
      yield* TestClock.setTime(3_600_000)
      offer(journal, settled, "after")
      yield* committedSoon(settled, 2)

      expect(settled).toEqual(["before true", "after true"])
    }))

  test("is woken by a single row after a burst that was committed while it was offered", (journal) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      for (let round = 1; round <= 5; round++) {
        offer(journal, settled, "single")
        yield* committedSoon(settled, round * 72 - 71)
        for (let i = 0; i < 71; i++) offer(journal, settled, "burst")
        yield* committedSoon(settled, round * 72)
        // Longer than any wait for a commit, so that a timer left behind has done its harm.
        yield* Effect.promise(() => sleep(12))
      }

      expect(settled.length).toBe(360)
    }))

  test("lets a waiting caller know that everything offered before is settled", (journal) =>
    Effect.gen(function* () {
      const settled: Array<string> = []
      yield* journal.flushed
      offer(journal, settled, "row")
      yield* journal.flushed

      expect(settled).toEqual(["row true"])
      let isSettled = false
      expect(journal.afterCommit((committed) => (isSettled = committed))).toBe(true)
      expect(isSettled).toBe(true)
    }))

  it.live(
    "never loses or doubles a row, whichever commits fail, and its numbers go on",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(stretch, { minLength: 1, maxLength: 6 }), (stretches) =>
            Effect.runPromise(Effect.provide(followsLedger(stretches), TestContext.TestContext))
          ),
          { numRuns: 30 }
        )
      ),
    60_000
  )
})

const stretch = fc.record({
  offers: fc.integer({ min: 0, max: 600 }),
  isHeld: fc.boolean(),
  fails: fc.boolean(),
  io: fc.boolean()
})
type Stretch = typeof stretch extends fc.Arbitrary<infer A> ? A : never

/** Offers in stretches, some of which meet a disk that fails; compares the disk with what was settled. */
const followsLedger = (stretches: ReadonlyArray<Stretch>) => {
  const disk = makeDisk()
  return Effect.gen(function* () {
    const journal = yield* Journal
    const settled = new Map<number, ReadonlyArray<boolean>>()
    for (const { fails, io, isHeld, offers } of stretches) {
      disk.isBusy = isHeld
      if (fails) disk.fault = io ? ioError() : full()
      for (let i = 0; i < offers; i++) {
        const seq = journal.offerRow(plainRow, vector, 3, (committed) => {
          settled.set(seq, [...(settled.get(seq) ?? []), committed])
        })
        if (seq > 0) settled.set(seq, settled.get(seq) ?? [])
        else expect(journal.room()).toBe(false)
      }
      disk.isBusy = false
      const flushing = yield* Effect.fork(journal.flushed)
      yield* pass(2, 1)
      // What comes after a failure is settled after the repair.
      if (fails) yield* until("the probe", () => disk.probes > 0 || journal.room())
      disk.fault = undefined
      yield* pass(300, 50)
      yield* flushing
      yield* Effect.whenEffect(
        until("the repair", () => disk.probes > 0 || journal.room()),
        Effect.sync(() => !journal.room())
      )
      // A fault that the repair met at once is looked at again after 250 ms.
      yield* TestClock.adjust(250)
      expect(journal.room()).toBe(true)
      disk.probes = 0
    }
    expect([...settled.values()].filter((calls) => calls.length !== 1)).toEqual([])
    const kept = [...settled].filter(([, calls]) => calls[0]).map(([seq]) => seq)
    expect(disk.rows.map(({ seq }) => seq)).toEqual(kept)
    expect(kept.every((seq, i) => i === 0 || seq > (kept[i - 1] ?? 0))).toBe(true)
    expect(journal.figures.rows).toBe(kept.length)
  }).pipe(Effect.provide(journalOn(disk)))
}
