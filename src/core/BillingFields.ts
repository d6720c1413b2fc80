// The fields of a billing cycle as they are written: start day, anchor date, time zone, and how a mode settles them.
import { DateTime, Either, Option } from "effect"
import { InvalidAnchorDate, InvalidStartDay, InvalidTimezone } from "../../schema/Errors.ts"
import type { CycleMode } from "../../schema/Node.ts"
import { isZone } from "./Zone.ts"

/** Fields that were given; the others stay as they are stored. */
export interface BillingFields {
  readonly mode: CycleMode | undefined
  readonly startDay: number | undefined
  readonly anchorDate: string | undefined
  readonly timezone: string | undefined
}

const date = /^(\d{4})-(\d{2})-(\d{2})$/
const instant = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const instantLengthMax = 64

const isDate = (text: string): boolean => {
  const [, year, month, day] = date.exec(text) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0)
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Number(month) - 1]
  return year !== "0000" && days !== undefined && Number(day) >= 1 && Number(day) <= days
}

const localDate = (text: string, zone: string): string | undefined => {
  // The fraction moves no date, and not every length of it is understood by the parser.
  const time = Date.parse(text.replace(/\.\d+/, ""))
  const zoned = DateTime.makeZoned(time, { timeZone: zone === "" ? "UTC" : zone })
  return Option.getOrUndefined(Option.map(zoned, DateTime.formatIsoDate))
}

/** A whole number from 1 to 31, in every mode. */
export const startDayOf = (day: number): Either.Either<number, InvalidStartDay> =>
  Number.isInteger(day) && day >= 1 && day <= 31
    ? Either.right(day)
    : Either.left(new InvalidStartDay({ message: "traffic_billing_start_day must be from 1 to 31" }))

/** Empty, `YYYY-MM-DD`, or an RFC 3339 time, of which the date in `zone` (empty: UTC) is kept. */
export const anchorDateOf = (text: string, zone: string): Either.Either<string, InvalidAnchorDate> => {
  const trimmed = text.trim()
  if (trimmed === "" || isDate(trimmed)) return Either.right(trimmed)
  const upper = trimmed.toUpperCase()
  const match = upper.length <= instantLengthMax ? instant.exec(upper) : null
  const kept = match !== null && isDate(match[1] ?? "") ? localDate(upper, zone) : undefined
  return kept !== undefined && isDate(kept)
    ? Either.right(kept)
    : Either.left(
        new InvalidAnchorDate({ message: "traffic_billing_anchor_date must be empty, YYYY-MM-DD or an RFC 3339 time" })
      )
}

/** Empty or a name of the zone database; its spelling is kept, because the canonical one may be an older name. */
export const timezoneOf = (text: string): Either.Either<string, InvalidTimezone> => {
  const trimmed = text.trim()
  return trimmed === "" || isZone(trimmed)
    ? Either.right(trimmed)
    : Either.left(new InvalidTimezone({ message: "traffic_billing_timezone must be empty or the name of a time zone" }))
}

/** Fields given together with a mode are settled together; a field that was not given is never added. */
export const settled = (given: BillingFields): BillingFields => {
  const { anchorDate, mode, startDay, timezone } = given
  switch (mode) {
    case undefined:
      return given
    case "default":
      return {
        mode,
        startDay: unlessAbsent(startDay, 1),
        anchorDate: unlessAbsent(anchorDate, ""),
        timezone: unlessAbsent(timezone, "")
      }
    case "calendar_month":
      return { mode, startDay: unlessAbsent(startDay, 1), anchorDate: unlessAbsent(anchorDate, ""), timezone }
    case "clamp_to_month_end":
      return { mode, startDay, anchorDate: unlessAbsent(anchorDate, ""), timezone }
    case "vendor_compatible": {
      const isAnchored = anchorDate !== undefined && anchorDate !== ""
      return { ...given, startDay: isAnchored ? unlessAbsent(startDay, Number(anchorDate.slice(8))) : startDay }
    }
  }
}

const unlessAbsent = <A>(given: A | undefined, value: A): A | undefined => (given === undefined ? undefined : value)
