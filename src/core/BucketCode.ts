// One series of a tier as bits: what its buckets were, each number told by the others as far as they tell it.
import { type BitReader, type BitWriter, DifferenceReader, DifferenceWriter, lengthMax, lengthOf } from "./Bits.ts"
import {
  contextsOwn,
  factorOf,
  readColumn,
  readFactor,
  readWholes,
  scaleDoubles,
  scaleOf,
  valueAt,
  wholesOf,
  writeColumn,
  writeFactor,
  writeWholes
} from "./Column.ts"

/** What one series was in each bucket; count 0 has sum 0 and the rest NaN. */
export interface Buckets {
  readonly count: Float64Array
  readonly sum: Float64Array
  readonly min: Float64Array
  readonly max: Float64Array
  readonly last: Float64Array
}

/** Products and sums up to here are exact, and so are the differences of two of them. */
const exactMax = 2 ** 51

const atNone = contextsOwn
const atWhole = contextsOwn + 2

/** The running share of a whole that a part is; starts at a half. */
const shareAfter = (share: number, part: number, whole: number): number =>
  whole > 0 ? share + (Math.min(1, Math.max(0, part / whole)) - share) * 0.25 : share

/** The most bits of a part's difference, where some part's had `over` bits more than its whole. */
const longestOf = (whole: number, over: number): number => Math.min(lengthMax, lengthOf(whole) + over)

/**
 * Writes parts of wholes that the reader knows: none, the whole, or by how much a part differs from its expected
 * share, as a length relative to that of the whole. Parts may lie a little outside, as rounded sums do.
 */
const writeParts = (bits: BitWriter, parts: Float64Array, wholes: Float64Array, count: number): void => {
  bits.forget()
  let over = -lengthMax
  let share = 0.5
  for (let i = 0; i < count; i++) {
    const part = parts[i] as number
    const whole = wholes[i] as number
    if (part !== 0 && part !== whole)
      over = Math.max(over, lengthOf(Math.abs(part - Math.round(whole * share))) - lengthOf(whole))
    share = shareAfter(share, part, whole)
  }
  bits.plain(over + lengthMax, 7)
  const differences = new DifferenceWriter(bits)
  share = 0.5
  let before = 0
  for (let i = 0; i < count; i++) {
    const part = parts[i] as number
    const whole = wholes[i] as number
    bits.bit(atNone + before, part === 0)
    before = part === 0 ? 1 : 0
    if (part !== 0) {
      if (whole > 0) bits.bit(atWhole, part === whole)
      if (part !== whole) differences.put(part - Math.round(whole * share), longestOf(whole, over))
    }
    share = shareAfter(share, part, whole)
  }
}

const readParts = (bits: BitReader, wholes: Float64Array, count: number): Float64Array => {
  bits.forget()
  const over = bits.plain(7) - lengthMax
  const differences = new DifferenceReader(bits)
  const parts = new Float64Array(count)
  let share = 0.5
  let before = 0
  for (let i = 0; i < count; i++) {
    const whole = wholes[i] as number
    before = bits.bit(atNone + before) ? 1 : 0
    if (before === 0) {
      const isWhole = whole > 0 && bits.bit(atWhole)
      parts[i] = isWhole ? whole : Math.round(whole * share) + differences.take(longestOf(whole, over))
    }
    share = shareAfter(share, parts[i] as number, whole)
  }
  return parts
}

const countsOfRows = 0
const countsNone = 1
const countsMissing = 2
const countsOwn = 3

/** Writes counts by how many reports went without the series, which is usually the same in every bucket. */
const writeCounts = (bits: BitWriter, count: Float64Array, rows: Float64Array, scratch: Float64Array): void => {
  const missing = rows.map((row, i) => row - (count[i] as number))
  if (missing.every((value) => value === 0)) return bits.plain(countsOfRows, 2)
  if (count.every((value) => value === 0)) return bits.plain(countsNone, 2)
  const isExact = missing.every((value, i) => (rows[i] as number) - value === count[i])
  bits.plain(isExact ? countsMissing : countsOwn, 2)
  writeColumn(bits, isExact ? missing : count, scratch)
}

const readCounts = (bits: BitReader, rows: Float64Array): Float64Array => {
  const form = bits.plain(2)
  if (form === countsOfRows) return rows.slice()
  if (form === countsNone) return new Float64Array(rows.length)
  const read = readColumn(bits, rows.length)
  if (form === countsMissing) for (let i = 0; i < read.length; i++) read[i] = (rows[i] as number) - (read[i] as number)
  return read
}

/** The buckets that hold something as whole numbers of one scale: least, range, last above least, sum above least. */
interface Related {
  readonly scale: number
  readonly least: Float64Array
  readonly range: Float64Array
  readonly last: Float64Array
  readonly sum: Float64Array
  /** Range by count: what the sum is a part of. */
  readonly reach: Float64Array
}

/** Whether the buckets without a value are as they must be; all others hold numbers. */
const isWellFormed = ({ count, last, max, min, sum }: Buckets): boolean => {
  for (let i = 0; i < count.length; i++) {
    if (count[i] === 0 && sum[i] !== 0) return false
    const isEmpty = count[i] === 0
    for (const values of [min, max, last]) if (Number.isNaN(values[i]) !== isEmpty) return false
  }
  return true
}

