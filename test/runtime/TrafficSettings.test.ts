// The in-memory copy of the traffic settings: it never runs ahead of the store, nor behind it.
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { AppConfig } from "../../runtime/Config.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { initialTraffic } from "../../src/core/TrafficSettings.ts"
import { Settings as SettingsStore } from "../../src/store/Settings.ts"
import { quiet, run, stores } from "../store/Support.ts"
import { defaultLimits } from "../support/Limits.ts"

const config = Layer.succeed(AppConfig, {
  home: "/nowhere",
  listenHost: "127.0.0.1",
  listenPort: 0,
  publicUrl: Option.none(),
  adminPassword: Option.none(),
  trustedProxies: [],
  timezone: "Asia/Tokyo",
  localNode: false,
  trafficKeepMs: 90 * 86_400_000,
  language: "en",
  history: defaultLimits
})
const live = TrafficSettings.layer.pipe(Layer.provide(config), Layer.provideMerge(stores()))
const test = <A, E>(name: string, body: Effect.Effect<A, E, Layer.Layer.Success<typeof live>>) =>
  it.effect(name, () => body.pipe(Effect.provide([live, quiet])))

/** A copy over a store in which a write is done when the test says so. */
const overSlowStore = (putTraffic: SettingsStore["Type"]["putTraffic"]) =>
  TrafficSettings.layer.pipe(
    Layer.provide([Layer.mock(SettingsStore, { traffic: Effect.succeed(initialTraffic), putTraffic }), config])
  )

describe("a change of the traffic settings", () => {
  test(
    "is not in force when it is refused or cannot be written",
    Effect.gen(function* () {
      const traffic = yield* TrafficSettings
      const before = traffic.current()
      expect((yield* Effect.flip(traffic.change({}))).code).toBe("no_fields")
      expect((yield* Effect.flip(traffic.change({ usage_mode: "billing", direction_mode: "x" }))).code).toBe(
        "invalid_fields"
      )
      yield* run("DROP TABLE settings")
      expect((yield* Effect.flip(traffic.change({ usage_mode: "billing" }))).code).toBe("db_error")

      expect(traffic.current()).toBe(before)
      expect(traffic.revision()).toBe(0)
    })
  )

  it.effect("is in force only once it is written, and then although its client has left", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const written = yield* Deferred.make<void>()
      const slow = overSlowStore(() => Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(written)))
      const traffic = yield* Effect.provide(TrafficSettings, slow)
      const client = yield* Effect.fork(traffic.change({ usage_mode: "billing" }))
      yield* Deferred.await(begun)
      const leaving = yield* Effect.fork(Fiber.interrupt(client))
      yield* Effect.yieldNow()
      expect([traffic.current().usageMode, traffic.revision()]).toEqual(["lite", 0])

      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(leaving)
      expect([traffic.current().usageMode, traffic.revision()]).toEqual(["billing", 1])
    })
  )

  test(
    "loses nothing of another that is made at the same time, and only a difference makes a revision",
    Effect.gen(function* () {
      const traffic = yield* TrafficSettings
      const store = yield* SettingsStore
      const writes = [
        { usage_mode: "billing" },
        { direction_mode: "max" },
        { guest_access_mode: "by_node" },
        { cycle_mode: "clamp_to_month_end", billing_start_day: 15 }
      ]
      yield* Effect.forEach(writes, traffic.change, { concurrency: 4, discard: true })
      const settled = traffic.current()
      yield* Effect.forEach(writes, traffic.change, { concurrency: 4, discard: true })

      expect(settled).toEqual({
        guestAccess: "by_node",
        usageMode: "billing",
        cycle: { mode: "clamp_to_month_end", startDay: 15, anchorDate: "", zone: "" },
        directionMode: "max"
      })
      expect(traffic.revision()).toBe(4)
      expect(traffic.current()).toBe(settled)
      expect(yield* store.traffic).toEqual(settled)
    })
  )

  test(
    "takes the date of an anchor in the application's zone when the settings name none",
    Effect.gen(function* () {
      const traffic = yield* TrafficSettings
      yield* traffic.change({ cycle_mode: "vendor_compatible", billing_anchor_date: "2026-01-30T20:00:00Z" })

      expect(traffic.current().cycle).toMatchObject({ startDay: 31, anchorDate: "2026-01-31", zone: "" })
      expect(traffic.applicationZone).toBe("Asia/Tokyo")
    })
  )
})

describe("the traffic settings", () => {
  it.effect("do not come up on something unreadable", () =>
    Effect.gen(function* () {
      yield* (yield* SettingsStore).put("traffic", "{}")
      const failure = yield* Effect.flip(Effect.provide(TrafficSettings, TrafficSettings.layer))

      expect(failure).toBeInstanceOf(StorageUnavailable)
    }).pipe(Effect.provide([stores(), config, quiet]))
  )

  it.effect("are those that were stored before the start", () =>
    Effect.gen(function* () {
      const billed = { ...initialTraffic, usageMode: "billing" } as const
      yield* (yield* SettingsStore).putTraffic(billed)
      const traffic = yield* Effect.provide(TrafficSettings, TrafficSettings.layer)

      expect([traffic.current(), traffic.revision()]).toEqual([billed, 0])
    }).pipe(Effect.provide([stores(), config, quiet]))
  )
})
