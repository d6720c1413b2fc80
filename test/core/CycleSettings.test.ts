// How cycle settings are checked, settled and changed, and which of them hold for a node.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { cycleAt } from "../../src/core/Cycle.ts"
import type { GivenCycle } from "../../src/core/CycleSettings.ts"
import { effectiveConfig, initialCycle, normalised, patched } from "../../src/core/CycleSettings.ts"

const given = (part: Partial<GivenCycle>): GivenCycle => ({ ...initialCycle, ...part })
const vendor = (part: Partial<GivenCycle>): GivenCycle => given({ mode: "vendor_compatible", ...part })

describe("settings are refused", () => {
  it.each([
    ["the mode", { mode: "weekly" }, "mode"],
    ["an empty mode", { mode: "" }, "mode"],
    ["the mode that only nodes have", { mode: "default" }, "mode"],
    ["the day 0", { mode: "clamp_to_month_end", startDay: 0 }, "startDay"],
    ["the day 32", { mode: "vendor_compatible", startDay: 32 }, "startDay"],
    ["half a day", { mode: "clamp_to_month_end", startDay: 1.5 }, "startDay"],
    ["a day that is no number", { startDay: Number.NaN }, "startDay"],
    ["a day that the mode does not look at", { mode: "calendar_month", startDay: 32 }, "startDay"],
    [
      "a day that the anchor replaces",
      { mode: "vendor_compatible", startDay: 99, anchorDate: "2026-01-31" },
      "startDay"
    ],
    ["an unknown zone", { zone: "Mars/Olympus" }, "zone"],
    ["an offset for a zone", { zone: "+01:00" }, "zone"],
    ["an anchor that is no date", { mode: "vendor_compatible", anchorDate: "soon" }, "anchorDate"],
    ["an anchor on a day that no month has", { mode: "vendor_compatible", anchorDate: "2026-02-29" }, "anchorDate"],
    ["an anchor without its zone", { mode: "vendor_compatible", anchorDate: "2026-02-03T04:05:06" }, "anchorDate"]
  ])("for %s", (_, part, field) => {
    expect(normalised(given(part), "UTC")).toEqual(Either.left(field))
  })
})

describe("settings are kept", () => {
  it.each([
    ["calendar_month", 1, ""],
    ["clamp_to_month_end", 15, ""],
    ["vendor_compatible", 31, "2026-01-31"]
  ])("of mode %s with start day %d and anchor %j", (mode, startDay, anchorDate) => {
    const kept = normalised({ mode, startDay: 15, anchorDate: "2026-01-31", zone: "Asia/Tokyo" }, "UTC")

    expect(kept).toEqual(Either.right({ mode, startDay, anchorDate, zone: "Asia/Tokyo" }))
  })

  it("with the start day of the vendor's mode that has no anchor", () => {
    expect(normalised(vendor({ startDay: 29 }), "UTC")).toEqual(Either.right(vendor({ startDay: 29 })))
  })

  it.each(["calendar_month", "clamp_to_month_end"])(
    "without the nonsense that mode %s was given for an anchor",
    (mode) => {
      expect(normalised(given({ mode, anchorDate: "soon" }), "UTC")).toEqual(Either.right(given({ mode })))
    }
  )

  it.each([
    ["Asia/Tokyo", "UTC", "2026-02-01"],
    ["", "Asia/Tokyo", "2026-02-01"],
    ["UTC", "Asia/Tokyo", "2026-01-31"],
    ["America/New_York", "Asia/Tokyo", "2026-01-31"]
  ])("with a time for an anchor as its date in zone %j, the application's being %s", (zone, application, date) => {
    const kept = normalised(vendor({ zone, anchorDate: "2026-01-31T22:30:00Z" }), application)

    expect(kept).toEqual(Either.right(vendor({ zone, anchorDate: date, startDay: Number(date.slice(8)) })))
  })

  it("without the blanks around an anchor and a zone", () => {
    const kept = normalised(vendor({ zone: " UTC ", anchorDate: " 2026-01-31 " }), "UTC")

    expect(kept).toEqual(Either.right(vendor({ zone: "UTC", anchorDate: "2026-01-31", startDay: 31 })))
  })

  it("as they are when they are given once more", () => {
    const field = fc.record({
      mode: fc.constantFrom("calendar_month", "clamp_to_month_end", "vendor_compatible"),
      startDay: fc.integer({ min: 1, max: 31 }),
      anchorDate: fc.constantFrom("", "soon", "2024-02-29", "2026-01-31T23:00:00-05:00"),
      zone: fc.constantFrom("", "UTC", "Asia/Kolkata")
    })

    fc.assert(
      fc.property(field, (written) => {
        const once = normalised(written, "Europe/Berlin")

        expect(Either.flatMap(once, (kept) => normalised(kept, "Europe/Berlin"))).toEqual(once)
      })
    )
  })
})

