// The ledger's tables: facts that replace each other, snapshots, what retention and deleted nodes leave.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import type { CycleConfig } from "../../src/core/Cycle.ts"
import type { ClosedFact } from "../../src/core/Ledger.ts"
import { JournalStore, layer as journalLayer, type Write } from "../../src/store/Journal.ts"
import { type MonthWrite, TrafficStore, layer as trafficLayer } from "../../src/store/Traffic.ts"
import { fill, run, stores } from "./Support.ts"

const layers = Layer.merge(journalLayer, trafficLayer).pipe(Layer.provideMerge(stores()))
const inStore = <A, E>(body: Effect.Effect<A, E, Layer.Layer.Success<typeof layers>>) =>
  Effect.provide(Effect.zipRight(fill(3), body), layers)

const start = 1_800_000_000_000
const factOf = (bucket: number, over: Partial<Fact> = {}): Fact => ({
  start: start + bucket * bucketMs,
  inBytes: 1000 + bucket,
  outBytes: 2000,
  coveredMs: 300_000,
  validMs: 300_000,
  validIn: 1000 + bucket,
  validOut: 2000,
  gaps: 0,
  resets: 0,
  quarantined: 0,
  flags: 0,
  bestIn: 12.5,
  bestOut: 7,
  bestBoth: 19.5,
  ...over
})
const closed = (iface: string, facts: ReadonlyArray<Fact>, firstSeenAt = start): ReadonlyArray<ClosedFact> =>
  facts.map((fact) => ({ iface, firstSeenAt, fact }))
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => factOf(from + i))

let seq = 0
const rowOf = (nodeId: number, facts: ReadonlyArray<ClosedFact> | null): Write => ({
  kind: "row",
  seq: ++seq,
  nodeId: NodeId.make(nodeId),
  receivedAt: start,
  vector: Buffer.alloc(4),
  details: null,
  isApplied: true,
  checkpoint: null,
  facts,
  alerts: null
})
const write = (...writes: ReadonlyArray<Write>) => Effect.map(JournalStore, (store) => store.write(writes))
const ifaceOf = (nodeId: number, name: string) =>
  Effect.map(TrafficStore, (store) => store.iface(NodeId.make(nodeId), name)?.id ?? -1)
const all = (id: number) => Effect.map(TrafficStore, (store) => store.facts(id, 0, Number.MAX_SAFE_INTEGER))
const counted = Effect.flatMap(run("SELECT count(*) AS n FROM traffic_facts"), (rows) =>
  Effect.map(TrafficStore, (store) => {
    expect(store.factCount()).toBe((rows[0] as { n: number }).n)
    return store.factCount()
  })
)

const config: CycleConfig = { mode: "vendor_compatible", startDay: 31, anchorDate: "2026-01-31", zone: "Europe/Berlin" }
const monthOf = (ifaceId: number, over: Partial<MonthWrite> = {}): MonthWrite => ({
  kind: "month",
  ifaceId,
  ...config,
  cycleStart: start,
  cycleEnd: start + 30 * 86_400_000,
  status: "grace",
  coveredUntil: null,
  generatedAt: start,
  sealedAt: null,
  body: '{"a":1}',
  ...over
})

