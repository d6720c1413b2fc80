// A node's series over a stretch as bytes: raw samples, or buckets of a tier, each series readable without the others.
import { BitReader, BitWriter } from "./Bits.ts"
import { type Buckets, readBuckets, writeBuckets } from "./BucketCode.ts"
import { keptOf, readColumn, readFactor, readWholes, writeColumn, writeFactor, writeWholes } from "./Column.ts"
import { atOnce } from "./Steps.ts"
import { isRatio, quotientOf, totalOf } from "./Quotient.ts"

/** Rows of samples: `times` in whole milliseconds, mostly ascending; each column as long as `times`, NaN where absent. */
export interface RawChunk {
  readonly times: Float64Array
  readonly columns: ReadonlyArray<Float64Array>
}

export type { Buckets }

/** Buckets by their start in whole milliseconds, with the reports that each received, and every series over them. */
export interface TierChunk {
  readonly times: Float64Array
  readonly rows: Float64Array
  readonly series: ReadonlyArray<Buckets>
}

/** A day of samples every three seconds has 28,800; more rows or columns than these are a mistake or an attack. */
const rowsMax = 65_536
const columnsMax = 16_384

/** Writes whole numbers by their steps where those are exact, as times have them. */
const writeTimes = (bits: BitWriter, times: Float64Array): void => {
  let isWhole = times.length > 0
  for (const time of times) isWhole &&= Number.isInteger(time) && Math.abs(time) <= 2 ** 50
  bits.plain(isWhole ? 1 : 0, 1)
  if (!isWhole) return writeColumn(bits, times, new Float64Array(times.length))
  const first = times[0] as number
  bits.plain(first < 0 ? 1 : 0, 1)
  bits.number(Math.abs(first))
  const steps = new Float64Array(times.length - 1)
  for (let i = 0; i < steps.length; i++) steps[i] = (times[i + 1] as number) - (times[i] as number)
  writeWholes(bits, steps, steps.length)
}

const readTimes = (bits: BitReader, count: number): Float64Array => {
  if (bits.plain(1) === 0) return readColumn(bits, count)
  const steps = new Float64Array(Math.max(0, count - 1))
  const sign = bits.plain(1) === 1 ? -1 : 1
  let time = sign * bits.number() + 0
  readWholes(bits, steps, steps.length)
  const times = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    times[i] = time
    time += steps[i] ?? 0
  }
  return times
}

/**
 * The form of every chunk: rows, width and the length in bytes of each segment as varints, then the segments. A raw
 * chunk has the times and its columns; a tier chunk the times, the rows and its series. A segment between two yields.
 */
function* framed(
  count: number,
  width: number,
  segments: number,
  write: (bits: BitWriter, at: number) => void
): Generator<void, Uint8Array> {
  if (count > rowsMax || width > columnsMax) throw new RangeError("the chunk would have too many rows or columns")
  const bits = new BitWriter()
  const head: Array<number> = []
  putNumber(head, count)
  putNumber(head, width)
  for (let at = 0; at < segments; at++) {
    bits.begin()
    write(bits, at)
    putNumber(head, bits.end())
    yield
  }
  const body = bits.bytes()
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

const putNumber = (out: Array<number>, value: number): void => {
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) out.push((rest % 128) + 128)
  out.push(rest)
}

/** The segments of a chunk, found by the lengths in front; throws a RangeError where those are not those of the bytes. */
class Frame {
  readonly count: number
  readonly width: number
  private readonly bytes: Uint8Array
  private readonly ends: Array<number> = []
  private at = 0

  constructor(bytes: Uint8Array, shared: number) {
    this.bytes = bytes
    this.count = this.number()
    this.width = this.number()
    if (this.count > rowsMax || this.width > columnsMax) throw new RangeError("the chunk has too many rows or columns")
    let end = 0
    for (let i = 0; i < shared + this.width; i++) this.ends.push((end += this.number()))
    if (this.at + end !== bytes.length) throw new RangeError("the chunk has a wrong length")
  }

  /** The bits of one segment. */
  segment(index: number): BitReader {
    const end = this.ends[index]
    if (end === undefined) throw new RangeError("the chunk has no such series")
    return new BitReader(this.bytes.subarray(this.at + (this.ends[index - 1] ?? 0), this.at + end))
  }

  private number(): number {
    let value = 0
    for (let unit = 1; unit < 2 ** 35; unit *= 128) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new RangeError("the chunk is cut short")
      value += (byte % 128) * unit
      if (byte < 128) return value
    }
    throw new RangeError("the chunk holds a count that is too large")
  }
}

/** How far back a ratio looks for the amounts it is a ratio of; three bits. */
const backMax = 8

interface Source {
  readonly back: number
  readonly total: number
}

