// Chunks of history: refused when a byte is wrong, given back value for value, and small on what servers report.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type Buckets,
  encodeRaw,
  encodeTier,
  type RawChunk,
  RawReader,
  type TierChunk,
  TierReader
} from "../../src/core/Chunk.ts"
import { keptOf } from "../../src/core/Column.ts"
import { bucketed, realistic, rng } from "../support/HistorySamples.ts"

const differs = (a: Float64Array, b: Float64Array): boolean =>
  a.length !== b.length || a.some((value, i) => !Object.is(value, b[i]))
const expectSame = (read: Float64Array, written: Float64Array): void => {
  if (differs(read, written)) expect(Array.from(read)).toEqual(Array.from(written))
}

const expectRaw = (chunk: RawChunk): void => {
  const reader = new RawReader(encodeRaw(chunk))
  expect([reader.count, reader.width]).toEqual([chunk.times.length, chunk.columns.length])
  expectSame(reader.times(), chunk.times)
  chunk.columns.forEach((column, i) => expectSame(reader.column(i), keptOf(column)))
}
const expectTier = (chunk: TierChunk): void => {
  const reader = new TierReader(encodeTier(chunk))
  expect([reader.count, reader.width]).toEqual([chunk.times.length, chunk.series.length])
  expectSame(reader.times(), chunk.times)
  expectSame(reader.rows(), chunk.rows)
  chunk.series.forEach((series, i) => {
    const read = reader.series(i)
    expectSame(read.count, series.count)
    for (const field of ["sum", "min", "max", "last"] as const) expectSame(read[field], keptOf(series[field]))
  })
}

/** Reads everything there is; a RangeError is the only refusal, and what is read has the length that is promised. */
const readAll = (bytes: Uint8Array): void => {
  const attempt = (read: () => void): void => {
    try {
      read()
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }
  attempt(() => {
    const raw = new RawReader(bytes)
    attempt(() => expect(raw.times().length).toBe(raw.count))
    for (let i = 0; i < raw.width; i++) attempt(() => expect(raw.column(i).length).toBe(raw.count))
  })
  attempt(() => {
    const tier = new TierReader(bytes)
    attempt(() => expect(tier.times().length).toBe(tier.count))
    for (let i = 0; i < tier.width; i++) attempt(() => expect(tier.series(i).last.length).toBe(tier.count))
  })
}

const raw = realistic(1, 80)
const tier = bucketed(realistic(2, 48 * 20), 20)

describe("a chunk that no writer wrote", () => {
  it("is refused when it is cut anywhere, or has a byte too many", () => {
    for (const [bytes, open] of [
      [encodeRaw(raw), (cut: Uint8Array) => new RawReader(cut)],
      [encodeTier(tier), (cut: Uint8Array) => new TierReader(cut)]
    ] as const) {
      for (let end = 0; end < bytes.length; end++) expect(() => open(bytes.subarray(0, end))).toThrow(RangeError)
      expect(() => open(Uint8Array.of(...bytes, 0))).toThrow(RangeError)
    }
  })

  it("is refused or gives some numbers when bits are flipped", () => {
    const random = rng(7)
    for (const whole of [encodeRaw(realistic(3, 40)), encodeTier(bucketed(realistic(4, 100), 10))]) {
      for (let i = 0; i < 400; i++) {
        const bytes = whole.slice()
        for (let flips = 0; flips <= i % 3; flips++) {
          const at = Math.floor(random() * bytes.length)
          bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8))
        }
        readAll(bytes)
      }
    }
  })

  it("is refused or gives some numbers whatever the bytes are", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), readAll), { numRuns: 500 })
    // Few rows and columns, so that more of the bytes are read as series.
    const framed = fc.tuple(
      fc.nat({ max: 50 }),
      fc.array(fc.uint8Array({ maxLength: 30 }), { minLength: 2, maxLength: 8 })
    )
    const whole = ([count, segments]: [number, Array<Uint8Array>], shared: number): Uint8Array =>
      Uint8Array.of(
        count,
        segments.length - shared,
        ...segments.map(({ length }) => length),
        ...segments.flatMap((s) => [...s])
      )
    fc.assert(
      fc.property(framed, fc.constantFrom(1, 2), (frame, shared) => readAll(whole(frame, shared))),
      { numRuns: 1000 }
    )
  })

  it("is refused before anything is made for a count that lies", () => {
    const huge = [255, 255, 255, 255, 127]

    expect(() => new RawReader(Uint8Array.of(...huge, 1, 0, 0))).toThrow("too many rows")
    expect(() => new RawReader(Uint8Array.of(1, ...huge, 0, 0))).toThrow("too many rows")
    expect(() => new RawReader(Uint8Array.of(128, 128, 128, 128, 128, 128, 1))).toThrow(RangeError)
    // 65,537 rows; 65,536 rows but 16,385 columns; 16,384 columns, of which not one is there.
    expect(() => new RawReader(Uint8Array.of(129, 128, 4, 0, 0))).toThrow("too many rows")
    expect(() => new RawReader(Uint8Array.of(128, 128, 4, 129, 128, 1))).toThrow("too many rows")
    expect(() => new TierReader(Uint8Array.of(128, 128, 4, 128, 128, 1))).toThrow("cut short")
  })

  it("has no series beside those it has", () => {
    const reader = new RawReader(encodeRaw({ times: Float64Array.of(1), columns: [Float64Array.of(1)] }))
    const buckets = new TierReader(encodeTier({ times: new Float64Array(0), rows: new Float64Array(0), series: [] }))

    for (const index of [-1, 1, 0.5, Number.NaN]) expect(() => reader.column(index)).toThrow(RangeError)
    for (const index of [-2, -1, 0]) expect(() => buckets.series(index)).toThrow(RangeError)
  })

  it("holds no ratio of a ratio, nor of a series before the first", () => {
    // Column 0 is a quotient of what stands one before it; column 1 one of column 0.
    const self = Uint8Array.of(3, 2, 0, 1, 1, 0b1000_0000, 0b1000_0000)

    expect(() => new RawReader(self).column(0)).toThrow("ratio of no series")
    expect(() => new RawReader(self).column(1)).toThrow("ratio of no series")
  })
})

