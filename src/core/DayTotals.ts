// Sums of an interface's facts per local day of a cycle, and over the whole of it, kept up to date fact by fact.
import { type Fact, isSample, ratesOf } from "./Bucket.ts"
import type { CycleDay } from "./Cycle.ts"

/** What the facts of a period come to. Bytes are exact below 2^53, which is 9 PB; rates are bytes per second. */
export interface Totals {
  /** Buckets of which anything is known. */
  facts: number
  inBytes: number
  outBytes: number
  /** Buckets whose average rate is a sample. */
  samples: number
  gaps: number
  resets: number
  quarantined: number
  /** Best rates of a sample, `Both` being that of the sum. */
  peakIn: number
  peakOut: number
  peakBoth: number
  /** Best rates of a pair of readings. */
  bestIn: number
  bestOut: number
  bestBoth: number
}

/** No facts. */
export const noTotals = (): Totals => ({
  facts: 0,
  inBytes: 0,
  outBytes: 0,
  samples: 0,
  gaps: 0,
  resets: 0,
  quarantined: 0,
  peakIn: 0,
  peakOut: 0,
  peakBoth: 0,
  bestIn: 0,
  bestOut: 0,
  bestBoth: 0
})

const names = Object.keys(noTotals()) as ReadonlyArray<keyof Totals>
/** Names from here on are maxima, those before are sums. */
const maximaFrom = names.indexOf("peakIn")

/** Adds one more period to `to`. */
export const addTotals = (to: Totals, more: Totals): void => {
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as keyof Totals
    to[name] = i < maximaFrom ? to[name] + more[name] : Math.max(to[name], more[name])
  }
}

/** Adds one bucket to `to`; must not be in it yet. */
export const addFact = (to: Totals, fact: Fact): void => {
  to.facts++
  to.inBytes += fact.inBytes
  to.outBytes += fact.outBytes
  to.gaps += fact.gaps
  to.resets += fact.resets
  to.quarantined += fact.quarantined
  to.bestIn = Math.max(to.bestIn, fact.bestIn)
  to.bestOut = Math.max(to.bestOut, fact.bestOut)
  to.bestBoth = Math.max(to.bestBoth, fact.bestBoth)
  if (!isSample(fact)) return
  const rates = ratesOf(fact)
  to.samples++
  to.peakIn = Math.max(to.peakIn, rates.in)
  to.peakOut = Math.max(to.peakOut, rates.out)
  to.peakBoth = Math.max(to.peakBoth, rates.both)
}

/** The totals of these facts, each bucket once. */
export const totalsOf = (facts: Iterable<Fact>): Totals => {
  const totals = noTotals()
  for (const fact of facts) addFact(totals, fact)
  return totals
}

/** Where the totals stand that the numbers of a row hold. */
const scratch = noTotals()

/**
 * A day is a row of thirteen numbers: some 3 kB for a month. A fact in the order of time is added; any other makes its
 * day be summed again from the ledger, because what it replaces is not remembered and a maximum cannot be taken back.
 */
export class DayTotals {
  readonly days: ReadonlyArray<CycleDay>
  /** Start of the newest bucket counted. */
  newestAt = Number.NEGATIVE_INFINITY
  private readonly rows: Float64Array

  /** `days` tile the cycle and are shared by all interfaces of one configuration. */
  constructor(days: ReadonlyArray<CycleDay>) {
    this.days = days
    this.rows = new Float64Array(days.length * names.length)
  }

  /** Counts a committed fact; the day that must be summed again with `retake`, if any. */
  take(fact: Fact): CycleDay | undefined {
    const index = this.indexAt(fact.start)
    const day = this.days[index]
    if (day === undefined) return undefined
    if (fact.start <= this.newestAt) return day
    this.newestAt = fact.start
    this.read(index)
    addFact(scratch, fact)
    this.write(index)
    return undefined
  }

  /** Sums a day anew from all of its facts. */
  retake(day: Pick<CycleDay, "startMs">, facts: ReadonlyArray<Fact>): void {
    const index = this.indexAt(day.startMs)
    Object.assign(scratch, noTotals())
    for (const fact of facts) addFact(scratch, fact)
    this.write(index)
    this.newestAt = Math.max(this.newestAt, facts.at(-1)?.start ?? this.newestAt)
  }

  /** A new object each time: the caller may add to it. */
  day(index: number): Totals {
    this.read(index)
    return { ...scratch }
  }

  /** The sum of all days. */
  all(): Totals {
    const totals = noTotals()
    for (let index = 0; index < this.days.length; index++) {
      this.read(index)
      if (scratch.facts > 0) addTotals(totals, scratch)
    }
    return totals
  }

  /** Whether every figure of every day is the same. */
  isSame(other: DayTotals): boolean {
    return this.rows.length === other.rows.length && this.rows.every((value, i) => value === other.rows[i])
  }

  /** Index of the day that an instant lies in, -1 outside of the cycle. */
  indexAt(atMs: number): number {
    return this.days.findLastIndex(({ endMs, startMs }) => startMs <= atMs && atMs < endMs)
  }

  private read(index: number): void {
    const from = index * names.length
    for (let i = 0; i < names.length; i++) scratch[names[i] as keyof Totals] = this.rows[from + i] as number
  }

  private write(index: number): void {
    const from = index * names.length
    for (let i = 0; i < names.length; i++) this.rows[from + i] = scratch[names[i] as keyof Totals]
  }
}
