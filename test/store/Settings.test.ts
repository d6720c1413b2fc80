// Settings by name; the brand, the mode of guests' history and traffic among them.
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer, Option } from "effect"
import { initialTraffic, type TrafficSettings } from "../../src/core/TrafficSettings.ts"
import { defaultBrand, Settings } from "../../src/store/Settings.ts"
import { quiet, run, stores } from "./Support.ts"

const test = <A, E>(name: string, body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof stores>>>) =>
  it.effect(name, () => body.pipe(Effect.provide([stores(), quiet])))

describe("settings", () => {
  test(
    "fail as unavailable storage when the table is gone, without telling SQL",
    Effect.gen(function* () {
      const settings = yield* Settings
      yield* run("DROP TABLE settings")

      const failures = yield* Effect.all([
        Effect.flip(settings.get("a")),
        Effect.flip(settings.put("a", "b")),
        Effect.flip(settings.brand),
        Effect.flip(settings.putBrand(defaultBrand)),
        Effect.flip(settings.historyAccess),
        Effect.flip(settings.system),
        Effect.flip(settings.change({ historyAccess: "by_node", brand: {} })),
        Effect.flip(settings.traffic),
        Effect.flip(settings.putTraffic(initialTraffic))
      ])

      for (const failure of failures) {
        expect(failure.code).toBe("db_error")
        expect(failure.message).not.toMatch(/no such table|SELECT|INSERT/)
      }
    })
  )

  test(
    "are none before they were put, and the last text put after",
    Effect.gen(function* () {
      const settings = yield* Settings

      expect(yield* settings.get("a")).toEqual(Option.none())
      yield* settings.put("a", "1")
      yield* settings.put("a", "it's \u0000 2 🛰")
      yield* settings.put("b", "")

      expect(yield* settings.get("a")).toEqual(Option.some("it's \u0000 2 🛰"))
      expect(yield* settings.get("b")).toEqual(Option.some(""))
    })
  )
})

describe("the brand", () => {
  for (const stored of ["no JSON", "[]", '{"page_title":7}']) {
    test(
      `is unavailable while something unreadable is stored: ${stored}`,
      Effect.gen(function* () {
        const settings = yield* Settings
        yield* settings.put("brand", stored)

        expect((yield* Effect.flip(settings.brand)).code).toBe("db_error")
      })
    )
  }

  test(
    "is the default before it was put",
    Effect.gen(function* () {
      expect(yield* (yield* Settings).brand).toEqual({
        logo_url: "/brandlogo.svg",
        page_title: "Monitor Dashboard",
        topbar_text: "Monitor Control"
      })
    })
  )

  test(
    "has the default in place of every blank or missing member",
    Effect.gen(function* () {
      const settings = yield* Settings
      yield* settings.putBrand({ logo_url: " ", page_title: "Ours", topbar_text: "" })

      expect(yield* settings.brand).toEqual({ ...defaultBrand, page_title: "Ours" })
      yield* settings.put("brand", '{"topbar_text":"Top"}')
      expect(yield* settings.brand).toEqual({ ...defaultBrand, topbar_text: "Top" })
    })
  )
})

describe("the mode of guests' history", () => {
  test(
    "is unavailable, rather than open, while something unknown is stored",
    Effect.gen(function* () {
      const settings = yield* Settings
      yield* settings.put("history_guest_access_mode", "everything")

      expect((yield* Effect.flip(settings.historyAccess)).code).toBe("db_error")
      expect((yield* Effect.flip(settings.system)).code).toBe("db_error")
      expect(yield* settings.brand).toEqual(defaultBrand)
    })
  )

  test(
    "is disabled before it was set, and then what was set",
    Effect.gen(function* () {
      const settings = yield* Settings

      expect(yield* settings.historyAccess).toBe("disabled")
      yield* settings.change({ historyAccess: "by_node", brand: {} })
      expect(yield* settings.historyAccess).toBe("by_node")
    })
  )
})

describe("the traffic settings", () => {
  const billed: TrafficSettings = {
    guestAccess: "by_node",
    usageMode: "billing",
    cycle: { mode: "vendor_compatible", startDay: 31, anchorDate: "2026-01-31", zone: "" },
    directionMode: "max"
  }

  for (const change of [
    { usage_mode: "free" },
    { guest_access_mode: "everyone" },
    { cycle_mode: "default" },
    { billing_start_day: 32 },
    { billing_start_day: "1" },
    { direction_mode: undefined }
  ]) {
    test(
      `are unavailable, rather than guessed, while something unreadable is stored: ${JSON.stringify(change)}`,
      Effect.gen(function* () {
        const settings = yield* Settings
        yield* settings.putTraffic(billed)
        const { value } = Option.getOrThrow(
          yield* Effect.map(
            settings.get("traffic"),
            Option.map((value) => ({ value }))
          )
        )
        yield* settings.put("traffic", JSON.stringify({ ...(JSON.parse(value) as object), ...change }))

        expect((yield* Effect.flip(settings.traffic)).code).toBe("db_error")
      })
    )
  }

  test(
    "are the defaults before they were put, and then what was put, an empty zone too",
    Effect.gen(function* () {
      const settings = yield* Settings
      const cycle = { mode: "calendar_month", startDay: 1, anchorDate: "", zone: "" }

      expect(yield* settings.traffic).toEqual({
        guestAccess: "disabled",
        usageMode: "lite",
        cycle,
        directionMode: "out"
      })
      yield* settings.putTraffic(billed)
      expect(yield* settings.traffic).toEqual(billed)
      yield* settings.putTraffic({ ...billed, cycle: { ...billed.cycle, zone: "Asia/Tokyo" } })
      expect((yield* settings.traffic).cycle.zone).toBe("Asia/Tokyo")
    })
  )
})

describe("a change of the settings", () => {
  test(
    "leaves the mode as it was when the brand cannot be written",
    Effect.gen(function* () {
      const settings = yield* Settings
      yield* run(
        "CREATE TRIGGER no_brand BEFORE INSERT ON settings WHEN NEW.name = 'brand' BEGIN SELECT RAISE(ABORT, 'no'); END"
      )
      const failure = yield* Effect.flip(settings.change({ historyAccess: "by_node", brand: { page_title: "Ours" } }))

      expect(failure.code).toBe("db_error")
      expect(yield* settings.system).toEqual({ history_guest_access_mode: "disabled", ...defaultBrand })
    })
  )

  test(
    "touches only what it names, and loses nothing of another that is made at the same time",
    Effect.gen(function* () {
      const settings = yield* Settings
      yield* Effect.all(
        [
          settings.change({ brand: { page_title: "Ours" } }),
          settings.change({ historyAccess: "by_node", brand: { topbar_text: "Top" } }),
          settings.change({ brand: { logo_url: "/own.png" } })
        ],
        { concurrency: 3 }
      )
      const all = { logo_url: "/own.png", page_title: "Ours", topbar_text: "Top" }

      expect(yield* settings.system).toEqual({ history_guest_access_mode: "by_node", ...all })
      yield* settings.change({ brand: { page_title: "" } })
      expect(yield* settings.brand).toEqual({ ...all, page_title: defaultBrand.page_title })
    })
  )
})
