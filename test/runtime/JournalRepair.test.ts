// A journal whose file is damaged: it gives up once, in a sentence, and goes on refusing without trying for ever.
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Journal } from "../../runtime/Journal.ts"
import { Readiness } from "../../runtime/Readiness.ts"
import { ioError, journalOn, makeDisk, plainRow } from "../support/Disk.ts"
import { until } from "../support/Engine.ts"

const damaged = (code: string) => Object.assign(new Error("database disk image is malformed"), { code })

const parked = Effect.flatMap(FiberRegister, (register) =>
  until("the journal to give up", () => register.list()[0]?.state === "parked")
)

describe("a damaged database", () => {
  for (const code of ["SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_NOTADB"]) {
    it.effect(`keeps the journal closed for good after ${code}, and says how to go on`, () => {
      const disk = makeDisk()
      return Effect.gen(function* () {
        const journal = yield* Journal
        const readiness = yield* Effect.provide(Readiness, Readiness.layer)
        const settled: Array<boolean> = []
        disk.fault = damaged(code)
        journal.offerRow(plainRow, Float64Array.of(1), 1, (committed) => void settled.push(committed))
        yield* parked
        disk.fault = undefined
        yield* TestClock.adjust("1 hour")

        expect([settled, disk.probes, disk.reopens, journal.room()]).toEqual([[false], 0, 0, false])
        expect(journal.offerRow(plainRow, Float64Array.of(1), 1, () => {})).toBe(0)
        expect(readiness.reason()).toMatch(/damaged.*watchpost restore FILE$/)
        expect((yield* FiberRegister).list()).toMatchObject([
          { restarts: 1, last_error: expect.stringMatching("malf") }
        ])
      }).pipe(Effect.provide(journalOn(disk)))
    })
  }

  it.effect("ends the attempts that followed an I/O error, as soon as one of them finds it", () => {
    const disk = makeDisk()
    return Effect.gen(function* () {
      const journal = yield* Journal
      disk.fault = ioError()
      journal.offerRow(plainRow, Float64Array.of(1), 1, () => {})
      yield* until("the first probe", () => disk.probes === 1)
      disk.fault = damaged("SQLITE_CORRUPT")
      yield* TestClock.adjust(250)
      yield* parked
      const { probes } = disk
      yield* TestClock.adjust("1 hour")

      expect([probes, disk.probes]).toEqual([2, 2])
      expect(journal.closed()).toContain("watchpost restore FILE")
    }).pipe(Effect.provide(journalOn(disk)))
  })
})
