// One series as a segment of bits: a decimal scale, a common factor, and what each value differs by from the expected.
import { type BitReader, type BitWriter, contextsFree, DifferenceReader, DifferenceWriter, lengthOf } from "./Bits.ts"

/** The value as history keeps it: six decimals, or 15 significant digits where that is fewer; NaN (absent) stays NaN; -0 becomes 0. */
export const kept = (value: number): number => {
  const size = Math.abs(value)
  // Below 10^9 the product is below 10^15, so that the quotient is the double nearest to those decimals.
  if (size < 1e9) return Math.round(value * 1e6) / 1e6 + 0
  if (size < 1e15 && Math.floor(value) === value) return value
  const rounded = Number(value.toPrecision(15))
  // The last doubles before infinity would be rounded to it.
  return Number.isFinite(rounded) ? rounded : value
}

/** Rounds a whole series as history keeps it. */
export const keptOf = (values: Float64Array): Float64Array => {
  const out = new Float64Array(values.length)
  for (let i = 0; i < out.length; i++) out[i] = kept(values[i] as number)
  return out
}

/** Whole numbers up to here are coded as such: their differences, and the doubles of those, stay exact. */
const wholeMax = 2 ** 51

/** Scale `s` stands for the decimals `s - 3`: in thousands, hundreds, tens, ones, tenths and so on to millionths. */
const multipliers = Float64Array.of(1, 1, 1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6)
const dividers = Float64Array.of(1000, 100, 10, 1, 1, 1, 1, 1, 1, 1)
/** The first number that is no scale. */
export const scaleDoubles = 10
const scaleAbsent = 11

/** The value of a whole number at a scale. */
export const valueAt = (whole: number, scale: number): number =>
  (whole * (dividers[scale] as number)) / (multipliers[scale] as number)

/** Puts the present of `rows` values as whole numbers of `scale` into `out`; gives how many, or -1 where one is not whole. */
export const wholesOf = (values: Float64Array, rows: number, scale: number, out: Float64Array): number => {
  const multiplier = multipliers[scale] as number
  const divider = dividers[scale] as number
  let count = 0
  for (let i = 0; i < rows; i++) {
    const value = values[i] as number
    if (value !== value) continue
    const whole = Math.round((value * multiplier) / divider)
    if (!(Math.abs(whole) <= wholeMax) || (whole * divider) / multiplier !== value) return -1
    out[count++] = whole
  }
  return count
}

/** The coarsest scale from `from` on at which every present value is whole, its numbers in `out`; or `scaleDoubles`. */
export const scaleOf = (values: Float64Array, rows: number, out: Float64Array, from = 0): number => {
  let scale = from
  while (scale < scaleDoubles && wholesOf(values, rows, scale, out) < 0) scale++
  return scale
}

/** The greatest common divisor of `factor` and `count` whole numbers; 0 while all of them are 0. */
export const factorOf = (wholes: Float64Array, count: number, factor = 0): number => {
  let common = factor
  for (let i = 0; i < count && common !== 1; i++) {
    let rest = Math.abs(wholes[i] as number)
    const parts = common === 0 ? 0.5 : rest / common
    // The remainder is costly, and a factor that lasts divides nearly every number.
    if (parts === Math.floor(parts)) continue
    while (rest !== 0) {
      const next = common % rest
      common = rest
      rest = next
    }
  }
  return common
}

/** Writes a common factor, its twos apart: 13 bits where it is a power of two, as amounts of memory have it. */
export const writeFactor = (bits: BitWriter, factor: number): void => {
  bits.plain(factor > 1 ? 1 : 0, 1)
  if (factor <= 1) return
  let odd = factor
  let twos = 0
  for (; odd % 2 === 0; twos++) odd /= 2
  bits.plain(twos, 6)
  bits.number(odd)
}

/** Reads a common factor. */
export const readFactor = (bits: BitReader): number => {
  if (bits.plain(1) === 0) return 1
  const factor = 2 ** bits.plain(6) * bits.number()
  if (factor > wholeMax) throw new RangeError("the chunk holds a factor that is too large")
  return factor
}

