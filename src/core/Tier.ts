// The tiers of history: which there are, when one is folded into the next, and the folding itself.
import type { Buckets, TierChunk } from "./Chunk.ts"
import { type Series, seriesKey } from "./Series.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Buckets of a tier's width, and the stretch of the finer tier that makes one of its chunks. */
export const tiers = {
  /** Reports as they came; a chunk holds a few minutes. */
  raw: { widthMs: 0, chunkMs: 4 * minute },
  minute: { widthMs: minute, chunkMs: hour },
  quarter: { widthMs: 15 * minute, chunkMs: 12 * hour },
  hour: { widthMs: hour, chunkMs: 4 * day }
} as const
export type Tier = keyof typeof tiers
export const tierNames = ["raw", "minute", "quarter", "hour"] as const
/** One of something for each tier. */
export const perTier = <A>(make: (tier: Tier) => A): Record<Tier, A> => ({
  raw: make("raw"),
  minute: make("minute"),
  quarter: make("quarter"),
  hour: make("hour")
})
/** Tiers that are folded into a coarser one, finest first. */
export const foldedTiers = ["raw", "minute", "quarter"] as const
export type FoldedTier = (typeof foldedTiers)[number]
export const nextTier = { raw: "minute", minute: "quarter", quarter: "hour" } as const

/**
 * The start of the stretch that an instant belongs to. Every node has a phase of its own, in whole minutes, so that
 * ten thousand nodes are not sealed in one moment. Buckets that a border cuts stand in two chunks and are added up.
 */
export const stretchStart = (nodeId: number, chunkMs: number, at: number): number => {
  const phase = (nodeId * minute) % chunkMs
  return Math.floor((at - phase) / chunkMs) * chunkMs + phase
}

/** What a fold reads of one raw chunk. */
export interface RawPart {
  readonly series: ReadonlyArray<Series>
  readonly times: Float64Array
  readonly column: (index: number) => Float64Array
}
/** What a fold reads of one chunk of buckets. */
export interface TierPart {
  readonly series: ReadonlyArray<Series>
  readonly times: Float64Array
  readonly rows: Float64Array
  readonly buckets: (index: number) => Buckets
}
export interface Folded {
  readonly series: ReadonlyArray<Series>
  readonly chunk: TierChunk
}

interface Part {
  readonly series: ReadonlyArray<Series>
  readonly times: Float64Array
}

/** Ascending starts of the buckets that any part has something in, and for each part the bucket of every row. */
const placesOf = (parts: ReadonlyArray<Part>, widthMs: number) => {
  const found = new Set<number>()
  for (const { times } of parts) for (const time of times) found.add(Math.floor(time / widthMs) * widthMs)
  const times = Float64Array.from(found).sort()
  const place = new Map<number, number>()
  times.forEach((time, i) => place.set(time, i))
  const inPart = (part: Part) =>
    Int32Array.from(part.times, (time) => place.get(Math.floor(time / widthMs) * widthMs) as number)
  return { times, places: parts.map(inPart) }
}

/** The series of all parts, each once, in order of appearance. */
const united = (parts: ReadonlyArray<Part>): Map<string, Series> => {
  const all = new Map<string, Series>()
  for (const { series } of parts) {
    for (const one of series) {
      const key = seriesKey(one)
      if (!all.has(key)) all.set(key, one)
    }
  }
  return all
}

export const emptyBuckets = (count: number): Buckets => ({
  count: new Float64Array(count),
  sum: new Float64Array(count),
  min: new Float64Array(count).fill(Number.NaN),
  max: new Float64Array(count).fill(Number.NaN),
  last: new Float64Array(count).fill(Number.NaN)
})

/** Adds one value to a bucket; absent values count nothing. */
const addValue = (to: Buckets, at: number, value: number): void => {
  if (Number.isNaN(value)) return
  to.count[at] = (to.count[at] as number) + 1
  to.sum[at] = (to.sum[at] as number) + value
  if (!((to.min[at] as number) <= value)) to.min[at] = value
  if (!((to.max[at] as number) >= value)) to.max[at] = value
  to.last[at] = value
}

