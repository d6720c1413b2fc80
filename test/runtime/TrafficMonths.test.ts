// Snapshots of closed cycles and the retention of facts: what is kept of a month when its facts are gone.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Journal } from "../../runtime/Journal.ts"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import { TrafficMonths } from "../../runtime/TrafficMonths.ts"
import { TrafficReads } from "../../runtime/TrafficReads.ts"
import { layer as retentionLayer, TrafficRetention } from "../../runtime/TrafficRetention.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { NodeId } from "../../schema/Ids.ts"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import { monthFrom, monthOf, monthStatusOf, monthText } from "../../src/core/Month.ts"
import { Database } from "../../src/store/Sql.ts"
import { TrafficStore } from "../../src/store/Traffic.ts"
import { run } from "../store/Support.ts"
import { turns } from "../support/Engine.ts"
import { bytesAt, commit, fact, facts } from "../support/Facts.ts"
import { admin } from "../support/History.ts"
import { day, hour, inLedgers, setNode } from "../support/Ledgers.ts"
import { Hands } from "../support/ManualClock.ts"

const month = (index: number): number => Date.UTC(2026, index, 1)
const config = { mode: "calendar_month", startDay: 1, anchorDate: "", zone: "UTC" } as const
const cycle = { startMs: month(3), endMs: month(4) }

/** Runs it while time and the event loop go on. */
const working = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    let done: A | undefined
    const clock = yield* Hands
    const fiber = yield* Effect.fork(Effect.map(effect, (value) => void (done = value)))
    // Slices rest three times as long as they took, which is long on a busy machine; all of it is less than a bucket.
    for (let i = 0; i < 50_000 && (yield* fiber.poll)._tag === "None"; i++) {
      clock.advance(5)
      yield* turns(1)
    }
    yield* fiber.await
    return done as A
  })
const write = working(Effect.flatMap(TrafficMonths, (months) => months.write()))
const sweep = working(Effect.flatMap(TrafficRetention, (retention) => retention.sweep))
const rows = Effect.map(TrafficStore, (store) =>
  store.months(1, config, 30).map(({ cycleStart, status }) => [new Date(cycleStart).getUTCMonth(), status])
)
const monthly = Effect.map(
  Effect.flatMap(TrafficReads, (reads) => reads.monthly(admin, { server_id: "1", iface: "eth0", months: "24" })),
  ({ items }) =>
    items.map(({ cycle, stats }) => [cycle.start.slice(5, 7), stats.status, stats.in_bytes, stats.p95_status])
)
const setup = (list: ReadonlyArray<Fact>, firstSeenAt = list[0]?.start) =>
  Effect.gen(function* () {
    yield* (yield* TrafficSettings).change({ usage_mode: "billing" })
    yield* setNode(1, { traffic_p95_enabled: 1 })
    yield* commit(1, "eth0", list, firstSeenAt)
  })
/** Whole buckets, one byte each way per second. */
const whole = (fromMs: number, toMs: number) => facts(fromMs, (toMs - fromMs) / bucketMs, () => bytesAt(1, 1))
const bytesOf = (fromMs: number, toMs: number): number => ((toMs - fromMs) / bucketMs) * 300

describe("a snapshot", () => {
  it("is in grace for two days, then sealed when whole, in grace while its facts are kept, and stale after", () => {
    const beginnings = { createdMs: 0, firstMs: 0 }
    const good = monthOf(cycle, whole(cycle.startMs, cycle.endMs), beginnings, cycle.endMs)
    const poor = monthOf(cycle, whole(cycle.startMs + bucketMs, cycle.endMs), beginnings, cycle.endMs)
    const status = (of: typeof good, keptFromMs: number, afterMs: number) =>
      monthStatusOf(of, cycle, keptFromMs, cycle.endMs + afterMs)
    for (const of of [good, poor]) expect(status(of, cycle.endMs, 48 * hour - 1)).toBe("grace")
    expect([status(good, 0, 48 * hour), status(good, cycle.endMs, 48 * hour)]).toEqual(["sealed", "sealed"])
    expect([status(poor, cycle.startMs, 48 * hour), status(poor, cycle.startMs + 1, 48 * hour)]).toEqual([
      "grace",
      "stale"
    ])
  })

  it("is read as it was written, and as nothing when it was not written so", () => {
    const of = monthOf(cycle, whole(cycle.startMs, cycle.startMs + day), { createdMs: 0, firstMs: 5 }, 7)
    expect(monthFrom(monthText(of))).toEqual(of)
    for (const text of ["", "{", "[]", "null", "{}", monthText(of).replace("288", '"x"')]) {
      expect(monthFrom(text)).toBeUndefined()
    }
  })
})

