// Fills the database of a home with a fleet, as the service itself would have stored it, in one transaction.
import { Effect, Layer, Logger, LogLevel } from "effect"
import { join } from "node:path"
import { NodeId } from "../schema/Ids.ts"
import * as Vault from "../src/auth/Vault.ts"
import { defaultGroupId, Groups } from "../src/store/Groups.ts"
import * as Migrations from "../src/store/Migrations.ts"
import { secretContext } from "../src/store/Nodes.ts"
import * as Sql from "../src/store/Sql.ts"
import { type Fleet, hostnameOf, secretOf } from "./Fleet.ts"

/** The database of a home and its vault, without anything that runs. */
export const storage = (home: string) =>
  Layer.mergeAll(
    Migrations.layer.pipe(Layer.provideMerge(Sql.layer(join(home, "watchpost.db")))),
    Vault.layer(join(home, "secret.key"))
  ).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.Warning)))

/** The id of the node with this index in a seeded home. */
export const idOf = (index: number): NodeId => NodeId.make(index + 1)

const fill = (fleet: Fleet, idAt: (index: number) => NodeId) =>
  Effect.gen(function* () {
    const db = (yield* Sql.Database).handle()
    const vault = yield* Vault.Vault
    yield* Groups
    const node = db.prepare(
      "INSERT INTO nodes (id, name, secret_digest, secret_sealed, display_order, created_at) VALUES (?, ?, ?, ?, ?, ?)"
    )
    const member = db.prepare("INSERT INTO node_group_members (node_id, group_id) VALUES (?, ?)")
    db.transaction(() => {
      for (let i = 0; i < fleet.count; i++) {
        const id = idAt(i)
        const secret = secretOf(fleet, i)
        const sealed = vault.seal(secret, secretContext(id))
        node.run(id, hostnameOf(i), vault.digest(secret), sealed, i + 1, fleet.epochMs)
        member.run(id, defaultGroupId)
      }
    })()
  })

/** Creates the database of an empty home with every node of the fleet; takes about a second for 10,000. */
export const seed = (home: string, fleet: Fleet, idAt = idOf): Promise<void> =>
  Effect.runPromise(Effect.provide(fill(fleet, idAt), Groups.layer.pipe(Layer.provideMerge(storage(home)))))