describe("a writer of chunks", () => {
  it("refuses columns of unequal length, and more than a reader would read", () => {
    const times = new Float64Array(3)
    const four = new Float64Array(4)
    const buckets: Buckets = { count: times, sum: times, min: times, max: four, last: times }

    expect(() => encodeRaw({ times, columns: [times, four] })).toThrow(RangeError)
    expect(() => encodeTier({ times, rows: four, series: [] })).toThrow(RangeError)
    expect(() => encodeTier({ times, rows: times, series: [buckets] })).toThrow(RangeError)
    expect(() => encodeRaw({ times: new Float64Array(65_537), columns: [] })).toThrow(RangeError)
    const none = new Float64Array(0)
    expect(() => encodeRaw({ times: none, columns: Array.from({ length: 16_385 }, () => none) })).toThrow(RangeError)
  })
})

const value = fc.oneof(
  fc.double({ noDefaultInfinity: true }),
  fc.integer(),
  fc.integer({ min: 0, max: 9999 }).map((cents) => cents / 100),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.constantFrom(0, -0, Number.NaN, 1e300, 1e-300, 2 ** 53 + 2, -(2 ** 53), 1e15 + 2)
)
const table = <A>(cell: fc.Arbitrary<A>, width: number): fc.Arbitrary<Array<Array<A>>> =>
  fc
    .nat({ max: 60 })
    .chain((count) =>
      fc.array(fc.array(cell, { minLength: count, maxLength: count }), { minLength: 1, maxLength: width })
    )

describe("a raw chunk", () => {
  it("comes back as it was kept, whatever its columns hold and however its times run", () => {
    fc.assert(
      fc.property(table(value, 6), fc.boolean(), (columns, isWild) => {
        const times = Float64Array.from(columns[0] as Array<number>, (value, i) =>
          Number.isFinite(value) ? Math.trunc(isWild ? value : 1.7e12 + i * 3000 + (value % 60)) + 0 : i
        )
        expectRaw({ times, columns: columns.map((column) => Float64Array.from(column)) })
      }),
      { numRuns: 500 }
    )
  })

  it("comes back without rows, without columns, with one row, and with the most rows", () => {
    expectRaw({ times: new Float64Array(0), columns: [new Float64Array(0)] })
    expectRaw({ times: Float64Array.of(5), columns: [] })
    expectRaw({ times: Float64Array.of(-5), columns: [Float64Array.of(Number.NaN), Float64Array.of(0.1)] })
    const most = Float64Array.from({ length: 65_536 }, (_, i) => (i * i) % 977)
    expectRaw({ times: most, columns: [most, new Float64Array(65_536)] })
  })

  it("comes back when ratios have gaps, and does not take a ratio that one row breaks", () => {
    const used = Float64Array.from({ length: 80 }, (_, i) =>
      i === 9 ? Number.NaN : 4096 * (70_000 + ((i * 7919) % 613))
    )
    const ratio = used.map((part) => part / 994_443_264)
    const broken = ratio.map((value, i) => (i === 70 ? value + 2e-6 : value))
    const holed = ratio.map((value, i) => (i === 10 ? Number.NaN : value))
    const sizeWith = (column: Float64Array): number =>
      encodeRaw({ times: new Float64Array(80), columns: [used, column] }).length
    const alone = encodeRaw({ times: new Float64Array(80), columns: [used] }).length

    for (const column of [ratio, broken, holed])
      expectRaw({ times: new Float64Array(80), columns: [used, column, ratio] })
    expect(sizeWith(ratio) - alone).toBeLessThan(10)
    expect(sizeWith(broken) - alone).toBeGreaterThan(80)
    expect(sizeWith(holed) - alone).toBeGreaterThan(80)
  })

  it("takes at most two bytes a value on what servers report", () => {
    let bytes = 0
    let values = 0
    for (let seed = 1; seed <= 10; seed++) {
      const chunk = realistic(seed, 80)
      expectRaw(chunk)
      const size = encodeRaw(chunk).length
      expect(size / (80 * chunk.columns.length)).toBeLessThanOrEqual(2)
      bytes += size
      values += 80 * chunk.columns.length
    }
    // Measured: 0.46. A change that loses much of it shows here.
    expect(bytes / values).toBeLessThanOrEqual(0.6)
  })

  it("takes one byte for a series that is always nought", () => {
    const times = Float64Array.from({ length: 80 }, (_, i) => 1.7e12 + i * 3000)
    const size = (width: number): number =>
      encodeRaw({ times, columns: Array.from({ length: width }, () => new Float64Array(80)) }).length

    expect(size(100) - size(50)).toBe(50)
  })
})

