// Totals in memory are what the ledger says: after any order of facts and corrections, settings, cycles and restarts.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { CycleTotals } from "../../runtime/CycleTotals.ts"
import { FactSink } from "../../runtime/FactSink.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { PercentileTable } from "../../runtime/PercentileTable.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { NodeId } from "../../schema/Ids.ts"
import { bucketMs } from "../../src/core/Bucket.ts"
import { Database } from "../../src/store/Sql.ts"
import { onDisk, turns } from "../support/Engine.ts"
import { bytesAt, commit, fact, facts, store } from "../support/Facts.ts"
import { day, hour, inLedgers, isAsLedger, setNode } from "../support/Ledgers.ts"
import { Hands } from "../support/ManualClock.ts"

const may = Date.UTC(2026, 4, 1)
const now = may + 20 * day
const one = NodeId.make(1)
const bytes = (id: number, iface: string) =>
  Effect.gen(function* () {
    const entry = (yield* CycleTotals).get(NodeId.make(id), iface, (yield* Hands).now)
    return entry?.folded.all().inBytes
  })

/** Lets time pass until it holds, some hours at most. */
const comesTrue = (holds: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < 2000 && !holds(); i++) {
      ;(yield* Hands).advance(6000)
      yield* turns(3)
    }
    expect(holds()).toBe(true)
  })

describe("the totals of the current cycle", () => {
  it.effect("are nothing for unknown nodes and interfaces, and nothing of them is kept", () =>
    inLedgers(
      Effect.gen(function* () {
        const table = yield* CycleTotals
        expect([yield* bytes(9, "eth0"), yield* bytes(1, "eth0"), table.size]).toEqual([undefined, undefined, 0])
        yield* commit(
          1,
          "eth0",
          facts(may - 40 * day, 3, () => [1, 1])
        )
        expect([yield* bytes(1, "eth0"), table.size]).toEqual([0, 0])
      }),
      { at: now }
    )
  )

  it.effect("are read again when the database did not answer for a correction", () =>
    inLedgers(
      Effect.gen(function* () {
        const table = yield* CycleTotals
        yield* commit(
          1,
          "eth0",
          facts(may, 10, () => [10, 1])
        )
        expect(yield* bytes(1, "eth0")).toBe(100)
        const db = (yield* Database).handle()
        const closed = yield* store(1, "eth0", [fact(may, 5, 1)])
        db.exec("ALTER TABLE traffic_facts RENAME TO facts_away")
        ;(yield* FactSink).take(one, closed)
        db.exec("ALTER TABLE facts_away RENAME TO traffic_facts")
        expect([table.figures.lost, table.kept(one, "eth0")]).toEqual([1, undefined])
        expect(yield* bytes(1, "eth0")).toBe(95)
      }),
      { at: now }
    )
  )

  it.effect("do not look at the ledger again for what they hold, and follow each commit at once", () =>
    inLedgers(
      Effect.gen(function* () {
        const table = yield* CycleTotals
        yield* commit(
          1,
          "eth0",
          facts(may, 10, () => [10, 1])
        )
        yield* bytes(1, "eth0")
        const { built } = table.figures
        for (let i = 10; i < 20; i++) {
          yield* commit(1, "eth0", [fact(may + i * bucketMs, 10, 1)])
          expect(yield* bytes(1, "eth0")).toBe((i + 1) * 10)
        }
        expect(table.figures.built).toBe(built)
        yield* commit(1, "eth0", [fact(may + 3 * bucketMs, 0, 1)])
        yield* commit(1, "eth0", [fact(may + 3 * bucketMs, 0, 1)])
        expect([yield* bytes(1, "eth0"), table.figures.built]).toEqual([190, built])
      }),
      { at: now }
    )
  )

  it.effect("are built in the background after a start and after a change, and let go with their node", () =>
    inLedgers(
      Effect.gen(function* () {
        const table = yield* CycleTotals
        for (const id of [1, 2, 3])
          yield* store(
            id,
            "eth0",
            facts(may, 500, (i) => [i, 1])
          )
        yield* comesTrue(() => table.size === 3)
        const { built } = table.figures
        yield* (yield* TrafficSettings).change({ cycle_mode: "clamp_to_month_end", billing_start_day: 2 })
        yield* comesTrue(() => table.figures.built === built + 3)
        for (const id of [1, 2, 3]) expect(yield* isAsLedger(id, "eth0")).toBe(true)
        yield* setNode(2, { deleted_at: 1 })
        yield* comesTrue(() => table.size === 2)
        expect([table.kept(NodeId.make(2), "eth0"), yield* bytes(2, "eth0")]).toEqual([undefined, undefined])
        const names = (yield* FiberRegister).list().map(({ name, state }) => `${name} ${state}`)
        expect(names).toEqual(expect.arrayContaining(["CycleTotals running", "PercentileTable running"]))
      }),
      { at: now, nodes: 3 }
    )
  )

  it.effect("begin anew with the next cycle", () =>
    inLedgers(
      Effect.gen(function* () {
        const clock = yield* Hands
        yield* commit(
          1,
          "eth0",
          facts(may, 10, () => [10, 1])
        )
        expect(yield* bytes(1, "eth0")).toBe(100)
        clock.now = Date.UTC(2026, 5, 1)
        expect(yield* bytes(1, "eth0")).toBe(0)
        yield* commit(1, "eth0", [fact(Date.UTC(2026, 5, 1) - bucketMs, 7, 7), fact(Date.UTC(2026, 5, 1), 3, 3)])
        expect(yield* bytes(1, "eth0")).toBe(3)
      }),
      { at: now }
    )
  )

  it.effect("miss no fact that is committed while they are built", () =>
    inLedgers(
      Effect.gen(function* () {
        const table = yield* CycleTotals
        yield* store(
          1,
          "eth0",
          facts(may, 19 * 288, () => [1, 1])
        )
        yield* turns(2)
        const sweep = table.sweep(now)
        for (let i = 0; sweep.next().done !== true; i++) {
          // Behind and before what is read.
          yield* commit(1, "eth0", [fact(may + i * bucketMs, 5, 5), fact(may + 19 * day + i * bucketMs, 9, 9)])
        }
        expect(yield* isAsLedger(1, "eth0")).toBe(true)
      }),
      { at: now }
    )
  )
})

