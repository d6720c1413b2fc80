// The points of an answer: the same from reports and from every tier that fits its steps, and nothing from outside.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { HistoryAgg } from "../../schema/History.ts"
import { encodeRaw, encodeTier, RawReader, TierReader } from "../../src/core/Chunk.ts"
import { Points } from "../../src/core/Points.ts"
import type { Series } from "../../src/core/Series.ts"
import {
  emptyBuckets,
  type Folded,
  foldRaw,
  foldTier,
  type RawPart,
  type Tier,
  tierNames,
  type TierPart,
  tiers
} from "../../src/core/Tier.ts"

const aggs = HistoryAgg.literals
const minute = tiers.minute.widthMs
const hour = tiers.hour.widthMs
const series: ReadonlyArray<Series> = [{ metric: "cpu.usage_ratio", labels: [] }]

interface Sample {
  readonly at: number
  readonly value: number
}
type Found = Array<readonly [startMs: number, value: number]>
const pointsOf = (points: Points, agg: HistoryAgg): Found => {
  const found: Found = []
  points.each(agg, (startMs, value) => found.push([startMs, value]))
  return found
}

const addSamples = (points: Points, samples: ReadonlyArray<Sample>): Points => {
  points.addValues(
    Float64Array.from(samples, ({ at }) => at),
    Float64Array.from(samples, ({ value }) => value)
  )
  return points
}

/** Parts that went through their stored form, as a read finds them. */
const rawPart = (samples: ReadonlyArray<Sample>): RawPart => {
  const times = Float64Array.from(samples, ({ at }) => at)
  const reader = new RawReader(encodeRaw({ times, columns: [Float64Array.from(samples, ({ value }) => value)] }))
  return { series, times: reader.times(), column: (index) => reader.column(index) }
}
const tierPart = ({ chunk, series: folded }: Folded): TierPart => {
  const reader = new TierReader(encodeTier(chunk))
  return { series: folded, times: reader.times(), rows: reader.rows(), buckets: (index) => reader.series(index) }
}

const cutAt = <A>(items: ReadonlyArray<A>, places: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<A>> => {
  const borders = [...places.map((place) => place % (items.length + 1)), items.length].sort((a, b) => a - b)
  return borders.map((border, i) => items.slice(borders[i - 1] ?? 0, border)).filter(({ length }) => length > 0)
}

type Cuts = Record<Exclude<Tier, "hour">, ReadonlyArray<number>>
/** The chunks of every tier, each folded from the finer one, cut at any places. */
const shelvesOf = (samples: ReadonlyArray<Sample>, cuts: Cuts) => {
  const raw = cutAt(samples, cuts.raw).map(rawPart)
  const fold = (parts: ReadonlyArray<TierPart>, places: ReadonlyArray<number>, widthMs: number) =>
    cutAt(parts, places).map((some) => tierPart(foldTier(some, widthMs)))
  const minutes = cutAt(raw, cuts.minute).map((some) => tierPart(foldRaw(some, minute)))
  const quarters = fold(minutes, cuts.quarter, tiers.quarter.widthMs)
  return { raw, minute: minutes, quarter: quarters, hour: fold(quarters, cuts.quarter, hour) }
}
type Shelves = ReturnType<typeof shelvesOf>

const addShelf = (points: Points, shelves: Shelves, tier: Tier): Points => {
  if (tier === "raw") for (const part of shelves.raw) points.addValues(part.times, part.column(0))
  else for (const part of shelves[tier]) points.addBuckets(part.times, part.buckets(0), tiers[tier].widthMs)
  return points
}

const base = Date.UTC(2031, 2, 4, 5)
const value = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 1e6) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 10 }).map((n) => n / 10) },
  { weight: 1, arbitrary: fc.constant(Number.NaN) }
)
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 * minute }) },
  { weight: 1, arbitrary: fc.constantFrom(minute, hour) }
)
const samples: fc.Arbitrary<ReadonlyArray<Sample>> = fc
  .array(fc.record({ gap, value }), { minLength: 1, maxLength: 80, size: "max" })
  .map((rows) => {
    let at = base
    return rows.map((row) => ({ at: (at += row.gap), value: row.value }))
  })
