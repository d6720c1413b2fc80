// What history remembers of a fleet: exactly what was acknowledged, through seals, folds, restarts and kills.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Compactor, groupsOf } from "../../runtime/Compactor.ts"
import { HistoryMarks } from "../../runtime/HistoryMarks.ts"
import type { HistoryAgg } from "../../schema/History.ts"
import { NodeId } from "../../schema/Ids.ts"
import { HistoryStore } from "../../src/store/History.ts"
import type { ChunkRow } from "../../src/store/HistoryReader.ts"
import { Database } from "../../src/store/Sql.ts"
import { changed, epoch, journalRows, killedCopy, onDisk, turns } from "../support/Engine.ts"
import { asked, elapse, expected, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { Hands, ManualClock } from "../support/ManualClock.ts"

const minute = 60_000
const hour = 60 * minute

/** Reports of every node each interval for a while, the CPU a walk of its own per node; gaps where `isSilent` says. */
const live = (
  memory: Array<Remembered>,
  { aheadMs = 0, forMs, everyMs, ids, isSilent = () => false }: LiveOptions,
  between: Effect.Effect<void, never, Hands> = Effect.void
) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    const pending: Array<() => void> = []
    for (let gone = 0; gone < forMs; gone += everyMs) {
      for (const id of ids) {
        const { now } = clock
        if (isSilent(id, now)) continue
        const cpu = Math.round(((Math.sin(now / 7e5 + id) + 1) / 2) * 1e6) / 1e6
        pending.push(yield* tell(id, { cpu }, memory, aheadMs))
      }
      clock.advance(everyMs)
      if (pending.length < 100) continue
      yield* written
      for (const settle of pending.splice(0)) settle()
      yield* turns(3)
      yield* between
    }
    yield* written
    for (const settle of pending.splice(0)) settle()
  })
interface LiveOptions {
  readonly forMs: number
  readonly everyMs: number
  readonly ids: ReadonlyArray<number>
  /** How far the agents' clock is ahead of the service's. */
  readonly aheadMs?: number
  readonly isSilent?: (id: number, now: number) => boolean
}

const aggs: ReadonlyArray<HistoryAgg> = ["avg", "max", "min", "last"]
const ranges = ["30m", "1h", "12h", "24h", "1w", "15d", "30d"]

/** Every range and aggregate says what the memory says; a step that the start cuts may hold a little more. */
const agrees = (memory: ReadonlyArray<Remembered>, id: number) =>
  Effect.gen(function* () {
    for (const range of ranges) {
      for (const agg of aggs) {
        const answer = yield* asked(id, "cpu.usage_ratio", { range, agg })
        const stepMs = answer.step_sec * 1000
        const [fromMs, toMs] = [Date.parse(answer.from), Date.parse(answer.to) + 1000]
        const whole = Math.ceil(fromMs / stepMs) * stepMs
        const all = expected(memory, id, (told) => told.cpu, { agg, fromMs: whole, toMs, stepMs })
        const inside = answer.points.filter((point) => Date.parse(point.ts) >= whole)
        expect(inside, `${range} ${agg}`).toEqual(all)
        expect(answer.missing).toEqual([])
      }
    }
  })

