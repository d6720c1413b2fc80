// /api/statistics: what guests may read, the traffic settings, and the calendar that some settings would make.
import { HttpApiBuilder } from "@effect/platform"
import { Clock, Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { trafficCalendar } from "../../src/core/TrafficCalendar.ts"
import { trafficAnswer } from "../../src/core/TrafficSettings.ts"
import { Settings } from "../../src/store/Settings.ts"
import { TrafficSettings } from "../TrafficSettings.ts"

export const layer = HttpApiBuilder.group(Api, "trafficSettings", (handlers) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const traffic = yield* TrafficSettings
    return handlers
      .handle("access", () =>
        Effect.map(settings.historyAccess, (history_guest_access_mode) => ({
          history_guest_access_mode,
          traffic_guest_access_mode: traffic.current().guestAccess
        }))
      )
      .handle("settings", () => Effect.sync(() => trafficAnswer(traffic.current(), traffic.applicationZone)))
      .handle("changeSettings", ({ payload }) => traffic.change(payload))
      .handle("calendar", ({ urlParams }) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
          trafficCalendar(traffic.current().cycle, urlParams, traffic.applicationZone, nowMs)
        )
      )
  })
)
