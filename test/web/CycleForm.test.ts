// @vitest-environment node
// The form of a billing cycle: what a mode leaves unused, what is sent, and at which field a refusal stands.
import { describe, expect, it } from "vitest"
import type { TrafficSettingsAnswer } from "../../schema/Traffic.ts"
import { Failure } from "../../src/web/api/Failure.ts"
import { currentOf } from "../../src/web/pages/admin/CycleDates.ts"
import {
  calendarParams,
  changedTraffic,
  dayOf,
  formOf,
  refusedField,
  settled,
  unusedFields
} from "../../src/web/pages/admin/CycleForm.ts"

const stored: TrafficSettingsAnswer = {
  guest_access_mode: "disabled",
  usage_mode: "lite",
  cycle_mode: "clamp_to_month_end",
  billing_start_day: 15,
  billing_anchor_date: "",
  billing_timezone: "Europe/Berlin",
  direction_mode: "out"
}
const form = formOf(stored)

describe("a refusal", () => {
  it("stands at its field, whether it came from the calendar, the settings or a node", () => {
    const of = (code: string, message = "") => refusedField(new Failure(400, code, message))?.field

    expect(of("invalid_fields", "timezone must be empty or the name of a time zone")).toBe("zone")
    expect(of("invalid_fields", "billing_start_day must be from 1 to 31")).toBe("day")
    expect(of("invalid_traffic_billing_anchor_date")).toBe("anchor")
    expect(of("invalid_traffic_cycle_mode")).toBe("mode")
    expect(of("invalid_fields", "direction_mode must be one of out, both, max")).toBe(undefined)
    expect(of("db_error", "timezone")).toBe(undefined)
  })
})

describe("the form of a cycle", () => {
  it("leaves fields unused by the mode, with the reason", () => {
    expect(unusedFields({ ...form, mode: "calendar_month" })).toEqual({ day: "calendar", anchor: "calendar" })
    expect(unusedFields(form)).toEqual({ anchor: "clamp" })
    expect(unusedFields({ ...form, mode: "vendor_compatible" })).toEqual({})
    expect(unusedFields({ ...form, mode: "vendor_compatible", anchor: "2026-01-31" })).toEqual({ day: "anchored" })
    expect(Object.keys(unusedFields({ ...form, mode: "default" }))).toEqual(["day", "anchor", "zone"])
  })

  it("keeps what the service would keep", () => {
    expect(settled({ ...form, mode: "calendar_month", anchor: "2026-01-31" })).toEqual({
      mode: "calendar_month",
      day: "1",
      anchor: "",
      zone: "Europe/Berlin"
    })
    expect(settled({ ...form, mode: "vendor_compatible", anchor: "2026-01-09" }).day).toBe("9")
  })

  it("asks the calendar for all four values, and for what is saved when a node follows it", () => {
    expect(calendarParams(form)).toEqual({
      mode: "clamp_to_month_end",
      start_day: "15",
      anchor_date: "",
      timezone: "Europe/Berlin"
    })
    expect(calendarParams({ ...form, mode: "default" })).toEqual({})
  })

  it("sends only what differs, and a day that is none as one that is refused", () => {
    expect(changedTraffic(stored, stored, { ...form, zone: " Europe/Berlin " })).toEqual({})
    expect(changedTraffic(stored, { ...stored, usage_mode: "billing" }, { ...form, day: "" })).toEqual({
      usage_mode: "billing",
      billing_start_day: 0
    })
    expect(changedTraffic(stored, stored, { ...form, mode: "calendar_month", day: "99" })).toEqual({
      cycle_mode: "calendar_month",
      billing_start_day: 1
    })
    expect([dayOf("7"), dayOf("7.5"), dayOf("-1"), dayOf("100")]).toEqual([7, 0, 0, 0])
  })
})

describe("the running cycle of a calendar", () => {
  it("ends the day before the next one starts", () => {
    const at = (date: string) => ({ start: `${date}T00:00:00Z`, date })

    expect(currentOf({ last: [at("2028-02-01")], next: [at("2028-03-01")] })).toEqual({
      from: "2028-02-01",
      to: "2028-02-29",
      days: 29
    })
    expect(currentOf({ last: [], next: [] })).toBe(null)
  })
})
