// How much of what a node's interval promised was really received, per bucket; this service's own outages promise nothing.
import type { OnlineAnswer, OnlineRange } from "../../schema/History.ts"
import { onlineBuckets, onlineSteps } from "../../schema/HistoryTerms.ts"

/** A stretch of time, milliseconds, end exclusive. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** `7days` is an older spelling of `7d`. */
export const onlineRangeOf = (text: string | undefined): OnlineRange | undefined => {
  const word = text?.trim()
  return word === "24h" ? "24h" : word === "7d" || word === "7days" ? "7d" : undefined
}

/** The complete buckets before `now`, aligned to absolute time. */
export const onlineSpan = (range: OnlineRange, now: number): Span => {
  const stepMs = onlineSteps[range] * 1000
  const toMs = Math.floor(now / stepMs) * stepMs
  return { fromMs: toMs - onlineBuckets * stepMs, toMs }
}

/** Reports per bucket, counted from rows at their times. */
export const receivedIn = ({
  fromMs,
  toMs
}: Span): { add: (atMs: number, rows: number) => void; counts: Float64Array } => {
  const counts = new Float64Array(onlineBuckets)
  const stepMs = (toMs - fromMs) / onlineBuckets
  return {
    counts,
    add: (atMs, rows) => {
      if (atMs < fromMs || atMs >= toMs) return
      const at = Math.floor((atMs - fromMs) / stepMs)
      counts[at] = (counts[at] as number) + rows
    }
  }
}

const overlap = (span: Span, fromMs: number, toMs: number): number =>
  Math.max(0, Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs))

/**
 * How much of a bucket this service could take reports in. Before its first run there was no service to fail, so that
 * time counts as any other: a node without samples there is simply without samples (contract).
 */
const servedMs = (runs: ReadonlyArray<Span>, fromMs: number, toMs: number): number => {
  const first = runs[0]?.fromMs ?? toMs
  return runs.reduce((sum, run) => sum + overlap(run, fromMs, toMs), Math.max(0, Math.min(first, toMs) - fromMs))
}

/** Contract: 0 from 99.5 %, 1 from 99 %, else 2. */
const statusOf = (rate: number): 0 | 1 | 2 => (rate >= 0.995 ? 0 : rate >= 0.99 ? 1 : 2)

export interface OnlineFacts {
  readonly received: Float64Array
  /** When this service ran, ascending, without overlap. */
  readonly runs: ReadonlyArray<Span>
  readonly intervalMs: number
  /** When the node was added: it promised nothing before. */
  readonly createdMs: number
}

/** The points of an online answer, oldest first. */
export const onlinePoints = (range: OnlineRange, { fromMs }: Span, facts: OnlineFacts): OnlineAnswer["points"] => {
  const stepMs = onlineSteps[range] * 1000
  return Array.from(facts.received, (received, i) => {
    const start = fromMs + i * stepMs
    const end = start + stepMs
    // A node that is added within a bucket is measured from there; one that did not exist at all has rate 0 (contract).
    const existed = facts.createdMs < end
    const since = existed ? Math.max(start, facts.createdMs) : start
    const expected = Math.ceil(servedMs(facts.runs, since, end) / facts.intervalMs)
    const rate = expected > 0 ? received / expected : existed ? 1 : 0
    return { ts: isoSeconds(start), status: statusOf(rate), rate, received, expected }
  })
}

const digits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"))
/** The day written last: an answer has up to two thousand instants, most of them on one day. */
let dayKnown = Number.NaN
let dayText = ""

/** RFC 3339 in whole seconds, as the contract writes times of buckets. */
export const isoSeconds = (ms: number): string => {
  const sec = Math.floor(ms / 1000)
  const day = Math.floor(sec / 86_400)
  if (day !== dayKnown) {
    dayText = new Date(day * 86_400_000).toISOString().slice(0, 11)
    dayKnown = day
  }
  const ofDay = sec - day * 86_400
  const minutes = Math.floor(ofDay / 60)
  return `${dayText}${digits[Math.floor(minutes / 60)]}:${digits[minutes % 60]}:${digits[ofDay % 60]}Z`
}
