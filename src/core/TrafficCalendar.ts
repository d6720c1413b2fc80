// The calendar of some cycle settings: what would be kept of them, and where their cycles begin.
import { Either } from "effect"
import { InvalidFields } from "../../schema/Errors.ts"
import { calendarBoundaries, type TrafficCalendar } from "../../schema/Traffic.ts"
import { boundaries } from "./Cycle.ts"
import { type CycleSettings, patched, type WrongField } from "./CycleSettings.ts"
import { instantOf } from "./HistoryQuery.ts"
import { isoSeconds } from "./Online.ts"
import { cycleBreach } from "./TrafficSettings.ts"
import { dateOfDay, dayAt } from "./Zone.ts"

/** Query parameters as they came; those left out are taken from the saved settings and from the clock. */
export interface CalendarParams {
  readonly mode?: string | undefined
  readonly start_day?: string | undefined
  readonly anchor_date?: string | undefined
  readonly timezone?: string | undefined
  readonly at?: string | undefined
}

/** Instants of a calendar: two years on either side of them have dates of four digits and offsets of our time. */
const atMinMs = 0
const atMaxMs = Date.UTC(9000, 0, 1)

const parameter: Readonly<Record<WrongField, keyof CalendarParams>> = {
  mode: "mode",
  startDay: "start_day",
  anchorDate: "anchor_date",
  zone: "timezone"
}

/**
 * The settings that a PATCH with these values would leave, and the boundaries of their cycles around `at`, or `nowMs`:
 * by the same rules, so that what is seen is what will be billed. The refusal names the parameter.
 */
export const trafficCalendar = (
  current: CycleSettings,
  params: CalendarParams,
  applicationZone: string,
  nowMs: number
): Either.Either<TrafficCalendar, InvalidFields> =>
  Either.gen(function* () {
    const kept = yield* Either.mapLeft(
      patched(
        current,
        {
          mode: params.mode,
          startDay: params.start_day === undefined ? undefined : wholeOf(params.start_day),
          anchorDate: params.anchor_date,
          zone: params.timezone
        },
        applicationZone
      ),
      (wrong) => refuse(parameter[wrong], cycleBreach[wrong])
    )
    const atMs = yield* instant(params.at, nowMs)
    const config = { ...kept, zone: kept.zone === "" ? applicationZone : kept.zone }
    const around = (direction: "next" | "last") =>
      boundaries(config, atMs, calendarBoundaries, direction).map((startMs) => ({
        start: isoSeconds(startMs),
        date: dateOfDay(dayAt(config.zone, startMs))
      }))
    return {
      config: {
        mode: config.mode,
        start_day: config.startDay,
        anchor_date: config.anchorDate,
        timezone: config.zone
      },
      at: isoSeconds(atMs),
      next: around("next"),
      last: around("last")
    }
  })

const refuse = (name: keyof CalendarParams, why: string) => new InvalidFields({ message: `${name} ${why}` })

/** Digits as a number; anything else is none, which no start day is. */
const wholeOf = (text: string): number => (/^\d{1,2}$/.test(text) ? Number(text) : Number.NaN)

const instant = (text: string | undefined, nowMs: number): Either.Either<number, InvalidFields> => {
  if (text === undefined) return Either.right(nowMs)
  const atMs = instantOf(text)
  return atMs >= atMinMs && atMs < atMaxMs
    ? Either.right(atMs)
    : Either.left(refuse("at", "must be an RFC 3339 time or unix seconds, from 1970 to 8999"))
}
