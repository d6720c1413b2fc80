// History within its limits: which chunks go, in which order, and that nothing goes that a coarser tier does not know.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Compactor } from "../../runtime/Compactor.ts"
import type { HistoryLimits } from "../../runtime/HistoryLimits.ts"
import { HistoryMarks } from "../../runtime/HistoryMarks.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { Tier } from "../../src/core/Tier.ts"
import { onDisk } from "../../src/store/ChunkSpace.ts"
import { HistoryStore } from "../../src/store/History.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { Database } from "../../src/store/Sql.ts"
import { changed } from "../support/Engine.ts"
import { asked, elapse, expected, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { defaultLimits } from "../support/Limits.ts"
import { Hands } from "../support/ManualClock.ts"

const minute = 60_000
const hour = 60 * minute

const live = (memory: Array<Remembered>, ids: ReadonlyArray<number>, count: number, everyMs: number) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    const waiting: Array<() => void> = []
    for (let n = 0; n < count; n++) {
      for (const id of ids) waiting.push(yield* tell(id, { cpu: ((n * 31 + id * 7) % 1000) / 1000 }, memory))
      clock.advance(everyMs)
      if (n % 50 !== 49 && n !== count - 1) continue
      yield* written
      for (const settle of waiting.splice(0)) settle()
      yield* (yield* Compactor).drain
    }
  })

const size = (tier: Tier) =>
  Effect.map(HistoryStore, (store) => store.sizes().find((one) => one.tier === tier) ?? { chunks: 0, bytes: 0 })

const agrees = (memory: ReadonlyArray<Remembered>, id: number, range: string) =>
  Effect.gen(function* () {
    const { from, points, step_sec, to } = yield* asked(id, "cpu.usage_ratio", { range, agg: "avg" })
    const stepMs = step_sec * 1000
    const fromMs = Math.ceil(Date.parse(from) / stepMs) * stepMs
    const toMs = Date.parse(to) + 1000
    expect(points.filter(({ ts }) => Date.parse(ts) >= fromMs)).toEqual(
      expected(memory, id, (told) => told.cpu, { agg: "avg", fromMs, toMs, stepMs })
    )
  })

describe("the limits of history", { timeout: 60_000 }, () => {
  const short: HistoryLimits = { ...defaultLimits, raw: { keepMs: 2 * hour, maxBytes: 1e9 } }

  it.effect("let reports go by age, once the minutes know them, and say how many", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, [1, 2], 600, minute)
        yield* elapse(60_000, 1000)
        const { handle } = yield* Database
        const oldest = handle().prepare("SELECT min(end_at) AS at FROM history_raw").get() as { at: number }
        // A chunk goes as a whole, when the last of it is old enough.
        expect(oldest.at).toBeGreaterThan((yield* Hands).now - 2 * hour - minute)
        yield* agrees(memory, 1, "24h")
        yield* agrees(memory, 2, "12h")
        const { figures } = yield* HistoryMarks
        expect(figures.droppedByAge).toBeGreaterThan(5)
        expect(figures).toMatchObject({ droppedByBytes: 0, damaged: 0, lostRows: 0 })
      }),
      { nodes: 2, limits: short }
    )
  )

  it.effect("hold every tier within its bytes, the oldest first, folding early what has to go", () => {
    const tight = (maxBytes: number) => ({ keepMs: 400 * 24 * hour, maxBytes })
    const limits = { raw: tight(8000), minute: tight(60_000), quarter: tight(60_000), hour: tight(60_000) }
    return inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        for (let part = 0; part < 4; part++) {
          yield* live(memory, [1, 2, 3], 600, 3000)
          yield* elapse(60_000, 1000)
          expect((yield* size("raw")).bytes).toBeLessThanOrEqual(8000)
          expect((yield* size("minute")).bytes).toBeLessThanOrEqual(60_000)
        }
        const { figures } = yield* HistoryMarks
        expect(figures.droppedByBytes).toBeGreaterThan(5)
        // What reports no longer say, the minutes still do.
        yield* agrees(memory, 3, "12h")
      }),
      { nodes: 3, limits }
    )
  })

  it.effect("count what is on the disk: tables and figures agree to the byte after any number of drops", () =>
    inHistory(
      Effect.gen(function* () {
        yield* live([], [1, 2], 700, minute)
        yield* elapse(60_000, 1000)
        const { handle } = yield* Database
        for (const tier of ["raw", "minute", "quarter", "hour"] as const) {
          const rows = handle().prepare(`SELECT length(bytes) AS size FROM history_${tier}`).all() as Array<{
            size: number
          }>
          const bytes = rows.reduce((sum, row) => sum + onDisk(row.size), 0)
          expect(yield* size(tier)).toMatchObject({ chunks: rows.length, bytes })
        }
        const layouts = handle()
          .prepare(
            "SELECT (SELECT sum(chunks) FROM history_layouts) AS counted, (SELECT count(*) FROM history_raw) + (SELECT count(*) FROM history_minute) + (SELECT count(*) FROM history_quarter) + (SELECT count(*) FROM history_hour) AS there"
          )
          .get() as { counted: number; there: number }
        expect(layouts.counted).toBe(layouts.there)
      }),
      { nodes: 2, limits: short }
    )
  )

  it.effect("drop what deleted nodes leave by the same limits, without waiting for a fold", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, [1, 2], 60, minute)
        yield* changed(Effect.flatMap(Nodes, (nodes) => nodes.remove(NodeId.make(1))))
        yield* live(memory, [2], 240, minute)
        yield* elapse(60_000, 1000)
        expect((yield* HistoryStore).reader.placesAfter("raw", NodeId.make(1), 0, 100)).toEqual([])
        yield* elapse(660_000, 15_000)
        const marks = (yield* HistoryStore).marks(0, 10).map(({ nodeId }) => nodeId)
        expect(marks).toEqual([2])
      }),
      { nodes: 2, limits: short }
    )
  )
})
