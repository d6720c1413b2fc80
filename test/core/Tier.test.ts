// Folding: whatever the way and the borders, a bucket says the same of the samples that lie in it.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { HistoryMetric } from "../../schema/History.ts"
import { type Series, seriesKey } from "../../src/core/Series.ts"
import {
  emptyBuckets,
  type Folded,
  foldedTiers,
  foldRaw,
  foldTier,
  nextTier,
  type RawPart,
  stretchStart,
  tierNames,
  type TierPart,
  tiers
} from "../../src/core/Tier.ts"

const minute = tiers.minute.widthMs
const quarter = tiers.quarter.widthMs
const hour = tiers.hour.widthMs

/** What a report said of each series at a time; NaN or nothing is absent. */
interface Sample {
  readonly at: number
  readonly values: ReadonlyMap<string, number>
}
const named = (label: string, metric: HistoryMetric = "net.recv_bps"): Series => ({ metric, labels: [label] })
const all: ReadonlyArray<Series> = [
  named("a"),
  named("b"),
  named("a", "net.sent_bps"),
  { metric: "mem.used", labels: [] }
]

/** A chunk whose columns are some series, in some order. */
const rawPart = (samples: ReadonlyArray<Sample>, series: ReadonlyArray<Series>): RawPart => ({
  series,
  times: Float64Array.from(samples, ({ at }) => at),
  column: (index) => {
    const key = seriesKey(series[index] as Series)
    return Float64Array.from(samples, ({ values }) => values.get(key) ?? Number.NaN)
  }
})
const tierPart = ({ chunk, series }: Folded): TierPart => ({
  series,
  times: chunk.times,
  rows: chunk.rows,
  buckets: (index) => chunk.series[index] ?? emptyBuckets(0)
})

/** Every bucket that has samples, by series and start, and how many reports each start saw. */
const said = ({ chunk, series }: Folded): ReadonlyMap<string, unknown> => {
  const found = new Map<string, unknown>()
  chunk.times.forEach((at, i) => found.set(`rows ${at}`, chunk.rows[i]))
  series.forEach((one, index) => {
    const { count, last, max, min, sum } = chunk.series[index] ?? emptyBuckets(0)
    chunk.times.forEach((at, i) => {
      if (count[i] !== 0) found.set(`${seriesKey(one)} ${at}`, [count[i], sum[i], min[i], max[i], last[i]])
    })
  })
  return found
}

/** The same by another road: each bucket from the list of all values that lie in it. */
const expected = (samples: ReadonlyArray<Sample>, widthMs: number): ReadonlyMap<string, unknown> => {
  const lists = new Map<string, Array<number>>()
  const found = new Map<string, unknown>()
  for (const { at, values } of samples) {
    const start = at - (at % widthMs)
    found.set(`rows ${start}`, ((found.get(`rows ${start}`) as number | undefined) ?? 0) + 1)
    for (const [key, value] of values) {
      if (Number.isNaN(value)) continue
      const name = `${key} ${start}`
      lists.set(name, [...(lists.get(name) ?? []), value])
    }
  }
  for (const [name, list] of lists) {
    const sum = list.reduce((a, b) => a + b, 0)
    found.set(name, [list.length, sum, Math.min(...list), Math.max(...list), list.at(-1)])
  }
  return found
}

/** A list cut at any places, also at none and several times at the same. */
const cutAt = <A>(items: ReadonlyArray<A>, places: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<A>> => {
  const borders = [...places.map((place) => place % (items.length + 1)), items.length].sort((a, b) => a - b)
  return borders.map((border, i) => items.slice(borders[i - 1] ?? 0, border))
}

/** Sums of these are exact, so that the order of adding up cannot show. */
const value = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -64_000, max: 64_000 }).map((n) => n / 64) },
  { weight: 2, arbitrary: fc.constantFrom(Number.NaN, 0) }
)
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 30 * minute }) },
  { weight: 1, arbitrary: fc.constantFrom(0, minute, quarter, hour) }
)
const base = Date.UTC(2031, 2, 4, 5)
const row = fc.record({ gap, values: fc.array(value, { minLength: all.length, maxLength: all.length }) })

