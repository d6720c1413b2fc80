// What a node patch may say, with which code it is refused, and what it becomes.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isFailure } from "../../schema/Errors.ts"
import { NodePatch } from "../../schema/Node.ts"
import { changesOf, idsOf, p95SwitchOf, secretOf } from "../../src/core/NodePatch.ts"

const zone = "Asia/Tokyo"
const codeOf = (body: unknown): string =>
  Either.match(changesOf(body, zone), { onLeft: (e) => e.code, onRight: () => "" })
const become = (body: unknown): unknown => Either.getOrThrowWith(changesOf(body, zone), (failure) => failure)
const chars = (n: number) => "x".repeat(n)

describe("a node patch is refused", () => {
  it.each([
    ["invalid_request", null],
    ["invalid_request", []],
    ["invalid_request", "name"],
    ["invalid_request", 7],
    ["invalid_request", { name: 7 }],
    ["invalid_request", { name: ["a"] }],
    ["invalid_request", { display_order: "1" }],
    ["invalid_request", { display_order: 1.5 }],
    ["invalid_request", { is_guest_visible: "true" }],
    ["invalid_request", { is_guest_visible: 1 }],
    ["invalid_request", { traffic_p95_enabled: "on" }],
    ["invalid_request", { traffic_cycle_mode: 1 }],
    ["invalid_request", { traffic_billing_start_day: "1" }],
    ["invalid_request", { traffic_billing_start_day: 1.5 }],
    ["invalid_request", { traffic_billing_anchor_date: 20260101 }],
    ["invalid_request", { traffic_billing_timezone: {} }],
    ["invalid_request", { traffic_direction_mode: false }],
    ["invalid_request", { secret: 12345678 }],
    ["invalid_request", { group_ids: 1 }],
    ["invalid_request", { group_ids: ["1"] }],
    ["invalid_request", { group_ids: [1.5] }],
    ["invalid_request", { group_ids: [null] }],
    ["invalid_name", { name: "" }],
    ["invalid_name", { name: " \t\n" }],
    ["invalid_name", { name: chars(65) }],
    ["invalid_name", { name: "a\r\nb" }],
    ["invalid_name", { name: "a\0b" }],
    ["invalid_name", { name: "a\u001bb" }],
    ["invalid_name", { name: "a\u0085b" }],
    ["invalid_name", { name: "a\u2028b" }],
    ["invalid_name", { name: "a\ud800b" }],
    ["invalid_display_order", { display_order: 0 }],
    ["invalid_display_order", { display_order: -1 }],
    ["invalid_display_order", { display_order: 2_147_483_648 }],
    ["invalid_traffic_cycle_mode", { traffic_cycle_mode: "weekly" }],
    ["invalid_traffic_cycle_mode", { traffic_cycle_mode: "Default" }],
    ["invalid_traffic_billing_start_day", { traffic_billing_start_day: 0 }],
    ["invalid_traffic_billing_start_day", { traffic_billing_start_day: 32 }],
    ["invalid_traffic_billing_start_day", { traffic_cycle_mode: "calendar_month", traffic_billing_start_day: 32 }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "01.02.2026" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-02-30" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2025-02-29" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-13-01" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-1-1" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "0000-01-01" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-01-01T00:00:00" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-02-30T00:00:00Z" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "2026-01-01T24:00:00Z" }],
    ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "9999-12-31T23:00:00Z" }],
    ["invalid_traffic_billing_anchor_date", { traffic_cycle_mode: "default", traffic_billing_anchor_date: "soon" }],
    ["invalid_traffic_billing_timezone", { traffic_billing_timezone: "Mars/Olympus" }],
    ["invalid_traffic_billing_timezone", { traffic_billing_timezone: "+01:00" }],
    ["invalid_traffic_billing_timezone", { traffic_billing_timezone: chars(65) }],
    ["invalid_traffic_direction_mode", { traffic_direction_mode: "in" }],
    ["invalid_traffic_direction_mode", { traffic_direction_mode: "" }],
    ["invalid_tags", { tags: null }],
    ["invalid_tags", { tags: "a" }],
    ["invalid_tags", { tags: {} }],
    ["invalid_tags", { tags: ["a", 1] }],
    ["invalid_tags", { tags: ["a", null] }],
    ["invalid_tags", { tags: [chars(65)] }],
    ["invalid_tags", { tags: ["a\nb"] }],
    ["invalid_tags", { tags: ["a\0b"] }],
    ["invalid_tags", { tags: Array.from({ length: 33 }, (_, i) => `t${i}`) }],
    ["invalid_group_ids", { group_ids: [0] }],
    ["invalid_group_ids", { group_ids: [1, -1] }],
    ["invalid_group_ids", { group_ids: [2 ** 53] }],
    ["no_fields", {}],
    ["no_fields", { hostname: "a", id: 3 }],
    ["no_fields", { name: null, display_order: null, secret: null, group_ids: null }]
  ])("with %s: %j", (code, body) => {
    expect(codeOf(body)).toBe(code)
  })

  it("with a message that names the member and shows nothing of the secret", () => {
    const left = Either.flip(changesOf({ name: "" }, zone))

    expect(Either.getOrThrow(left).message).toBe("name must not be blank")
    expect(Either.getOrThrow(Either.flip(secretOf("hunter2"))).message).not.toContain("hunter2")
  })

  // Each row breaks everything from its place in the order on.
  it("by the first breach in the order of the contract, types before meanings", () => {
    const breaches: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
      ["invalid_request", { group_ids: "all" }],
      ["invalid_name", { name: "" }],
      ["invalid_display_order", { display_order: 0 }],
      ["invalid_traffic_cycle_mode", { traffic_cycle_mode: "x" }],
      ["invalid_traffic_billing_start_day", { traffic_billing_start_day: 0 }],
      ["invalid_traffic_billing_anchor_date", { traffic_billing_anchor_date: "x" }],
      ["invalid_traffic_billing_timezone", { traffic_billing_timezone: "x" }],
      ["invalid_traffic_direction_mode", { traffic_direction_mode: "x" }],
      ["invalid_tags", { tags: null }],
      ["invalid_group_ids", { group_ids: [0] }]
    ]

    breaches.forEach(([code], from) => {
      const body: Record<string, unknown> = {}
      for (const [, members] of breaches.slice(from).reverse()) Object.assign(body, members)
      expect(codeOf(body)).toBe(code)
    })
  })
})

