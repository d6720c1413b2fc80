// Who answers about history: a thread, as long as there is one, so that no answer holds up the event loop.
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option } from "effect"
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { type DeskFigures, HistoryDesk, layerWith } from "../../runtime/HistoryDesk.ts"
import type { ChartAnswer, CountAnswer } from "../../runtime/HistoryGathering.ts"
import type { StorageUnavailable } from "../../schema/Errors.ts"
import type { HistoryAnswer } from "../../schema/History.ts"
import { layer as historyLayer } from "../../src/store/History.ts"
import { JournalStore, layer as journalLayer } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { onDisk } from "../support/Engine.ts"
import { libraryWith, realLibrary } from "../support/ThreadLibrary.ts"
import { heldDuring, id, twoReports } from "../support/Waiting.ts"
import { database, quiet } from "../store/Support.ts"

const query = {
  serverId: 1,
  metric: "cpu.usage_ratio",
  range: "custom",
  agg: "avg",
  device: "",
  fromMs: 0,
  toMs: 60_000,
  stepMs: 3000,
  tier: "raw"
} as const

const askChart = Effect.flatMap(HistoryDesk, (desk) =>
  Effect.async<ChartAnswer, StorageUnavailable>((resume) =>
    desk.chart({ id, query, devices: [], unsealed: [1, 2] }, resume)
  )
)
const askCount = Effect.flatMap(HistoryDesk, (desk) =>
  Effect.async<CountAnswer, StorageUnavailable>((resume) =>
    desk.count({ id, tier: "raw", span: { fromMs: 0, toMs: 48_000 }, unsealed: [1, 2] }, resume)
  )
)
const values = Effect.map(askChart, ({ text }) => (JSON.parse(text) as HistoryAnswer).points.map(({ value }) => value))

const lastError = Effect.map(
  FiberRegister,
  (register) => register.list().find(({ name }) => name === "HistoryDesk")?.last_error
)

type Services = HistoryDesk | JournalStore | Database | FiberRegister

const inFile = <A, E>(file: string, library: string, body: Effect.Effect<A, E, Services>, waitMs = 10_000) =>
  Effect.zipRight(twoReports, body).pipe(
    Effect.provide(
      Layer.merge(layerWith(library, waitMs).pipe(Layer.provide(historyLayer)), journalLayer).pipe(
        Layer.provideMerge(Layer.mergeAll(FiberRegister.layer, database(file))),
        Layer.provide(quiet)
      )
    )
  )

/** Runs the body beside a database file whose thread does `prepare` before each statement. */
const beside = <A, E>(prepare: string, body: Effect.Effect<A, E, Services>, waitMs?: number) =>
  onDisk((file) => inFile(file, libraryWith(dirname(file), prepare), body, waitMs))

/** Runs the body with a thread that ends at its first statement for as long as the file `end` is there. */
const ending = <A, E>(
  body: (room: { readonly end: string; readonly figures: DeskFigures }) => Effect.Effect<A, E, Services>
) =>
  onDisk((file) => {
    const end = join(dirname(file), "end")
    writeFileSync(end, "")
    const library = libraryWith(dirname(file), `if (require("node:fs").existsSync("${end}")) process.exit(3)`)
    return inFile(
      file,
      library,
      Effect.flatMap(HistoryDesk, ({ figures }) => body({ end, figures }))
    )
  })

describe("questions about history", { timeout: 30_000 }, () => {
  it.live("are answered by a thread as they would be without one", () =>
    beside(
      "",
      Effect.gen(function* () {
        const { figures } = yield* HistoryDesk
        expect(yield* values).toEqual([0.25, 0.75])
        const { counts, damaged } = yield* askCount
        expect([[...counts].slice(0, 8), damaged]).toEqual([[0, 0, 0, 1, 0, 0, 1, 0], 0])
        expect(figures).toEqual({ answered: 2, without: 0, refused: 0 })
      })
    )
  )

  it.live("do not hold up the event loop, however long the disk takes", () =>
    beside(
      `if (sql.includes("journal")) sleep(1500)`,
      Effect.gen(function* () {
        const { found, most } = yield* heldDuring(values)
        expect(found).toEqual([0.25, 0.75])
        expect(most).toBeLessThan(700)
      })
    )
  )

  it.live("are answered without the thread when SQLite fails in it, and it says what it was", () =>
    beside(
      `if (sql.includes("history_marks")) throw new Error("disk I/O error")`,
      Effect.gen(function* () {
        const { figures } = yield* HistoryDesk
        expect(yield* values).toEqual([0.25, 0.75])
        expect(figures).toEqual({ answered: 0, without: 1, refused: 0 })
        expect(yield* lastError).toMatch("disk I/O error")
      })
    )
  )

  it.live("are answered without the thread when it ends, and by another one afterwards", () =>
    ending(({ end, figures }) =>
      Effect.gen(function* () {
        expect(yield* values).toEqual([0.25, 0.75])
        expect(yield* lastError).toMatch("the thread that answers about history ended")
        rmSync(end)
        expect(yield* values).toEqual([0.25, 0.75])
        expect(figures).toEqual({ answered: 1, without: 1, refused: 0 })
      })
    )
  )

  it.live("are answered without a thread for good once the third in a row has ended", () =>
    ending(({ end, figures }) =>
      Effect.gen(function* () {
        for (let i = 0; i < 3; i++) expect(yield* values).toEqual([0.25, 0.75])
        rmSync(end)
        expect(yield* values).toEqual([0.25, 0.75])
        expect(figures).toEqual({ answered: 0, without: 4, refused: 0 })
      })
    )
  )

  it.live("are answered without a thread that can never begin", () =>
    onDisk((file) =>
      inFile(
        file,
        "/nowhere/at-all.cjs",
        Effect.gen(function* () {
          const { figures } = yield* HistoryDesk
          for (let i = 0; i < 5; i++) expect(yield* values).toEqual([0.25, 0.75])
          expect(figures).toEqual({ answered: 0, without: 5, refused: 0 })
        })
      )
    )
  )

  it.live("are refused when too many wait or the disk does not answer, in words, and counted", () =>
    beside(
      `if (sql.includes("history_marks")) sleep(1500)`,
      Effect.gen(function* () {
        const { figures } = yield* HistoryDesk
        const all = yield* Effect.forEach(Array.from({ length: 260 }), () => Effect.exit(askChart), {
          concurrency: "unbounded"
        })
        const messages = all.map((exit) =>
          Exit.isFailure(exit)
            ? (Option.getOrUndefined(Cause.failureOption(exit.cause))?.message ?? "died")
            : "answered"
        )
        expect(new Set(messages.slice(0, 256))).toEqual(
          new Set(["history gave no answer in time; the disk may be in trouble"])
        )
        expect(messages.slice(256)).toEqual(
          Array.from({ length: 4 }, () => "too many questions about history wait already; ask again in a moment")
        )
        expect(figures).toEqual({ answered: 0, without: 0, refused: 260 })
      }),
      500
    )
  )

  it.live("are answered at once of a database in memory", () =>
    inFile(
      ":memory:",
      realLibrary,
      Effect.gen(function* () {
        const { figures } = yield* HistoryDesk
        expect(yield* values).toEqual([0.25, 0.75])
        expect(figures).toEqual({ answered: 0, without: 1, refused: 0 })
      })
    )
  )

  it.live("leave the service's own connection the last one", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        yield* inFile(
          file,
          realLibrary,
          Effect.gen(function* () {
            yield* values
            expect(existsSync(`${file}-wal`)).toBe(true)
          })
        )
        expect(existsSync(`${file}-wal`)).toBe(false)
      })
    )
  )
})