describe("facts", () => {
  it.effect("leave with their row when a later write of the transaction fails", () =>
    inStore(
      Effect.gen(function* () {
        const store = yield* JournalStore
        const good = rowOf(1, closed("eth0", range(0, 3)))
        // The same seq twice breaks the batch.
        expect(() => store.write([good, good])).toThrow(/UNIQUE/)
        expect((yield* TrafficStore).ifaces(NodeId.make(1))).toEqual([])
        expect(yield* counted).toBe(0)
        expect(store.lastSeq()).toBe(0)
      })
    )
  )

  it.effect("come back as they were written, whatever is in them", () =>
    inStore(
      Effect.gen(function* () {
        const odd = [
          factOf(0),
          factOf(1, { inBytes: Number.MAX_SAFE_INTEGER, validIn: 0, validMs: 299_999, validOut: 1999 }),
          factOf(3, { coveredMs: 0, validMs: 0, gaps: 1, resets: 2, quarantined: 3, flags: 15, bestIn: 1 / 3 }),
          factOf(9, { inBytes: 0, outBytes: 0, validIn: 0, validOut: 0, bestIn: 0, bestOut: 0, bestBoth: 0 })
        ]
        yield* write(rowOf(1, closed("eth0", odd)))
        const id = yield* ifaceOf(1, "eth0")
        const store = yield* TrafficStore

        expect(yield* all(id)).toEqual(odd)
        expect(store.firstFact(id)).toEqual(odd[0])
        expect(store.lastFact(id)).toEqual(odd[3])
        // Half-open, by where a bucket begins.
        expect(store.facts(id, start + 1, start + 3 * bucketMs)).toEqual([odd[1]])
        expect(store.facts(id, start + 3 * bucketMs, start + 9 * bucketMs + 1)).toEqual([odd[2], odd[3]])
      })
    )
  )

  it.effect("are the same when they are written twice, and replaced when they say something else", () =>
    inStore(
      Effect.gen(function* () {
        yield* write(rowOf(1, closed("eth0", range(0, 5))))
        yield* write(rowOf(1, closed("eth0", range(0, 5), start + 99)))
        const id = yield* ifaceOf(1, "eth0")
        expect(yield* all(id)).toEqual(range(0, 5))
        expect((yield* TrafficStore).ifaces(NodeId.make(1))).toEqual([{ id, name: "eth0", firstSeenAt: start }])

        const other = factOf(2, { inBytes: 5, validIn: 4, validMs: 1 })
        yield* write(rowOf(1, closed("eth0", [other])))
        expect((yield* all(id))[2]).toEqual(other)
        yield* write(rowOf(1, closed("eth0", [factOf(2)])))
        expect(yield* all(id)).toEqual(range(0, 5))
        expect(yield* counted).toBe(5)
      })
    )
  )

  it.effect("belong to one interface of one node", () =>
    inStore(
      Effect.gen(function* () {
        const store = yield* TrafficStore
        expect(store.allIfaces(0, 2)).toEqual([])
        expect(store.firstFact(1)).toBeUndefined()
        yield* write(
          rowOf(1, [...closed("eth1", range(4, 6)), ...closed("eth0", range(2, 4))]),
          rowOf(2, closed("eth0", range(8, 9)))
        )
        expect(store.ifaces(NodeId.make(1)).map(({ name }) => name)).toEqual(["eth0", "eth1"])
        expect(yield* all(yield* ifaceOf(1, "eth0"))).toEqual(range(2, 4))
        expect(yield* all(yield* ifaceOf(2, "eth0"))).toEqual(range(8, 9))
        expect(store.iface(NodeId.make(2), "eth1")).toBeUndefined()
        const listed = store.allIfaces(0, 2)
        expect(listed.map(({ firstBucket, name, nodeId }) => [nodeId, name, firstBucket])).toEqual([
          [1, "eth1", start / bucketMs + 4],
          [1, "eth0", start / bucketMs + 2]
        ])
        expect(store.allIfaces(listed[1]?.id ?? 0, 10).map(({ nodeId }) => nodeId)).toEqual([2])
      })
    )
  )
})

