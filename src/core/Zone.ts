// Calendar days of a time zone: which date the clocks of a zone show at an instant, and at which instant a date begins there.

/** Whole days from 1970-01-01 to a date of the Gregorian calendar; a date, not an instant. */
export type Day = number

/** Twelve times the year plus the month, January being 0. */
export type Month = number

const dayMs = 86_400_000
/** More than the clocks of any zone have been ahead of UTC (15 h 14 min): so long before its date no date begins. */
const aheadMaxMs = 16 * 3_600_000
/** A formatter takes some 25 KB and 50 us to make; this many are more zones than one fleet has, and at most 4 MB. */
const zonesMax = 128
/** The days around every cycle of two years, a table of some 20 KB per zone when it is full. */
const startsMax = 512
/** The longest names of the zone database have some 30 characters. */
const nameLengthMax = 64

interface Zoned {
  readonly format: Intl.DateTimeFormat
  readonly starts: Map<Day, number>
}

const zones = new Map<string, Zoned>()

/** Whether `name` is a name of the zone database, in any spelling of its letters. */
export const isZone = (name: string): boolean => {
  // Newer runtimes take offsets such as +01:00, which are no zone names and know no summer time.
  if (name.length > nameLengthMax || !/^[A-Za-z]/.test(name)) return false
  try {
    zoned(name)
    return true
  } catch {
    return false
  }
}

/** The first day of a month. */
export const firstDayOf = (month: Month): Day => {
  // Years that begin in March have the leap day at their end.
  const year = Math.floor((month - 2) / 12)
  const sinceMarch = month - 2 - 12 * year
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  return 365 * year + leapDays + Math.floor((153 * sinceMarch + 2) / 5) - 719_468
}

/** 28 to 31. */
export const daysIn = (month: Month): number => firstDayOf(month + 1) - firstDayOf(month)

/** The month that a day is in. */
export const monthOf = (day: Day): Month => {
  // Mean months since the year 0: at most one month off.
  let month = Math.floor((day + 719_528) / 30.436_875)
  while (firstDayOf(month) > day) month--
  while (firstDayOf(month + 1) <= day) month++
  return month
}

/** The day of a valid `YYYY-MM-DD`. */
export const dayOfDate = (date: string): Day =>
  firstDayOf(12 * Number(date.slice(0, 4)) + Number(date.slice(5, 7)) - 1) + Number(date.slice(8, 10)) - 1

/** `YYYY-MM-DD`, for the years 0 to 9999. */
export const dateOfDay = (day: Day): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** The date that the clocks of a zone show at an instant. Throws a RangeError for what is no zone, see {@link isZone}. */
export const dayAt = (zone: string, instantMs: number): Day =>
  Math.floor((instantMs + offsetMsAt(zoned(zone), instantMs)) / dayMs)

/**
 * The first instant at which the clocks of a zone show this date or a later one: midnight, and where midnight is left
 * out the first instant after it, where it comes twice the earlier one. A date that a zone left out begins when the
 * next one does. Never decreases from one day to the next. Throws a RangeError for what is no zone.
 */
export const startOfDayMs = (zone: string, day: Day): number => {
  const { format, starts } = zoned(zone)
  const known = starts.get(day)
  if (known !== undefined) return known
  const start = firstInstantMs({ format, starts }, day * dayMs)
  makeRoom(starts, startsMax)
  starts.set(day, start)
  return start
}

/**
 * The smallest t with t + offset(t) >= local. Looked for from where no zone has reached `local` yet; the two offsets
 * looked at are at most 32 hours apart, in which no zone has changed its clocks twice.
 */
const firstInstantMs = (zone: Zoned, localMs: number): number => {
  const earlyMs = localMs - aheadMaxMs
  const before = offsetMsAt(zone, earlyMs)
  const expectedMs = localMs - before
  const after = offsetMsAt(zone, expectedMs)
  if (after === before) return expectedMs
  const changeMs = changeBetweenMs(zone, earlyMs, expectedMs)
  return Math.max(changeMs, localMs - after)
}

/** The first instant with the offset of `lateMs`, which differs from that of `earlyMs`; clocks change on whole seconds. */
const changeBetweenMs = (zone: Zoned, earlyMs: number, lateMs: number): number => {
  const after = offsetMsAt(zone, lateMs)
  let low = earlyMs / 1000
  let high = lateMs / 1000
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetMsAt(zone, middle * 1000) === after) high = middle
    else low = middle
  }
  return high * 1000
}

/** What the clocks of the zone are ahead of UTC, from a text that ends in GMT, GMT+05:30 or GMT-00:44:30. */
const offsetMsAt = ({ format }: Zoned, instantMs: number): number => {
  const text = format.format(instantMs)
  const sign = text.lastIndexOf("GMT") + 3
  const seconds =
    3600 * Number(text.slice(sign + 1, sign + 3)) +
    60 * Number(text.slice(sign + 4, sign + 6)) +
    Number(text.slice(sign + 7))
  return (text[sign] === "+" ? seconds : -seconds) * 1000
}

const zoned = (zone: string): Zoned => {
  const known = zones.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, year: "numeric", timeZoneName: "longOffset" })
  const made = { format, starts: new Map<Day, number>() }
  makeRoom(zones, zonesMax)
  zones.set(zone, made)
  return made
}

/** Lets the oldest entry go when the map is full; whatever is asked for again is computed again. */
const makeRoom = <K, V>(map: Map<K, V>, sizeMax: number): void => {
  if (map.size < sizeMax) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
