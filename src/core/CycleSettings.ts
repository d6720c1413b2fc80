// The rules of cycle settings: how the global ones are changed and kept, and which of them hold for a node.
import { Either } from "effect"
import type { CycleMode } from "../../schema/Node.ts"
import { anchorDateOf, settled, startDayOf, timezoneOf } from "./BillingFields.ts"
import type { CycleConfig } from "./Cycle.ts"

/** The global settings as they are kept. */
export interface CycleSettings extends CycleConfig {
  /** A name of the zone database, or empty for the application's zone. */
  readonly zone: string
}

/** Settings as someone wrote them or as they were found stored; nothing about their values is known yet. */
export interface GivenCycle {
  readonly mode: string
  readonly startDay: number
  /** Empty, `YYYY-MM-DD` or an RFC 3339 time. */
  readonly anchorDate: string
  readonly zone: string
}

/** Members left out or undefined keep their value. */
export type CyclePatch = { readonly [K in keyof GivenCycle]?: GivenCycle[K] | undefined }

/** The first field that is wrong. */
export type WrongField = keyof GivenCycle

/** What holds until an administrator sets something else. */
export const initialCycle: CycleSettings = { mode: "calendar_month", startDay: 1, anchorDate: "", zone: "" }

/**
 * Settings as they are kept. The start day and the zone are looked at in every mode, the anchor only in the vendor's;
 * then the mode settles what it does not use, and an anchor its day. A time given as anchor becomes its date in the
 * zone of the settings, `applicationZone` where that is empty.
 */
export const normalised = (given: GivenCycle, applicationZone: string): Either.Either<CycleSettings, WrongField> =>
  Either.gen(function* () {
    const mode = yield* modeOf(given.mode)
    const startDay = yield* Either.mapLeft(startDayOf(given.startDay), () => "startDay" as const)
    const zone = yield* Either.mapLeft(timezoneOf(given.zone), () => "zone" as const)
    const anchorText = mode === "vendor_compatible" ? given.anchorDate : ""
    const anchorDate = yield* Either.mapLeft(
      anchorDateOf(anchorText, zone === "" ? applicationZone : zone),
      () => "anchorDate" as const
    )
    const kept = settled({ mode, startDay, anchorDate, timezone: zone })
    return { mode, startDay: kept.startDay ?? startDay, anchorDate: kept.anchorDate ?? anchorDate, zone }
  })

/** The patch laid over the current settings, the result normalised as a whole. */
export const patched = (
  current: CycleSettings,
  patch: CyclePatch,
  applicationZone: string
): Either.Either<CycleSettings, WrongField> =>
  normalised(
    {
      mode: patch.mode ?? current.mode,
      startDay: patch.startDay ?? current.startDay,
      anchorDate: patch.anchorDate ?? current.anchorDate,
      zone: patch.zone ?? current.zone
    },
    applicationZone
  )

/**
 * What holds for a node. Mode `default` takes the global settings and looks at no field of the node; any other mode
 * takes the node's own fields and for an empty zone the application's, not the global one. An override that is not
 * valid counts as `default`, global settings that are not valid as {@link initialCycle}, so that every configuration
 * given here has a cycle. `applicationZone` must be a zone.
 */
export const effectiveConfig = (global: GivenCycle, node: GivenCycle, applicationZone: string): CycleConfig => {
  const own = Either.getOrUndefined(normalised(node, applicationZone))
  const kept = own ?? Either.getOrElse(normalised(global, applicationZone), () => initialCycle)
  return kept.zone === "" ? { ...kept, zone: applicationZone } : kept
}

/** `default` is no mode of its own: it is wrong as a global mode and makes a node have no override. */
const modeOf = (text: string): Either.Either<Exclude<CycleMode, "default">, "mode"> => {
  switch (text) {
    case "calendar_month":
    case "clamp_to_month_end":
    case "vendor_compatible":
      return Either.right(text)
    default:
      return Either.left("mode")
  }
}
