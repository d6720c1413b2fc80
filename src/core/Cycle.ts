// Billing cycles: which one an instant belongs to, its neighbours, its days.
import type { CycleMode } from "../../schema/Node.ts"
import type { Day, Month } from "./Zone.ts"
import { dateOfDay, dayAt, dayOfDate, daysIn, firstDayOf, monthOf, startOfDayMs } from "./Zone.ts"

/** What decides the cycles of a node; valid as `CycleSettings` makes it. */
export interface CycleConfig {
  readonly mode: Exclude<CycleMode, "default">
  /** 1 to 31; the calendar month and an anchored chain do not look at it. */
  readonly startDay: number
  /** Empty or `YYYY-MM-DD`; only the vendor's mode looks at it. */
  readonly anchorDate: string
  /** A name of the zone database. */
  readonly zone: string
}

/** `startMs` inclusive, `endMs` exclusive, epoch milliseconds, both the first instant of a local day. */
export interface Cycle {
  readonly startMs: number
  readonly endMs: number
  /** The day of month that the mode goes by, 1 to 31: 1, the start day, or the day of the anchor. */
  readonly effectiveDay: number
}

/** A local day or the part of it that lies in the period asked for. */
export interface CycleDay {
  readonly date: string
  readonly startMs: number
  readonly endMs: number
}

/** Ten years, five times what any page shows. */
export const boundariesMax = 120

/**
 * The cycle with startMs <= instantMs < endMs. Boundaries are calendar dates first, each then the first instant of
 * that date in the zone, so no hour lost at one boundary moves the next. The cycles of a configuration tile the time
 * line without overlap or hole. Throws a RangeError when the zone is none.
 */
export const cycleAt = (config: CycleConfig, instantMs: number): Cycle => {
  const startMsOf = startsOf(config)
  const index = indexAt(startMsOf, instantMs)
  return { startMs: startMsOf(index), endMs: startMsOf(index + 1), effectiveDay: effectiveDayOf(config) }
}

/** The cycle that ends where this one of the same configuration starts. */
export const previous = (config: CycleConfig, cycle: Cycle): Cycle => cycleAt(config, cycle.startMs - 1)

/** The cycle that starts where this one of the same configuration ends. */
export const next = (config: CycleConfig, cycle: Cycle): Cycle => cycleAt(config, cycle.endMs)

/**
 * Epoch milliseconds of boundaries, nearest first: `next` those after `fromMs`, `last` those at it or before.
 * Of a `count` above {@link boundariesMax} only so many are given.
 */
export const boundaries = (
  config: CycleConfig,
  fromMs: number,
  count: number,
  direction: "next" | "last"
): ReadonlyArray<number> => {
  const startMsOf = startsOf(config)
  const index = indexAt(startMsOf, fromMs)
  return Array.from({ length: Math.max(0, Math.min(count, boundariesMax)) }, (_, place) =>
    startMsOf(direction === "next" ? index + 1 + place : index - place)
  )
}

/**
 * The local days that tile a cycle or any other period, oldest first, each with the date that its clocks show; the
 * first and the last are cut to the period. A date that the zone left out has no row. One row a day: the length of
 * the period is the caller's to bound, a cycle has at most 31 days and the hours of a change of clocks.
 */
export const daysOf = (
  period: { readonly startMs: number; readonly endMs: number },
  zone: string
): ReadonlyArray<CycleDay> => {
  const days: Array<CycleDay> = []
  let startMs = period.startMs
  // Clocks set back over midnight show the old date again, in a stretch that belongs to the new one all the same.
  for (let day = dayAt(zone, startMs); startMs < period.endMs; day++) {
    const endMs = Math.min(startOfDayMs(zone, day + 1), period.endMs)
    if (endMs <= startMs) continue
    days.push({ date: dateOfDay(day), startMs, endMs })
    startMs = endMs
  }
  return days
}

const effectiveDayOf = ({ anchorDate, mode, startDay }: CycleConfig): number => {
  switch (mode) {
    case "calendar_month":
      return 1
    case "clamp_to_month_end":
      return startDay
    case "vendor_compatible":
      return anchorDate === "" ? startDay : Number(anchorDate.slice(8))
  }
}

/**
 * Boundaries are numbered by months without a gap, and their dates increase: each is a date of its month or, where a
 * day went over, one of the first three days of the month after.
 */
type Dates = (index: Month) => Day

const datesOf = (config: CycleConfig): Dates => {
  const dayOfMonth = effectiveDayOf(config)
  switch (config.mode) {
    case "calendar_month":
      return firstDayOf
    case "clamp_to_month_end":
      return (month) => firstDayOf(month) + Math.min(dayOfMonth, daysIn(month)) - 1
    case "vendor_compatible":
      return config.anchorDate === "" ? yearly(dayOfMonth) : anchored(dayOfDate(config.anchorDate))
  }
}

/** A chain of twelve begins in every December; its last link ends where the chain of the next year begins. */
const yearly =
  (dayOfMonth: number): Dates =>
  (index) => {
    const december = 12 * Math.floor((index + 1) / 12) - 1
    return chained(december, dayOfMonth, index - december)
  }

/** One chain from the anchor on; before it the yearly ones, whose last link ends at the anchor. */
const anchored = (anchor: Day): Dates => {
  const month = monthOf(anchor)
  const dayOfMonth = anchor - firstDayOf(month) + 1
  const before = yearly(dayOfMonth)
  return (index) => (index < month ? before(index) : chained(month, dayOfMonth, index - month))
}

/**
 * The date some months after a date, where every step adds a month to the date before it. Of a day that a month does
 * not have the rest goes over into the month after. That happens once at most: every month has the day then reached.
 */
const chained = (from: Month, dayOfMonth: number, steps: number): Day => {
  if (dayOfMonth > 28) {
    // Within two years a February comes that has not even 29 days.
    const last = from + Math.min(steps, 24)
    for (let month = from; month <= last; month++) {
      const days = daysIn(month)
      if (days < dayOfMonth) return firstDayOf(from + steps + 1) + dayOfMonth - days - 1
    }
  }
  return firstDayOf(from + steps) + dayOfMonth - 1
}

const startsOf = (config: CycleConfig): ((index: Month) => number) => {
  const dateOf = datesOf(config)
  return (index) => startOfDayMs(config.zone, dateOf(index))
}

/** The number of the last boundary at an instant or before, looked for from the month that UTC has then. */
const indexAt = (startMsOf: (index: Month) => number, instantMs: number): Month => {
  let index = monthOf(Math.floor(instantMs / 86_400_000))
  while (startMsOf(index) > instantMs) index--
  while (startMsOf(index + 1) <= instantMs) index++
  return index
}