/** Nought stands for what is usual: a column of zeros is all noughts, and takes no byte. */
const constant = 0
const fromLast = 1
const fromMean = 2
const fromLeast = 3

/** The share of the newest value in the running mean: rounds away the noise of a gauge without losing its drift. */
const meanShare = 0.25

/** What is expected after `value`, where `expected` was expected in its place. */
const expectedAfter = (kind: number, expected: number, value: number): number =>
  kind === fromLast ? value : kind === fromMean ? expected + (value - expected) * meanShare : expected

/** The bits of differences, about: the choice of a length and, where it may be either, the sign cost a bit each. */
const signBits = 0.5

interface Plan {
  readonly kind: number
  /** The bits of the longest difference. */
  readonly longest: number
}

/** The way of expecting that leaves the least to write. */
const planOf = (wholes: Float64Array, count: number, least: number): Plan => {
  let last = wholes[0] as number
  let mean = last
  let bitsLast = 0
  let bitsMean = 0
  let bitsLeast = lengthOf(last - least)
  let mostLast = 0
  let mostMean = 0
  let mostLeast = last - least
  for (let i = 1; i < count; i++) {
    const whole = wholes[i] as number
    const byLast = Math.abs(whole - last)
    const byMean = Math.abs(whole - Math.round(mean))
    const byLeast = whole - least
    if (byLast > 0) bitsLast += lengthOf(byLast) + signBits
    if (byMean > 0) bitsMean += lengthOf(byMean) + signBits
    if (byLeast > 0) bitsLeast += lengthOf(byLeast)
    if (byLast > mostLast) mostLast = byLast
    if (byMean > mostMean) mostMean = byMean
    if (byLeast > mostLeast) mostLeast = byLeast
    last = whole
    mean += (whole - mean) * meanShare
  }
  if (mostLast === 0) return { kind: constant, longest: 0 }
  if (bitsLast <= bitsMean && bitsLast <= bitsLeast) return { kind: fromLast, longest: lengthOf(mostLast) }
  return bitsMean <= bitsLeast
    ? { kind: fromMean, longest: lengthOf(mostMean) }
    : { kind: fromLeast, longest: lengthOf(mostLeast) }
}

const leastOf = (wholes: Float64Array, count: number): number => {
  let least = wholes[0] as number
  for (let i = 1; i < count; i++) if ((wholes[i] as number) < least) least = wholes[i] as number
  return least
}

/** Writes `count` whole numbers within ±2^51; starts with nothing learned. */
export const writeWholes = (bits: BitWriter, wholes: Float64Array, count: number): void => {
  if (count === 0) return
  bits.forget()
  const least = leastOf(wholes, count)
  const { kind, longest } = planOf(wholes, count, least)
  const first = kind === fromLeast ? least : (wholes[0] as number)
  const from = kind === fromLeast ? 0 : 1
  bits.plain(kind, 2)
  bits.plain(first < 0 ? 1 : 0, 1)
  bits.number(Math.abs(first))
  if (kind === constant) return
  bits.plain(longest, 6)
  let expected = first
  const differences = new DifferenceWriter(bits)
  for (let i = from; i < count; i++) {
    const whole = wholes[i] as number
    differences.put(whole - Math.round(expected), longest)
    expected = expectedAfter(kind, expected, whole)
  }
}

/** Reads `count` whole numbers into `out`. */
export const readWholes = (bits: BitReader, out: Float64Array, count: number): void => {
  if (count === 0) return
  bits.forget()
  const kind = bits.plain(2)
  const sign = bits.plain(1) === 1 ? -1 : 1
  // Adding zero keeps a written minus zero from coming out.
  const first = sign * bits.number() + 0
  if (kind === constant) {
    out.fill(first, 0, count)
    return
  }
  const longest = bits.length()
  const differences = new DifferenceReader(bits)
  let expected = first
  for (let i = 0; i < count; i++) {
    const whole = i === 0 && kind !== fromLeast ? first : Math.round(expected) + differences.take(longest)
    out[i] = whole
    expected = expectedAfter(kind, expected, whole)
  }
}

