// The in-memory copy of the traffic settings: what every read and the ledger go by, and the one way to change them.
import { Context, Effect, Layer } from "effect"
import type { InvalidFields, NoFields, StorageUnavailable } from "../schema/Errors.ts"
import type { TrafficSettingsWrite } from "../schema/Traffic.ts"
import { changedTraffic, isSameTraffic, type TrafficSettings as Settings } from "../src/core/TrafficSettings.ts"
import { Settings as SettingsStore } from "../src/store/Settings.ts"
import { AppConfig } from "./Config.ts"

export class TrafficSettings extends Context.Tag("runtime/TrafficSettings")<
  TrafficSettings,
  {
    /** The settings in force; synchronous, never from the store. The same object until they change. */
    readonly current: () => Settings
    /** 0 at the start; grows with every change that makes a difference, once that is committed. */
    readonly revision: () => number
    /** The zone of the service, which holds where the settings or a node's own name none. */
    readonly applicationZone: string
    /** Judged, committed, then in force: all of it or nothing. Changes follow one another in the order of their calls. */
    readonly change: (write: TrafficSettingsWrite) => Effect.Effect<void, NoFields | InvalidFields | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const store = yield* SettingsStore
  const { timezone } = yield* AppConfig
  const turn = yield* Effect.makeSemaphore(1)
  let settings = yield* store.traffic
  let revision = 0
  const change = (write: TrafficSettingsWrite) =>
    Effect.gen(function* () {
      const changed = yield* changedTraffic(settings, write, timezone)
      yield* store.putTraffic(changed)
      if (isSameTraffic(settings, changed)) return
      settings = changed
      revision++
    })
  return TrafficSettings.of({
    current: () => settings,
    revision: () => revision,
    applicationZone: timezone,
    // A client that leaves after the commit must not leave the copy behind.
    change: (write) => turn.withPermits(1)(Effect.uninterruptible(change(write)))
  })
})
