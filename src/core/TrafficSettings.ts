// The global traffic settings: how a change of them is judged and kept, and how they are told.
import { Either } from "effect"
import { InvalidFields, NoFields } from "../../schema/Errors.ts"
import {
  EffectiveCycleMode,
  EffectiveDirectionMode,
  TrafficAccess,
  type TrafficSettingsAnswer,
  type TrafficSettingsWrite,
  UsageMode
} from "../../schema/Traffic.ts"
import { type CycleSettings, initialCycle, patched, type WrongField } from "./CycleSettings.ts"

/** The settings as they are kept; the zone of the cycle is empty where the application's zone holds. */
export interface TrafficSettings {
  readonly guestAccess: TrafficAccess
  readonly usageMode: UsageMode
  readonly cycle: CycleSettings
  readonly directionMode: EffectiveDirectionMode
}

/** In force until an administrator sets something else (contract, traffic settings). */
export const initialTraffic: TrafficSettings = {
  guestAccess: "disabled",
  usageMode: "lite",
  cycle: initialCycle,
  directionMode: "out"
}

/** What is wrong with a cycle field, whatever it is called where it stands. */
export const cycleBreach: Readonly<Record<WrongField, string>> = {
  mode: `must be one of ${EffectiveCycleMode.literals.join(", ")}`,
  startDay: "must be from 1 to 31",
  anchorDate: "must be empty, YYYY-MM-DD or an RFC 3339 time",
  zone: "must be empty or the name of a time zone"
}

const cycleMember: Readonly<Record<WrongField, keyof TrafficSettingsWrite>> = {
  mode: "cycle_mode",
  startDay: "billing_start_day",
  anchorDate: "billing_anchor_date",
  zone: "billing_timezone"
}

/**
 * What the settings become by a PATCH: at least one known member, null and absence both meaning "stays"; an empty
 * `usage_mode` is lite. The cycle's members are laid over the current ones and settled as a whole, an anchor given as
 * a time by its date in the zone of the result, `applicationZone` where that is empty (contract, traffic settings).
 */
export const changedTraffic = (
  current: TrafficSettings,
  write: TrafficSettingsWrite,
  applicationZone: string
): Either.Either<TrafficSettings, NoFields | InvalidFields> =>
  Either.gen(function* () {
    if (members.every((name) => (write[name] ?? undefined) === undefined)) {
      return yield* Either.left(new NoFields({ message: "the body holds no traffic setting" }))
    }
    const usage = write.usage_mode === "" ? "lite" : write.usage_mode
    return {
      guestAccess: yield* oneOf(
        TrafficAccess.literals,
        "guest_access_mode",
        write.guest_access_mode,
        current.guestAccess
      ),
      usageMode: yield* oneOf(UsageMode.literals, "usage_mode", usage, current.usageMode),
      cycle: yield* Either.mapLeft(patched(current.cycle, cyclePart(write), applicationZone), (wrong) =>
        refuse(cycleMember[wrong], cycleBreach[wrong])
      ),
      directionMode: yield* oneOf(
        EffectiveDirectionMode.literals,
        "direction_mode",
        write.direction_mode,
        current.directionMode
      )
    }
  })

/** The settings on the wire; with `applicationZone` in place of an empty zone, or "" to tell them as they are kept. */
export const trafficAnswer = (settings: TrafficSettings, applicationZone: string): TrafficSettingsAnswer => ({
  guest_access_mode: settings.guestAccess,
  usage_mode: settings.usageMode,
  cycle_mode: settings.cycle.mode,
  billing_start_day: settings.cycle.startDay,
  billing_anchor_date: settings.cycle.anchorDate,
  billing_timezone: settings.cycle.zone === "" ? applicationZone : settings.cycle.zone,
  direction_mode: settings.directionMode
})

/** The settings out of the form that {@link trafficAnswer} gives. */
export const trafficOf = (answer: TrafficSettingsAnswer): TrafficSettings => ({
  guestAccess: answer.guest_access_mode,
  usageMode: answer.usage_mode,
  cycle: {
    mode: answer.cycle_mode,
    startDay: answer.billing_start_day,
    anchorDate: answer.billing_anchor_date,
    zone: answer.billing_timezone
  },
  directionMode: answer.direction_mode
})

/** Whether two settings are the same in every member. */
export const isSameTraffic = (a: TrafficSettings, b: TrafficSettings): boolean => {
  const [mine, other] = [trafficAnswer(a, ""), trafficAnswer(b, "")]
  return members.every((name) => mine[name] === other[name])
}

const members = [
  "guest_access_mode",
  "usage_mode",
  "cycle_mode",
  "billing_start_day",
  "billing_anchor_date",
  "billing_timezone",
  "direction_mode"
] as const

const refuse = (member: string, why: string) => new InvalidFields({ message: `${member} ${why}` })

const cyclePart = (write: TrafficSettingsWrite) => ({
  mode: write.cycle_mode ?? undefined,
  startDay: write.billing_start_day ?? undefined,
  anchorDate: write.billing_anchor_date ?? undefined,
  zone: write.billing_timezone ?? undefined
})

const oneOf = <A extends string>(
  all: ReadonlyArray<A>,
  member: keyof TrafficSettingsWrite,
  text: string | null | undefined,
  current: A
): Either.Either<A, InvalidFields> =>
  text === null || text === undefined
    ? Either.right(current)
    : Either.fromNullable(
        all.find((one) => one === text),
        () => refuse(member, `must be one of ${all.join(", ")}`)
      )