describe("a patch", () => {
  const current = { mode: "vendor_compatible", startDay: 31, anchorDate: "2026-01-31", zone: "Asia/Tokyo" } as const

  it("is refused when what it leaves is not valid, whoever gave it", () => {
    expect(patched(current, { anchorDate: "soon" }, "UTC")).toEqual(Either.left("anchorDate"))
    expect(patched(current, { startDay: 40 }, "UTC")).toEqual(Either.left("startDay"))
    expect(patched({ ...current, zone: "Mars/Olympus" }, { startDay: 4 }, "UTC")).toEqual(Either.left("zone"))
  })

  it("changes nothing that it does not name", () => {
    expect(patched(current, { mode: undefined }, "UTC")).toEqual(Either.right(current))
  })

  it("is settled together with what was there", () => {
    expect(patched(current, { startDay: 5 }, "UTC")).toEqual(Either.right(current))
    expect(patched(current, { anchorDate: "" }, "UTC")).toEqual(Either.right({ ...current, anchorDate: "" }))
    expect(patched(current, { mode: "clamp_to_month_end" }, "UTC")).toEqual(
      Either.right({ ...current, mode: "clamp_to_month_end", anchorDate: "" })
    )
    expect(patched(current, { mode: "calendar_month", zone: "" }, "UTC")).toEqual(Either.right(initialCycle))
  })
})

describe("what holds for a node", () => {
  const global = vendor({ startDay: 31, anchorDate: "2026-01-31", zone: "Asia/Tokyo" })
  const application = "Europe/Berlin"

  it.each([
    ["an unknown mode", { mode: "weekly" }],
    ["a day that is none", { mode: "clamp_to_month_end", startDay: 32 }],
    ["a zone that is none", { mode: "calendar_month", zone: "Mars/Olympus" }],
    ["an anchor that is none", { mode: "vendor_compatible", anchorDate: "soon" }]
  ])("are the global settings when its own have %s", (_, part) => {
    expect(effectiveConfig(global, given(part), application)).toEqual(global)
  })

  it("is the calendar month in the application's zone when not even the global settings are valid", () => {
    const broken = { ...global, zone: "Mars/Olympus" }

    expect(effectiveConfig(broken, given({ mode: "default" }), application)).toEqual(given({ zone: application }))
  })

  it("are the global settings when it has mode default, whatever its other fields hold", () => {
    const stale = { mode: "default", startDay: 7, anchorDate: "2020-05-05", zone: "UTC" }

    expect(effectiveConfig(global, stale, application)).toEqual(global)
    expect(effectiveConfig({ ...global, zone: "" }, stale, application)).toEqual({ ...global, zone: application })
  })

  it("are its own in the application's zone, not the global one, when its zone is empty", () => {
    const node = given({ mode: "clamp_to_month_end", startDay: 7 })

    expect(effectiveConfig(global, node, application)).toEqual({ ...node, zone: application })
  })

  it("are its own without the fields that its mode does not use", () => {
    const node = { mode: "calendar_month", startDay: 15, anchorDate: "soon", zone: "UTC" }

    expect(effectiveConfig(global, node, application)).toEqual(given({ zone: "UTC" }))
  })

  it("has a cycle, whatever is stored", () => {
    const mode = fc.oneof(
      fc.constantFrom("default", "calendar_month", "clamp_to_month_end", "vendor_compatible"),
      fc.string()
    )
    const stored = fc.record({
      mode,
      startDay: fc.oneof(fc.integer({ min: -1, max: 33 }), fc.double()),
      anchorDate: fc.oneof(fc.constantFrom("", "0001-01-01", "9999-12-31", "2024-02-29"), fc.string()),
      zone: fc.oneof(fc.constantFrom("", "UTC", "Pacific/Apia"), fc.string())
    })

    fc.assert(
      fc.property(stored, stored, (settings, node) => {
        const now = Date.parse("2026-05-05T12:00:00Z")
        const cycle = cycleAt(effectiveConfig(settings, node, application), now)

        expect(cycle.startMs <= now && now < cycle.endMs).toBe(true)
      }),
      { numRuns: 1000 }
    )
  })
})
