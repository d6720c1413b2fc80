// The percentile table: only who is billed by it, exact at every moment, with buckets counted before they are written.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { KeptPercentile, PercentileTable } from "../../runtime/PercentileTable.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { NodeId } from "../../schema/Ids.ts"
import { bucketMs, type Fact, isSample, ratesOf } from "../../src/core/Bucket.ts"
import { bytesAt, commit, fact, facts } from "../support/Facts.ts"
import { day, inLedgers, isAsLedger, setNode } from "../support/Ledgers.ts"
import { Hands } from "../support/ManualClock.ts"

const may = Date.UTC(2026, 4, 1)
const june = Date.UTC(2026, 5, 1)
const now = may + 20 * day
const one = NodeId.make(1)
const billing = Effect.flatMap(TrafficSettings, (settings) => settings.change({ usage_mode: "billing" }))
const p95 = (open: ReadonlyArray<Fact> = []) =>
  Effect.gen(function* () {
    const found = (yield* PercentileTable).p95(one, "eth0", (yield* Hands).now, open)
    return found?._tag === "Available" ? found.rate.in : found?._tag
  })

/** The rule, word for word. */
const sorted = (list: Iterable<Fact>): number | string => {
  const rates = [...list].filter(isSample).map((one) => ratesOf(one).in)
  if (rates.length < 20) return "Insufficient"
  return rates.sort((a, b) => b - a)[Math.floor(rates.length * 0.05)] as number
}

describe("the percentile table", () => {
  it.effect("keeps nothing in lite nor for a node that is switched off, and knows it at once when that changes", () =>
    inLedgers(
      Effect.gen(function* () {
        const { table } = yield* PercentileTable
        yield* commit(
          1,
          "eth0",
          facts(may, 40, (i) => bytesAt(i + 1, 1))
        )
        expect([yield* p95(), table.size]).toEqual([undefined, 0])
        yield* billing
        expect([yield* p95(), table.size]).toEqual([undefined, 0])
        yield* setNode(1, { traffic_p95_enabled: 1 })
        expect([yield* p95(), table.size]).toEqual([38, 1])
        yield* setNode(1, { traffic_p95_enabled: 0 })
        for (const sweep = table.sweep(now); sweep.next().done !== true;);
        expect([yield* p95(), table.size]).toEqual([undefined, 0])
      }),
      { at: now }
    )
  )

  it.effect("reads the ledger again when too many of its top slots were taken back", () =>
    inLedgers(
      Effect.gen(function* () {
        const { table } = yield* PercentileTable
        yield* billing
        yield* setNode(1, { traffic_p95_enabled: 1 })
        yield* commit(
          1,
          "eth0",
          facts(may, 5000, (i) => bytesAt(i, 1))
        )
        expect(yield* p95()).toBe(4749)
        const { built } = table.figures
        const top = Array.from({ length: 2000 }, (_, i) => fact(may + (4999 - i) * bucketMs, 0, 0, { resets: 1 }))
        yield* commit(1, "eth0", top)
        expect([yield* p95(), table.figures.built]).toEqual([2849, built + 1])
        expect(yield* isAsLedger(1, "eth0")).toBe(true)
      }),
      { at: now }
    )
  )

  it.effect("begins anew with the next cycle", () =>
    inLedgers(
      Effect.gen(function* () {
        yield* billing
        yield* setNode(1, { traffic_p95_enabled: 1 })
        yield* commit(
          1,
          "eth0",
          facts(may, 30, () => bytesAt(9, 9))
        )
        expect(yield* p95()).toBe(9)
        ;(yield* Hands).now = june + day
        expect(yield* p95()).toBe("Insufficient")
        yield* commit(
          1,
          "eth0",
          facts(june, 20, () => bytesAt(4, 4))
        )
        expect(yield* p95()).toBe(4)
      }),
      { at: now }
    )
  )

  const slots = fc.integer({ min: 0, max: 60 })
  const told = fc.record({ slot: slots, rate: fc.nat(50), isSample: fc.boolean(), isOpen: fc.boolean() })

  it("is that of a full sort at every moment, whatever was counted before it was written", () => {
    fc.assert(
      fc.property(fc.array(told, { maxLength: 150 }), (list) => {
        const kept = new KeptPercentile(may, june)
        const ledger = new Map<number, Fact>()
        for (const { isOpen, isSample, rate, slot } of list) {
          const of = fact(may + slot * bucketMs, ...bytesAt(rate, rate), isSample ? {} : { gaps: 1 })
          if (!isOpen) {
            ledger.set(of.start, of)
            kept.take(of)
          }
          const open = isOpen && !ledger.has(of.start) ? [of] : []
          const answer = kept.p95(open)
          const expected = sorted([...ledger.values(), ...open])
          expect(answer._tag === "Available" ? answer.rate.in : answer._tag).toBe(expected)
        }
      }),
      { numRuns: 60 }
    )
  })
})
