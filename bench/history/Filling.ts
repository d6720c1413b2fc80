// A home with a history: the order that fills it, what was written, and what that says about bytes.
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Tier, tierNames, tiers } from "../../src/core/Tier.ts"
import { onDisk as counting } from "../../src/store/ChunkSpace.ts"
import { message } from "../Children.ts"
import { type Fleet, intervalMs } from "../Fleet.ts"
import type { Figure, Result } from "../Figures.ts"
import { seed } from "../Seed.ts"
import { startProgram } from "../Workshop.ts"
import { historyIdOf, historyNodes, kinds, recordedEvery } from "./Nodes.ts"

export interface FillOrder {
  /** `unfold` makes the newest stretch of every tier wait for its fold again. */
  readonly kind: "fill" | "unfold"
  readonly home: string
  /** File of the recorded reports. */
  readonly recording: string
}
export interface Amount {
  readonly chunks: number
  /** Samples or buckets. */
  readonly rows: number
  /** Of the chunks themselves. */
  readonly bytes: number
  /** Samples, or five fields per bucket and series. */
  readonly values: number
  /** Summed over the chunks. */
  readonly series: number
}
export interface FillResult {
  readonly generated: Record<Tier, Amount>
  readonly recorded: Record<Tier, Amount>
  /** Pages of each tier's table and index, bytes. */
  readonly disk: Record<Tier, number>
  readonly fileBytes: number
  /** Of each kind of node: its series as JSON, metric first. */
  readonly series: ReadonlyArray<string>
  /** Reports in the recording. */
  readonly reports: number
  /** Rows of the journal that wait to be sealed. */
  readonly tail: number
  readonly madeMs: number
  readonly writtenMs: number
}
export interface UnfoldResult {
  readonly folds: number
}

/** A fill on a busy machine with a slow disk; past this something is wrong. */
const fillLimitMs = 600_000

export const recordingFile = join(dirname(dirname(fileURLToPath(import.meta.url))), "data/agent-reports.jsonl.gz")

const perform = async <A>(kind: FillOrder["kind"], home: string): Promise<A> => {
  const order: FillOrder = { kind, home, recording: recordingFile }
  const child = startProgram("Fill", order)
  const found = await message<A>(child, fillLimitMs, "the history")
  await child.ended
  return found
}

/** Seeds the fleet and writes the history of its first nodes. */
export const filled = async (home: string, fleet: Fleet): Promise<FillResult> => {
  await seed(home, fleet, historyIdOf)
  return perform<FillResult>("fill", home)
}

/** The service must be stopped. */
export const unfolded = (home: string): Promise<UnfoldResult> => perform<UnfoldResult>("unfold", home)

const dayMs = 86_400_000
const megabyte = 1e6
const gigabyte = 1e9
/** Days that each tier is kept by default. */
const keptDays: Record<Tier, number> = { raw: 1, minute: 7, quarter: 45, hour: 400 }

const summed = ({ generated, recorded }: FillResult, tier: Tier): Amount => {
  const [a, b] = [generated[tier], recorded[tier]]
  return {
    chunks: a.chunks + b.chunks,
    rows: a.rows + b.rows,
    bytes: a.bytes + b.bytes,
    values: a.values + b.values,
    series: a.series + b.series
  }
}
const perValue = ({ bytes, values }: Amount): number => bytes / values

/** Bytes that a day of 1,000 nodes adds to a tier, from the mean bytes of one sample or bucket. */
const ofDay = (tier: Tier, bytesPerRow: number): number =>
  (1000 * bytesPerRow * dayMs) / (tier === "raw" ? intervalMs : tiers[tier].widthMs)

/** What the limits of history count for a tier: every chunk as if it were of the mean size. */
const countedIn = ({ bytes, chunks }: Amount): number => chunks * counting(Math.round(bytes / chunks))

const sizeNotes = (found: FillResult): ReadonlyArray<string> => {
  const lines = tierNames.map((tier) => {
    const { bytes, chunks } = summed(found, tier)
    const page = found.disk[tier] / chunks
    const share = (found.disk[tier] / countedIn(summed(found, tier))).toFixed(3)
    return `${tier}: ${chunks} chunks of ${(bytes / chunks).toFixed(0)} B; on disk ${page.toFixed(0)} B each, ${share} of what is counted`
  })
  const all = tierNames.reduce((sum, tier) => sum + countedIn(summed(found, tier)), 0)
  const disk = tierNames.reduce((sum, tier) => sum + found.disk[tier], 0)
  const kept = tierNames.reduce((sum, tier) => {
    return sum + ofDay(tier, found.disk[tier] / summed(found, tier).rows) * keptDays[tier]
  }, 0)
  return [
    ...lines,
    `what was written: counted ${(all / megabyte).toFixed(0)} MB, pages of these tables ${(disk / megabyte).toFixed(0)} MB, file with ${found.tail} journal rows ${(found.fileBytes / megabyte).toFixed(0)} MB`,
    `1,000 such nodes at the default days take ${(kept / gigabyte).toFixed(1)} GB on disk`
  ]
}

/** Bytes per value and per day, counted as the service counts them and as they lie on the disk. */
export const sizes = (found: FillResult): Result => {
  const [raw, minute] = [summed(found, "raw"), summed(found, "minute")]
  const perDay = (bytesOf: (tier: Tier) => number): number =>
    tierNames.reduce((sum, tier) => sum + ofDay(tier, bytesOf(tier) / summed(found, tier).rows), 0) / megabyte
  const counted = perDay((tier) => countedIn(summed(found, tier)))
  const onDisk = perDay((tier) => found.disk[tier])
  const { generated, recorded } = found
  const figures: ReadonlyArray<Figure> = [
    { name: "history.raw_bytes_per_value", value: perValue(raw), unit: "B" },
    { name: "history.minute_bytes_per_value", value: perValue(minute), unit: "B" },
    { name: "history.mb_per_1000_nodes_day", value: onDisk, unit: "MB" }
  ]
  const series = (amount: Amount): string => (amount.series / amount.chunks).toFixed(0)
  return {
    figures,
    notes: [
      `${historyNodes} nodes, copies of ${kinds} different ones, one in ${recordedEvery} a recording of ${found.reports} reports of a real agent: made in ${(found.madeMs / 1000).toFixed(0)} s, written in ${(found.writtenMs / 1000).toFixed(0)} s`,
      `generated (${series(generated.raw)} series): ${perValue(generated.raw).toFixed(3)} B per value raw, ${perValue(generated.minute).toFixed(3)} by the minute; recorded (${series(recorded.raw)} series): ${perValue(recorded.raw).toFixed(3)} and ${perValue(recorded.minute).toFixed(3)}`,
      `a day of 1,000 nodes, a sample every 3 s: ${onDisk.toFixed(0)} MB by the pages on disk, ${counted.toFixed(0)} MB as the limits of history count it`,
      ...sizeNotes(found)
    ]
  }
}
