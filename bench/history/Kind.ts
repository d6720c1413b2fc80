// What the service would have stored of one kind of node by now: its chunks in every tier, and the rows not sealed yet.
import { encodeRaw, encodeTier, RawReader, type TierChunk, TierReader } from "../../src/core/Chunk.ts"
import { changesIn } from "../../src/core/DetailChanges.ts"
import type { Changes } from "../../src/core/Details.ts"
import { flatten } from "../../src/core/Flatten.ts"
import { type Layout, layoutOf } from "../../src/core/Layout.ts"
import { Sealing } from "../../src/core/Sealing.ts"
import { type Series, seriesText } from "../../src/core/Series.ts"
import {
  type Folded,
  type FoldedTier,
  foldRaw,
  foldTier,
  joinRaw,
  nextTier,
  type RawPart,
  stretchStart,
  type Tier,
  type TierPart,
  tiers
} from "../../src/core/Tier.ts"
import type { ChunkWrite } from "../../src/store/History.ts"
import type { Machine } from "./Machine.ts"
import { historyIdOf } from "./Nodes.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** How far back each tier reaches: as the service keeps them by default, but no further than the longest range. */
const reachMs: Record<Tier, number> = { raw: dayMs, minute: 7 * dayMs, quarter: 30 * dayMs, hour: 30 * dayMs }
/** Chunks that would pass the service's own limit during the run are left out, so that nothing is dropped meanwhile. */
const marginMs = hourMs / 6
/** Behind the end of a stretch, as the service waits before it folds. */
const foldDelayMs = (from: FoldedTier): number => tiers[from].chunkMs + 120_000

const arrival = { ip: "192.0.2.1", wide: null, dropped: [] }

export interface Stored {
  readonly chunk: ChunkWrite
  readonly rows: number
  readonly series: number
}
export interface Row {
  readonly receivedAt: number
  readonly vector: Float64Array
}

/** A day and an hour of reports as rows; before that day, the same day again and again. */
export class Kind {
  /** Details after any row: no device comes or goes. */
  readonly details: string
  /** Chunks of every tier, in no order. */
  readonly stored: Array<Stored> = []
  /** Start of the first stretch of each tier that is not folded. */
  readonly foldedTo: Record<FoldedTier, number>
  private readonly id: number
  private readonly machine: Machine
  private readonly changes: Changes
  private readonly layout: Layout
  /** Start of the day, on the border of a stretch of minutes. */
  private readonly dayAt: number
  /** Behind the rows that are in chunks, and the number of the first report there. */
  private sealedTo: number
  private next = 0

  /** `now` is milliseconds; the machine must have reports enough for 25 hours and what `advance` asks for. */
  constructor(kind: number, machine: Machine, now: number) {
    this.id = historyIdOf(kind)
    this.machine = machine
    this.dayAt = stretchStart(this.id, hourMs, now) - dayMs
    this.sealedTo = this.dayAt
    const first = machine.report(0, this.dayAt)
    this.changes = changesIn(undefined, undefined, first, arrival) as Changes
    this.layout = layoutOf(this.changes.layout as NonNullable<Changes["layout"]>)
    this.details = JSON.stringify(this.changes)
    const parts = this.advance(now)
    this.foldedTo = {
      raw: stretchStart(this.id, tiers.minute.chunkMs, now - foldDelayMs("raw")),
      minute: stretchStart(this.id, tiers.quarter.chunkMs, now - foldDelayMs("minute")),
      quarter: stretchStart(this.id, tiers.hour.chunkMs, now - foldDelayMs("quarter"))
    }
    this.join(parts)
    this.fold(parts, now)
  }

  /** What is folded lies joined, one raw chunk per stretch of minutes. */
  private join(parts: ReadonlyArray<RawPart>): void {
    const { chunkMs } = tiers.minute
    const apart = this.stored.filter(({ chunk }) => chunk.startAt >= this.foldedTo.raw)
    const from = Math.min(...this.stored.map(({ chunk }) => chunk.startAt))
    this.stored.splice(0, this.stored.length, ...apart)
    for (let start = this.dayAt; start < this.foldedTo.raw; start += chunkMs) {
      const mine = between(parts, Math.max(start, from), start + chunkMs)
      if (mine.length === 0) continue
      const { column, series, times } = joinRaw(mine)
      const columns = series.map((_, index) => column(index))
      const write: ChunkWrite = {
        tier: "raw",
        startAt: times[0] as number,
        endAt: (times[times.length - 1] as number) + 1,
        series: seriesText(series),
        bytes: encodeRaw({ times, columns })
      }
      this.stored.push({ chunk: write, rows: times.length, series: series.length })
    }
  }

