// Days, cycles and slots as text, in the language of the viewer and in the zone that the bill goes by.
import { makeTimes, type Times } from "../../charts/Times.ts"

export interface CycleTimes {
  /** The zone as the browser knows it; one that it does not know shows UTC. */
  readonly zone: string
  readonly day: (text: string) => string
  readonly shortDay: (text: string) => string
  /** Day and minute of an instant. */
  readonly moment: (text: string) => string
  /** First and last day of a cycle, whose end is exclusive. */
  readonly span: (start: string, end: string) => readonly [string, string]
  readonly chart: Times
}

const knownZone = (zone: string): string => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone })
    return zone
  } catch {
    return "UTC"
  }
}

export const makeCycleTimes = (localeName: string, wanted: string): CycleTimes => {
  const zone = knownZone(wanted)
  const of = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(localeName, { ...options, hourCycle: "h23", timeZone: zone })
  const day = of({ day: "numeric", month: "short", year: "numeric" })
  const shortDay = of({ day: "numeric", month: "short" })
  const moment = of({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" })
  const print = (formatter: Intl.DateTimeFormat, text: string): string => {
    const ms = Date.parse(text)
    return Number.isNaN(ms) ? "–" : formatter.format(ms)
  }
  return {
    zone,
    day: (text) => print(day, text),
    shortDay: (text) => print(shortDay, text),
    moment: (text) => print(moment, text),
    span: (start, end) => [print(day, start), print(day, new Date(Date.parse(end) - 1).toISOString())],
    chart: makeTimes(localeName, zone)
  }
}
