// Writes the history of the fleet's first nodes as the service would have left it, or takes its last folds back.
import { Effect, Layer } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import { type FoldedTier, foldedTiers, nextTier, type Tier, tierNames } from "../../src/core/Tier.ts"
import { encoded } from "../../src/core/VectorCode.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { intervalMs } from "../Fleet.ts"
import type { Amount, FillOrder, FillResult, UnfoldResult } from "../history/Filling.ts"
import { Kind } from "../history/Kind.ts"
import { machineOf, recordingIn } from "../history/Machine.ts"
import { historyIdOf, historyNodes, isRecorded, kindOf, kinds } from "../history/Nodes.ts"
import { storage } from "../Seed.ts"

type Store = Effect.Effect.Success<typeof JournalStore.JournalStore>
type Handle = ReturnType<Effect.Effect.Success<typeof Database>["handle"]>

/** 25 hours of a machine, and as long as the fill itself may take. */
const rowsMax = (26 * 3_600_000) / intervalMs
/** Writes of one transaction: some 2 MB. */
const batch = 512

/** Ids of the nodes of each kind. */
const nodesOf = Array.from({ length: kinds }, (): Array<NodeId> => [])
for (let i = 0; i < historyNodes; i++) nodesOf[kindOf(i)]?.push(historyIdOf(i))

/** Gathers writes into transactions. */
const makeWriter = (store: Store) => {
  let waiting: Array<JournalStore.Write> = []
  const flush = (): void => {
    store.write(waiting)
    waiting = []
  }
  const put = (write: JournalStore.Write): void => {
    waiting.push(write)
    if (waiting.length >= batch) flush()
  }
  return { put, flush }
}
type Writer = ReturnType<typeof makeWriter>

/** In order of age over all kinds, as the service writes them: what goes first is what was written first. */
const writeChunks = (writer: Writer, all: ReadonlyArray<Kind>, from: ReadonlyArray<number>): void => {
  const chunks = all.flatMap(({ details, stored }, kind) =>
    stored.slice(from[kind] ?? 0).map(({ chunk }) => ({ chunk, details, kind }))
  )
  chunks.sort((a, b) => a.chunk.endAt - b.chunk.endAt)
  for (const { chunk, details, kind } of chunks) {
    const before = foldedTiers.find((tier) => nextTier[tier] === chunk.tier)
    for (const nodeId of nodesOf[kind] ?? []) {
      if (before === undefined) writer.put({ kind: "seal", nodeId, sealedSeq: 0, details, chunk })
      else writer.put({ kind: "fold", nodeId, from: before, upToId: 0, chunk, joined: undefined })
    }
  }
  writer.flush()
}

/** Rows that wait to be sealed; those of one machine stand in the order of their arrival. */
const writeTails = (writer: Writer, all: ReadonlyArray<Kind>, now: number): number => {
  let seq = 0
  all.forEach((one, kind) => {
    const rows = one.tail(now)
    for (const nodeId of nodesOf[kind] ?? []) {
      rows.forEach(({ receivedAt, vector }, i) => {
        const details = i === 0 ? one.details : null
        const row = {
          seq: ++seq,
          nodeId,
          receivedAt,
          details,
          isApplied: true,
          checkpoint: null,
          facts: null,
          alerts: null
        }
        writer.put({ kind: "row", ...row, vector: encoded(vector) })
      })
    }
  })
  writer.flush()
  return seq
}

/** The last chunk of a node that began before an instant. */
const lastBefore = (db: Handle, tier: Tier) => {
  const find = db.prepare(`SELECT max(id) AS id FROM history_${tier} WHERE node_id = ? AND start_at < ?`)
  return (id: NodeId, before: number): number => (find.get(id, before) as { id: number | null }).id ?? 0
}

const writeMarks = (writer: Writer, db: Handle, all: ReadonlyArray<Kind>): void => {
  for (const from of foldedTiers) {
    const last = lastBefore(db, from)
    all.forEach(({ foldedTo }, kind) => {
      for (const nodeId of nodesOf[kind] ?? []) {
        writer.put({
          kind: "fold",
          nodeId,
          from,
          upToId: last(nodeId, foldedTo[from]),
          chunk: undefined,
          joined: undefined
        })
      }
    })
  }
  writer.flush()
}

