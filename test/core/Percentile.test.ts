// The 95th percentile kept from the top slots equals the one of a full sort, at every moment and after any correction.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import { Percentile, type Percentile95 } from "../../src/core/Percentile.ts"

const start = Date.UTC(2026, 4, 1)
type Rates = readonly [ins: number, outs: number, both: number]
type Model = Map<number, Rates>

const endOf = (slots: number): number => start + slots * bucketMs
const bucket = (slot: number): number => start + slot * bucketMs

/** The rule, word for word: sort descending, drop floor(0.05 n), take the next; the earlier of equal rates first. */
const sorted = (model: Model): Percentile95 => {
  if (model.size < 20) return { _tag: "Insufficient" }
  const deciding = (series: 0 | 1 | 2): readonly [rate: number, bucket: number] => {
    const rates = [...model].map(([slot, of]) => [of[series], bucket(slot)] as const)
    return rates.sort((a, b) => b[0] - a[0] || a[1] - b[1])[Math.floor(model.size * 0.05)] as [number, number]
  }
  const [ins, outs, boths] = [deciding(0), deciding(1), deciding(2)]
  return {
    _tag: "Available",
    rate: { in: ins[0], out: outs[0], both: boths[0] },
    bucket: { in: ins[1], out: outs[1], both: boths[1] }
  }
}
const rebuilt = (slots: number, model: Model): Percentile => {
  const percentile = new Percentile(start, endOf(slots))
  for (const [slot, rates] of model) percentile.put(bucket(slot), ...rates)
  return percentile
}
const ofSeries = (rates: ReadonlyArray<number>): Percentile95 =>
  rebuilt(Math.max(1, rates.length), new Map(rates.map((rate, slot) => [slot, [rate, rate, rate * 2]]))).p95()
const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i + 1)
const times = (count: number, rate: number): ReadonlyArray<number> => Array.from({ length: count }, () => rate)

const fact = (slot: number, rate: number, spoilt: Partial<Fact> = {}): Fact => ({
  start: bucket(slot),
  inBytes: rate * 300,
  outBytes: 0,
  coveredMs: 300_000,
  validMs: 300_000,
  validIn: rate * 300,
  validOut: 0,
  gaps: 0,
  resets: 0,
  quarantined: 0,
  flags: 0,
  bestIn: 0,
  bestOut: 0,
  bestBoth: 0,
  ...spoilt
})

describe("the 95th percentile", () => {
  it("is absent below twenty samples", () => {
    expect(ofSeries([])).toEqual({ _tag: "Insufficient" })
    expect(ofSeries(upTo(19))).toEqual({ _tag: "Insufficient" })
  })

  it.each<readonly [string, ReadonlyArray<number>, number]>([
    ["P1", upTo(100), 95],
    ["P2", [...times(18, 10), 50, 100], 50],
    ["P3", upTo(20), 19],
    ["P5", upTo(39), 38],
    ["P6", upTo(40), 38],
    ["P7", [...times(432, 9_000_000), ...times(8208, 1_000_000)], 1_000_000],
    ["P8", [...times(433, 9_000_000), ...times(8207, 1_000_000)], 9_000_000],
    ["P9", upTo(60).map((rate) => rate * 1.25), 71.25]
  ])("of vector %s is the contract's, in any order of arrival", (_, rates, expected) => {
    const reversed = ofSeries([...rates].reverse())
    const available = { _tag: "Available", rate: { in: expected, out: expected, both: expected * 2 } }

    expect(ofSeries(rates)).toMatchObject(available)
    expect(reversed).toMatchObject(available)
  })

  it("of vector P10 is of the per-bucket sum for both, not the sum of two percentiles", () => {
    const model: Model = new Map(upTo(20).map((slot) => [slot, slot % 2 === 0 ? [100, 0, 100] : [0, 100, 100]]))

    expect(rebuilt(30, model).p95()).toMatchObject({ rate: { in: 100, out: 100, both: 100 } })
  })

  it("names the bucket that decides it, the earlier of equal ones first", () => {
    const rates = [5, 90, 90, 90, ...times(36, 1)]

    expect(ofSeries(rates)).toMatchObject({ bucket: { in: bucket(3), out: bucket(3), both: bucket(3) } })
  })

  it("passes over buckets outside of the cycle", () => {
    const percentile = new Percentile(start + 1, endOf(30))
    for (const slot of [-1, 0, 30, 31]) percentile.put(bucket(slot), 7, 7, 7)
    percentile.remove(bucket(0))

    expect(percentile.samples).toBe(0)
  })

  it("takes a fact back that turns out to be no sample", () => {
    const percentile = Percentile.of(
      start,
      endOf(40),
      upTo(21).map((slot) => fact(slot, slot))
    )
    expect(percentile.p95()).toMatchObject({ rate: { in: 20, out: 0, both: 20 } })

    percentile.take(fact(20, 20, { resets: 1 }))
    expect(percentile.p95()).toMatchObject({ rate: { in: 19, out: 0, both: 19 } })
    percentile.take(fact(21, 21, { validMs: 269_000, coveredMs: 269_000 }))
    expect(percentile.p95()).toEqual({ _tag: "Insufficient" })
  })

  it.each(["in", "out", "both"])("asks for the ledger only when the reserve of %s is used up", (worn) => {
    const slots = 8928
    const absent = 100
    const ratesOf = (slot: number): Rates => [
      worn === "in" ? slot : 7,
      worn === "out" ? slot : 7,
      worn === "both" ? slot : 7
    ]
    const model: Model = new Map()
    for (let slot = absent; slot < slots; slot++) model.set(slot, ratesOf(slot))
    const percentile = rebuilt(slots, model)
    const answers: Array<boolean> = []
    for (let taken = 1; taken <= 100; taken++) {
      percentile.remove(bucket(slots - taken))
      model.delete(slots - taken)
      // New slots at the bottom must not pass for the ones that nobody kept.
      percentile.put(bucket(absent - taken), ...ratesOf(absent - taken))
      model.set(absent - taken, ratesOf(absent - taken))
      const answer = percentile.p95()
      answers.push(answer._tag === "Exhausted")
      if (answer._tag !== "Exhausted") expect(answer).toEqual(sorted(model))
    }

    expect(answers.slice(0, 55)).not.toContain(true)
    expect(answers.at(-1)).toBe(true)
    expect(rebuilt(slots, model).p95()).toEqual(sorted(model))
  })

  it("keeps its reserve when facts are written again or rise", () => {
    const slots = 8928
    const model: Model = new Map(upTo(slots).map((rate, slot) => [slot, [rate, rate, rate]]))
    const percentile = rebuilt(slots, model)
    for (let slot = slots - 1000; slot < slots; slot++) {
      percentile.put(bucket(slot), slot + 1, slot + 1, slot + 1)
      percentile.put(bucket(slot), slot + 1.25, slot + 1.25, slot + 1.25)
      model.set(slot, [slot + 1.25, slot + 1.25, slot + 1.25])
    }
    for (let taken = 1; taken <= 50; taken++) {
      percentile.remove(bucket(slots - taken))
      model.delete(slots - taken)
    }

    expect(percentile.p95()).toEqual(sorted(model))
  })

  it("takes less than 17 kB for a month, whatever the rates", () => {
    const slots = 31 * 288
    const rising = new Map<number, Rates>(upTo(slots).map((rate, slot) => [slot, [rate, 7, slots - rate]]))

    expect(rebuilt(slots, rising).bytes).toBeLessThan(17_000)
  })

  it("refuses a cycle longer than any, and saved bytes of another cycle", () => {
    const saved = rebuilt(100, new Map(upTo(30).map((slot) => [slot, [slot, slot, slot]]))).saved()

    expect(() => new Percentile(start, endOf(65_536))).toThrow(RangeError)
    expect(Percentile.restored(start, endOf(200), saved)).toBeUndefined()
    expect(Percentile.restored(start, endOf(100), saved.subarray(1))).toBeUndefined()
    expect(Percentile.restored(start, endOf(100), new Uint8Array(3))).toBeUndefined()
    expect(
      Percentile.restored(
        start,
        endOf(100),
        saved.map(() => 255)
      )
    ).toBeUndefined()
  })
})

