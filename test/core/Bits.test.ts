// Bits by their chance: every sequence comes back, a sure bit costs nearly nothing, and no bytes lead astray.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  BitReader,
  BitWriter,
  contextsMax,
  DifferenceReader,
  DifferenceWriter,
  lengthMax,
  lengthOf
} from "../../src/core/Bits.ts"

type Step =
  | { readonly kind: "bit"; readonly context: number; readonly bit: boolean }
  | { readonly kind: "plain"; readonly value: number; readonly count: number }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "forget" }

const context = fc.integer({ min: 0, max: contextsMax - 1 })
const plain = fc
  .tuple(fc.integer({ min: 0, max: lengthMax }), fc.maxSafeNat())
  .map(([count, value]) => ({ kind: "plain" as const, count, value: count === lengthMax ? value : value % 2 ** count }))
const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("bit" as const), context, bit: fc.boolean() }),
    fc.record({ kind: fc.constant("bit" as const), context: fc.constant(3), bit: fc.constant(true) }),
    plain,
    fc.record({
      kind: fc.constant("number" as const),
      value: fc.oneof(fc.maxSafeNat(), fc.nat(), fc.constantFrom(0, 1))
    }),
    fc.constant({ kind: "forget" as const })
  ),
  { maxLength: 300 }
)

const write = (bits: BitWriter, all: ReadonlyArray<Step>): number => {
  bits.begin()
  for (const step of all) {
    if (step.kind === "bit") bits.bit(step.context, step.bit)
    else if (step.kind === "plain") bits.plain(step.value, step.count)
    else if (step.kind === "number") bits.number(step.value)
    else bits.forget()
  }
  return bits.end()
}

const read = (bits: BitReader, all: ReadonlyArray<Step>): ReadonlyArray<Step> =>
  all.map((step) => {
    if (step.kind === "bit") return { ...step, bit: bits.bit(step.context) }
    if (step.kind === "plain") return { ...step, value: bits.plain(step.count) }
    if (step.kind === "number") return { ...step, value: bits.number() }
    bits.forget()
    return step
  })

const sizeOf = (bits: ReadonlyArray<boolean>): number =>
  write(
    new BitWriter(),
    bits.map((bit) => ({ kind: "bit", context: 0, bit }))
  )

describe("a reader of bits", () => {
  it("ends or throws a RangeError whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), steps, (bytes, all) => {
        try {
          read(new BitReader(bytes), all)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
      })
    )
  })

  it("refuses a number that is longer than 53 bits", () => {
    const bits = new BitWriter()
    bits.begin()
    bits.plain(54, 6)
    bits.end()

    expect(() => new BitReader(bits.bytes()).number()).toThrow(RangeError)
    expect(() => new DifferenceReader(new BitReader(bits.bytes())).take(lengthMax + 1)).toThrow(RangeError)
  })

  it("refuses bits beyond the last value that a writer can write", () => {
    expect(() => new BitReader(Uint8Array.of(255, 255, 255, 255, 255)).bit(0)).not.toThrow()
    expect(() => {
      const bits = new BitReader(new Uint8Array(64).fill(255))
      for (let i = 0; i < 30; i++) {
        bits.bit(0)
        bits.plain(15)
      }
    }).toThrow(RangeError)
  })

  it("finds noughts behind the end", () => {
    const bits = new BitReader(new Uint8Array(0))

    expect([bits.plain(16), bits.number(), bits.plain(53)]).toEqual([0, 0, 0])
  })
})

describe("written bits", () => {
  it("come back in their order, segment by segment", () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 1, maxLength: 4 }), (segments) => {
        const bits = new BitWriter()
        const sizes = segments.map((all) => write(bits, all))
        const bytes = bits.bytes().slice()
        let at = 0
        for (let i = 0; i < segments.length; i++) {
          const segment = bytes.subarray(at, (at += sizes[i] as number))
          expect(read(new BitReader(segment), segments[i] as ReadonlyArray<Step>)).toEqual(segments[i])
        }
        expect(at).toBe(bytes.length)
      }),
      { numRuns: 300 }
    )
  })

  it("survive long runs of ones that are carried over many bytes", () => {
    const all: ReadonlyArray<Step> = Array.from({ length: 20_000 }, (_, i) =>
      i % 5000 === 4999
        ? { kind: "bit", context: 1, bit: false }
        : i % 3 === 0
          ? { kind: "plain", value: 0xffff, count: 16 }
          : { kind: "bit", context: 0, bit: false }
    )
    const bits = new BitWriter()
    write(bits, all)

    expect(read(new BitReader(bits.bytes()), all)).toEqual(all)
  })

  it("cost nothing when all are nought, and nearly nothing when all are the same", () => {
    expect(write(new BitWriter(), [{ kind: "plain", value: 0, count: 53 }])).toBe(0)
    expect(sizeOf(Array.from({ length: 1000 }, () => false))).toBeLessThan(12)
    expect(sizeOf(Array.from({ length: 1000 }, () => true))).toBeLessThan(12)
  })

  it("cost what their chance says: one in ten takes half a bit each", () => {
    const size = sizeOf(Array.from({ length: 8000 }, (_, i) => (i * 7919) % 10 === 0))

    expect(size).toBeGreaterThan(400)
    expect(size).toBeLessThan(560)
  })
})

describe("the length of a number", () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 2],
    [255, 8],
    [2 ** 31, 32],
    [2 ** 32 - 1, 32],
    [2 ** 32, 33],
    [2 ** 53 - 1, 53]
  ])("of %d is %d", (value, length) => {
    expect(lengthOf(value)).toBe(length)
  })
})

describe("differences", () => {
  const differences = fc.array(
    fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -9, max: 9 }), fc.constant(0), fc.integer()),
    { maxLength: 200 }
  )

  it("come back whatever their sign and size", () => {
    fc.assert(
      fc.property(differences, (all) => {
        const longest = Math.max(0, ...all.map((difference) => lengthOf(Math.abs(difference))))
        const bits = new BitWriter()
        bits.begin()
        const writer = new DifferenceWriter(bits)
        for (const difference of all) writer.put(difference, longest)
        bits.end()
        const reader = new DifferenceReader(new BitReader(bits.bytes()))

        expect(all.map(() => reader.take(longest))).toEqual(all.map((difference) => difference + 0))
      }),
      { numRuns: 300 }
    )
  })
})
