// The journal's tables on a real database: whole batches or nothing, a full disk, power cuts, borders and trimming.
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { type Context, Effect, Layer } from "effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { NodeId } from "../../schema/Ids.ts"
import { JournalStore, layer as journalLayer, type RowWrite, type Write } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { onDisk } from "../support/Engine.ts"
import { database, quiet, run } from "./Support.ts"

const storeOn = (filename?: string) => journalLayer.pipe(Layer.provideMerge(database(filename)), Layer.provide(quiet))

const threeNodes = run(
  "INSERT INTO nodes (id, name, display_order, created_at) VALUES (1, 'node-1', 3, 0), (2, 'node-2', 2, 0), (3, 'node-3', 1, 0)"
)

/** A store with three nodes on a file of its own. */
const withStore = <A, E>(
  body: (file: string) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof storeOn>>>
) => onDisk((file) => Effect.provide(Effect.zipRight(threeNodes, body(file)), storeOn(file)))

const bytesOf = (...values: ReadonlyArray<number>): Buffer => Buffer.from(Float64Array.from(values).buffer)
const row = (seq: number, over: Partial<RowWrite> = {}): RowWrite => ({
  kind: "row",
  seq,
  nodeId: NodeId.make(1),
  receivedAt: seq * 10,
  vector: bytesOf(seq, 2, 3),
  details: null,
  isApplied: true,
  checkpoint: null,
  facts: null,
  alerts: null,
  ...over
})
const rows = (from: number, to: number): Array<Write> => Array.from({ length: to - from + 1 }, (_, i) => row(from + i))
const seqs = Effect.map(JournalStore, (store) => store.tail(0, 1e9, 1e6).map(({ seq }) => seq))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe("writing", { timeout: 30_000 }, () => {
  it.effect("takes back the whole batch when one of its writes fails", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        store.write(rows(1, 3))
        const name = { kind: "static", nodeId: NodeId.make(2), receivedAt: 5, body: "{}", hostname: "h" } as const
        expect(() => store.write([...rows(4, 6), name, row(2)])).toThrow("UNIQUE")

        expect(yield* seqs).toEqual([1, 2, 3])
        expect([store.lastSeq(), store.static(NodeId.make(2)), store.busy()]).toEqual([3, undefined, false])
        store.write(rows(4, 6))
        expect(yield* seqs).toEqual(range(1, 6))
      })
    )
  )

  it.effect("keeps bytes, details and times as they were, and the newest checkpoint and Static of a node", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        const id = NodeId.make(2)
        const vector = bytesOf(Number.NaN, -0, 1e308, 5e-324)
        store.write([
          row(1, { nodeId: id, vector, details: '{"a":"ü"}', checkpoint: "{1}" }),
          row(2, { nodeId: id, checkpoint: "{2}" }),
          { kind: "static", nodeId: id, receivedAt: 7, body: "{old}", hostname: "h" },
          { kind: "static", nodeId: id, receivedAt: 8, body: "{new}", hostname: "h" }
        ])
        store.write([{ kind: "checkpoint", seq: 2, nodeId: id, receivedAt: 30, vector, checkpoint: "{3}" }])

        expect(store.tail(0, 1, 10)).toEqual([{ seq: 1, nodeId: 2, receivedAt: 10, vector, details: '{"a":"ü"}' }])
        expect(store.checkpoint(id)).toEqual({ nodeId: 2, seq: 2, receivedAt: 30, vector, details: "{3}" })
        expect(store.static(id)).toEqual({ nodeId: 2, receivedAt: 8, body: "{new}" })
        expect([store.checkpoint(NodeId.make(1)), store.static(NodeId.make(1))]).toEqual([undefined, undefined])
      })
    )
  )

  it.effect("gives a node its hostname only while it has no name of its own", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        const name = (id: number, hostname: string) =>
          store.write([{ kind: "static", nodeId: NodeId.make(id), receivedAt: 1, body: "{}", hostname }])
        yield* run("UPDATE nodes SET name = ' Untitled ' WHERE id = 1")
        yield* run("UPDATE nodes SET name = '  ' WHERE id = 2")
        for (const id of [1, 2, 3]) name(id, `host-${id}`)
        for (const id of [1, 2, 3]) name(id, "another")

        expect(yield* run("SELECT name FROM nodes ORDER BY id")).toEqual([
          { name: "host-1" },
          { name: "host-2" },
          { name: "node-3" }
        ])
      })
    )
  )
})