describe("compaction", { timeout: 120_000 }, () => {
  it.effect("remembers every acknowledged report at every zoom, while it seals and folds, and over restarts", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        const ids = [1, 2, 3]
        const clock = new ManualClock(epoch)
        const isSilent = (id: number, now: number) => id === 2 && Math.floor((now - epoch) / (37 * minute)) % 3 === 1
        for (const [everyMs, forMs] of [
          [3000, 20 * minute],
          [20_000, 5 * hour],
          [90_000, 2 * 24 * hour],
          [600_000, 5 * 24 * hour],
          [3000, 15 * minute]
        ] as const) {
          yield* inHistory(
            Effect.gen(function* () {
              yield* live(memory, { everyMs, forMs, ids, isSilent })
              for (const id of ids) yield* agrees(memory, id)
              yield* (yield* Compactor).drain
              for (const id of ids) yield* agrees(memory, id)
            }),
            { filename, nodes: 3, clock }
          )
        }
        yield* inHistory(
          Effect.gen(function* () {
            for (const id of ids) yield* agrees(memory, id)
            const sizes = (yield* HistoryStore).sizes()
            for (const tier of sizes) expect(tier.chunks, tier.tier).toBeGreaterThan(0)
            expect((yield* HistoryMarks).figures).toMatchObject({ damaged: 0, lostRows: 0 })
          }),
          { filename, nodes: 3, clock }
        )
      })
    )
  )

  it.effect("keeps the journal short: rows leave when a chunk and a checkpoint hold them", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, { everyMs: 3000, forMs: 30 * minute, ids: [1, 2] }, elapse(2000))
        const rows = yield* journalRows
        const oldest = Math.min(...rows.map(({ receivedAt }) => receivedAt))
        expect((yield* Hands).now - oldest).toBeLessThan(7 * minute)
        expect(memory.length).toBeGreaterThan(1100)
        yield* agrees(memory, 1)
      }),
      { nodes: 2 }
    )
  )

  it.effect("says which stretch is missing when a chunk is damaged, and goes on with the rest", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, { everyMs: 3000, forMs: 20 * minute, ids: [1] })
        // The round that is under way rests between two portions, and keeps its node until it has ended.
        yield* elapse(5000)
        yield* (yield* Compactor).drain
        const { handle } = yield* Database
        const store = yield* HistoryStore
        const [damaged] = store.reader.placesAfter("raw", NodeId.make(1), 1, 1)
        const { startAt, endAt } = store.reader.chunk("raw", damaged?.id ?? 0) as ChunkRow
        handle().prepare("UPDATE history_raw SET bytes = zeroblob(length(bytes)) WHERE start_at = ?").run(startAt)
        const answer = yield* asked(1, "cpu.usage_ratio", { range: "30m" })
        const sound = memory.filter(({ at }) => at < startAt || at >= endAt)
        const fromMs = Math.ceil(Date.parse(answer.from) / 3000) * 3000
        const rest = expected(sound, 1, (told) => told.cpu, {
          agg: "avg",
          fromMs,
          toMs: Date.parse(answer.to) + 1000,
          stepMs: 3000
        })
        expect(answer.points).toEqual(rest)
        expect(answer.missing).toEqual([
          { from: `${new Date(startAt).toISOString().slice(0, 19)}Z`, to: expect.any(String) }
        ])
        expect((yield* HistoryMarks).figures.damaged).toBe(1)

        yield* live(memory, { everyMs: 60_000, forMs: 2 * hour, ids: [1] })
        yield* (yield* Compactor).drain
        const later = yield* asked(1, "cpu.usage_ratio", { range: "24h" })
        expect(later.points.length).toBeGreaterThan(50)
      })
    )
  )

  it.effect("keeps what a clock that was set back has seen, and what it sees again", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, { everyMs: 3000, forMs: 10 * minute, ids: [1] })
        const clock = yield* Hands
        clock.set(epoch - 3 * minute)
        yield* live(memory, { everyMs: 3000, forMs: 30 * minute, ids: [1], aheadMs: 20 * minute })
        yield* (yield* Compactor).drain
        yield* elapse(40_000, 500)
        const [fromMs, toMs] = [epoch - 6 * minute, epoch + 60 * minute]
        const params = { from: String(fromMs / 1000), to: String(toMs / 1000) }
        const { points, step_sec } = yield* asked(1, "cpu.usage_ratio", { ...params, agg: "max" })
        const stepMs = step_sec * 1000
        expect(points).toEqual(expected(memory, 1, (told) => told.cpu, { agg: "max", fromMs, toMs, stepMs }))
        expect((yield* journalRows).length).toBeLessThan(300)
      })
    )
  )

  it.effect("forgets a deleted node at once and its journal rows soon", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        yield* live(memory, { everyMs: 3000, forMs: 5 * minute, ids: [1, 2] })
        yield* changed(Effect.flatMap(Nodes, (nodes) => nodes.remove(NodeId.make(1))))
        expect(yield* Effect.flip(asked(1, "cpu.usage_ratio"))).toMatchObject({ code: "not_found" })
        yield* live(memory, { everyMs: 3000, forMs: 10 * minute, ids: [2] }, elapse(2000))
        expect((yield* journalRows).filter(({ nodeId }) => nodeId === 1)).toEqual([])
        yield* agrees(memory, 2)
      }),
      { nodes: 2 }
    )
  )

  it.effect("gives gaps, not values under a wrong name, when interfaces come, go and change their names", () =>
    inHistory(
      Effect.gen(function* () {
        const names = [["eth0"], ["eth0", "wg0"], ["lan"], ["lan", "eth0"]]
        const clock = yield* Hands
        const told: Array<readonly [number, ReadonlyArray<string>]> = []
        for (let n = 0; n < 400; n++) {
          const nics = names[Math.floor(n / 37) % names.length] as ReadonlyArray<string>
          told.push([clock.now, nics])
          yield* tell(1, { nics }, [])
          clock.advance(3000)
          if (n % 100 === 99) yield* written
        }
        yield* written
        yield* (yield* Compactor).drain
        for (const device of ["eth0", "wg0", "lan", "none"]) {
          const { points } = yield* asked(1, "net.recv_bps", { range: "30m", device })
          const had = told.filter(([, nics]) => nics.includes(device)).map(([at]) => Math.floor(at / 3000) * 3000)
          expect(points.map(({ ts }) => Date.parse(ts))).toEqual(had)
        }
      })
    )
  )
})

describe("a round", () => {
  const numbered = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what} ${i}`)

  it("seals all that is due, eight at once, and folds one by one, and no more than lets seals wait for seconds", () => {
    const [seals, folds] = [numbered("seal", 20), numbered("fold", 3000)]
    const groups = groupsOf({ seals, folds })
    expect(groups.map((group) => group.length)).toEqual([8, 8, 4, ...folds.slice(0, 64).map(() => 1)])
    expect(groups.flat()).toEqual([...seals, ...folds.slice(0, 64)])
    expect(groupsOf({ seals: [], folds: [] })).toEqual([])
  })
})

describe("a kill", { timeout: 120_000 }, () => {
  it.effect("between any two rounds loses nothing and doubles nothing", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        let file = filename
        const clock = new ManualClock(epoch)
        for (let life = 0; life < 12; life++) {
          const from = file
          yield* inHistory(
            Effect.gen(function* () {
              yield* live(memory, { everyMs: 3000, forMs: (2 + life) * minute, ids: [1, 2] }, elapse(1000))
              file = killedCopy(from, `k${life}`)
            }),
            { filename: from, nodes: 2, clock }
          )
          yield* inHistory(
            Effect.gen(function* () {
              yield* agrees(memory, 1)
              yield* agrees(memory, 2)
            }),
            { filename: killedCopy(file, "look"), nodes: 2, clock }
          )
        }
      })
    )
  )
})
