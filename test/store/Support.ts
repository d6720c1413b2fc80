// The registry's stores on a database of their own in memory, and short ways to look at what they hold.
import { SqlClient } from "@effect/sql"
import { Effect, Layer, Logger, LogLevel } from "effect"
import { make, Vault } from "../../src/auth/Vault.ts"
import { Groups } from "../../src/store/Groups.ts"
import * as Migrations from "../../src/store/Migrations.ts"
import { Nodes, randomSecret } from "../../src/store/Nodes.ts"
import { Settings } from "../../src/store/Settings.ts"
import * as Sql from "../../src/store/Sql.ts"

export const vault = make(Buffer.alloc(32, 7))

export const quiet = Logger.minimumLogLevel(LogLevel.None)

/** A migrated database and a vault; `filename` is a file when several layers share it. */
export const database = (filename = ":memory:") =>
  Migrations.layer.pipe(Layer.provideMerge(Sql.layer(filename)), Layer.merge(Layer.succeed(Vault, vault)))

export const stores = ({
  filename,
  generate = randomSecret
}: { filename?: string; generate?: Effect.Effect<string> } = {}) =>
  Layer.mergeAll(Nodes.layerWith(generate), Groups.layer, Settings.layer).pipe(
    Layer.provideMerge(database(filename)),
    Layer.provide(quiet)
  )

/** Every active node, as the store pages them. */
export const allNodes = Effect.flatMap(Nodes, (nodes) => nodes.page(0, 20_000))

/** Runs one statement past the stores. */
export const run = (statement: string, params: ReadonlyArray<unknown> = []) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement, params))

/** Puts `count` plain nodes into an empty table at once, with ids from 1 on, all in the default group. */
export const fill = (count: number) =>
  Effect.gen(function* () {
    const rows = Array.from({ length: count }, (_, i) => ({
      digest: vault.digest(`secret-of-${i + 1}`),
      sealed: vault.seal(`secret-of-${i + 1}`, `nodes/${i + 1}`)
    }))
    yield* run(
      `INSERT INTO nodes (name, tags, secret_digest, secret_sealed, display_order, created_at)
       SELECT 'node-' || (key + 1), '["eu","rack-7"]', value ->> 'digest', value ->> 'sealed', key + 1, 0 FROM json_each(?)`,
      [JSON.stringify(rows)]
    )
    yield* run("INSERT INTO node_group_members (node_id, group_id) SELECT id, 1 FROM nodes")
  })