/** Adds bucket `i` of `from` to a bucket: counts and sums add up, the later last stays. */
const addBucket = (to: Buckets, at: number, from: Buckets, i: number): void => {
  const count = from.count[i] as number
  if (count === 0) return
  to.count[at] = (to.count[at] as number) + count
  to.sum[at] = (to.sum[at] as number) + (from.sum[i] as number)
  if (!((to.min[at] as number) <= (from.min[i] as number))) to.min[at] = from.min[i] as number
  if (!((to.max[at] as number) >= (from.max[i] as number))) to.max[at] = from.max[i] as number
  to.last[at] = from.last[i] as number
}

/** A fold whose series are computed one at a time, so that a caller can give way in between. */
export interface Folding {
  readonly series: ReadonlyArray<Series>
  /** Starts of the buckets, ascending, and the reports that each received. */
  readonly times: Float64Array
  readonly rows: Float64Array
  readonly buckets: (index: number) => Buckets
}

const folding = <P extends Part>(
  parts: ReadonlyArray<P>,
  widthMs: number,
  add: (part: P, index: number, to: Buckets, places: Int32Array) => void,
  rowsIn: (part: P, i: number) => number
): Folding => {
  const { places, times } = placesOf(parts, widthMs)
  const series = [...united(parts).values()]
  const indexes = parts.map((part) => indexOf(part))
  const rows = new Float64Array(times.length)
  parts.forEach((part, p) => {
    ;(places[p] as Int32Array).forEach((at, i) => {
      rows[at] = (rows[at] as number) + rowsIn(part, i)
    })
  })
  return {
    series,
    times,
    rows,
    buckets: (index) => {
      const key = seriesKey(series[index] as Series)
      const to = emptyBuckets(times.length)
      parts.forEach((part, p) => {
        const own = indexes[p]?.get(key)
        if (own !== undefined) add(part, own, to, places[p] as Int32Array)
      })
      return to
    }
  }
}

const indexOf = ({ series }: Part): ReadonlyMap<string, number> =>
  new Map(series.map((one, index) => [seriesKey(one), index]))

/** Raw chunks, oldest first, as buckets of the width. */
export const foldingRaw = (parts: ReadonlyArray<RawPart>, widthMs: number): Folding =>
  folding(
    parts,
    widthMs,
    (part, index, to, places) => {
      const values = part.column(index)
      for (let i = 0; i < values.length; i++) addValue(to, places[i] as number, values[i] as number)
    },
    () => 1
  )

/** Chunks of buckets, oldest first, as buckets of a width that is a multiple of theirs. */
export const foldingTier = (parts: ReadonlyArray<TierPart>, widthMs: number): Folding =>
  folding(
    parts,
    widthMs,
    (part, index, to, places) => {
      const from = part.buckets(index)
      for (let i = 0; i < places.length; i++) addBucket(to, places[i] as number, from, i)
    },
    (part, i) => part.rows[i] as number
  )

/** A fold carried out. */
const folded = ({ buckets, rows, series, times }: Folding): Folded => ({
  series,
  chunk: { times, rows, series: series.map((_, index) => buckets(index)) }
})

/** The same at once. */
export const foldRaw = (parts: ReadonlyArray<RawPart>, widthMs: number): Folded => folded(foldingRaw(parts, widthMs))
export const foldTier = (parts: ReadonlyArray<TierPart>, widthMs: number): Folded => folded(foldingTier(parts, widthMs))

/** Raw chunks, oldest first, as one: their rows behind each other, a series at a time. */
export interface Joining {
  readonly series: ReadonlyArray<Series>
  readonly times: Float64Array
  readonly column: (index: number) => Float64Array
}
export const joinRaw = (parts: ReadonlyArray<RawPart>): Joining => {
  const series = [...united(parts).values()]
  const indexes = parts.map((part) => indexOf(part))
  const count = parts.reduce((sum, { times }) => sum + times.length, 0)
  const behind = (take: (part: RawPart, p: number) => Float64Array | undefined): Float64Array => {
    const all = new Float64Array(count).fill(Number.NaN)
    let at = 0
    parts.forEach((part, p) => {
      const own = take(part, p)
      if (own !== undefined) all.set(own, at)
      at += part.times.length
    })
    return all
  }
  return {
    series,
    times: behind(({ times }) => times),
    column: (index) => {
      const key = seriesKey(series[index] as Series)
      return behind((part, p) => {
        const own = indexes[p]?.get(key)
        return own === undefined ? undefined : part.column(own)
      })
    }
  }
}