describe("a full disk", { timeout: 30_000 }, () => {
  it.effect("takes back the batch, says SQLITE_FULL, fails the probe, and all is well when space returns", () =>
    withStore((file) =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        const { handle } = yield* Database
        store.write(rows(1, 50))
        handle().pragma(`max_page_count = ${handle().pragma("page_count", { simple: true })}`)
        const big = Array.from({ length: 20 }, (_, i) => row(51 + i, { vector: Buffer.alloc(4096, 1) }))

        for (let i = 0; i < 3; i++) {
          expect(codeOf(() => store.write(big))).toBe("SQLITE_FULL")
          expect(codeOf(() => store.probe())).toBe("SQLITE_FULL")
          expect([store.busy(), store.lastSeq()]).toEqual([false, 50])
        }
        expect(yield* seqs).toEqual(range(1, 50))
        handle().pragma("max_page_count = 100000")
        store.probe()
        store.write(big)

        expect(yield* seqs).toEqual(range(1, 70))
        expect(handle().pragma("integrity_check", { simple: true })).toBe("ok")
        expect(yield* run("SELECT name FROM settings WHERE name LIKE 'journal%'")).toEqual([])
        store.reopen()
        store.write(rows(71, 80))
        expect(acknowledgedIn(file)).toEqual({ integrity: "ok", seqs: range(1, 80) })
      })
    )
  )

  it.effect("does not stop the trimming that makes space", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        const { handle } = yield* Database
        store.write(range(1, 100).map((seq) => row(seq, { vector: Buffer.alloc(2048, 1) })))
        handle().pragma(`max_page_count = ${handle().pragma("page_count", { simple: true })}`)
        expect(codeOf(() => store.write(range(101, 200).map((seq) => row(seq, { vector: Buffer.alloc(2048) }))))).toBe(
          "SQLITE_FULL"
        )
        expect(trimmed(store, 60, 1000)).toBe(60)

        store.probe()
        store.write(range(101, 150).map((seq) => row(seq, { vector: Buffer.alloc(2048) })))
        expect(yield* seqs).toEqual(range(61, 150))
      })
    )
  )
})

const codeOf = (body: () => void): unknown => {
  try {
    body()
    return "none"
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? cause.code : cause
  }
}

/** What a fresh look at the file finds. */
const acknowledgedIn = (file: string) => {
  const db = new Sqlite(file)
  try {
    const integrity = db.pragma("integrity_check", { simple: true })
    return { integrity, seqs: db.prepare("SELECT seq FROM journal ORDER BY seq").pluck().all() as Array<number> }
  } finally {
    db.close()
  }
}

const readFile = (file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}

/** A file of which only some 512-byte sectors of the last writing reached the disk. */
const torn = (before: Buffer, after: Buffer, chance: () => number): Buffer => {
  const keep = chance()
  const out = Buffer.alloc(Math.max(before.length, after.length))
  let length = before.length
  for (let at = 0; at < out.length; at += 512) {
    const isNew = chance() < keep
    const source = isNew ? after : before
    if (at < source.length) source.copy(out, at, at, Math.min(at + 512, source.length))
    if (isNew) length = Math.max(length, Math.min(at + 512, after.length))
  }
  return out.subarray(0, length)
}

const logHeaderBytes = 32

