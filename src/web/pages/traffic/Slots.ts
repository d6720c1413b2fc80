// The five-minute slots of a cycle by the rule of the percentile: which are left out, which decides, how many may follow.
import type { TrafficExplain, TrafficFact } from "../../../../schema/TrafficProof.ts"
import type { Cell, Columns } from "../../charts/Columns.ts"

export const sides = ["in", "out", "total"] as const
export type Side = (typeof sides)[number]

export const slotMs = 300_000
/** One slot in so many is left out. */
const leftOutOneIn = 20

export interface Slot {
  readonly start: string
  /** Bytes per second. */
  readonly rate: number
}

/** Null where the slot is no sample. */
export const rateOf = (fact: TrafficFact, side: Side): number | null => {
  if (fact.in_rate === null || fact.out_rate === null) return null
  return side === "in" ? fact.in_rate : side === "out" ? fact.out_rate : fact.in_rate + fact.out_rate
}

/** Samples from the highest rate down; of equal ones the older first, as the service ranks them. */
export const ranked = (facts: ReadonlyArray<TrafficFact>, side: Side): ReadonlyArray<Slot> =>
  facts
    .flatMap((fact) => {
      const rate = rateOf(fact, side)
      return rate === null ? [] : [{ start: fact.start, rate }]
    })
    .sort((a, b) => b.rate - a.rate || (a.start < b.start ? -1 : 1))

/** Slots that the rule leaves out, highest first; none without a percentile. */
export const leftOut = (explain: TrafficExplain, side: Side): ReadonlyArray<Slot> =>
  explain.p95[side].deciding === null ? [] : ranked(explain.facts, side).slice(0, explain.p95[side].discarded)

/**
 * How many more slots may lie above the line before the end of the cycle without raising it, if every slot until then
 * is measured: floor(0.05 n) of all n samples less those above already. Null without a line.
 */
export const headroomOf = (explain: TrafficExplain, side: Side, measuredUntilMs: number): number | null => {
  const { deciding } = explain.p95[side]
  if (deciding === null) return null
  const leftMs = Math.max(0, Date.parse(explain.cycle.end) - measuredUntilMs)
  const samples = explain.p95.sample_count + Math.floor(leftMs / slotMs)
  const above = explain.facts.filter((fact) => (rateOf(fact, side) ?? 0) > deciding.bytes_per_sec).length
  return Math.floor(samples / leftOutOneIn) - above
}

/**
 * One series of rates over the cycle, broken where a slot is absent or no sample, and, when a `level` in bytes per
 * second is given, that line from its start to its end.
 */
export const columnsOfSlots = (explain: TrafficExplain, side: Side, level: number | null): Columns => {
  const at: Array<number> = []
  const rates: Array<Cell> = []
  const put = (ms: number, rate: Cell): void => void (at.push(ms), rates.push(rate))
  const [fromMs, toMs] = [Date.parse(explain.cycle.start), Date.parse(explain.cycle.end)]
  for (const fact of explain.facts) {
    const ms = Date.parse(fact.start)
    const last = at.at(-1)
    if (last === undefined && ms > fromMs) put(fromMs, null)
    if (last !== undefined && ms - last > slotMs) put(last + slotMs, null)
    put(ms, rateOf(fact, side))
  }
  if ((at.at(-1) ?? fromMs) < toMs) put(toMs, null)
  return { at, series: level === null ? [rates] : [rates, at.map(() => level)] }
}