/** Few distinct rates make ties, many make none. */
const rateOf = fc.oneof(fc.nat(4), fc.double({ min: 0, max: 1e9, noNaN: true }))

describe("against a full sort", () => {
  it("agrees at every prefix without ever asking for the ledger", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(rateOf, rateOf), { minLength: 20, maxLength: 400 }),
        fc.boolean(),
        (rates, isLate) => {
          const percentile = new Percentile(start, endOf(rates.length))
          const model: Model = new Map()
          for (const [i, [ins, outs]] of rates.entries()) {
            const slot = isLate ? (i * 7919) % rates.length : i
            percentile.put(bucket(slot), ins, outs, ins + outs)
            model.set(slot, [ins, outs, ins + outs])

            expect(percentile.p95()).toEqual(sorted(model))
          }
        }
      ),
      { numRuns: 40 }
    )
  })

  it("agrees after any inserts, corrections and removals, through saving, restoring and rebuilding", () => {
    const step = fc.record({
      slot: fc.nat(),
      rate: rateOf,
      other: rateOf,
      kind: fc.constantFrom("put", "put", "put", "put", "put", "in", "out", "both", "remove", "save")
    })
    let rebuilds = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 21, max: 300 }),
        fc.array(step, { minLength: 400, maxLength: 900 }),
        (slots, steps) => {
          const model: Model = new Map()
          let percentile = new Percentile(start, endOf(slots))
          for (const { kind, other, rate, slot: number } of steps) {
            const slot = number % slots
            if (kind === "put") {
              percentile.put(bucket(slot), rate, other, rate + other)
              model.set(slot, [rate, other, rate + other])
            } else if (kind === "save") {
              percentile = Percentile.restored(start, endOf(slots), percentile.saved()) as Percentile
            } else {
              // Taking back what decides is what wears the reserve down.
              const now = percentile.p95()
              const gone = kind !== "remove" && now._tag === "Available" ? (now.bucket[kind] - start) / bucketMs : slot
              percentile.remove(bucket(gone))
              model.delete(gone)
            }
            if (percentile.p95()._tag === "Exhausted") {
              rebuilds++
              percentile = rebuilt(slots, model)
            }

            expect(percentile.samples).toBe(model.size)
            expect(percentile.p95()).toEqual(sorted(model))
          }
        }
      ),
      { numRuns: 30 }
    )
    expect(rebuilds).toBeGreaterThan(0)
  })

  it("agrees for a month with bursts, late facts and corrections", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1_000_000)), (stream) => {
        const slots = 31 * 288
        const percentile = new Percentile(start, endOf(slots))
        const model: Model = new Map()
        const next = (): number => stream.next().value as number
        for (let i = 0; i < slots; i++) {
          const slot = i % 10 === 0 ? next() % slots : i
          const rate = i % 40 === 0 ? next() * 100 : next()
          percentile.put(bucket(slot), rate, i, rate + i)
          model.set(slot, [rate, i, rate + i])
          if (i % 1500 === 0) expect(percentile.p95()).toEqual(sorted(model))
        }

        expect(percentile.p95()).toEqual(sorted(model))
      }),
      { numRuns: 3 }
    )
  })
})