describe("a node patch becomes", () => {
  it.each([
    [{ name: "  edge a " }, { name: "edge a" }],
    [{ name: "🛰".repeat(64) }, { name: "🛰".repeat(64) }],
    [
      { display_order: 3, is_guest_visible: false },
      { displayOrder: 3, guestVisible: false }
    ],
    [{ traffic_p95_enabled: true, name: null }, { trafficP95Enabled: true }],
    [{ tags: [" a ", "", "b", "a", "  "] }, { tags: ["a", "b"] }],
    [{ tags: [] }, { tags: [] }],
    [{ group_ids: [3, 1, 3] }, { groupIds: [3, 1] }],
    [{ group_ids: [] }, { groupIds: [] }],
    [{ traffic_direction_mode: "max" }, { trafficDirectionMode: "max" }],
    [{ traffic_billing_timezone: " Europe/Berlin " }, { trafficBillingTimezone: "Europe/Berlin" }],
    [{ traffic_billing_timezone: "Asia/Kolkata" }, { trafficBillingTimezone: "Asia/Kolkata" }],
    [{ traffic_billing_timezone: "" }, { trafficBillingTimezone: "" }]
  ])("from %j: %j", (body, changes) => {
    expect(become(body)).toEqual(changes)
  })

  const all = {
    traffic_billing_start_day: 9,
    traffic_billing_anchor_date: "2026-01-30",
    traffic_billing_timezone: "UTC"
  }
  it.each([
    ["", "default", 1, "", ""],
    ["default", "default", 1, "", ""],
    ["calendar_month", "calendar_month", 1, "", "UTC"],
    ["clamp_to_month_end", "clamp_to_month_end", 9, "", "UTC"],
    ["vendor_compatible", "vendor_compatible", 30, "2026-01-30", "UTC"]
  ])("with mode %j sent beside all its fields: %j, day %j, anchor %j, zone %j", (sent, mode, day, anchor, timezone) => {
    expect(become({ ...all, traffic_cycle_mode: sent })).toEqual({
      trafficCycleMode: mode,
      trafficBillingStartDay: day,
      trafficBillingAnchorDate: anchor,
      trafficBillingTimezone: timezone
    })
  })

  it("the start day that was sent where a vendor cycle has no anchor", () => {
    const body = {
      traffic_cycle_mode: "vendor_compatible",
      traffic_billing_start_day: 9,
      traffic_billing_anchor_date: ""
    }

    expect(become(body)).toMatchObject({ trafficBillingStartDay: 9, trafficBillingAnchorDate: "" })
  })

  it("only fields that were sent, whatever the mode says of the others", () => {
    expect(become({ traffic_cycle_mode: "default" })).toEqual({ trafficCycleMode: "default" })
    expect(become({ traffic_cycle_mode: "vendor_compatible", traffic_billing_anchor_date: "2026-01-30" })).toEqual({
      trafficCycleMode: "vendor_compatible",
      trafficBillingAnchorDate: "2026-01-30"
    })
    expect(become(all)).toEqual({
      trafficBillingStartDay: 9,
      trafficBillingAnchorDate: "2026-01-30",
      trafficBillingTimezone: "UTC"
    })
  })

  it.each([
    [{ traffic_billing_anchor_date: "2026-01-30T20:00:00Z" }, "2026-01-31"],
    [{ traffic_billing_anchor_date: "2026-01-30t20:00:00.123456789z" }, "2026-01-31"],
    [
      { traffic_billing_anchor_date: "2026-01-30T20:00:00Z", traffic_billing_timezone: "America/New_York" },
      "2026-01-30"
    ],
    [{ traffic_billing_anchor_date: "2026-01-30T20:00:00Z", traffic_billing_timezone: "" }, "2026-01-31"],
    [{ traffic_billing_anchor_date: "2024-02-29T23:30:00+09:00" }, "2024-02-29"],
    [{ traffic_billing_anchor_date: "2024-02-29" }, "2024-02-29"],
    [{ traffic_billing_anchor_date: "  " }, ""]
  ])("from the anchor of %j the date %j, in the patch's zone or else in the given one", (body, date) => {
    expect(become(body)).toMatchObject({ trafficBillingAnchorDate: date })
  })
})

