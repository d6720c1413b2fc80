// The nodes table: creating, changing, ordering and deleting nodes, and reading them page by page.
import { SqlClient } from "@effect/sql"
import { Clock, Context, Effect, type Either, Layer, Option, Schema } from "effect"
import { randomInt } from "node:crypto"
import {
  DuplicateSecret,
  InvalidGroupIds,
  InvalidIds,
  NotFound,
  SecretCollision,
  type InvalidSecret,
  type StorageUnavailable
} from "../../schema/Errors.ts"
import type { GroupId, NodeId } from "../../schema/Ids.ts"
import { Vault } from "../auth/Vault.ts"
import { type Changes, displayOrderMax } from "../core/NodePatch.ts"
import { atBorder } from "./Border.ts"
import { defaultGroupId } from "./Groups.ts"
import { untitled } from "./Journal.ts"
import { columnsOf, joined, type StoredNode, Tags } from "./NodeRows.ts"
import { statements, type Statements } from "./NodeStatements.ts"

export type PatchRefusal = NotFound | InvalidSecret | DuplicateSecret | InvalidGroupIds | StorageUnavailable

export class Nodes extends Context.Tag("store/Nodes")<
  Nodes,
  {
    /** A node with the defaults of the contract, a member of the default group, shown first. */
    readonly create: Effect.Effect<NodeId, SecretCollision | StorageUnavailable>
    /** All of it or nothing. Refusals in this order: unknown node, secret, groups. */
    readonly patch: (id: NodeId, changes: Changes) => Effect.Effect<void, PatchRefusal>
    /** The ids of all active nodes, first shown first; they get the orders n to 1, all or none of them. */
    readonly order: (ids: ReadonlyArray<NodeId>) => Effect.Effect<void, NotFound | InvalidIds | StorageUnavailable>
    /** Switches the percentile of all these nodes, or of none when one of them is unknown or deleted. */
    readonly switchP95: (
      ids: ReadonlyArray<NodeId>,
      enabled: boolean
    ) => Effect.Effect<void, NotFound | StorageUnavailable>
    /** Soft: memberships go, the secret is forgotten and free to be used again, what was reported stays. */
    readonly remove: (id: NodeId) => Effect.Effect<void, NotFound | StorageUnavailable>
    /** At most `limit` active nodes with an id above `after`, ascending. */
    readonly page: (after: NodeId | 0, limit: number) => Effect.Effect<ReadonlyArray<StoredNode>, StorageUnavailable>
  }
>() {
  /** `generate` makes a new node's secret. */
  static readonly layerWith = (generate: Effect.Effect<string>) => Layer.effect(this, make(generate))
  static readonly layer = Layer.suspend(() => this.layerWith(randomSecret))
}

/** The contract asks for 16 characters; twice as many are past guessing for good. */
const secretLength = 32
const secretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
/** Draws before a new node is refused (contract, create). */
const secretAttemptsMax = 5

/** Letters and digits, each equally likely. */
export const randomSecret: Effect.Effect<string> = Effect.sync(() =>
  Array.from({ length: secretLength }, () => secretAlphabet.charAt(randomInt(secretAlphabet.length))).join("")
)

/** What a node's sealed secret is bound to: moved to another row, it does not open. */
export const secretContext = (id: NodeId): string => `nodes/${id}`

interface Tools {
  readonly sql: SqlClient.SqlClient
  readonly vault: Context.Tag.Service<typeof Vault>
  readonly on: Statements
}

const make = (generate: Effect.Effect<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tools = { sql, vault: yield* Vault, on: statements(sql) }
    return Nodes.of({
      create: create(tools, generate),
      patch: patch(tools),
      order: order(tools),
      switchP95: switchP95(tools),
      remove: remove(tools),
      page: page(tools)
    })
  })

const create = ({ on, sql, vault }: Tools, generate: Effect.Effect<string>) =>
  Effect.gen(function* () {
    const secret = yield* freshSecret(on, vault, generate)
    const { top } = yield* on.topOrder()
    const { id } = yield* on.insert({
      name: untitled,
      secret_digest: vault.digest(secret),
      display_order: Math.min(top + 1, displayOrderMax),
      created_at: yield* Clock.currentTimeMillis
    })
    // The seal is bound to the id, which only the insert tells.
    yield* on.change(id, secretColumns(vault, id, secret))
    yield* on.join(id, [defaultGroupId])
    return id
  }).pipe(
    Effect.catchTag("NoSuchElementException", () =>
      Effect.dieMessage("a statement that returns one row returned none")
    ),
    sql.withTransaction,
    atBorder("create a node")
  )

