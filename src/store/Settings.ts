// Named settings of the installation, kept as text; the brand, the mode of guests' history and traffic among them.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { StorageUnavailable } from "../../schema/Errors.ts"
import { Brand, HistoryAccess, type SystemSettings } from "../../schema/System.ts"
import { TrafficSettingsAnswer } from "../../schema/Traffic.ts"
import type { SettingsChanges } from "../core/SystemSettings.ts"
import { initialTraffic, trafficAnswer, trafficOf, type TrafficSettings } from "../core/TrafficSettings.ts"
import { atBorder } from "./Border.ts"

/** Shown while nothing, or something blank, is stored (contract, brand). */
export const defaultBrand: Brand = {
  logo_url: "/brandlogo.svg",
  page_title: "Monitor Dashboard",
  topbar_text: "Monitor Control"
}

/** In force before anything was stored (contract, system settings). */
const defaultAccess: HistoryAccess = "disabled"

export class Settings extends Context.Tag("store/Settings")<
  Settings,
  {
    /** The text stored under the name, none before the first `put`. */
    readonly get: (name: string) => Effect.Effect<Option.Option<string>, StorageUnavailable>
    /** Stores the text under the name, in place of an earlier one. */
    readonly put: (name: string, value: string) => Effect.Effect<void, StorageUnavailable>
    /** Never blank: a blank member takes its default. */
    readonly brand: Effect.Effect<Brand, StorageUnavailable>
    readonly putBrand: (brand: Brand) => Effect.Effect<void, StorageUnavailable>
    /** Whether guests may read history. Something unreadable in its place fails, so that it opens nothing. */
    readonly historyAccess: Effect.Effect<HistoryAccess, StorageUnavailable>
    /** Brand and mode as they stood at one moment. */
    readonly system: Effect.Effect<SystemSettings, StorageUnavailable>
    /** All or nothing: the mode and the members of the brand that were given, in one transaction. */
    readonly change: (changes: SettingsChanges) => Effect.Effect<void, StorageUnavailable>
    /** Something unreadable in their place fails, so that it neither opens anything nor bills by a guess. */
    readonly traffic: Effect.Effect<TrafficSettings, StorageUnavailable>
    /** All of them at once, in place of the earlier ones. */
    readonly putTraffic: (settings: TrafficSettings) => Effect.Effect<void, StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const brandName = "brand"
const accessName = "history_guest_access_mode"
const trafficName = "traffic"
const StoredBrand = Schema.parseJson(Schema.partial(Brand))
/** As on the wire, but for the zone, which is empty where the application's holds. */
const StoredTraffic = Schema.parseJson(TrafficSettingsAnswer)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const findAll = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: Schema.Struct({ name: Schema.String, value: Schema.String }),
    execute: (names) => sql`SELECT name, value FROM settings WHERE ${sql.in("name", names)}`
  })
  /** One statement, so that what belongs together is read together. */
  const read = (...names: ReadonlyArray<string>) =>
    Effect.map(findAll(names), (rows) => new Map(rows.map(({ name, value }) => [name, value])))
  const write = (name: string, value: string) =>
    sql`INSERT INTO settings ${sql.insert({ name, value })} ON CONFLICT (name) DO UPDATE SET value = excluded.value`
  const change = Effect.fnUntraced(
    function* ({ brand, historyAccess }: SettingsChanges) {
      if (historyAccess !== undefined) yield* write(accessName, historyAccess)
      if (Object.keys(brand).length === 0) return
      const stored = yield* storedBrandOf(yield* read(brandName))
      yield* write(brandName, JSON.stringify({ ...stored, ...brand }))
    },
    sql.withTransaction,
    atBorder("change the system settings")
  )
  return Settings.of({
    get: (name) =>
      atBorder("read a setting")(Effect.map(read(name), (stored) => Option.fromNullable(stored.get(name)))),
    put: (name, value) => atBorder("write a setting")(Effect.asVoid(write(name, value))),
    brand: atBorder("read the brand")(Effect.flatMap(read(brandName), brandOf)),
    putBrand: (brand) => change({ brand }),
    historyAccess: atBorder("read the mode of guests' history")(Effect.flatMap(read(accessName), accessOf)),
    system: Effect.gen(function* () {
      const stored = yield* read(brandName, accessName)
      return { history_guest_access_mode: yield* accessOf(stored), ...(yield* brandOf(stored)) }
    }).pipe(atBorder("read the system settings")),
    change,
    traffic: atBorder("read the traffic settings")(Effect.flatMap(read(trafficName), trafficIn)),
    putTraffic: (settings) =>
      atBorder("write the traffic settings")(
        Effect.asVoid(write(trafficName, JSON.stringify(trafficAnswer(settings, ""))))
      )
  })
})

type Stored = ReadonlyMap<string, string>

const accessOf = (stored: Stored) => Schema.decodeUnknown(HistoryAccess)(stored.get(accessName) ?? defaultAccess)

const trafficIn = (stored: Stored) => {
  const text = stored.get(trafficName)
  return text === undefined ? Effect.succeed(initialTraffic) : Effect.map(Schema.decode(StoredTraffic)(text), trafficOf)
}

const storedBrandOf = (stored: Stored) => Schema.decode(StoredBrand)(stored.get(brandName) ?? "{}")

const brandOf = (stored: Stored) => Effect.map(storedBrandOf(stored), withDefaults)

const withDefaults = (stored: typeof StoredBrand.Type): Brand => ({
  logo_url: stored.logo_url?.trim() || defaultBrand.logo_url,
  page_title: stored.page_title?.trim() || defaultBrand.page_title,
  topbar_text: stored.topbar_text?.trim() || defaultBrand.topbar_text
})