describe("a secret", () => {
  it.each([
    "",
    "   ",
    "1234567",
    `  ${chars(7)}  `,
    chars(129),
    "tab\tinside",
    "line\nbreak",
    "nul\0inside",
    "söcret-12"
  ])("is refused: %j", (text) => {
    expect(Either.isLeft(secretOf(text))).toBe(true)
  })

  it("is trimmed and otherwise kept", () => {
    expect(Either.getOrThrow(secretOf("  two words 12 "))).toBe("two words 12")
    expect(Either.getOrThrow(secretOf(chars(128)))).toBe(chars(128))
  })

  it("that is refused does not refuse the patch before the node was found", () => {
    expect(become({ secret: "short" })).toMatchObject({ secret: expect.objectContaining({ _tag: "Left" }) })
  })
})

describe("a list of ids", () => {
  it.each([
    [undefined],
    [null],
    ["1"],
    [{}],
    [[]],
    [[0]],
    [[-1]],
    [[1.5]],
    [["1"]],
    [[1, 1]],
    [[null]],
    [[2 ** 53]],
    [Array.from({ length: 10_001 }, (_, i) => i + 1)]
  ])("is refused: %j", (ids) => {
    const codeOf = (refused: { readonly code: string }) => refused.code
    expect(Either.mapLeft(idsOf(ids), codeOf)).toEqual(Either.left("invalid_ids"))
    expect(Either.mapLeft(p95SwitchOf({ ids, enabled: true }), codeOf)).toEqual(Either.left("invalid_ids"))
  })

  it("keeps its ids in their order", () => {
    expect(Either.getOrThrow(idsOf([9, 7, 8]))).toEqual([9, 7, 8])
    expect(Either.isRight(idsOf(Array.from({ length: 10_000 }, (_, i) => i + 1)))).toBe(true)
  })
})

