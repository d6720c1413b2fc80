// Dates of a calendar in words, and the cycle that is running.
import type { TrafficCalendar } from "../../../../schema/Traffic.ts"

const dayMs = 86_400_000

const msOf = (date: string): number => Date.parse(`${date}T00:00:00Z`)

/** A date of the calendar, `YYYY-MM-DD`, in words. */
export const makeDates = (localeName: string): ((date: string) => string) => {
  const formatter = new Intl.DateTimeFormat(localeName, { dateStyle: "medium", timeZone: "UTC" })
  return (date) => {
    const ms = msOf(date)
    return Number.isNaN(ms) ? date : formatter.format(ms)
  }
}

export interface CurrentCycle {
  /** First and last day, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  readonly days: number
}

/** The cycle that the calendar's instant lies in; null of a calendar without boundaries. */
export const currentOf = ({ last, next }: Pick<TrafficCalendar, "last" | "next">): CurrentCycle | null => {
  const [start, end] = [last[0], next[0]]
  if (start === undefined || end === undefined) return null
  const days = Math.round((msOf(end.date) - msOf(start.date)) / dayMs)
  return { from: start.date, to: new Date(msOf(end.date) - dayMs).toISOString().slice(0, 10), days }
}