describe("retention", () => {
  it.effect("drops facts before a bucket interface by interface, a slice at a time", () =>
    inStore(
      Effect.gen(function* () {
        yield* write(rowOf(1, [...closed("a", range(0, 10)), ...closed("b", range(0, 10))]))
        const [a, b] = [yield* ifaceOf(1, "a"), yield* ifaceOf(1, "b")]
        const drop = { kind: "dropFacts", beforeBucket: start / bucketMs + 6, afterIface: 0, limit: 8 } as const
        yield* write(drop)
        expect([(yield* all(a)).length, (yield* all(b)).length]).toEqual([4, 8])
        yield* write({ ...drop, afterIface: b })
        expect(yield* counted).toBe(12)
        yield* write(drop, drop)
        expect([yield* all(a), yield* all(b)]).toEqual([range(6, 10), range(6, 10)])
        expect(yield* counted).toBe(8)
      })
    )
  )

  it.effect("leaves interfaces that have facts or a snapshot, and drops the others", () =>
    inStore(
      Effect.gen(function* () {
        yield* write(
          rowOf(
            1,
            ["facts", "month", "none"].flatMap((name) => closed(name, range(0, 1)))
          )
        )
        const ids = [yield* ifaceOf(1, "facts"), yield* ifaceOf(1, "month"), yield* ifaceOf(1, "none")] as const
        yield* write(
          monthOf(ids[1]),
          { kind: "dropFacts", beforeBucket: start / bucketMs + 1, afterIface: ids[0], limit: 10 },
          { kind: "dropIfaces", ifaceIds: ids }
        )
        expect((yield* TrafficStore).ifaces(NodeId.make(1)).map(({ name }) => name)).toEqual(["facts", "month"])
      })
    )
  )

  it.effect("drops everything of deleted nodes in slices, and nothing of others", () =>
    inStore(
      Effect.gen(function* () {
        const store = yield* TrafficStore
        yield* write(rowOf(1, closed("eth0", range(0, 7))), rowOf(2, closed("eth0", range(0, 3))))
        const [gone, kept] = [yield* ifaceOf(1, "eth0"), yield* ifaceOf(2, "eth0")]
        yield* write(monthOf(gone), monthOf(kept))
        yield* write({ kind: "dropDeleted", limit: 100 })
        expect(yield* counted).toBe(10)
        yield* run("UPDATE nodes SET deleted_at = 1 WHERE id = 1")
        expect(store.deletedIfaces()).toBe(1)
        yield* write({ kind: "dropDeleted", limit: 4 })
        expect((yield* all(gone)).length).toBe(3)
        expect(store.months(gone, config, 10)).toHaveLength(1)
        yield* write({ kind: "dropDeleted", limit: 4 })
        expect(store.deletedIfaces()).toBe(0)
        expect(store.months(gone, config, 10)).toEqual([])
        expect(store.months(kept, config, 10)).toHaveLength(1)
        expect(yield* all(kept)).toEqual(range(0, 3))
        expect(yield* counted).toBe(3)
      })
    )
  )
})

describe("snapshots", () => {
  it.effect("replace the earlier one of the same settings and cycle, and are found by all of them", () =>
    inStore(
      Effect.gen(function* () {
        const store = yield* TrafficStore
        yield* write(rowOf(1, closed("eth0", range(0, 1))))
        const id = yield* ifaceOf(1, "eth0")
        const later = { cycleStart: start + 30 * 86_400_000, cycleEnd: start + 60 * 86_400_000 }
        const sealed = { status: "sealed", sealedAt: start + 5, coveredUntil: start + 4, body: '{"a":2}' }
        yield* write(monthOf(id), monthOf(id, later), monthOf(id, { zone: "UTC", body: "{}" }), monthOf(id, sealed))
        const [newest, oldest] = store.months(id, config, 10)
        const { ifaceId: _, kind: __, ...row } = monthOf(id, sealed)
        expect(oldest).toEqual(row)
        expect(newest?.cycleStart).toBe(later.cycleStart)
        expect(store.months(id, config, 1)).toEqual([newest])
        expect(store.month(id, { ...config, zone: "UTC" }, start)?.body).toBe("{}")
        expect(store.month(id, { ...config, startDay: 30 }, start)).toBeUndefined()

        yield* write({ kind: "dropMonths", endedBefore: later.cycleEnd, limit: 1 })
        yield* write({ kind: "dropMonths", endedBefore: later.cycleEnd, limit: 5 })
        expect(store.months(id, config, 10)).toEqual([newest])
        expect(store.month(id, { ...config, zone: "UTC" }, start)).toBeUndefined()
      })
    )
  )
})
