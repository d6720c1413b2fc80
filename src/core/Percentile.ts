// The exact 95th percentile of a cycle's five-minute rates at every moment, from the few slots that can decide it.
import { bucketAt, bucketMs, type Fact, isSample, ratesOf } from "./Bucket.ts"
import type { Sides } from "./Direction.ts"

/** Samples below which there is no percentile. */
export const samplesMin = 20
/** One in this many samples, rounded down, is dropped from the top. */
export const dropOneIn = 20
/** Slots are kept as 16-bit numbers; 227 days are far past any cycle. */
const slotsMax = 65_535
const seriesCount = 3
const capacityFirst = 32
/** Besides what can decide, this part of it again is kept, so that corrections rarely ask for a rebuild. */
const slackPart = 8
const slackMin = 8

/** A percentile per series, bytes per second, and the start of the bucket that it is the rate of. */
export interface Percentiles {
  readonly _tag: "Available"
  readonly rate: Sides
  readonly bucket: Sides
}
/** `Insufficient`: fewer than 20 samples. `Exhausted`: so many top slots were taken back that the ledger must be read. */
export type Percentile95 = Percentiles | { readonly _tag: "Insufficient" } | { readonly _tag: "Exhausted" }

const insufficient = { _tag: "Insufficient" } as const
const exhausted = { _tag: "Exhausted" } as const

/**
 * The rule: sort the rates of all valid buckets descending, drop floor(0.05 n), take the next. Each of in, out and
 * in + out keeps its highest slots, sorted, which are all that the rule can come to by the end of the cycle, with some
 * slack; equal rates are ordered by age, so the answer does not depend on the order of arrival.
 *
 * Invariant: a series holds exactly its `size` highest slots. A slot outside of it is known to be present, not its rate.
 */
export class Percentile {
  /** Valid buckets counted. */
  samples = 0
  private readonly firstAt: number
  private readonly slots: number
  private readonly capacityMax: number
  private readonly present: Uint8Array
  private capacity = 0
  /** Three series one behind the other, each `capacity` long and descending. */
  private rates = new Float64Array(0)
  private owners = new Uint16Array(0)
  private readonly sizes = new Uint16Array(seriesCount)

  /** For the cycle [startMs, endMs), in which a bucket lies by its start. */
  constructor(startMs: number, endMs: number) {
    this.firstAt = bucketAt(startMs + bucketMs - 1)
    this.slots = Math.max(0, Math.ceil((endMs - this.firstAt) / bucketMs))
    if (this.slots > slotsMax) throw new RangeError(`a cycle of ${this.slots} buckets is longer than ${slotsMax}`)
    const deciding = Math.floor(this.slots / dropOneIn) + 1
    this.capacityMax = Math.min(this.slots, deciding + Math.max(slackMin, Math.floor(deciding / slackPart)))
    this.present = new Uint8Array((this.slots + 7) >> 3)
  }

  /** The structure of a cycle from its facts in any order; facts of other times are passed over. */
  static of(startMs: number, endMs: number, facts: Iterable<Fact>): Percentile {
    const percentile = new Percentile(startMs, endMs)
    for (const fact of facts) percentile.take(fact)
    return percentile
  }

  /** Takes a new, late or corrected fact; one that is no sample takes back what its bucket had. */
  take(fact: Fact): void {
    if (!isSample(fact)) return this.remove(fact.start)
    const rates = ratesOf(fact)
    this.put(fact.start, rates.in, rates.out, rates.both)
  }

  /** Sets the rates of a bucket, finite and at least 0; a bucket outside of the cycle is passed over. */
  put(bucketStart: number, inRate: number, outRate: number, bothRate: number): void {
    const slot = this.slotOf(bucketStart)
    if (slot < 0) return
    if (this.has(slot)) {
      this.replace(0, slot, inRate)
      this.replace(1, slot, outRate)
      this.replace(2, slot, bothRate)
      return
    }
    this.insert(0, slot, inRate, this.samples > this.size(0))
    this.insert(1, slot, outRate, this.samples > this.size(1))
    this.insert(2, slot, bothRate, this.samples > this.size(2))
    this.present[slot >> 3] = (this.present[slot >> 3] as number) | (1 << (slot & 7))
    this.samples++
  }

  /** Takes a bucket back. */
  remove(bucketStart: number): void {
    const slot = this.slotOf(bucketStart)
    if (slot < 0 || !this.has(slot)) return
    for (let series = 0; series < seriesCount; series++) {
      const at = this.find(series, slot)
      if (at >= 0) this.cut(series, at)
    }
    this.present[slot >> 3] = (this.present[slot >> 3] as number) & ~(1 << (slot & 7))
    this.samples--
  }

  /** The percentiles of the buckets counted so far. */
  p95(): Percentile95 {
    if (this.samples < samplesMin) return insufficient
    const at = Math.floor(this.samples / dropOneIn)
    if (at >= this.size(0) || at >= this.size(1) || at >= this.size(2)) return exhausted
    return {
      _tag: "Available",
      rate: { in: this.rateAt(0, at), out: this.rateAt(1, at), both: this.rateAt(2, at) },
      bucket: { in: this.bucketAt(0, at), out: this.bucketAt(1, at), both: this.bucketAt(2, at) }
    }
  }

  /** Bytes of memory behind the numbers, without the objects around them (some 1 kB). */
  get bytes(): number {
    return this.rates.byteLength + this.owners.byteLength + this.present.byteLength + this.sizes.byteLength
  }

