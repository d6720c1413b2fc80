// Spreads the bytes between readings over UTC five-minute buckets; a bucket that time has left becomes a fact.
import { book, continuity, type Counters, type Delta, Flag, measuredMs } from "./Counter.ts"

export const bucketMs = 300_000
/** A pair of readings further apart than this, and than three report intervals, is a gap. */
const gapMs = 300_000
const gapIntervals = 3
/** Milliseconds of valid coverage that a bucket needs for its rate to be a sample. */
const sampleCoverageMs = 270_000
/** Buckets that one pair may fill, 45 days: what lies further back is past the ledger's memory, its bytes stay old. */
export const bucketsPerPair = 12_960

interface Totals {
  /** All bytes of the bucket, also those of gaps and lower bounds. */
  inBytes: number
  outBytes: number
  /** Time between readings that continue each other, gaps included. */
  coveredMs: number
  /** The part of it that is no gap, and its bytes: what the rate is made of. */
  validMs: number
  validIn: number
  validOut: number
  /** Pairs that are gaps, in the first bucket they touch. */
  gaps: number
  /** Pairs that are resets, in the bucket of their later reading. */
  resets: number
  /** Pairs whose jump no link carries, in the bucket of their later reading. */
  quarantined: number
  /** Bits of `Flag` from all pairs that were counted here. */
  flags: number
  /** Best rates of a single pair that is neither gap nor reset, bytes per second; `both` of one and the same pair. */
  bestIn: number
  bestOut: number
  bestBoth: number
}

/** All that is known of one interface in the bucket that begins at `start` (milliseconds UTC); replaces any earlier. */
export interface Fact extends Readonly<Totals> {
  readonly start: number
}

/** One interface between two reports: its last counters and the bucket that is being filled. Plain, mutable, storable. */
export interface OpenBucket extends Counters, Totals {
  start: number
}

/** Start of the bucket that an instant lies in: half-open, [start, start + 300 s). */
export const bucketAt = (at: number): number => Math.floor(at / bucketMs) * bucketMs

/** Longest distance of two readings that is no gap, for a node that reports at this interval. */
export const gapLimitMs = (intervalMs: number): number => Math.max(gapMs, gapIntervals * intervalMs)

/** An interface's first reading: a point to measure from, no bytes. */
export const opened = (first: Counters): OpenBucket => ({
  hostname: first.hostname,
  bootAt: first.bootAt,
  reportedAt: first.reportedAt,
  uptimeSec: first.uptimeSec,
  receivedAt: first.receivedAt,
  recv: first.recv,
  sent: first.sent,
  start: bucketAt(first.receivedAt),
  inBytes: 0,
  outBytes: 0,
  coveredMs: 0,
  validMs: 0,
  validIn: 0,
  validOut: 0,
  gaps: 0,
  resets: 0,
  quarantined: 0,
  flags: 0,
  bestIn: 0,
  bestOut: 0,
  bestBoth: 0
})

/** The bucket as far as it got. Later facts of the same start replace it. */
export const factOf = (open: OpenBucket): Fact => ({
  start: open.start,
  inBytes: open.inBytes,
  outBytes: open.outBytes,
  // Time is passed through twice when our clock is set back.
  coveredMs: Math.min(open.coveredMs, bucketMs),
  validMs: Math.min(open.validMs, bucketMs),
  validIn: open.validIn,
  validOut: open.validOut,
  gaps: open.gaps,
  resets: open.resets,
  quarantined: open.quarantined,
  flags: open.flags,
  bestIn: open.bestIn,
  bestOut: open.bestOut,
  bestBoth: open.bestBoth
})

/** Whether the bucket's average rate is a sample: no reset, no part of a gap, at least 270 s. */
export const isSample = (fact: Fact): boolean =>
  fact.resets === 0 &&
  fact.gaps === 0 &&
  fact.quarantined === 0 &&
  fact.validMs === fact.coveredMs &&
  fact.validMs >= sampleCoverageMs

/** Average rates of a sample, bytes per second; `both` is the rate of the sum. */
export const ratesOf = ({ validIn, validMs, validOut }: Fact): { in: number; out: number; both: number } => {
  if (validMs === 0) return { in: 0, out: 0, both: 0 }
  return {
    in: (validIn * 1000) / validMs,
    out: (validOut * 1000) / validMs,
    both: ((validIn + validOut) * 1000) / validMs
  }
}

/** Shared by all calls that close nothing. */
const nothing: ReadonlyArray<Fact> = Object.freeze([])
/** Where `book` writes; read before the call returns. */
const delta: Delta = { inBytes: 0, outBytes: 0, flags: 0 }

/**
 * Counts the next applied reading of the interface and returns the facts that are complete with it, oldest first and
 * without those of buckets that nothing is known about. `open` becomes the state to call with next; `reading` is only
 * read, so one object may serve all calls.
 *
 * No byte is ever lost to time: what a late report or a clock that was set back would put into a closed bucket stays
 * in the open one, which is no sample then. Of a pair that touches more than `bucketsMax` buckets the oldest take the
 * bytes of those between.
 */