describe("a switch of many nodes", () => {
  it.each([[undefined], [null]])(
    "is refused for its missing `enabled` (%j) before the ids are looked at",
    (enabled) => {
      const refused = Either.flip(p95SwitchOf({ ids: "nonsense", enabled }))

      expect(Either.getOrThrow(refused)).toMatchObject({ code: "invalid_fields", message: "enabled is required" })
    }
  )

  it.each([true, false])("is the ids and what they are switched to: %j", (enabled) => {
    expect(Either.getOrThrow(p95SwitchOf({ ids: [8, 7], enabled }))).toEqual({ ids: [8, 7], enabled })
  })
})

describe("whatever is sent", () => {
  const members = fc.constantFrom(...Object.keys(NodePatch.fields), "__proto__", "constructor")
  const values = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("default", "vendor_compatible", "2026-01-30T20:00:00Z", "UTC", "max", 1, 31, [1], ["a"])
  )
  const bodies = fc.oneof(fc.jsonValue(), fc.dictionary(members, values))

  it("never throws, and refuses only with failures of the catalogue", () => {
    fc.assert(
      fc.property(bodies, fc.constantFrom(zone, "", "no zone"), (body, fallback) => {
        const result = changesOf(body, fallback)

        expect(Either.isRight(result) || isFailure(result.left)).toBe(true)
        idsOf(body)
      }),
      { numRuns: 3000 }
    )
  })

  it("becomes only what stands within the limits", () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const changes = Either.getOrUndefined(changesOf(body, zone))
        if (changes === undefined) return
        const {
          displayOrder = 1,
          name = "a",
          tags = [],
          trafficBillingAnchorDate = "",
          trafficBillingStartDay = 1
        } = changes

        expect(Object.values(changes)).not.toContain(undefined)
        expect(name.trim() === name && name !== "" && Array.from(name).length <= 64).toBe(true)
        expect(displayOrder > 0 && trafficBillingStartDay >= 1 && trafficBillingStartDay <= 31).toBe(true)
        expect(tags.length <= 32 && new Set(tags).size === tags.length && !tags.includes("")).toBe(true)
        expect(trafficBillingAnchorDate).toMatch(/^$|^\d{4}-\d{2}-\d{2}$/)
      }),
      { numRuns: 3000 }
    )
  })

  it("sent again as it became, becomes the same", () => {
    const text = fc.stringMatching(/^[ a-z]{1,5}$/)
    const body = fc.record(
      {
        name: text.filter((name) => name.trim() !== ""),
        tags: fc.array(text),
        display_order: fc.integer({ min: 1, max: 9 })
      },
      { requiredKeys: ["name"] }
    )

    fc.assert(
      fc.property(body, (sent) => {
        const first = Either.getOrThrow(changesOf(sent, zone))
        const again = { name: first.name, tags: first.tags, display_order: first.displayOrder }

        expect(Either.getOrThrow(changesOf(JSON.parse(JSON.stringify(again)), zone))).toEqual(first)
      })
    )
  })
})