/** The relation of the fields; undefined where they have none that is exact in whole numbers. */
const relatedOf = (buckets: Buckets): Related | undefined => {
  if (!isWellFormed(buckets)) return undefined
  const counts = buckets.count.filter((count) => count !== 0)
  const sums = buckets.sum.filter((_, i) => buckets.count[i] !== 0)
  const fields = [buckets.min, buckets.max, buckets.last, sums]
  const size = counts.length
  const wholes = fields.map(() => new Float64Array(size)) as [Float64Array, Float64Array, Float64Array, Float64Array]
  const [least, range, last, sum] = wholes
  let scale = 0
  for (const values of fields) scale = scaleOf(values, values.length, sum, scale)
  for (let i = 0; i < fields.length; i++) {
    const values = fields[i] as Float64Array
    if (wholesOf(values, values.length, scale, wholes[i] as Float64Array) !== size) return undefined
  }
  const reach = new Float64Array(size)
  for (let i = 0; i < size; i++) {
    const count = counts[i] as number
    const low = least[i] as number
    range[i] = (range[i] as number) - low
    last[i] = (last[i] as number) - low
    sum[i] = (sum[i] as number) - count * low
    reach[i] = count * (range[i] as number)
    const isInside = (last[i] as number) >= 0 && (last[i] as number) <= (range[i] as number)
    const most = Math.max(Math.abs(count * low), Math.abs(sum[i] as number), reach[i] as number)
    if (!Number.isInteger(count) || count < 0 || !isInside || !(most <= exactMax)) return undefined
  }
  return { scale, least, range, last, sum, reach }
}

const divide = (wholes: Float64Array, factor: number): void => {
  for (let i = 0; i < wholes.length; i++) wholes[i] = (wholes[i] as number) / factor
}

/** Range by count. */
const reachOf = (range: Float64Array, counts: Float64Array): Float64Array => {
  const reach = new Float64Array(range.length)
  for (let i = 0; i < reach.length; i++) reach[i] = (range[i] as number) * (counts[i] as number)
  return reach
}

const writeRelated = (bits: BitWriter, { last, least, range, reach, scale, sum }: Related): void => {
  const size = least.length
  const isFlat = range.every((value) => value === 0) && sum.every((value) => value === 0)
  bits.plain(scale, 4)
  bits.plain(isFlat ? 0 : 1, 1)
  const isConstant = isFlat && least.every((value) => value === least[0])
  let factor = isConstant ? 1 : factorOf(least, size)
  if (!isFlat) for (const wholes of [range, last, sum]) factor = factorOf(wholes, size, factor)
  writeFactor(bits, factor)
  if (factor > 1) for (const wholes of [least, range, last, sum, reach]) divide(wholes, factor)
  writeWholes(bits, least, size)
  if (isFlat) return
  writeWholes(bits, range, size)
  writeParts(bits, last, range, size)
  writeParts(bits, sum, reach, size)
}

/** The counts of the buckets that hold something: those given, when all do. */
const countsAbove = (count: Float64Array): Float64Array => {
  let size = 0
  for (let i = 0; i < count.length; i++) if (count[i] !== 0) size++
  return size === count.length ? count : count.filter((value) => value !== 0)
}

const readRelated = (bits: BitReader, count: Float64Array): Buckets => {
  const counts = countsAbove(count)
  const size = counts.length
  const scale = bits.plain(4)
  if (scale >= scaleDoubles) throw new RangeError("the chunk holds a series of an unknown form")
  const isFlat = bits.plain(1) === 0
  const factor = readFactor(bits)
  const least = new Float64Array(size)
  const range = new Float64Array(size)
  readWholes(bits, least, size)
  if (!isFlat) readWholes(bits, range, size)
  const lasts = isFlat ? range : readParts(bits, range, size)
  const sums = isFlat ? range : readParts(bits, reachOf(range, counts), size)
  const sum = new Float64Array(count.length)
  const min = new Float64Array(count.length)
  const max = new Float64Array(count.length)
  const last = new Float64Array(count.length)
  for (let i = 0, at = 0; i < count.length; i++) {
    if (count[i] === 0) {
      min[i] = max[i] = last[i] = Number.NaN
      continue
    }
    const low = least[at] as number
    sum[i] = valueAt(((sums[at] as number) + (counts[at] as number) * low) * factor, scale)
    min[i] = valueAt(low * factor, scale)
    max[i] = valueAt((low + (range[at] as number)) * factor, scale)
    last[i] = valueAt((low + (lasts[at] as number)) * factor, scale)
    at++
  }
  return { count, sum, min, max, last }
}

/** Writes the buckets of one series next to the reports that each bucket received. */
export const writeBuckets = (bits: BitWriter, buckets: Buckets, rows: Float64Array): void => {
  const scratch = new Float64Array(rows.length)
  writeCounts(bits, buckets.count, rows, scratch)
  const related = relatedOf(buckets)
  bits.plain(related === undefined ? 1 : 0, 1)
  if (related !== undefined) return writeRelated(bits, related)
  for (const values of [buckets.sum, buckets.min, buckets.max, buckets.last]) writeColumn(bits, values, scratch)
}

/** Reads the buckets of one series; `rows` as they were written. */
export const readBuckets = (bits: BitReader, rows: Float64Array): Buckets => {
  const count = readCounts(bits, rows)
  if (bits.plain(1) === 0) return readRelated(bits, count)
  const [sum, min, max, last] = [0, 0, 0, 0].map(() => readColumn(bits, rows.length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array
  ]
  return { count, sum, min, max, last }
}
