// One column of history: what is kept of a value, that it comes back bit for bit, and how few bytes it takes.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { BitReader, BitWriter } from "../../src/core/Bits.ts"
import {
  factorOf,
  kept,
  keptOf,
  readColumn,
  readFactor,
  scaleDoubles,
  scaleOf,
  writeColumn,
  writeFactor
} from "../../src/core/Column.ts"

const encoded = (values: Float64Array): Uint8Array => {
  const bits = new BitWriter()
  bits.begin()
  writeColumn(bits, values, new Float64Array(values.length))
  bits.end()
  return bits.bytes().slice()
}
const decoded = (bytes: Uint8Array, count: number): Float64Array => readColumn(new BitReader(bytes), count)
const sizeOf = (values: ReadonlyArray<number>): number => encoded(Float64Array.from(values)).length
const expectBack = (values: Float64Array): void => {
  const back = decoded(encoded(values), values.length)
  // Object.is tells 0 from -0 and takes NaN as itself.
  expect(back.findIndex((value, i) => !Object.is(value, values[i]))).toBe(-1)
  expect(back.length).toBe(values.length)
}
const rows = (count: number, value: (i: number) => number): Array<number> =>
  Array.from({ length: count }, (_, i) => value(i))

describe("what is kept of a value", () => {
  it.each([
    [0, 0],
    [-0, 0],
    [-1e-9, 0],
    [1e-300, 0],
    [0.1 + 0.2, 0.3],
    [1 / 3, 0.333333],
    [-2 / 3, -0.666667],
    [999_999_999.9999999, 1e9],
    [1_234_567_890.123456, 1_234_567_890.12346],
    [123_456_789_012_345, 123_456_789_012_345],
    [2 ** 53 + 2, 9_007_199_254_740_990],
    [-(2 ** 60), -1_152_921_504_606_850_000],
    [1e300, 1e300],
    [1.2345678901234567e300, 1.23456789012346e300],
    [Number.MAX_VALUE, Number.MAX_VALUE],
    [Number.NaN, Number.NaN],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  ])("of %d is %d", (value, expected) => {
    expect(Object.is(kept(value), expected)).toBe(true)
  })

  it("is kept again as it is", () => {
    fc.assert(fc.property(fc.double(), (value) => Object.is(kept(kept(value)), kept(value))))
  })

  it("is within half a millionth, or half of the fifteenth digit", () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (value) => Math.abs(kept(value) - value) <= Math.max(0.5000001e-6, Math.abs(value) * 5.000001e-15)
      )
    )
  })
})

describe("a column that no writer wrote", () => {
  it("is refused when its form is unknown", () => {
    for (const form of [12, 13, 14, 15]) expect(() => decoded(Uint8Array.of(form << 4), 3)).toThrow(RangeError)
  })

  it("is refused when its factor is beyond every whole number", () => {
    const bits = new BitWriter()
    bits.begin()
    bits.plain(1, 1)
    bits.plain(63, 6)
    bits.number(3)
    bits.end()

    expect(() => readFactor(new BitReader(bits.bytes()))).toThrow(RangeError)
  })

  it("is refused or gives as many numbers as asked for, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.integer({ min: 0, max: 200 }), (bytes, count) => {
        try {
          expect(decoded(bytes, count).length).toBe(count)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
      }),
      { numRuns: 500 }
    )
  })
})

const value = fc.oneof(
  fc.double(),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.integer({ min: -500, max: 500 }).map((cents) => cents / 100),
  fc.constantFrom(0, -0, Number.NaN, 1e300, 1e-300, 2 ** 53 + 2, 2 ** 51, -(2 ** 51), 1e15, 1e17, 0.1 + 0.2)
)
const walk = fc
  .tuple(fc.maxSafeNat(), fc.constantFrom(1, 0.01, 4096, 1e-6, 3), fc.array(fc.integer({ min: -2000, max: 2000 })))
  .map(([start, unit, steps]) => {
    let at = start % 1e9
    return steps.map((step) => (at += step) * unit)
  })