const atPresent = contextsFree
const atSame = contextsFree + 2
/** The first of the contexts that columns leave to others. */
export const contextsOwn = contextsFree + 3

const writePresence = (bits: BitWriter, values: Float64Array, isSparse: boolean): void => {
  bits.plain(isSparse ? 1 : 0, 1)
  if (!isSparse) return
  let before = 0
  for (const value of values) {
    bits.bit(atPresent + before, value === value)
    before = value === value ? 1 : 0
  }
}

/** Marks absent rows as NaN in `out` and gives how many are present. */
const readPresence = (bits: BitReader, out: Float64Array): number => {
  if (bits.plain(1) === 0) return out.length
  let before = 0
  let count = 0
  for (let i = 0; i < out.length; i++) {
    before = bits.bit(atPresent + before) ? 1 : 0
    if (before === 0) out[i] = Number.NaN
    else count++
  }
  return count
}

/** Doubles as they are, where nothing better fits: eight bytes each, unless one repeats the one before. */
const writeDoubles = (bits: BitWriter, values: Float64Array): void => {
  const view = new DataView(new ArrayBuffer(8))
  let before = Number.NaN
  for (const value of values) {
    if (value !== value) continue
    bits.bit(atSame, value === before)
    if (value === before) continue
    view.setFloat64(0, value)
    bits.plain(view.getUint32(0), 32)
    bits.plain(view.getUint32(4), 32)
    before = value
  }
}

const readDoubles = (bits: BitReader, out: Float64Array, count: number): void => {
  const view = new DataView(new ArrayBuffer(8))
  for (let i = 0; i < count; i++) {
    if (!bits.bit(atSame)) {
      view.setUint32(0, bits.plain(32))
      view.setUint32(4, bits.plain(32))
    }
    out[i] = view.getFloat64(0)
  }
}

/** The values that are present, and whether every row is the same. */
const shapeOf = (values: Float64Array): { readonly present: number; readonly isConstant: boolean } => {
  const first = values[0] as number
  let present = 0
  let isConstant = true
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (value === value) present++
    if (value !== first) isConstant = false
  }
  return { present, isConstant }
}

/** Writes a column: whole numbers at the coarsest decimal scale, doubles where there is none; lossless but for -0. */
export const writeColumn = (bits: BitWriter, values: Float64Array, scratch: Float64Array): void => {
  const { isConstant, present } = shapeOf(values)
  if (present === 0) return bits.plain(scaleAbsent, 4)
  const scale = scaleOf(values, isConstant ? 1 : values.length, scratch)
  bits.plain(scale, 4)
  writePresence(bits, values, present < values.length)
  if (scale === scaleDoubles) return writeDoubles(bits, values)
  const count = isConstant ? 1 : present
  // A factor of a single number would only say that number twice.
  const factor = isConstant ? 1 : factorOf(scratch, count)
  writeFactor(bits, factor)
  if (factor > 1) for (let i = 0; i < count; i++) scratch[i] = (scratch[i] as number) / factor
  writeWholes(bits, scratch, count)
}

/** Reads the `count` rows of a column. */
export const readColumn = (bits: BitReader, count: number): Float64Array => {
  const out = new Float64Array(count)
  const scale = bits.plain(4)
  if (scale === scaleAbsent) return out.fill(Number.NaN)
  if (scale > scaleAbsent) throw new RangeError("the chunk holds a column of an unknown form")
  const present = readPresence(bits, out)
  const wholes = present === count ? out : new Float64Array(present)
  if (scale === scaleDoubles) readDoubles(bits, wholes, present)
  else {
    const factor = readFactor(bits)
    readWholes(bits, wholes, present)
    for (let i = 0; i < present; i++) wholes[i] = valueAt((wholes[i] as number) * factor, scale)
  }
  if (wholes === out) return out
  let next = 0
  for (let i = 0; i < count; i++) if (out[i] === 0) out[i] = wholes[next++] as number
  return out
}