/** Reports of a node in chunks, each of which has some of the series, in an order of its own. */
const chunked = fc
  .record({
    rows: fc.array(row, { minLength: 1, maxLength: 80 }),
    places: fc.array(fc.nat(), { maxLength: 8 }),
    layouts: fc.array(fc.shuffledSubarray([...all]), { minLength: 9, maxLength: 9 })
  })
  .map(({ layouts, places, rows }) => {
    let at = base
    const times = rows.map((one) => (at += one.gap))
    const chunks = cutAt(
      rows.map(({ values }, i) => ({ at: times[i] as number, values })),
      places
    )
    return chunks.map((chunk, c) => {
      const series = layouts[c] as ReadonlyArray<Series>
      const samples = chunk.map(({ at: time, values }) => ({
        at: time,
        values: new Map(series.map((one) => [seriesKey(one), values[all.indexOf(one)] as number]))
      }))
      return { series, samples }
    })
  })

const partsOf = (chunks: ReadonlyArray<{ series: ReadonlyArray<Series>; samples: ReadonlyArray<Sample> }>) =>
  chunks.map(({ samples, series }) => rawPart(samples, series))
const samplesOf = (chunks: ReadonlyArray<{ samples: ReadonlyArray<Sample> }>) =>
  chunks.flatMap(({ samples }) => samples)

describe("folding nothing", () => {
  it("gives nothing, and no series out of nowhere", () => {
    expect(said(foldRaw([], minute)).size).toBe(0)
    expect(foldTier([], hour)).toEqual({
      series: [],
      chunk: { times: new Float64Array(0), rows: new Float64Array(0), series: [] }
    })
  })

  it("counts a report whose values are all absent as a report, and its values as none", () => {
    const key = seriesKey(named("a"))
    const folded = foldRaw([rawPart([{ at: base, values: new Map([[key, Number.NaN]]) }], [named("a")])], minute)

    expect(folded.chunk.rows).toEqual(Float64Array.of(1))
    expect(folded.chunk.series).toEqual([emptyBuckets(1)])
    expect(foldTier([tierPart(folded)], hour).chunk.series).toEqual([emptyBuckets(1)])
  })

  it("keeps an empty bucket from touching the figures of a full one, before it and behind it", () => {
    const key = seriesKey(named("a"))
    const part = (at: number, n: number) => rawPart([{ at, values: new Map([[key, n]]) }], [named("a")])
    const [none, some] = [foldRaw([part(base, Number.NaN)], minute), foldRaw([part(base + minute, -5)], minute)]
    const [late] = [foldRaw([part(base + 2 * minute, Number.NaN)], minute)]

    expect(said(foldTier([none, some, late].map(tierPart), quarter))).toEqual(
      new Map<string, unknown>([
        [`rows ${base}`, 3],
        [`${key} ${base}`, [1, -5, -5, -5, -5]]
      ])
    )
  })
})

describe("folding reports", () => {
  it.each([minute, quarter, hour])("into buckets of %d ms says of each what lies in it", (widthMs) => {
    fc.assert(
      fc.property(chunked, (chunks) => {
        expect(said(foldRaw(partsOf(chunks), widthMs))).toEqual(expected(samplesOf(chunks), widthMs))
      })
    )
  })

  it("gives ascending starts that are multiples of the width, and each series once", () => {
    fc.assert(
      fc.property(chunked, fc.constantFrom(minute, quarter, hour), (chunks, widthMs) => {
        const { chunk, series } = foldRaw(partsOf(chunks), widthMs)

        expect([...chunk.times]).toEqual([...new Set(chunk.times)].sort((a, b) => a - b))
        expect(chunk.times.every((at) => at % widthMs === 0)).toBe(true)
        expect(new Set(series.map(seriesKey)).size).toBe(series.length)
        expect(chunk.series.length).toBe(series.length)
      })
    )
  })

  it("keeps series apart whose names join to the same text", () => {
    const one: Series = { metric: "disk.used", labels: ["/a\n/b", "/c"] }
    const two: Series = { metric: "disk.used", labels: ["/a", "/b", "/c"] }
    const values = new Map([
      [seriesKey(one), 1],
      [seriesKey(two), 2]
    ])
    const { chunk, series } = foldRaw([rawPart([{ at: base, values }], [one, two])], minute)

    expect(series).toEqual([one, two])
    expect(chunk.series.map(({ sum }) => sum[0])).toEqual([1, 2])
  })
})

