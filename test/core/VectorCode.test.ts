// Vectors at rest: lossless, small, and refused when a byte is wrong.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { decode, encode, encoded, encodedBytesMax } from "../../src/core/VectorCode.ts"

const edges = [
  0,
  -0,
  1,
  -1,
  127,
  128,
  -128,
  -129,
  32_767,
  32_768,
  -32_768,
  -32_769,
  2_147_483_647,
  2_147_483_648,
  -2_147_483_648,
  -2_147_483_649,
  4_294_967_295,
  4_294_967_296,
  2 ** 48 - 1,
  2 ** 48,
  2 ** 53,
  2 ** 64,
  0.1,
  -0.1,
  1e-320,
  1e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY
]
const values = fc.oneof(
  fc.constantFrom(...edges),
  fc.double(),
  fc.integer(),
  fc.maxSafeNat(),
  fc.integer({ min: -300, max: 300 })
)
const vectors = fc.array(values, { maxLength: 300 }).map((list) => Float64Array.from(list))
/** Bit for bit; all NaN are one. */
const bits = (vector: Float64Array) => Array.from(vector, (value) => (Object.is(value, -0) ? "-0" : String(value)))

describe("an encoded vector", () => {
  it("is refused when it is cut short, too long or holds an unknown tag", () => {
    const whole = encoded(Float64Array.of(0.5, 7, 0))

    expect(() => decode(whole.subarray(0, whole.length - 1))).toThrow(RangeError)
    expect(() => decode(Buffer.concat([whole, Buffer.from([0])]))).toThrow(RangeError)
    expect(() => decode(whole.subarray(0, 4))).toThrow(RangeError)
    expect(() => decode(Buffer.from(whole).fill(0xff, 4, 5))).toThrow(RangeError)
    expect(() => decode(Buffer.alloc(0))).toThrow(RangeError)
  })

  it.each(edges)("keeps %d exactly", (value) => {
    expect(bits(decode(encoded(Float64Array.of(value))))).toEqual(bits(Float64Array.of(value)))
  })

  it("gives back any vector bit for bit", () => {
    fc.assert(
      fc.property(vectors, (vector) => {
        expect(bits(decode(encoded(vector)))).toEqual(bits(vector))
      })
    )
  })

  it("stands behind others in one arena, at any offset, and never takes more than its bound", () => {
    fc.assert(
      fc.property(fc.array(vectors, { maxLength: 5 }), fc.nat(9), (many, offset) => {
        const room = many.reduce((sum, vector) => sum + encodedBytesMax(vector.length), offset)
        const arena = new DataView(new ArrayBuffer(room))
        const parts: Array<Uint8Array> = []
        let at = offset
        for (const vector of many) {
          const end = encode(vector, vector.length, arena, at)
          expect(end - at).toBeLessThanOrEqual(encodedBytesMax(vector.length))
          parts.push(new Uint8Array(arena.buffer, at, end - at))
          at = end
        }
        expect(parts.map((part) => bits(decode(part)))).toEqual(many.map(bits))
      })
    )
  })

  it("takes less than half of its doubles when most values are zero, absent or small", () => {
    const vector = Float64Array.from({ length: 100 }, (_, i) =>
      i % 4 === 0 ? i * 1.5 + 0.01 : i % 3 === 0 ? Number.NaN : i
    )

    expect(encoded(vector).length).toBeLessThan(vector.byteLength / 2)
  })
})