const amountOf = (all: ReadonlyArray<Kind>, tier: Tier, recorded: boolean): Amount => {
  const sum = { chunks: 0, rows: 0, bytes: 0, values: 0, series: 0 }
  all.forEach(({ stored }, kind) => {
    if (isRecorded(kind) !== recorded) return
    const copies = nodesOf[kind]?.length ?? 0
    for (const { chunk, rows, series } of stored) {
      if (chunk.tier !== tier) continue
      sum.chunks += copies
      sum.rows += rows * copies
      sum.bytes += chunk.bytes.length * copies
      sum.values += rows * series * (tier === "raw" ? 1 : 5) * copies
      sum.series += series * copies
    }
  })
  return sum
}

/** Bytes that the tables and indexes of a tier take in the file, page by page. */
const onDisk = (db: Handle, tier: Tier): number => {
  const sum = db.prepare("SELECT coalesce(sum(pgsize), 0) AS bytes FROM dbstat WHERE name = ? AND aggregate = TRUE")
  const of = (name: string) => (sum.get(name) as { bytes: number }).bytes
  return of(`history_${tier}`) + of(`history_${tier}_by_node`)
}

const perTier = <A>(make: (tier: Tier) => A): Record<Tier, A> =>
  Object.fromEntries(tierNames.map((tier) => [tier, make(tier)])) as Record<Tier, A>

const fill = (order: FillOrder, store: Store, db: Handle): FillResult => {
  // Nothing is lost when this is cut short, and a log would write everything twice.
  db.pragma("journal_mode = OFF")
  db.pragma("synchronous = OFF")
  db.pragma("cache_size = -262144")
  const startAt = performance.now()
  const recording = recordingIn(order.recording)
  const begunAt = Date.now()
  const all = Array.from({ length: kinds }, (_, kind) => new Kind(kind, machineOf(kind, rowsMax, recording), begunAt))
  const madeMs = performance.now() - startAt
  const writer = makeWriter(store)
  writeChunks(writer, all, [])
  // What the fill itself took is caught up, so that the newest row is of this moment.
  const written = all.map(({ stored }) => stored.length)
  const now = Date.now()
  for (const kind of all) kind.advance(now)
  writeChunks(writer, all, written)
  const tail = writeTails(writer, all, now)
  writeMarks(writer, db, all)
  const writtenMs = performance.now() - startAt - madeMs
  return {
    generated: perTier((tier) => amountOf(all, tier, false)),
    recorded: perTier((tier) => amountOf(all, tier, true)),
    disk: perTier((tier) => onDisk(db, tier)),
    fileBytes: store.bytes(),
    series: all.map(({ stored }) => stored.find(({ chunk }) => chunk.tier === "raw")?.chunk.series ?? "[]"),
    reports: recording.length,
    tail,
    madeMs,
    writtenMs
  }
}

/** Drops the last chunk of every node in a folded tier and makes its parts wait again, with the service's own writes. */
const unfoldTier = (writer: Writer, db: Handle, from: FoldedTier): number => {
  const to = nextTier[from]
  const latest = db.prepare(`SELECT max(id) AS id, start_at AS startAt FROM history_${to} WHERE node_id = ?`)
  const last = lastBefore(db, from)
  let count = 0
  for (const nodeId of nodesOf.flat()) {
    const { id, startAt } = latest.get(nodeId) as { id: number | null; startAt: number | null }
    if (id === null || startAt === null) continue
    writer.put({ kind: "drop", tier: to, ids: [id] })
    writer.put({ kind: "fold", nodeId, from, upToId: last(nodeId, startAt), chunk: undefined, joined: undefined })
    count++
  }
  writer.flush()
  return count
}

const perform = (order: FillOrder, store: Store, db: Handle): FillResult | UnfoldResult =>
  order.kind === "fill"
    ? fill(order, store, db)
    : { folds: foldedTiers.reduce((sum, from) => sum + unfoldTier(makeWriter(store), db, from), 0) }

const order = JSON.parse(process.argv[2] ?? "") as FillOrder
const found = await Effect.gen(function* () {
  const store = yield* JournalStore.JournalStore
  const database = yield* Database
  return perform(order, store, database.handle())
}).pipe(Effect.provide(JournalStore.layer.pipe(Layer.provideMerge(storage(order.home)))), Effect.runPromise)
process.send?.(found)
process.disconnect?.()