export const advance = (
  open: OpenBucket,
  reading: Counters,
  limitMs: number,
  bucketsMax: number = bucketsPerPair
): ReadonlyArray<Fact> => {
  const kind = continuity(open, reading)
  if (kind === "late") return nothing
  book(open, reading, kind, delta)
  const { flags, inBytes, outBytes } = delta
  if (flags !== 0) return interrupted(open, reading, delta, bucketsMax)
  const from = open.receivedAt
  const to = reading.receivedAt
  const isValid = to >= from && to - from <= limitMs
  const spanMs = isValid ? measuredMs(open, reading) : 0
  remember(open, reading)
  if (!isValid) open.gaps++
  if (from >= open.start && to >= from && to < open.start + bucketMs) {
    add(open, inBytes, outBytes, to - from, isValid)
    if (spanMs > 0 && to > from) best(open, inBytes, outBytes, spanMs)
    return nothing
  }
  return spread(open, from, to, inBytes, outBytes, { isCovered: true, isValid, spanMs, bucketsMax }, [])
}

interface Kind {
  readonly isCovered: boolean
  readonly isValid: boolean
  /** Time behind the pair's own rate; 0 when it has none. */
  readonly spanMs: number
  readonly bucketsMax: number
}

/** A reset or a quarantined jump: no coverage, no rate; bytes only as a lower bound, since the boot. */
const interrupted = (
  open: OpenBucket,
  reading: Counters,
  { flags, inBytes, outBytes }: Delta,
  bucketsMax: number
): ReadonlyArray<Fact> => {
  const to = reading.receivedAt
  const closed: Array<Fact> = []
  // A lower bound is of the new boot, which is no older than the previous reading.
  const from = Math.min(to, Math.max(open.receivedAt, to - reading.uptimeSec * 1000))
  remember(open, reading)
  if (inBytes > 0 || outBytes > 0) {
    enter(open, bucketAt(from), closed)
    spread(open, from, to, inBytes, outBytes, { isCovered: false, isValid: false, spanMs: 0, bucketsMax }, closed)
  }
  enter(open, bucketAt(to), closed)
  if ((flags & Flag.reset) !== 0) open.resets++
  if ((flags & Flag.quarantined) !== 0) open.quarantined++
  open.flags |= flags
  return closed.length === 0 ? nothing : closed
}

/** In proportion to time; each running total is rounded, the last bucket takes the rest, so the parts sum exactly. */
const spread = (
  open: OpenBucket,
  from: number,
  to: number,
  inBytes: number,
  outBytes: number,
  kind: Kind,
  closed: Array<Fact>
): ReadonlyArray<Fact> => {
  let doneIn = 0
  let doneOut = 0
  while (to >= open.start + bucketMs) {
    const end = open.start + bucketMs
    const next = Math.max(end, bucketAt(to) - kind.bucketsMax * bucketMs)
    const upToIn = Math.round((inBytes * (next - from)) / (to - from))
    const upToOut = Math.round((outBytes * (next - from)) / (to - from))
    const ms = end - Math.max(from, open.start)
    add(open, upToIn - doneIn, upToOut - doneOut, kind.isCovered ? ms : 0, kind.isValid)
    if (kind.spanMs > 0 && ms > 0) best(open, inBytes, outBytes, kind.spanMs)
    doneIn = upToIn
    doneOut = upToOut
    enter(open, next, closed)
  }
  const ms = Math.max(0, to - Math.max(from, open.start))
  add(open, inBytes - doneIn, outBytes - doneOut, kind.isCovered ? ms : 0, kind.isValid)
  if (kind.spanMs > 0 && ms > 0) best(open, inBytes, outBytes, kind.spanMs)
  return closed
}

const add = (open: OpenBucket, inBytes: number, outBytes: number, ms: number, isValid: boolean): void => {
  open.inBytes += inBytes
  open.outBytes += outBytes
  open.coveredMs += ms
  if (!isValid) return
  open.validMs += ms
  open.validIn += inBytes
  open.validOut += outBytes
}

const best = (open: OpenBucket, inBytes: number, outBytes: number, spanMs: number): void => {
  open.bestIn = Math.max(open.bestIn, (inBytes * 1000) / spanMs)
  open.bestOut = Math.max(open.bestOut, (outBytes * 1000) / spanMs)
  open.bestBoth = Math.max(open.bestBoth, ((inBytes + outBytes) * 1000) / spanMs)
}

const remember = (open: OpenBucket, reading: Counters): void => {
  // The kept text is shared by the node's interfaces; an equal one would be a copy per report.
  if (open.hostname !== reading.hostname) open.hostname = reading.hostname
  open.bootAt = reading.bootAt
  open.reportedAt = reading.reportedAt
  open.uptimeSec = reading.uptimeSec
  open.receivedAt = reading.receivedAt
  open.recv = reading.recv
  open.sent = reading.sent
}

/** Whether nothing is known about the bucket. */
export const isBlank = (open: OpenBucket): boolean =>
  open.coveredMs === 0 &&
  open.inBytes === 0 &&
  open.outBytes === 0 &&
  open.gaps === 0 &&
  open.resets === 0 &&
  open.quarantined === 0

/** Goes on to the bucket at `start` and closes the one before; never back, since closed facts would lose bytes. */
const enter = (open: OpenBucket, start: number, closed: Array<Fact>): void => {
  if (start <= open.start) return
  if (!isBlank(open)) closed.push(factOf(open))
  open.start = start
  open.inBytes = 0
  open.outBytes = 0
  open.coveredMs = 0
  open.validMs = 0
  open.validIn = 0
  open.validOut = 0
  open.gaps = 0
  open.resets = 0
  open.quarantined = 0
  open.flags = 0
  open.bestIn = 0
  open.bestOut = 0
  open.bestBoth = 0
}