const places = fc.array(fc.nat(), { maxLength: 5 })
const cuts: fc.Arbitrary<Cuts> = fc.record({ raw: places, minute: places, quarter: places })

/** A width, a step made of it, and an answer from one multiple of the width to another. */
const asked = fc
  .record({
    tier: fc.constantFrom(...tierNames),
    times: fc.integer({ min: 1, max: 20 }),
    early: fc.integer({ min: -hour, max: 4 * hour }),
    spanMs: fc.integer({ min: 1, max: 12 * hour })
  })
  .map(({ early, spanMs, tier, times }) => {
    const unit = tiers[tier].widthMs || 3000
    const fromMs = base + Math.floor(early / unit) * unit
    return { tier, stepMs: times * unit, fromMs, toMs: fromMs + Math.ceil(spanMs / unit) * unit }
  })

/** The values of each step by another road: from the list of all that lie in it. */
const listed = (all: ReadonlyArray<Sample>, fromMs: number, toMs: number, stepMs: number) => {
  const lists = new Map<number, Array<number>>()
  for (const { at, value: one } of all) {
    if (at < fromMs || at >= toMs || Number.isNaN(one)) continue
    const start = at - (at % stepMs)
    lists.set(start, [...(lists.get(start) ?? []), one])
  }
  return lists
}

describe("an answer without samples", () => {
  it("has no points: nothing added, nothing present, an empty stretch, a stretch that is turned round", () => {
    const absent = { ...emptyBuckets(1), last: Float64Array.of(7) }
    for (const agg of aggs) {
      expect(pointsOf(new Points(base, base + hour, minute), agg)).toEqual([])
      expect(
        pointsOf(addSamples(new Points(base, base + hour, minute), [{ at: base, value: Number.NaN }]), agg)
      ).toEqual([])
      for (const toMs of [base, base - hour]) {
        expect(pointsOf(addSamples(new Points(base, toMs, minute), [{ at: base, value: 1 }]), agg)).toEqual([])
      }
      const points = new Points(base, base + hour, minute)
      points.addBuckets(Float64Array.of(base), absent, minute)
      expect(pointsOf(points, agg)).toEqual([])
    }
  })

  it("has none from just before its start and from its end on", () => {
    const points = addSamples(new Points(base + 1000, base + 5000, 3000), [
      { at: base + 999, value: 100 },
      { at: base + 1000, value: 1 },
      { at: base + 4999, value: 2 },
      { at: base + 5000, value: 100 },
      { at: base + 6000, value: 100 }
    ])

    for (const agg of aggs) {
      expect(pointsOf(points, agg)).toEqual([
        [base, 1],
        [base + 3000, 2]
      ])
    }
  })
})

describe("the points of an answer", () => {
  it("hold exactly the samples in its stretch, in aligned, ascending steps, without empty ones", () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 9000, max: hour }), fc.nat(4 * hour), fc.nat(8 * hour), (all, ...rest) => {
        const [stepMs, early, length] = rest
        const fromMs = base - hour + early
        const lists = listed(all, fromMs, fromMs + length, stepMs)
        const points = addSamples(new Points(fromMs, fromMs + length, stepMs), all)
        const [averages, most, least, last] = aggs.map((agg) => pointsOf(points, agg)) as [Found, Found, Found, Found]

        expect(most).toEqual([...lists].map(([at, list]) => [at, Math.max(...list)]))
        expect(least).toEqual([...lists].map(([at, list]) => [at, Math.min(...list)]))
        expect(last).toEqual([...lists].map(([at, list]) => [at, list.at(-1)]))
        expect(averages.map(([at]) => at)).toEqual([...lists.keys()])
        for (const [at, mean] of averages) {
          const list = lists.get(at) ?? []
          expect(Math.abs(mean - list.reduce((a, b) => a + b, 0) / list.length)).toBeLessThan(1e-6)
        }
      })
    )
  })

  it("have averages weighted by samples, which are never past what was measured", () => {
    const points = addSamples(new Points(base, base + hour, hour), [
      { at: base, value: 10 },
      { at: base + 1, value: 10 },
      { at: base + 2, value: 10 },
      { at: base + 30 * minute, value: 50 }
    ])
    const tenths = [0, 1, 2].map((i) => ({ at: base + i, value: 0.1 }))

    expect(pointsOf(points, "avg")).toEqual([[base, 20]])
    expect(pointsOf(addSamples(new Points(base, base + hour, hour), tenths), "avg")).toEqual([[base, 0.1]])
  })

  it("take the last by its time, in whatever order the chunks come", () => {
    fc.assert(
      fc.property(samples, cuts, fc.infiniteStream(fc.nat()), (all, cut, chance) => {
        const shuffled = cutAt(all, cut.raw)
          .map((chunk) => [chance.next().value as number, chunk] as const)
          .sort(([a], [b]) => a - b)
        const points = new Points(base, base + 24 * hour, 3000)
        for (const [, chunk] of shuffled) addSamples(points, chunk)

        expect(pointsOf(points, "last")).toEqual(
          pointsOf(addSamples(new Points(base, base + 24 * hour, 3000), all), "last")
        )
      })
    )
  })
})