const bucketsOf = (cells: ReadonlyArray<readonly [number, ReadonlyArray<number>]>): Buckets => ({
  count: Float64Array.from(cells, ([count]) => count),
  sum: Float64Array.from(cells, ([, values]) => values.reduce((sum, value) => sum + value, 0)),
  min: Float64Array.from(cells, ([, values]) => (values.length > 0 ? Math.min(...values) : Number.NaN)),
  max: Float64Array.from(cells, ([, values]) => (values.length > 0 ? Math.max(...values) : Number.NaN)),
  last: Float64Array.from(cells, ([, values]) => values.at(-1) ?? Number.NaN)
})

describe("a tier chunk", () => {
  it("comes back as it was kept, for buckets of any samples", () => {
    const samples = fc
      .array(fc.oneof(value, fc.integer({ min: -9, max: 9 }), fc.constant(0.5)), { maxLength: 8 })
      .map((values) => values.filter((value) => value === value))
    fc.assert(
      fc.property(table(samples, 4), fc.boolean(), (columns, isRagged) => {
        const series = columns.map((column) => bucketsOf(column.map((values) => [values.length, values])))
        const rows = (series[0] as Buckets).count.map((count, i) => (isRagged ? count + (i % 3) : 8))
        expectTier({ times: rows.map((_, i) => 1.7e12 + i * 60_000), rows, series })
      }),
      { numRuns: 500 }
    )
  })

  it("comes back even where the fields have nothing to do with each other", () => {
    const integer = fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.constant(0))
    const cell = fc.tuple(integer, value, value, value, value)
    fc.assert(
      fc.property(table(cell, 3), (columns) => {
        const series = columns.map((column): Buckets => {
          const field = (at: 0 | 1 | 2 | 3 | 4) => Float64Array.from(column, (cells) => cells[at] + 0)
          return { count: field(0), sum: field(1), min: field(2), max: field(3), last: field(4) }
        })
        const times = (series[0] as Buckets).count
        expectTier({ times, rows: times.map((time) => Math.abs(time % 1000)), series })
      }),
      { numRuns: 500 }
    )
  })

  it("comes back where sums lose digits that the least value has", () => {
    const many = Array.from({ length: 1200 }, (_, i) => 2 ** 43 + 4096 * (i % 7))
    const huge = Array.from({ length: 1200 }, (_, i) => 2 ** 47 + 4096 * (i % 7))
    const thirds = Array.from({ length: 20 }, () => 1 / 3)
    const series = [many, huge, thirds].map((values) =>
      bucketsOf(Array.from({ length: 12 }, () => [values.length, values]))
    )

    expectTier({ times: new Float64Array(12), rows: new Float64Array(12).fill(1200), series })
  })

  it("takes one byte for a series of noughts and a few for one that stays or is absent", () => {
    const rows = new Float64Array(60).fill(20)
    const times = Float64Array.from({ length: 60 }, (_, i) => 1.7e12 + i * 60_000)
    const size = (values: ReadonlyArray<number>): number => {
      const series = bucketsOf(Array.from({ length: 60 }, () => [values.length, values]))
      expectTier({ times, rows, series: [series] })
      return encodeTier({ times, rows, series: [series] }).length - encodeTier({ times, rows, series: [] }).length
    }
    const twenty = (value: number): ReadonlyArray<number> => Array.from({ length: 20 }, () => value)

    expect(size(twenty(0))).toBe(1)
    expect(size([])).toBeLessThanOrEqual(2)
    expect(size(twenty(1))).toBeLessThanOrEqual(4)
    expect(size(twenty(42.5))).toBeLessThanOrEqual(5)
  })

  it("takes less than a byte for each field on what servers report", () => {
    const chunk = bucketed(realistic(5, 1200), 20)
    expectTier(chunk)
    // Measured: 0.54.
    expect(encodeTier(chunk).length / (5 * 60 * chunk.series.length)).toBeLessThanOrEqual(0.75)
  })
})