/** Which column before a ratio it is a quotient of; ratios of ratios are not looked for, so that reading ends. */
const sourceOf = (columns: ReadonlyArray<Float64Array>, isQuotient: ReadonlyArray<boolean>, at: number): Source => {
  const column = columns[at] as Float64Array
  if (isRatio(column)) {
    for (let back = 1; back <= Math.min(backMax, at); back++) {
      if (isQuotient[at - back] === true) continue
      const total = totalOf(column, columns[at - back] as Float64Array)
      if (total > 0) return { back, total }
    }
  }
  return { back: 0, total: 0 }
}

/** The bytes of samples, a column between two yields. Throws a RangeError where the columns have not one length or are too many. */
export function* encodingRaw({ columns, times }: RawChunk): Generator<void, Uint8Array> {
  if (columns.some(({ length }) => length !== times.length)) throw new RangeError("the columns have unequal lengths")
  const scratch = new Float64Array(times.length)
  const before: Array<Float64Array> = []
  const isQuotient: Array<boolean> = []
  return yield* framed(times.length, columns.length, columns.length + 1, (bits, at) => {
    if (at === 0) return writeTimes(bits, times)
    before.push(keptOf(columns[at - 1] as Float64Array))
    const { back, total } = sourceOf(before, isQuotient, at - 1)
    isQuotient.push(back > 0)
    bits.plain(back > 0 ? 1 : 0, 1)
    if (back === 0) return writeColumn(bits, before[at - 1] as Float64Array, scratch)
    bits.plain(back - 1, 3)
    writeFactor(bits, total)
  })
}

/** The bytes of samples at once. */
export const encodeRaw = (chunk: RawChunk): Uint8Array => atOnce(encodingRaw(chunk))

/** The bytes of buckets, a series between two yields. Throws a RangeError where the fields have not one length or the series are too many. */
export function* encodingTier({ rows, series, times }: TierChunk): Generator<void, Uint8Array> {
  const isUneven = ({ count, last, max, min, sum }: Buckets): boolean =>
    [count, sum, min, max, last].some(({ length }) => length !== times.length)
  if (rows.length !== times.length || series.some(isUneven)) throw new RangeError("the fields have unequal lengths")
  return yield* framed(times.length, series.length, series.length + 2, (bits, at) => {
    if (at === 0) return writeTimes(bits, times)
    if (at === 1) return writeColumn(bits, rows, new Float64Array(rows.length))
    const { count, last, max, min, sum } = series[at - 2] as Buckets
    writeBuckets(bits, { count, sum: keptOf(sum), min: keptOf(min), max: keptOf(max), last: keptOf(last) }, rows)
  })
}

/** The bytes of buckets at once. */
export const encodeTier = (chunk: TierChunk): Uint8Array => atOnce(encodingTier(chunk))

/** Reads samples, each column by itself, the times once for all of them. Throws a RangeError on bytes that `encodeRaw` did not write. */
export class RawReader {
  readonly count: number
  readonly width: number
  private readonly frame: Frame
  private knownTimes: Float64Array | undefined

  constructor(bytes: Uint8Array) {
    this.frame = new Frame(bytes, 1)
    this.count = this.frame.count
    this.width = this.frame.width
  }

  /** The times of the rows, in milliseconds. */
  times(): Float64Array {
    return (this.knownTimes ??= readTimes(this.frame.segment(0), this.count))
  }

  /** One column; NaN where it has no value. */
  column(index: number): Float64Array {
    if (index < 0) throw new RangeError("the chunk has no such series")
    const bits = this.frame.segment(index + 1)
    if (bits.plain(1) === 0) return readColumn(bits, this.count)
    const source = index - 1 - bits.plain(3)
    const total = readFactor(bits)
    const parts = source < 0 ? undefined : this.frame.segment(source + 1)
    if (parts?.plain(1) !== 0) throw new RangeError("the chunk holds a ratio of no series")
    return quotientOf(readColumn(parts, this.count), total)
  }
}

/** Reads buckets, each series by itself, times and rows once for all of them. Throws a RangeError on bytes that `encodeTier` did not write. */
export class TierReader {
  readonly count: number
  readonly width: number
  private readonly frame: Frame
  private knownTimes: Float64Array | undefined
  private knownRows: Float64Array | undefined

  constructor(bytes: Uint8Array) {
    this.frame = new Frame(bytes, 2)
    this.count = this.frame.count
    this.width = this.frame.width
  }

  /** The starts of the buckets, in milliseconds. */
  times(): Float64Array {
    return (this.knownTimes ??= readTimes(this.frame.segment(0), this.count))
  }

  /** The reports that each bucket received. */
  rows(): Float64Array {
    return (this.knownRows ??= readColumn(this.frame.segment(1), this.count))
  }

  /** The buckets of one series. */
  series(index: number): Buckets {
    if (index < 0) throw new RangeError("the chunk has no such series")
    return readBuckets(this.frame.segment(index + 2), this.rows())
  }
}
