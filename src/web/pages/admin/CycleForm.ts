// A billing cycle as a form: what its mode leaves unused, what is asked of the calendar, and which field was refused.
import type { CycleMode } from "../../../../schema/Node.ts"
import type { TrafficSettingsAnswer } from "../../../../schema/Traffic.ts"
import { Failure } from "../../api/Failure.ts"

export interface CycleForm {
  readonly mode: CycleMode
  /** As typed. */
  readonly day: string
  /** Empty or `YYYY-MM-DD`. */
  readonly anchor: string
  readonly zone: string
}
export type CycleField = keyof CycleForm

/** Why a field does nothing in a mode; absent where it does something. */
export type Unused = "default" | "calendar" | "clamp" | "anchored"

export const unusedFields = ({ mode, anchor }: CycleForm): Partial<Record<CycleField, Unused>> => {
  switch (mode) {
    case "default":
      return { day: "default", anchor: "default", zone: "default" }
    case "calendar_month":
      return { day: "calendar", anchor: "calendar" }
    case "clamp_to_month_end":
      return { anchor: "clamp" }
    case "vendor_compatible":
      return anchor === "" ? {} : { day: "anchored" }
  }
}

/** The form as the service keeps it: what the mode does not use stands at its default, and an anchor gives the day. */
export const settled = (form: CycleForm): CycleForm => {
  const unused = unusedFields(form)
  const anchor = unused.anchor === undefined ? form.anchor.trim() : ""
  const ownDay = unused.day === "anchored" ? String(Number(anchor.slice(8, 10))) : "1"
  return {
    mode: form.mode,
    day: unused.day === undefined ? form.day.trim() : ownDay,
    anchor,
    zone: unused.zone === undefined ? form.zone.trim() : ""
  }
}

/** Parameters of the calendar; none for what holds for all nodes. */
export const calendarParams = (form: CycleForm): Readonly<Record<string, string>> => {
  const { mode, day, anchor, zone } = settled(form)
  return mode === "default" ? {} : { mode, start_day: day, anchor_date: anchor, timezone: zone }
}

export const formOf = (settings: TrafficSettingsAnswer): CycleForm => ({
  mode: settings.cycle_mode,
  day: String(settings.billing_start_day),
  anchor: settings.billing_anchor_date,
  zone: settings.billing_timezone
})

/** A day that is no number is sent as one that the service refuses at its field. */
export const dayOf = (text: string): number => (/^\d{1,2}$/.test(text) ? Number(text) : 0)

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** Only what differs from what is stored: another administrator's other changes stay. */
export const changedTraffic = (
  stored: TrafficSettingsAnswer,
  others: Pick<TrafficSettingsAnswer, "guest_access_mode" | "usage_mode" | "direction_mode">,
  form: CycleForm
): Partial<TrafficSettingsAnswer> => {
  const { mode, day, anchor, zone } = settled(form)
  const change: Mutable<Partial<TrafficSettingsAnswer>> = {}
  if (others.guest_access_mode !== stored.guest_access_mode) change.guest_access_mode = others.guest_access_mode
  if (others.usage_mode !== stored.usage_mode) change.usage_mode = others.usage_mode
  if (others.direction_mode !== stored.direction_mode) change.direction_mode = others.direction_mode
  if (mode !== "default" && mode !== stored.cycle_mode) change.cycle_mode = mode
  if (dayOf(day) !== stored.billing_start_day) change.billing_start_day = dayOf(day)
  if (anchor !== stored.billing_anchor_date) change.billing_anchor_date = anchor
  if (zone !== stored.billing_timezone) change.billing_timezone = zone
  return change
}

const names: ReadonlyArray<readonly [CycleField, RegExp, string]> = [
  ["mode", /^(cycle_)?mode\b|cycle_mode$/, "invalid_traffic_cycle_mode"],
  ["day", /^(billing_)?start_day\b|billing_start_day$/, "invalid_traffic_billing_start_day"],
  ["anchor", /^(billing_)?anchor_date\b|billing_anchor_date$/, "invalid_traffic_billing_anchor_date"],
  ["zone", /^(billing_)?timezone\b|billing_timezone$/, "invalid_traffic_billing_timezone"]
]

export interface RefusedField {
  readonly field: CycleField
  /** The failure with the code that names the field. */
  readonly failure: Failure
}

/** The field that the service refused: by its code for a node, by the first word of the message elsewhere. */
export const refusedField = (failure: Failure): RefusedField | null => {
  const text = failure.code === "invalid_fields" ? failure.message : failure.code
  const found = names.find(([, pattern]) => pattern.test(text))
  return found === undefined
    ? null
    : { field: found[0], failure: new Failure(failure.status, found[2], failure.message) }
}