const sparse = fc.array(fc.oneof(fc.constant(0), fc.constant(0), fc.constant(Number.NaN), fc.nat({ max: 1e6 })))
const same = fc.tuple(value, fc.nat({ max: 200 })).map(([repeated, count]) => rows(count, () => repeated))
const columns = fc
  .oneof(fc.array(value, { maxLength: 200 }), walk, sparse, same)
  .map((values) => Float64Array.from(values))

describe("a column", () => {
  it("comes back as it was kept, bit for bit", () => {
    fc.assert(
      fc.property(columns, (values) => expectBack(keptOf(values))),
      { numRuns: 1000 }
    )
  })

  it("comes back when it is empty, all absent, or absent here and there", () => {
    for (const values of [[], [Number.NaN], [Number.NaN, Number.NaN], [Number.NaN, 7, Number.NaN], [0, Number.NaN]])
      expectBack(Float64Array.from(values))
  })

  it("does not fail on infinities", () => {
    expectBack(Float64Array.of(Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY))
  })

  it("comes back at the edges of what is coded as whole numbers", () => {
    for (const edge of [2 ** 51, 2 ** 51 + 2, 2 ** 52, 2 ** 53, 2 ** 63])
      expectBack(Float64Array.of(edge, -edge, 0, edge - 1, 1 - edge))
  })

  it("takes no byte when it is nought, one when it is absent, and about what its value takes when it stays", () => {
    expect(sizeOf(rows(80, () => 0))).toBe(0)
    expect(sizeOf(rows(80, () => Number.NaN))).toBe(1)
    expect(sizeOf(rows(80, () => 7))).toBeLessThanOrEqual(3)
    expect(sizeOf(rows(80, () => 42.5))).toBeLessThanOrEqual(3)
  })

  it("takes a few bytes for a gap, not a bit for each row", () => {
    const gap = sizeOf(rows(400, (i) => (i > 100 && i < 200 ? Number.NaN : i)))

    expect(gap).toBeLessThan(sizeOf(rows(400, (i) => i)) + 15)
  })

  it("takes no more for amounts of memory than for the pages they count", () => {
    const pages = rows(80, (i) => 500_000 + ((i * 7919) % 61))

    expect(sizeOf(pages.map((page) => page * 4096))).toBeLessThanOrEqual(sizeOf(pages) + 3)
  })

  it("takes eight bytes for each double that is nothing better, and none for a repeated one", () => {
    const odd = rows(40, (i) => Math.sqrt(i + 2))

    expect(sizeOf(odd)).toBeLessThanOrEqual(40 * 8 + 4)
    expect(sizeOf(rows(80, (i) => (i < 40 ? Math.SQRT2 : Math.PI)))).toBeLessThanOrEqual(2 * 8 + 4)
  })
})

describe("scale and factor", () => {
  it.each([
    [[0], 0],
    [[3000, 5000], 0],
    [[7, 0.5], 4],
    [[0.25, 1], 5],
    [[0.333333], 9],
    [[0.3333333], scaleDoubles],
    [[2 ** 51, 0.5], scaleDoubles]
  ])("of %j is found", (values, scale) => {
    expect(scaleOf(Float64Array.from(values), values.length, new Float64Array(values.length))).toBe(scale)
  })

  it("finds what divides all numbers", () => {
    expect(factorOf(Float64Array.of(0, 8192, -12_288), 3)).toBe(4096)
    expect(factorOf(Float64Array.of(15, 25), 2, 10)).toBe(5)
    expect(factorOf(Float64Array.of(0, 0), 2)).toBe(0)
  })

  it("comes back as a factor", () => {
    for (const factor of [1, 2, 3, 4096, 4096 * 9, 2 ** 51, 2 ** 50 - 1]) {
      const bits = new BitWriter()
      bits.begin()
      writeFactor(bits, factor)
      bits.end()
      expect(readFactor(new BitReader(bits.bytes()))).toBe(factor)
    }
  })
})
