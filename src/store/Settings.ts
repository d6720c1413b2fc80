// Named settings of the installation, kept as text, and the brand among them.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { StorageUnavailable } from "../../schema/Errors.ts"
import { Brand } from "../../schema/System.ts"
import { atBorder } from "./Border.ts"

/** Shown while nothing, or something blank, is stored (contract, brand). */
export const defaultBrand: Brand = {
  logo_url: "/brandlogo.svg",
  page_title: "Monitor Dashboard",
  topbar_text: "Monitor Control"
}

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
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const brandName = "brand"
const StoredBrand = Schema.parseJson(Schema.partial(Brand))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ value: Schema.String }),
    execute: (name) => sql`SELECT value FROM settings WHERE name = ${name}`
  })
  const get = Effect.fnUntraced(function* (name: string) {
    return Option.map(yield* find(name), (row) => row.value)
  }, atBorder("read a setting"))
  const put = (name: string, value: string) =>
    atBorder("write a setting")(
      Effect.asVoid(
        sql`INSERT INTO settings ${sql.insert({ name, value })} ON CONFLICT (name) DO UPDATE SET value = excluded.value`
      )
    )
  const brand = Effect.gen(function* () {
    const stored = yield* get(brandName)
    return Option.isNone(stored) ? defaultBrand : withDefaults(yield* Schema.decode(StoredBrand)(stored.value))
  }).pipe(atBorder("read the brand"))
  return Settings.of({
    get,
    put,
    brand,
    putBrand: (brand) => put(brandName, JSON.stringify(brand))
  })
})

const withDefaults = (stored: typeof StoredBrand.Type): Brand => ({
  logo_url: stored.logo_url?.trim() || defaultBrand.logo_url,
  page_title: stored.page_title?.trim() || defaultBrand.page_title,
  topbar_text: stored.topbar_text?.trim() || defaultBrand.topbar_text
})