type Act =
  | { readonly act: "commit" | "correct"; readonly slot: number; readonly count: number; readonly rate: number }
  | { readonly act: "settings"; readonly day: number; readonly zone: string }
  | { readonly act: "node"; readonly mode: string; readonly day: number }
  | { readonly act: "switch"; readonly on: number }
  | { readonly act: "time"; readonly hours: number }
  | { readonly act: "sweep" | "read" | "restart" }

const slot = fc.integer({ min: 0, max: 60 * 288 })
const count = fc.integer({ min: 1, max: 40 })
const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ act: fc.constant("commit" as const), slot, count, rate: fc.nat(1000) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("correct" as const), slot, count, rate: fc.nat(1000) }) },
  fc.record({
    act: fc.constant("settings" as const),
    day: fc.integer({ min: 1, max: 31 }),
    zone: fc.constantFrom("UTC", "Asia/Kolkata", "America/Santiago")
  }),
  fc.record({
    act: fc.constant("node" as const),
    mode: fc.constantFrom("default", "calendar_month", "clamp_to_month_end"),
    day: fc.integer({ min: 1, max: 31 })
  }),
  fc.record({ act: fc.constant("switch" as const), on: fc.nat(1) }),
  fc.record({ act: fc.constant("time" as const), hours: fc.integer({ min: 1, max: 500 }) }),
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom("sweep" as const, "read" as const) }) },
  fc.record({ act: fc.constant("restart" as const) })
)

const carryOut = (act: Act) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    switch (act.act) {
      case "commit":
      case "correct": {
        const from = act.act === "correct" ? may + 10 * bucketMs : may + act.slot * bucketMs
        const list = facts(from, act.count, (i) => bytesAt(act.rate + i, (act.rate * 7 + i) % 900))
        return yield* commit(
          1,
          "eth0",
          list.map((one, i) => (i % 9 === 8 ? { ...one, gaps: 1 } : one))
        )
      }
      case "settings":
        return yield* (yield* TrafficSettings).change({
          cycle_mode: "clamp_to_month_end",
          billing_start_day: act.day,
          billing_timezone: act.zone
        })
      case "node":
        return yield* setNode(1, { traffic_cycle_mode: act.mode, traffic_billing_start_day: act.day })
      case "switch":
        return yield* setNode(1, { traffic_p95_enabled: act.on })
      case "time":
        return void (clock.now += act.hours * hour)
      case "sweep": {
        const tables = [yield* CycleTotals, (yield* PercentileTable).table]
        for (const table of tables) for (const sweep = table.sweep(clock.now); sweep.next().done !== true;);
        return
      }
      default:
        return expect(yield* isAsLedger(1, "eth0")).toBe(true)
    }
  })

/** Runs up to the next restart; gives what is left and the time. */
const lives = (file: string, list: ReadonlyArray<Act>, at: number): Effect.Effect<void> => {
  const end = list.findIndex(({ act }) => act === "restart")
  const mine = end < 0 ? list : list.slice(0, end)
  return inLedgers(
    Effect.gen(function* () {
      yield* (yield* TrafficSettings).change({ usage_mode: "billing" })
      for (const act of mine) yield* carryOut(act)
      expect(yield* isAsLedger(1, "eth0")).toBe(true)
      return (yield* Hands).now
    }),
    { at, filename: file }
  ).pipe(
    Effect.orDie,
    Effect.flatMap((then) => (end < 0 ? Effect.void : lives(file, list.slice(end + 1), then)))
  )
}

describe("both tables", () => {
  it(
    "equal a rebuild after any order of facts, corrections, changes of settings and restarts",
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(acts, { minLength: 5, maxLength: 30 }), (list) =>
          Effect.runPromise(onDisk((file) => lives(file, list, may + 12 * hour)))
        ),
        { numRuns: 25, endOnFailure: true }
      ),
    120_000
  )
})
