// What the tests of authentication share: a migrated database, a vault, and the services on top of them.
import { SqlClient } from "@effect/sql"
import { Effect, Layer, Option, Redacted } from "effect"
import * as Sessions from "../../runtime/Sessions.ts"
import * as Password from "../../src/auth/Password.ts"
import * as Vault from "../../src/auth/Vault.ts"
import * as Migrations from "../../src/store/Migrations.ts"
import * as SessionStore from "../../src/store/Sessions.ts"
import * as Sql from "../../src/store/Sql.ts"

export const rightPassword = "correct horse battery staple"
export const wrongPassword = "incorrect horse battery"
const key = new Uint8Array(32).fill(7)

/** The store on a database file, or in memory. */
export const storeLayer = (filename = ":memory:") =>
  SessionStore.layer.pipe(Layer.provideMerge(Migrations.layer.pipe(Layer.provideMerge(Sql.layer(filename)))))

/** Every service of authentication; `configured` is the password of the environment. */
export const authLayer = (filename = ":memory:", configured: string | undefined = rightPassword) =>
  Sessions.layer.pipe(
    Layer.provideMerge(Password.layer(Option.map(Option.fromNullable(configured), Redacted.make))),
    Layer.provideMerge(Layer.succeed(Vault.Vault, Vault.make(key))),
    Layer.provideMerge(storeLayer(filename))
  )

/** Everything the tables of authentication hold, as one text. */
export const dump = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return JSON.stringify([yield* sql`SELECT * FROM sessions`, yield* sql`SELECT * FROM settings`])
})

/** Makes every statement on sessions fail until `mended`. */
export const broken = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ALTER TABLE sessions RENAME TO sessions_away`)
export const mended = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ALTER TABLE sessions_away RENAME TO sessions`)