describe("closed cycles", () => {
  it.effect("are not written before their last bucket can be there, then in grace, then sealed or in grace", () =>
    inLedgers(
      Effect.gen(function* () {
        const clock = yield* Hands
        yield* setup(whole(month(3) + day, month(4) - bucketMs))
        yield* write
        expect(yield* rows).toEqual([])
        clock.now = month(4) + 11 * 60_000
        yield* commit(1, "eth0", whole(month(4) - bucketMs, month(4) + bucketMs))
        yield* write
        expect(yield* rows).toEqual([[3, "grace"]])
        clock.now = month(4) + 49 * hour
        yield* write
        expect(yield* rows).toEqual([[3, "sealed"]])
      }),
      { at: month(4) + 60_000 }
    )
  )

  it.effect("with a gap stay in grace while their facts are kept, told as sealed; a late fact changes them", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* setup([...whole(month(3), month(3) + day), fact(month(4), 300, 300)])
        yield* write
        const before = yield* rows
        const told = yield* monthly
        yield* commit(1, "eth0", [fact(month(3) + 2 * day, 5, 5)])
        const late = yield* monthly
        yield* write
        expect([before, yield* rows]).toEqual([[[3, "grace"]], [[3, "grace"]]])
        expect([told[1], late[1], (yield* monthly)[1]]).toEqual([
          ["04", "sealed", 288 * 300, "available"],
          ["04", "sealed", 288 * 300 + 5, "available"],
          ["04", "sealed", 288 * 300 + 5, "available"]
        ])
      }),
      { at: month(4) + 5 * day }
    )
  )

  it.effect("are told from the snapshot, sealed or not, as they are from the facts", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* setup([...whole(month(2) + day, month(4) + day)])
        const before = yield* monthly
        yield* write
        expect(yield* rows).toEqual([
          [3, "sealed"],
          [2, "sealed"]
        ])
        expect(yield* monthly).toEqual(before)
        yield* setNode(1, { traffic_p95_enabled: 0 })
        expect((yield* monthly).map((item) => item[3])).toEqual(["disabled", "disabled", "disabled"])
      }),
      { at: month(4) + 20 * day }
    )
  )
})

const oldest = Effect.map(TrafficStore, (store) => {
  const buckets = store.allIfaces(0, 100).flatMap(({ firstBucket }) => firstBucket ?? [])
  return (buckets.length === 0 ? 0 : Math.min(...buckets)) * bucketMs
})

describe("the retention of facts", { timeout: 60_000 }, () => {
  it.effect("lets nothing go while snapshots cannot be written", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* setup(whole(month(0), month(0) + 3 * day))
        const db = (yield* Database).handle()
        db.exec("CREATE TRIGGER breaks BEFORE INSERT ON traffic_months BEGIN SELECT RAISE(ABORT, 'no'); END")
        yield* sweep
        expect([yield* oldest, yield* rows]).toEqual([month(0), []])
        db.exec("DROP TRIGGER breaks")
        const journal = yield* Journal
        for (let i = 0; i < 2000 && journal.closed() !== undefined; i++) yield* working(Effect.sleep(50))
        yield* sweep
        expect([yield* oldest, yield* rows]).toEqual([0, [[0, "stale"]]])
      }),
      { at: month(8) }
    )
  )

  it.effect("ends its round at the first write that is refused, and tries it again at the next round", () =>
    inLedgers(
      Effect.gen(function* () {
        // The first round of the service that is there anyway is over by then.
        yield* sweep
        // More interfaces than are looked through at once.
        for (let i = 0; i < 150; i++) yield* commit(1, `eth${i}`, [fact(month(0), 300, 300)])
        const store = yield* TrafficStore
        const journal = yield* Journal
        const tried: Array<string> = []
        let isFull = true
        const offer: typeof journal.offer = (write, settle) => {
          tried.push(write.kind)
          return !isFull && journal.offer(write, settle)
        }
        yield* Effect.gen(function* () {
          // It makes a round by itself when it is started.
          yield* sweep
          expect([tried, store.factCount()]).toEqual([["dropFacts", "dropFacts"], 150])
          isFull = false
          yield* sweep
        }).pipe(Effect.provide(Layer.fresh(retentionLayer)), Effect.provideService(Journal, { ...journal, offer }))
        expect([tried.slice(2), store.factCount()]).toEqual([["dropFacts", "dropIfaces", "dropMonths"], 0])
      }),
      { at: month(8) }
    )
  )

  it.effect("takes what is older than its days once its month is written, and the month stays as it was", () =>
    inLedgers(
      Effect.gen(function* () {
        const clock = yield* Hands
        const gap = { ...fact(month(2), 300, 300), gaps: 1 }
        yield* setup([...whole(month(1), month(2)), gap, ...whole(month(2) + bucketMs, month(5) + 12 * hour)])
        const before = yield* monthly
        yield* sweep
        expect(yield* oldest).toBe(clock.now - 90 * day - ((clock.now - 90 * day) % bucketMs))
        expect(yield* rows).toEqual([
          [4, "grace"],
          [3, "sealed"],
          [2, "stale"],
          [1, "sealed"]
        ])
        const stale = before.map((item) => (item[0] === "03" ? ["03", "stale", ...item.slice(2)] : item))
        expect(yield* monthly).toEqual(stale)
        expect(before.map((item) => item[2])).toEqual([
          bytesOf(month(5), month(5) + 12 * hour),
          ...[4, 3, 2, 1].map((index) => bytesOf(month(index), month(index + 1)))
        ])
        clock.now = month(9)
        yield* sweep
        expect([yield* oldest, (yield* monthly).slice(-4)]).toEqual([
          0,
          [["05", "sealed", bytesOf(month(4), month(5)), "available"], ...stale.slice(2)]
        ])
      }),
      { at: month(5) + 12 * hour }
    )
  )

  it.effect("never takes what the current cycle still needs, however short it is", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* setup(whole(month(3), month(4) + 20 * day))
        yield* sweep
        expect([yield* oldest, yield* rows]).toEqual([month(4), [[3, "sealed"]]])
      }),
      { at: month(4) + 20 * day, keepDays: 3 }
    )
  )

  it.effect("takes all of deleted nodes, which nobody can read any more", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* setup(whole(month(3), month(4) + day))
        yield* write
        yield* run("UPDATE nodes SET deleted_at = 1 WHERE id = 1")
        yield* (yield* NodeRoster).refresh
        const refused = yield* Effect.flip(monthly)
        yield* sweep
        const store = yield* TrafficStore
        expect([refused._tag, store.factCount(), yield* rows]).toEqual(["NotFound", 0, []])
        expect(store.ifaces(NodeId.make(1))).toEqual([])
      }),
      { at: month(4) + day }
    )
  )
})