  /** Seals the stretches that are over at an instant and gives them as parts of a fold. */
  advance(now: number): ReadonlyArray<RawPart> {
    const parts: Array<RawPart> = []
    const { chunkMs } = tiers.raw
    const until = stretchStart(this.id, chunkMs, now)
    for (; this.sealedTo < until; this.sealedTo += chunkMs) {
      const { bytes, chunk, series } = this.sealed(this.sealedTo + chunkMs)
      const { times } = chunk
      const [startAt, endAt] = [times[0] as number, (times[times.length - 1] as number) + 1]
      if (endAt > now - reachMs.raw + marginMs) {
        const write: ChunkWrite = { tier: "raw", startAt, endAt, series: seriesText(series), bytes }
        this.stored.push({ chunk: write, rows: times.length, series: series.length })
      }
      const reader = new RawReader(bytes)
      parts.push({ series, times: reader.times(), column: (index) => reader.column(index) })
    }
    return parts
  }

  /** The rows behind the last chunk that arrived before an instant. */
  tail(now: number): ReadonlyArray<Row> {
    return this.rows(now)
  }

  private rows(before: number): ReadonlyArray<Row> {
    const found: Array<Row> = []
    for (; ; this.next++) {
      const receivedAt = this.dayAt + this.machine.afterMs(this.next)
      if (receivedAt >= before) return found
      const vector = new Float64Array(this.layout.size)
      flatten(vector, this.layout, this.machine.report(this.next, receivedAt))
      found.push({ receivedAt, vector })
    }
  }

  private sealed(before: number) {
    const rows = this.rows(before)
    const sealing = new Sealing(undefined, rows.length)
    for (const row of rows) {
      if (!sealing.add({ ...row, changes: sealing.length === 0 ? this.changes : undefined })) {
        throw new Error("a row does not fit its machine")
      }
    }
    const { chunk, series } = sealing.finish()
    return { chunk, series, bytes: encodeRaw(chunk) }
  }

  /** Folds the day's stretches, and keeps every tier as far back as it reaches by repeating the day. */
  private fold(raw: ReadonlyArray<RawPart>, now: number): void {
    const hours = Array.from({ length: 24 }, (_, hour) => {
      const from = this.dayAt + hour * hourMs
      return foldRaw(between(raw, from, from + hourMs), tiers.minute.widthMs)
    })
    const minutes = this.keep("minute", "raw", now, (start) => hours[(start - this.dayAt) / hourMs] as Folded, dayMs)
    const halves = this.once("minute", minutes, 2)
    const quarters = this.keep("quarter", "minute", now, (start) => halves(start), dayMs)
    const days = this.once("quarter", quarters, 1)
    this.keep("hour", "quarter", now, (start) => days(start), tiers.hour.chunkMs)
  }

  /** Stores one chunk per stretch of a tier; `base` folds those of one period. Gives what a later fold reads. */
  private keep(
    tier: Exclude<Tier, "raw">,
    from: FoldedTier,
    now: number,
    base: (start: number) => Folded,
    periodMs: number
  ): (start: number) => TierPart {
    const { chunkMs, widthMs } = tiers[tier]
    const anchor = from === "raw" ? this.dayAt : stretchStart(this.id, chunkMs, this.dayAt)
    const part = (start: number): Folded => {
      const back = Math.floor((start - anchor) / periodMs) * periodMs
      return shifted(base(start - back), back)
    }
    for (
      let start = this.foldedTo[from] - chunkMs;
      start + chunkMs > now - reachMs[tier] + marginMs;
      start -= chunkMs
    ) {
      const { chunk, series } = part(start)
      const { times } = chunk
      const write: ChunkWrite = {
        tier,
        startAt: times[0] as number,
        endAt: (times[times.length - 1] as number) + widthMs,
        series: seriesText(series),
        bytes: encodeTier(chunk)
      }
      this.stored.push({ chunk: write, rows: times.length, series: series.length })
    }
    return (start) => tierPart(part(start))
  }

  /** Folds stretches of the next tier, each the first time it is asked for. */
  private once(from: "minute" | "quarter", part: (start: number) => TierPart, max: number) {
    const done = new Map<number, Folded>()
    const to = tiers[nextTier[from]]
    const { chunkMs } = tiers[from]
    return (start: number): Folded => {
      let folded = done.get(start)
      if (folded === undefined) {
        if (done.size >= max) throw new Error("a period has more stretches than it is long")
        const parts = Array.from({ length: to.chunkMs / chunkMs }, (_, i) => part(start + i * chunkMs))
        done.set(start, (folded = foldTier(parts, to.widthMs)))
      }
      return folded
    }
  }
}

const between = (parts: ReadonlyArray<RawPart>, from: number, to: number): ReadonlyArray<RawPart> =>
  parts.filter(({ times }) => (times[0] as number) >= from && (times[0] as number) < to)

const shifted = ({ chunk, series }: Folded, byMs: number): Folded => ({
  series,
  chunk: byMs === 0 ? chunk : { ...chunk, times: chunk.times.map((time) => time + byMs) }
})

/** A fold reads what was stored, so that its sums are those of kept values. */
const tierPart = ({ chunk, series }: { chunk: TierChunk; series: ReadonlyArray<Series> }): TierPart => {
  const reader = new TierReader(encodeTier(chunk))
  return { series, times: reader.times(), rows: reader.rows(), buckets: (index) => reader.series(index) }
}