/** Small and seeded, so that a failure can be seen again. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

describe("power cuts", { timeout: 30_000 }, () => {
  // The order that the journal keeps: a new header of the log is synced before its frames, these before the next
  // transaction and before pages go to the database, these before the log is used anew. Inside each stretch any may be
  // missing.
  it.effect(
    "Invariant 1: an acknowledged report is on disk: a thousand torn copies open whole, with every commit",
    () =>
      withStore((file) =>
        Effect.gen(function* () {
          const seed = Math.floor(Math.random() * 1e9)
          const chance = randomFrom(seed)
          const store = yield* JournalStore
          // Small enough that the log is emptied and used anew every few commits.
          ;(yield* Database).handle().pragma("wal_autocheckpoint = 24")
          const disk = () => ({ data: readFile(file), log: readFile(`${file}-wal`) })
          const cut = `${file}.cut`
          const open = (data: Buffer, log: Buffer) => {
            rmSync(`${cut}-shm`, { force: true })
            writeFileSync(cut, data)
            writeFileSync(`${cut}-wal`, log)
            return acknowledgedIn(cut)
          }
          let before = disk()
          for (let commit = 1; commit <= 125; commit++) {
            const last = store.lastSeq()
            const count = 1 + Math.floor(chance() * 12)
            store.write(rows(last + 1, last + count))
            const after = disk()
            const headed = Buffer.concat([after.log.subarray(0, logHeaderBytes), before.log.subarray(logHeaderBytes)])
            for (let i = 0; i < 4; i++) {
              const during = open(before.data, i === 0 ? headed : torn(headed, after.log, chance))
              expect([`seed ${seed}`, during.integrity]).toEqual([`seed ${seed}`, "ok"])
              expect([range(1, last), range(1, last + count)]).toContainEqual(during.seqs)
              const behind = open(torn(before.data, after.data, chance), after.log)
              expect([`seed ${seed}`, behind]).toEqual([
                `seed ${seed}`,
                { integrity: "ok", seqs: range(1, last + count) }
              ])
            }
            before = after
          }
        })
      ),
    60_000
  )
})

/** Trims, and gives how many rows went, which the store told of if there were any. */
const trimmed = (
  store: Context.Tag.Service<typeof JournalStore>,
  upTo: number,
  limit: number,
  keep: ReadonlyArray<NodeId> = []
): number => {
  const write = { kind: "trim", upTo, limit, keep } as const
  const isTold = store.trimmable(write)
  const count = () => store.tail(0, 1e9, 1e6).length
  const before = count()
  store.write([write])
  const gone = before - count()
  expect(isTold).toBe(gone > 0)
  return gone
}

describe("the tail", { timeout: 30_000 }, () => {
  it.effect("is read in slices, ascending, after one seq and up to another", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        store.write(rows(1, 30))
        const read = (after: number, upTo: number, limit: number) =>
          store.tail(after, upTo, limit).map(({ seq }) => seq)

        expect(read(0, 30, 10)).toEqual(range(1, 10))
        expect(read(10, 25, 100)).toEqual(range(11, 25))
        expect(read(30, 99, 100)).toEqual([])
      })
    )
  )

  it.effect("has a last seq that a checkpoint keeps alive when every row is gone", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        expect(store.lastSeq()).toBe(0)
        store.write([row(7), row(9, { checkpoint: "{}" })])
        expect(store.lastSeq()).toBe(9)
        expect(trimmed(store, 100, 100)).toBe(2)

        expect([store.lastSeq(), yield* seqs]).toEqual([9, []])
      })
    )
  )

  it.effect("is trimmed at most as far as told and by as many as told, whatever numbers are missing", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        store.write([2, 3, 5, 8, 13, 21, 34].map((seq) => row(seq)))
        const gone = [
          trimmed(store, 1, 10),
          trimmed(store, 10, 2),
          trimmed(store, 10, 1),
          trimmed(store, 10, 10),
          trimmed(store, 10, 10)
        ]

        expect(gone).toEqual([0, 2, 1, 1, 0])
        expect(yield* seqs).toEqual([13, 21, 34])
      })
    )
  )

  it.effect("is trimmed around the nodes that must keep theirs, however many rows these have", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        store.write(range(1, 40).map((seq) => row(seq, { nodeId: NodeId.make(seq <= 30 ? 2 : (seq % 2) + 1) })))
        const kept = [NodeId.make(2), NodeId.make(7)]
        expect([1, 2, 3].map(() => trimmed(store, 38, 3, kept))).toEqual([3, 1, 0])

        expect(yield* seqs).toEqual([...range(1, 30), 31, 33, 35, 37, 39, 40])
        expect(trimmed(store, 100, 100)).toBe(36)
      })
    )
  )
})

describe("the probe", { timeout: 30_000 }, () => {
  it.effect("leaves nothing behind and says no inside somebody's transaction, without ending it", () =>
    withStore(() =>
      Effect.gen(function* () {
        const store = yield* JournalStore
        const { handle } = yield* Database
        const settings = () => handle().prepare("SELECT count(*) FROM settings").pluck().get()
        const before = settings()
        store.probe()
        expect(settings()).toBe(before)
        handle().exec("BEGIN")
        expect(store.busy()).toBe(true)
        expect(() => store.probe()).toThrow("within a transaction")
        expect(() => store.write(rows(1, 1))).toThrow("inside a transaction")
        expect(store.busy()).toBe(true)
        handle().exec("ROLLBACK")

        expect(yield* seqs).toEqual([])
      })
    )
  )
})
