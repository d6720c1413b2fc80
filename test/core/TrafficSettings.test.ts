// What a PATCH of the traffic settings means: what is refused and where, then what is kept.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { TrafficSettingsWrite } from "../../schema/Traffic.ts"
import {
  changedTraffic,
  initialTraffic,
  isSameTraffic,
  trafficAnswer,
  trafficOf,
  type TrafficSettings
} from "../../src/core/TrafficSettings.ts"

const zone = "Asia/Tokyo"
const anchored: TrafficSettings = {
  guestAccess: "by_node",
  usageMode: "billing",
  cycle: { mode: "vendor_compatible", startDay: 30, anchorDate: "2026-01-30", zone: "Europe/Berlin" },
  directionMode: "both"
}

/** "code: message" of a refusal, or what would be told of the settings then kept. */
const patch = (write: TrafficSettingsWrite, current = initialTraffic) => {
  const result = changedTraffic(current, write, zone)
  return Either.isLeft(result) ? `${result.left.code}: ${result.left.message}` : trafficAnswer(result.right, zone)
}

describe("a change is refused", () => {
  it("when it holds no known member, null being none", () => {
    const members = Object.fromEntries(Object.keys(trafficAnswer(initialTraffic, zone)).map((name) => [name, null]))
    for (const write of [{}, members, { other: 1 } as TrafficSettingsWrite]) {
      expect(patch(write)).toBe("no_fields: the body holds no traffic setting")
    }
  })

  const cycleModes = "calendar_month, vendor_compatible, clamp_to_month_end"
  const rows: ReadonlyArray<readonly [TrafficSettingsWrite, string]> = [
    [{ guest_access_mode: "" }, "guest_access_mode must be one of disabled, by_node"],
    [{ guest_access_mode: "By_node" }, "guest_access_mode must be one of disabled, by_node"],
    [{ usage_mode: " " }, "usage_mode must be one of lite, billing"],
    [{ usage_mode: "full" }, "usage_mode must be one of lite, billing"],
    [{ cycle_mode: "" }, `cycle_mode must be one of ${cycleModes}`],
    [{ cycle_mode: "default" }, `cycle_mode must be one of ${cycleModes}`],
    [{ billing_start_day: 0 }, "billing_start_day must be from 1 to 31"],
    [{ billing_start_day: 32, cycle_mode: "calendar_month" }, "billing_start_day must be from 1 to 31"],
    [{ billing_timezone: "Mars/Olympus" }, "billing_timezone must be empty or the name of a time zone"],
    [{ billing_timezone: "+01:00" }, "billing_timezone must be empty or the name of a time zone"],
    [
      { cycle_mode: "vendor_compatible", billing_anchor_date: "soon" },
      "billing_anchor_date must be empty, YYYY-MM-DD or an RFC 3339 time"
    ],
    [{ direction_mode: "in" }, "direction_mode must be one of out, both, max"],
    [{ direction_mode: "" }, "direction_mode must be one of out, both, max"],
    [{ direction_mode: "max", usage_mode: "x" }, "usage_mode must be one of lite, billing"]
  ]
  it.each(rows)("by the name of the member that is wrong: %j", (write, why) => {
    expect(patch(write)).toBe(`invalid_fields: ${why}`)
  })

  it("for a bad anchor in the mode that was there before", () => {
    expect(patch({ billing_anchor_date: "2026-02-30" }, anchored)).toContain("invalid_fields: billing_anchor_date")
  })
})

describe("a change is kept", () => {
  it("with everything else as it was", () => {
    const before = trafficAnswer(anchored, zone)
    const changes = {
      guest_access_mode: "disabled",
      usage_mode: "lite",
      billing_timezone: "UTC",
      direction_mode: "max"
    } as const
    for (const [name, value] of Object.entries(changes)) {
      expect(patch({ [name]: value }, anchored)).toEqual({ ...before, [name]: value })
    }
    expect(patch({ ...changes, cycle_mode: null }, anchored)).toEqual({ ...before, ...changes })
  })

  it("with lite for an empty usage mode, and the application's zone told for an empty zone", () => {
    expect(patch({ usage_mode: "", billing_timezone: "" }, anchored)).toMatchObject({
      usage_mode: "lite",
      billing_timezone: zone
    })
  })

  const rows: ReadonlyArray<readonly [string, TrafficSettingsWrite, Partial<ReturnType<typeof trafficAnswer>>]> = [
    [
      "day 1 and no anchor in calendar months",
      { cycle_mode: "calendar_month", billing_start_day: 9, billing_anchor_date: "2026-05-05" },
      { billing_start_day: 1, billing_anchor_date: "" }
    ],
    [
      "no anchor in clamped months",
      { cycle_mode: "clamp_to_month_end", billing_start_day: 31, billing_anchor_date: "nonsense" },
      { billing_start_day: 31, billing_anchor_date: "" }
    ],
    ["the anchor's day in the vendor's mode", { billing_start_day: 5 }, { billing_start_day: 30 }],
    [
      "the start day when the anchor is taken away",
      { billing_anchor_date: "", billing_start_day: 5 },
      { billing_start_day: 5, billing_anchor_date: "" }
    ],
    [
      "the date that a time has in the zone of the result",
      { billing_anchor_date: "2026-01-30T23:30:00Z", billing_timezone: "Asia/Tokyo" },
      { billing_start_day: 31, billing_anchor_date: "2026-01-31" }
    ]
  ]
  it.each(rows)("settled as a whole: %s", (_, write, expected) => {
    expect(patch(write, anchored)).toMatchObject(expected)
  })

  it("in a form that comes back the same, whatever was changed", () => {
    const writes = fc.record(
      {
        guest_access_mode: fc.constantFrom("disabled", "by_node"),
        usage_mode: fc.constantFrom("", "lite", "billing"),
        cycle_mode: fc.constantFrom("calendar_month", "vendor_compatible", "clamp_to_month_end"),
        billing_start_day: fc.integer({ min: 1, max: 31 }),
        billing_anchor_date: fc.constantFrom("", "2026-01-31", "2028-02-29T23:00:00-05:00"),
        billing_timezone: fc.constantFrom("", "UTC", "America/Havana"),
        direction_mode: fc.constantFrom("out", "both", "max")
      },
      { requiredKeys: ["direction_mode"] }
    )
    fc.assert(
      fc.property(writes, writes, (first, second) => {
        const once = Either.getOrThrow(changedTraffic(initialTraffic, first, zone))
        const twice = Either.getOrThrow(changedTraffic(once, second, zone))
        expect(trafficOf(trafficAnswer(twice, ""))).toEqual(twice)
        // What was settled is settled: the same change again makes no difference.
        expect(isSameTraffic(Either.getOrThrow(changedTraffic(twice, second, zone)), twice)).toBe(true)
        expect(isSameTraffic(once, twice)).toBe(JSON.stringify(once) === JSON.stringify(twice))
      })
    )
  })
})