describe("folding tier by tier", () => {
  it("says what folding the reports at once says, wherever chunks begin and end", () => {
    const places = fc.array(fc.nat(), { maxLength: 5 })
    fc.assert(
      fc.property(chunked, places, places, places, (chunks, first, second, third) => {
        const minutes = cutAt(partsOf(chunks), first).map((some) => foldRaw(some, minute))
        const quarters = cutAt(minutes.map(tierPart), second).map((some) => foldTier(some, quarter))
        const hours = cutAt(quarters.map(tierPart), third).map((some) => foldTier(some, hour))
        const samples = samplesOf(chunks)

        expect(said(foldTier(minutes.map(tierPart), minute))).toEqual(expected(samples, minute))
        expect(said(foldTier(quarters.map(tierPart), quarter))).toEqual(expected(samples, quarter))
        expect(said(foldTier(hours.map(tierPart), hour))).toEqual(expected(samples, hour))
        expect(said(foldTier(hours.map(tierPart), hour))).toEqual(said(foldRaw(partsOf(chunks), hour)))
      }),
      { numRuns: 200 }
    )
  })

  it("takes the last of a bucket that two chunks share from the later one", () => {
    const key = seriesKey(named("a"))
    const part = (at: number, n: number) =>
      foldRaw([rawPart([{ at, values: new Map([[key, n]]) }], [named("a")])], minute)
    const folded = foldTier([part(base + 10_000, 9), part(base + 20_000, 3)].map(tierPart), hour)

    expect(said(folded).get(`${key} ${base}`)).toEqual([2, 12, 3, 9, 3])
  })
})

describe("a tier", () => {
  it("has buckets that are made of whole buckets of the finer one, and chunks of whole minutes", () => {
    for (const from of foldedTiers) {
      expect(tiers[nextTier[from]].widthMs % (tiers[from].widthMs || 1)).toBe(0)
      expect(tiers[nextTier[from]].widthMs).toBeGreaterThan(tiers[from].widthMs)
    }
    for (const name of tierNames) expect(tiers[name].chunkMs % minute).toBe(0)
    expect([...tierNames]).toEqual([...foldedTiers, "hour"])
  })
})

describe("the stretches of a node", () => {
  const nodeIds = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 2 ** 31 }))
  const lengths = fc.oneof(
    fc.constantFrom(...tierNames.map((name) => tiers[name].chunkMs)),
    fc.integer({ min: 1, max: 20_000 }).map((count) => count * minute)
  )
  const instants = fc.integer({ min: 0, max: Date.UTC(2200, 0) })

  it("tile time: each begins where the one before ends, on a whole minute, and each instant is in one", () => {
    fc.assert(
      fc.property(nodeIds, lengths, instants, (id, chunkMs, at) => {
        const start = stretchStart(id, chunkMs, at)

        expect(start).toBeLessThanOrEqual(at)
        expect(at - start).toBeLessThan(chunkMs)
        expect(Math.abs(start % minute)).toBe(0)
        expect(stretchStart(id, chunkMs, start)).toBe(start)
        expect(stretchStart(id, chunkMs, start + chunkMs - 1)).toBe(start)
        expect(stretchStart(id, chunkMs, start + chunkMs)).toBe(start + chunkMs)
        expect(stretchStart(id, chunkMs, start - 1)).toBe(start - chunkMs)
      }),
      { numRuns: 1000 }
    )
  })

  it.each(tierNames)("of many nodes begin evenly over the length of a chunk of tier %s", (tier) => {
    const { chunkMs } = tiers[tier]
    const phases = chunkMs / minute
    const found = new Map<number, number>()
    for (let id = 1; id <= 3 * phases; id++) {
      const start = stretchStart(id, chunkMs, base)
      found.set(start, (found.get(start) ?? 0) + 1)
    }

    expect([...found.values()]).toEqual(Array.from({ length: phases }, () => 3))
  })
})
