// The in-memory copy of the active nodes and groups: the one place where reports and reads look nodes up.
import { Context, Effect, Layer } from "effect"
import type { StorageUnavailable } from "../schema/Errors.ts"
import type { NodeId } from "../schema/Ids.ts"
import { secretLengthMax } from "../schema/Node.ts"
import { Vault } from "../src/auth/Vault.ts"
import { type GroupRecord, Groups } from "../src/store/Groups.ts"
import { untitled } from "../src/store/Journal.ts"
import type { NodeRecord } from "../src/store/NodeRows.ts"
import { Nodes, secretContext } from "../src/store/Nodes.ts"
import { pause } from "./Pause.ts"

export type { NodeRecord } from "../src/store/NodeRows.ts"

export class NodeRoster extends Context.Tag("runtime/NodeRoster")<
  NodeRoster,
  {
    /** Active nodes by id, a live view: take it again after every wait. */
    readonly records: () => ReadonlyMap<NodeId, NodeRecord>
    /** Active nodes as they are shown: display order descending, then name, then id. */
    readonly ordered: () => ReadonlyArray<NodeRecord>
    /** Active groups, id ascending. */
    readonly groups: () => ReadonlyArray<GroupRecord>
    /** The active node that reports with this secret, spaces around it left out. Synchronous, about 2 µs. */
    readonly bySecret: (secret: string) => NodeRecord | undefined
    /** The same without its record: all that a report needs. */
    readonly idBySecret: (secret: string) => NodeId | undefined
    /** Decrypts the node's secret; undefined for an unknown node, or when the key is not the one it was sealed with. */
    readonly secret: (id: NodeId) => string | undefined
    /** Grows with every change of what the members above answer. */
    readonly revision: () => number
    /** Reads everything again: due after every committed write. Callers that wait together share one reading. */
    readonly refresh: Effect.Effect<void, StorageUnavailable>
    /** Reads again only when an earlier `refresh` failed or was broken off; true when it did. */
    readonly catchUp: Effect.Effect<boolean, StorageUnavailable>
    /** A committed Static gave the node its hostname as name; nothing happens once it has a name. */
    readonly renamed: (id: NodeId, name: string) => void
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

/** Nodes read at once: about 3 ms of the event loop. */
const pageNodes = 500

interface Copy {
  readonly records: Map<NodeId, NodeRecord>
  readonly byDigest: Map<string, NodeId>
  readonly sealed: Map<NodeId, string>
  readonly groups: ReadonlyArray<GroupRecord>
  /** Sorted when first asked for: thousands of first Statics rename thousands of nodes in a row. */
  ordered: ReadonlyArray<NodeRecord> | undefined
}

const make = Effect.gen(function* () {
  const nodes = yield* Nodes
  const groups = yield* Groups
  const vault = yield* Vault
  const turn = yield* Effect.makeSemaphore(1)
  let copy: Copy = { records: new Map(), byDigest: new Map(), sealed: new Map(), groups: [], ordered: undefined }
  let revision = 0
  let asked = 0
  let answered = 0
  // Renames during a reading: the reading may have passed the node's row before its Static was committed.
  const renames = new Map<NodeId, string>()

  const rename = (id: NodeId, name: string): boolean => {
    const record = copy.records.get(id)
    if (record === undefined || !isUntitled(record.name) || isUntitled(name)) return false
    copy.records.set(id, { ...record, name })
    copy.ordered = undefined
    return true
  }
  const readAgain = Effect.gen(function* () {
    // Whoever asked before this reading began has its write in it.
    const covers = asked
    renames.clear()
    copy = yield* read(nodes, groups)
    for (const [id, name] of renames) rename(id, name)
    answered = covers
    revision++
  })
  const refresh = Effect.suspend(() => {
    const mine = ++asked
    return turn.withPermits(1)(Effect.suspend(() => (answered >= mine ? Effect.void : readAgain)))
  })
  const catchUp = turn.withPermits(1)(
    Effect.suspend(() => (answered >= asked ? Effect.succeed(false) : Effect.as(readAgain, true)))
  )

  const idBySecret = (secret: string) => ownerOf(copy, vault, secret)
  yield* refresh
  return NodeRoster.of({
    records: () => copy.records,
    ordered: () => (copy.ordered ??= Array.from(copy.records.values()).sort(byPlace)),
    groups: () => copy.groups,
    idBySecret,
    bySecret: (secret) => {
      const id = idBySecret(secret)
      return id === undefined ? undefined : copy.records.get(id)
    },
    secret: (id) => {
      const sealed = copy.sealed.get(id)
      return sealed === undefined ? undefined : vault.open(sealed, secretContext(id))
    },
    revision: () => revision,
    refresh,
    catchUp,
    renamed: (id, name) => {
      renames.set(id, name)
      if (rename(id, name)) revision++
    }
  })
})

const ownerOf = (copy: Copy, vault: Context.Tag.Service<typeof Vault>, secret: string): NodeId | undefined => {
  const trimmed = secret.trim()
  if (trimmed === "" || trimmed.length > secretLengthMax) return undefined
  return copy.byDigest.get(vault.digest(trimmed))
}

/**
 * Reads page by page without a transaction, which would hold up the journal. A write between two pages can be seen
 * in half, until the reading that this write asks for; what is never seen is a state older than the asking.
 */
const read = Effect.fnUntraced(function* (
  nodes: Context.Tag.Service<typeof Nodes>,
  groups: Context.Tag.Service<typeof Groups>
) {
  const records = new Map<NodeId, NodeRecord>()
  const byDigest = new Map<string, NodeId>()
  const sealed = new Map<NodeId, string>()
  let after: NodeId | 0 = 0
  for (;;) {
    const page: Effect.Effect.Success<ReturnType<typeof nodes.page>> = yield* nodes.page(after, pageNodes)
    for (const { record, secretDigest, secretSealed } of page) {
      records.set(record.id, record)
      byDigest.set(secretDigest, record.id)
      sealed.set(record.id, secretSealed)
      after = record.id
    }
    if (page.length < pageNodes) break
    yield* pause
  }
  const copy: Copy = { records, byDigest, sealed, groups: yield* groups.list, ordered: undefined }
  return copy
})

const isUntitled = (name: string): boolean => name.trim() === "" || name.trim() === untitled

/** Code units rather than a collation: stable on every machine, and a hundred times faster. */
const byPlace = (a: NodeRecord, b: NodeRecord): number =>
  b.displayOrder - a.displayOrder || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id)
