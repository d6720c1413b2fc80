// What waited while commits were held up: written and answered in portions, or refused as a whole, in order.
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Fiber, Runtime, TestClock } from "effect"
import { Journal } from "../../runtime/Journal.ts"
import type { ClosedFact } from "../../src/core/Ledger.ts"
import { type Disk, full, journalOn, makeDisk, plainRow } from "../support/Disk.ts"
import { pass, turns, until } from "../support/Engine.ts"

/** Rows of one transaction. */
const portion = 512
const fact: ClosedFact = {
  iface: "eth0",
  firstSeenAt: 1,
  fact: { start: 0 } as ClosedFact["fact"]
}

type Service = typeof Journal.Service

/** A row that says in the disk's log how it was settled, and with which vector. */
const offer = (journal: Service, disk: Disk, row: number, facts: ReadonlyArray<ClosedFact> | null = null): number =>
  journal.offerRow({ ...plainRow, facts }, Float64Array.of(row), 1, (committed, [value]) => {
    disk.log.push(`row ${value} ${committed}`)
  })

/** Offers rows 1 to `count` to a journal that cannot commit. */
const held = (count: number, facts: ReadonlyArray<ClosedFact> | null = null) => {
  const disk = makeDisk()
  const layer = journalOn(disk)
  return {
    disk,
    run: <A>(body: (journal: Service) => Effect.Effect<A>) =>
      Effect.flatMap(Journal, (journal) => {
        disk.isBusy = true
        for (let i = 1; i <= count; i++) expect(offer(journal, disk, i, facts)).toBe(i)
        return body(journal)
      }).pipe(Effect.provide(layer))
  }
}

/** Writes "turn" to the log in every turn of the event loop until it is ended. */
const marking = (disk: Disk) => {
  let timer = setImmediate(function mark() {
    disk.log.push("turn")
    timer = setImmediate(mark)
  })
  return { end: () => clearImmediate(timer) }
}

/** The most rows that were settled between two marks. A commit by a timer and one behind it may share a turn. */
const mostPerTurn = (disk: Disk): number =>
  Math.max(
    ...disk.log
      .join(";")
      .split("turn")
      .map((part) => part.split("row ").length - 1)
  )

/** Rows of each commit. */
const commits = (disk: Disk): ReadonlyArray<number> =>
  disk.log.flatMap((line) => (line.startsWith("commit ") ? [Number(line.slice(7))] : []))

const rows = (disk: Disk) => disk.log.filter((line) => line.startsWith("row"))
const numbered = (count: number, how: string) => Array.from({ length: count }, (_, i) => `row ${i + 1} ${how}`)

describe("what waited for a hold to end", () => {
  it.effect("is committed and settled in portions, oldest first, a turn of the event loop for each", () => {
    const { disk, run } = held(1000)
    return run((journal) =>
      Effect.gen(function* () {
        const marks = marking(disk)
        disk.isBusy = false
        yield* pass(2, 1)
        yield* until("every row", () => rows(disk).length === 1000)
        marks.end()

        expect(rows(disk)).toEqual(numbered(1000, "true"))
        expect(disk.rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1))
        // The last batch was not full yet when the others were taken.
        expect(commits(disk)).toEqual([portion, 384, 104])
        expect(mostPerTurn(disk)).toBeLessThan(2 * portion)
        expect(journal.figures).toMatchObject({ rows: 1000, commits: 3 })
      })
    )
  })

  it.effect("does not grow its portions while more is offered between them", () => {
    const { disk, run } = held(600)
    return run((journal) =>
      Effect.gen(function* () {
        const marks = marking(disk)
        disk.isBusy = false
        yield* TestClock.adjust(1)
        for (let i = 601; i <= 750; i++) {
          offer(journal, disk, i)
          if (i % 50 === 0) yield* turns(1)
        }
        yield* until("every row", () => rows(disk).length === 750)
        marks.end()

        expect(rows(disk)).toEqual(numbered(750, "true"))
        expect(Math.max(...commits(disk))).toBe(portion)
        expect(mostPerTurn(disk)).toBeLessThan(2 * portion)
      })
    )
  })

  it.effect("is portioned by its facts as well, of which few rows can have many", () => {
    const { disk, run } = held(
      40,
      Array.from({ length: 300 }, () => fact)
    )
    return run(() =>
      Effect.gen(function* () {
        disk.isBusy = false
        yield* pass(2, 1)
        yield* until("every row", () => rows(disk).length === 40)

        expect(commits(disk)).toEqual([7, 7, 7, 7, 7, 5])
      })
    )
  })

  it.effect("lets a caller who flushes wait for all of its portions", () => {
    const { disk, run } = held(500)
    return run((journal) =>
      Effect.gen(function* () {
        disk.isBusy = false
        const waiting = yield* Effect.fork(Effect.tap(journal.flushed, () => void disk.log.push("flushed")))
        yield* pass(2, 1)
        yield* waiting

        expect(disk.log.at(-1)).toBe("flushed")
        expect(rows(disk).length).toBe(500)
      })
    )
  })
})

describe("when a portion fails", () => {
  it.effect("all that waited behind it is refused unwritten, in order, before a repair is tried", () => {
    const { disk, run } = held(400)
    return run((journal) =>
      Effect.gen(function* () {
        disk.fault = full()
        disk.isBusy = false
        yield* pass(2, 1)
        yield* until("the first probe", () => disk.probes === 1)

        expect(disk.log).toEqual(["begin", ...numbered(400, "false"), "probe"])
        expect(journal.figures).toMatchObject({ rows: 0, commits: 0, failures: 1 })
        disk.fault = undefined
        yield* pass(250, 50)
        expect([journal.room(), disk.rows.length]).toEqual([true, 0])
      })
    )
  })

  it.effect("a repeat of a report that is still to be refused is refused at once, not acknowledged later", () => {
    const { disk, run } = held(400)
    return run((journal) =>
      Effect.gen(function* () {
        // As the answer to the first row makes its agent send it again.
        journal.afterCommit(() => {
          disk.log.push(`taken: ${journal.afterCommit(() => void disk.log.push("repeat"))}`)
        })
        for (let i = 401; i <= 600; i++) offer(journal, disk, i)
        disk.fault = full()
        disk.isBusy = false
        yield* pass(1, 1)
        yield* until("the first probe", () => disk.probes === 1)
        expect(disk.log.indexOf("taken: false")).toBe(401)
        expect(rows(disk)).toEqual(numbered(600, "false"))
        disk.fault = undefined
        yield* pass(250, 50)

        expect(journal.closed()).toBe(undefined)
        expect(disk.log).not.toContain("repeat")
        expect(disk.rows.length).toBe(0)
      })
    )
  })

  it.effect("a caller who flushes meanwhile goes on once the journal writes again", () => {
    const { disk, run } = held(400)
    return run((journal) =>
      Effect.gen(function* () {
        const fork = Runtime.runFork(yield* Effect.runtime())
        let flushed: Fiber.RuntimeFiber<void> | undefined
        journal.afterCommit(() => (flushed = fork(journal.flushed)))
        for (let i = 401; i <= 600; i++) offer(journal, disk, i)
        disk.fault = full()
        disk.isBusy = false
        yield* pass(1, 1)
        yield* until("the first probe", () => disk.probes === 1)
        yield* turns(5)
        expect(flushed?.unsafePoll()).toBe(null)

        disk.fault = undefined
        yield* pass(300, 50)
        yield* until("the flush", () => flushed?.unsafePoll() !== null)
        expect([journal.closed(), disk.rows.length]).toEqual([undefined, 0])
      })
    )
  })
})