describe("an answer from a tier", () => {
  it("counts a bucket that reaches over an end, and none that only touches it", () => {
    const full = (n: number) => {
      const figure = Float64Array.of(n)
      return { count: Float64Array.of(1), sum: figure, min: figure, max: figure, last: figure }
    }
    const points = new Points(base + 30_000, base + 3 * minute + 1, minute)
    for (const i of [-1, 0, 1, 2, 3, 4]) {
      points.addBuckets(Float64Array.of(base + i * minute), full(10 + i), minute)
    }

    expect(pointsOf(points, "max").map(([, most]) => most)).toEqual([10, 11, 12, 13])
  })

  it("is the answer from the reports, for every aggregate, step, stretch and cut into chunks", () => {
    const seen = { points: 0 }
    fc.assert(
      fc.property(samples, cuts, asked, (all, places, { fromMs, stepMs, tier, toMs }) => {
        const shelves = shelvesOf(all, places)
        const fine = addSamples(new Points(fromMs, toMs, stepMs), all)
        const coarse = addShelf(new Points(fromMs, toMs, stepMs), shelves, tier)

        for (const agg of aggs) expect(pointsOf(coarse, agg)).toEqual(pointsOf(fine, agg))
        seen.points += pointsOf(fine, "avg").length
      }),
      { numRuns: 300 }
    )
    expect(seen.points).toBeGreaterThan(600)
  })

  it("is the answer from the reports when its end is read from finer tiers", () => {
    const border = fc.nat()
    fc.assert(
      fc.property(samples, cuts, border, border, fc.integer({ min: 1, max: 6 }), (all, places, ...rest) => {
        const [one, two, times] = rest
        const [first, second] = [one % (all.length + 1), two % (all.length + 1)].sort((a, b) => a - b)
        const stretch = [base, base + 96 * hour, times * hour] as const
        const mixed = new Points(...stretch)
        addShelf(mixed, shelvesOf(all.slice(0, first), places), "hour")
        addShelf(mixed, shelvesOf(all.slice(first, second), places), "minute")
        addSamples(mixed, all.slice(second))

        for (const agg of aggs) {
          expect(pointsOf(mixed, agg)).toEqual(pointsOf(addSamples(new Points(...stretch), all), agg))
        }
      })
    )
  })

  it("agrees within rounding where the sums are past what is kept to six decimals", () => {
    const large = fc.double({ min: 0, max: 1e15, noNaN: true })
    fc.assert(
      fc.property(fc.array(large, { minLength: 1, maxLength: 40 }), (values) => {
        const all = values.map((one, i) => ({ at: base + i * 7 * minute, value: one }))
        const shelves = shelvesOf(all, { raw: [7], minute: [1], quarter: [1] })
        const stretch = [base, base + 24 * hour, 2 * hour] as const
        const fine = pointsOf(addShelf(new Points(...stretch), shelves, "raw"), "avg")
        const coarse = pointsOf(addShelf(new Points(...stretch), shelves, "hour"), "avg")

        expect(coarse.map(([at]) => at)).toEqual(fine.map(([at]) => at))
        coarse.forEach(([, mean], i) => {
          const other = fine[i]?.[1] ?? Number.NaN
          expect(Math.abs(mean - other)).toBeLessThanOrEqual(Math.max(1e-6, other * 1e-13))
        })
      })
    )
  })
})