const patch = ({ on, sql, vault }: Tools) =>
  Effect.fnUntraced(
    function* (id: NodeId, changes: Changes) {
      if (Option.isNone(yield* on.active(id))) return yield* unknown(id)
      const secret = changes.secret === undefined ? undefined : yield* freeSecret(on, vault, id, changes.secret)
      if (changes.groupIds !== undefined) yield* knownGroups(on, changes.groupIds)
      const set = { ...columnsOf(changes), ...(secret === undefined ? {} : secretColumns(vault, id, secret)) }
      if (Object.keys(set).length > 0) yield* on.change(id, set)
      if (changes.groupIds !== undefined) {
        yield* on.leaveAll(id)
        yield* on.join(id, changes.groupIds)
      }
    },
    sql.withTransaction,
    atBorder("change a node")
  )

const order = ({ on, sql }: Tools) =>
  Effect.fnUntraced(
    function* (ids: ReadonlyArray<NodeId>) {
      yield* wholeFleet(ids, new Set((yield* on.activeIds()).map(({ id }) => id)))
      yield* on.order(JSON.stringify(ids), ids.length)
    },
    sql.withTransaction,
    atBorder("order the nodes")
  )

const switchP95 = ({ on, sql }: Tools) =>
  Effect.fnUntraced(
    function* (ids: ReadonlyArray<NodeId>, enabled: boolean) {
      const list = JSON.stringify(ids)
      const stranger = yield* on.stranger(list)
      if (Option.isSome(stranger)) return yield* unknown(stranger.value.id)
      yield* on.switchP95(list, enabled)
    },
    sql.withTransaction,
    atBorder("switch the percentile of nodes")
  )

const remove = ({ on, sql }: Tools) =>
  Effect.fnUntraced(
    function* (id: NodeId) {
      if (Option.isNone(yield* on.active(id))) return yield* unknown(id)
      yield* on.change(id, { deleted_at: yield* Clock.currentTimeMillis, secret_digest: null, secret_sealed: null })
      yield* on.leaveAll(id)
    },
    sql.withTransaction,
    atBorder("delete a node")
  )

const page = ({ on }: Tools) =>
  Effect.fnUntraced(function* (after: NodeId | 0, limit: number) {
    const rows = yield* on.page({ after, limit })
    const [first, last] = [rows[0], rows[rows.length - 1]]
    if (first === undefined || last === undefined) return []
    const members = yield* on.members({ from: first.id, to: last.id })
    // Few texts stand in many rows: each is read once and shared.
    const tagsOf = new Map<string, ReadonlyArray<string>>()
    for (const { tags } of rows) if (!tagsOf.has(tags)) tagsOf.set(tags, yield* Schema.decode(Tags)(tags))
    return joined(rows, members, tagsOf)
  }, atBorder("list nodes"))

const secretColumns = (vault: Tools["vault"], id: NodeId, secret: string) => ({
  secret_digest: vault.digest(secret),
  secret_sealed: vault.seal(secret, secretContext(id))
})

const unknown = (id: NodeId) => new NotFound({ message: `there is no node ${id}` })

const freshSecret = Effect.fnUntraced(function* (
  on: Statements,
  vault: Tools["vault"],
  generate: Effect.Effect<string>
) {
  for (let attempt = 0; attempt < secretAttemptsMax; attempt++) {
    const secret = yield* generate
    if (Option.isNone(yield* on.byDigest(vault.digest(secret)))) return secret
  }
  return yield* new SecretCollision({ message: `${secretAttemptsMax} generated secrets were all in use` })
})

/** The transaction holds the only writer, so what is free here is free until it commits. */
const freeSecret = Effect.fnUntraced(function* (
  on: Statements,
  vault: Tools["vault"],
  id: NodeId,
  offered: Either.Either<string, InvalidSecret>
) {
  const secret = yield* offered
  const holder = yield* on.byDigest(vault.digest(secret))
  if (Option.isSome(holder) && holder.value.id !== id) {
    return yield* new DuplicateSecret({ message: "secret is already used by another node" })
  }
  return secret
})

const knownGroups = Effect.fnUntraced(function* (on: Statements, groupIds: ReadonlyArray<GroupId>) {
  if (groupIds.length === 0) return
  const known = new Set((yield* on.groupIds()).map(({ id }) => id))
  const stranger = groupIds.find((id) => !known.has(id))
  if (stranger !== undefined) return yield* new InvalidGroupIds({ message: `group_ids: there is no group ${stranger}` })
})

const wholeFleet = Effect.fnUntraced(function* (ids: ReadonlyArray<NodeId>, active: ReadonlySet<NodeId>) {
  const stranger = ids.find((id) => !active.has(id))
  if (stranger !== undefined) return yield* unknown(stranger)
  if (new Set(ids).size !== ids.length || ids.length !== active.size) {
    return yield* new InvalidIds({ message: `ids must name each of the ${active.size} nodes exactly once` })
  }
})