  /** Everything but the cycle's times as bytes of this machine's order, for `restored`. */
  saved(): Uint8Array {
    const sizes = [...this.sizes]
    const kept = sizes.reduce((sum, size) => sum + size, 0)
    const ownersAt = (1 + seriesCount + kept) * 8
    const presentAt = ownersAt + kept * 2
    const saved = new Uint8Array(presentAt + this.present.length)
    const rates = new Float64Array(saved.buffer, 0, 1 + seriesCount + kept)
    const owners = new Uint16Array(saved.buffer, ownersAt, kept)
    rates.set([this.samples, ...sizes])
    let at = 0
    for (let series = 0; series < seriesCount; series++) {
      const from = series * this.capacity
      const to = from + this.size(series)
      rates.set(this.rates.subarray(from, to), 1 + seriesCount + at)
      owners.set(this.owners.subarray(from, to), at)
      at += to - from
    }
    saved.set(this.present, presentAt)
    return saved
  }

  /** The structure of the same cycle from its saved bytes; undefined when they do not fit the cycle. */
  static restored(startMs: number, endMs: number, saved: Uint8Array): Percentile | undefined {
    const percentile = new Percentile(startMs, endMs)
    const header = (1 + seriesCount) * 8
    if (saved.length < header) return undefined
    const [samples = 0, ...sizes] = new Float64Array(saved.slice(0, header).buffer)
    const isFitting = (size: number): boolean => Number.isInteger(size) && size >= 0 && size <= percentile.capacityMax
    if (!sizes.every(isFitting) || !sizes.every((size) => size <= samples)) return undefined
    const kept = sizes.reduce((sum, size) => sum + size, 0)
    const presentAt = header + kept * 10
    if (saved.length !== presentAt + percentile.present.length) return undefined
    const rates = new Float64Array(saved.slice(header, header + kept * 8).buffer)
    const owners = new Uint16Array(saved.slice(header + kept * 8, presentAt).buffer)
    percentile.present.set(saved.subarray(presentAt))
    percentile.samples = samples
    percentile.sizes.set(sizes)
    percentile.reserve(Math.max(...sizes))
    let at = 0
    for (const [series, size] of sizes.entries()) {
      percentile.rates.set(rates.subarray(at, at + size), series * percentile.capacity)
      percentile.owners.set(owners.subarray(at, at + size), series * percentile.capacity)
      at += size
    }
    return percentile
  }

  private size(series: number): number {
    return this.sizes[series] as number
  }

  private rateAt(series: number, at: number): number {
    return this.rates[series * this.capacity + at] as number
  }

  private bucketAt(series: number, at: number): number {
    return this.firstAt + (this.owners[series * this.capacity + at] as number) * bucketMs
  }

  private has(slot: number): boolean {
    return ((this.present[slot >> 3] as number) & (1 << (slot & 7))) !== 0
  }

  /** -1 outside of the cycle. */
  private slotOf(bucketStart: number): number {
    const slot = Math.floor((bucketStart - this.firstAt) / bucketMs)
    return slot < this.slots ? Math.max(-1, slot) : -1
  }

  /** Place of a slot in a series, -1 when it is not among the highest. */
  private find(series: number, slot: number): number {
    const base = series * this.capacity
    const end = base + this.size(series)
    for (let i = base; i < end; i++) if (this.owners[i] === slot) return i - base
    return -1
  }

  /** How many slots of a series come before this one: a higher rate, or the same rate earlier. */
  private rank(series: number, slot: number, rate: number): number {
    const base = series * this.capacity
    let low = 0
    let high = this.size(series)
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.rates[base + middle] as number
      const isBefore = other > rate || (other === rate && (this.owners[base + middle] as number) < slot)
      if (isBefore) low = middle + 1
      else high = middle
    }
    return low
  }

  /** `isOpenEnded`: slots that are not held may come before this one as soon as all held ones do. */
  private insert(series: number, slot: number, rate: number, isOpenEnded: boolean): void {
    const size = this.size(series)
    const at = this.rank(series, slot, rate)
    if (at === size && (isOpenEnded || size === this.capacityMax)) return
    if (size === this.capacity && size < this.capacityMax) this.reserve(size + 1)
    const kept = Math.min(size, this.capacity - 1)
    const base = series * this.capacity
    this.rates.copyWithin(base + at + 1, base + at, base + kept)
    this.owners.copyWithin(base + at + 1, base + at, base + kept)
    this.rates[base + at] = rate
    this.owners[base + at] = slot
    this.sizes[series] = kept + 1
  }

  private replace(series: number, slot: number, rate: number): void {
    const at = this.find(series, slot)
    if (at < 0) return this.insert(series, slot, rate, this.samples - 1 > this.size(series))
    const before = this.rateAt(series, at)
    if (rate === before) return
    this.cut(series, at)
    // What rises stays before everything that is not held.
    this.insert(series, slot, rate, rate < before && this.samples - 1 > this.size(series))
  }

  private cut(series: number, at: number): void {
    const base = series * this.capacity
    const end = base + this.size(series)
    this.rates.copyWithin(base + at, base + at + 1, end)
    this.owners.copyWithin(base + at, base + at + 1, end)
    this.sizes[series] = end - base - 1
  }

  private reserve(size: number): void {
    if (size <= this.capacity) return
    const capacity = Math.min(this.capacityMax, Math.max(capacityFirst, size, this.capacity * 2))
    const rates = new Float64Array(seriesCount * capacity)
    const owners = new Uint16Array(seriesCount * capacity)
    for (let series = 0; series < seriesCount; series++) {
      const from = series * this.capacity
      rates.set(this.rates.subarray(from, from + this.size(series)), series * capacity)
      owners.set(this.owners.subarray(from, from + this.size(series)), series * capacity)
    }
    this.rates = rates
    this.owners = owners
    this.capacity = capacity
  }
}
