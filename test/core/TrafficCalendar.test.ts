// The calendar of some settings: which parameter is refused, and that its boundaries are those of the cycles.
import { Either } from "effect"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { initialCycle } from "../../src/core/CycleSettings.ts"
import { type CalendarParams, trafficCalendar } from "../../src/core/TrafficCalendar.ts"

interface Vector {
  readonly id: string
  readonly cycle_mode: string
  readonly billing_start_day: number
  readonly billing_anchor_date: string
  readonly billing_timezone: string
  readonly at: string
  readonly start: string
  readonly end: string
}
const vectors = JSON.parse(
  readFileSync(new URL("../vectors/cycles.json", import.meta.url), "utf8")
) as ReadonlyArray<Vector>

const nowMs = Date.parse("2026-04-10T12:00:00.789Z")
const calendar = (params: CalendarParams, current = initialCycle) =>
  trafficCalendar(current, params, "Asia/Tokyo", nowMs)
const refusal = (params: CalendarParams) => Either.getOrThrow(Either.flip(calendar(params)))

describe("a calendar is refused", () => {
  const wrong: Readonly<Record<string, ReadonlyArray<string>>> = {
    mode: ["", "default", "weekly"],
    start_day: ["", "0", "32", "1.5", "-1", "+1", "1e1", " 1", "0x1", "one", "001"],
    timezone: ["Mars/Olympus", "+01:00", "UTC\u0000", "x".repeat(300)],
    at: [
      "",
      "soon",
      "2026-02-30T00:00:00Z",
      "2026-01-01",
      "-1",
      "9".repeat(12),
      "1969-12-31T23:59:59Z",
      "9000-01-01T00:00:00Z"
    ]
  }
  it.each(Object.entries(wrong))(
    "by the name of the parameter that is wrong, and not by its value: %s",
    (name, values) => {
      for (const value of values) {
        const { code, message } = refusal({ [name]: value })
        expect([value, code, message.split(" ")[0]]).toEqual([value, "invalid_fields", name])
        if (value.length > 2) expect(message).not.toContain(value)
      }
    }
  )

  it("for an anchor only where the mode looks at one", () => {
    expect(refusal({ mode: "vendor_compatible", anchor_date: "soon" }).message).toMatch(/^anchor_date /)
    expect(Either.isRight(calendar({ mode: "clamp_to_month_end", anchor_date: "soon" }))).toBe(true)
  })
})

describe("a calendar", () => {
  it("has the boundaries of the contract's vectors around the instant", () => {
    for (const one of vectors) {
      const told = Either.getOrThrow(
        calendar({
          mode: one.cycle_mode,
          start_day: String(one.billing_start_day),
          anchor_date: one.billing_anchor_date,
          timezone: one.billing_timezone,
          at: one.at
        })
      )
      expect([one.id, told.last[0]?.start, told.next[0]?.start]).toEqual([one.id, one.start, one.end])
      expect([told.last.length, told.next.length]).toEqual([24, 24])
    }
    expect(vectors.length).toBeGreaterThan(35)
  })

  it("tells the date that the clocks of the zone show at each boundary", () => {
    const told = Either.getOrThrow(calendar({ mode: "clamp_to_month_end", start_day: "31", timezone: "Asia/Shanghai" }))

    expect(told.next.slice(0, 2)).toEqual([
      { start: "2026-04-29T16:00:00Z", date: "2026-04-30" },
      { start: "2026-05-30T16:00:00Z", date: "2026-05-31" }
    ])
    expect(told.last.slice(0, 2)).toEqual([
      { start: "2026-03-30T16:00:00Z", date: "2026-03-31" },
      { start: "2026-02-27T16:00:00Z", date: "2026-02-28" }
    ])
  })

  it("tells what would be kept: settled by the mode, an anchor by its date, an empty zone by the application's", () => {
    const config = (params: CalendarParams, current = initialCycle) =>
      Either.getOrThrow(calendar(params, current)).config

    expect(config({})).toEqual({ mode: "calendar_month", start_day: 1, anchor_date: "", timezone: "Asia/Tokyo" })
    expect(config({ start_day: "9", anchor_date: "2026-01-05", timezone: "UTC" })).toEqual({
      mode: "calendar_month",
      start_day: 1,
      anchor_date: "",
      timezone: "UTC"
    })
    expect(config({ mode: "vendor_compatible", anchor_date: "2026-01-30T20:00:00Z" })).toEqual({
      mode: "vendor_compatible",
      start_day: 31,
      anchor_date: "2026-01-31",
      timezone: "Asia/Tokyo"
    })
    // What is left out is taken from the saved settings.
    const saved = { mode: "clamp_to_month_end", startDay: 15, anchorDate: "", zone: "UTC" } as const
    expect(config({ start_day: "09" }, saved)).toEqual({
      mode: "clamp_to_month_end",
      start_day: 9,
      anchor_date: "",
      timezone: "UTC"
    })
  })

  it("stands at now in whole seconds, at the instant that was asked for, or at its unix seconds", () => {
    const at = (text?: string) => Either.getOrThrow(calendar({ at: text })).at

    expect(at()).toBe("2026-04-10T12:00:00Z")
    expect([at("0"), at("2026-01-01T01:00:00.5+01:00")]).toEqual(["1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z"])
    expect(at("8999-12-31T23:59:59Z")).toBe("8999-12-31T23:59:59Z")
  })

  it("has an instant on a boundary start its own cycle", () => {
    const told = Either.getOrThrow(calendar({ timezone: "UTC", at: "2026-03-01T00:00:00Z" }))

    expect([told.last[0]?.start, told.next[0]?.start]).toEqual(["2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"])
  })
})
