// Reads of chunks beside what changes them: a chunk that is in memory must be the one that is on disk.
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import type { ChunkWrite } from "../../src/store/History.ts"
import { historyReader } from "../../src/store/HistoryReader.ts"
import { JournalStore, layer as journalLayer } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { database, quiet, run } from "./Support.ts"

const node = NodeId.make(1)
const tier = "minute"

class Reader extends Context.Tag("test/Reader")<Reader, ReturnType<typeof historyReader>>() {}
const readerLayer = Layer.effect(
  Reader,
  Effect.map(Database, ({ handle }) => historyReader(handle))
)
const stores = Layer.merge(readerLayer, journalLayer).pipe(Layer.provideMerge(database()), Layer.provide(quiet))

const chunk = (startAt: number, endAt: number, ...bytes: ReadonlyArray<number>): ChunkWrite => ({
  tier,
  startAt,
  endAt,
  series: "[]",
  bytes: Buffer.from(bytes)
})

/** Puts a chunk as a fold into its tier does. */
const put = (written: ChunkWrite) =>
  Effect.map(JournalStore, (journal) =>
    journal.write([{ kind: "fold", nodeId: node, from: "raw", upToId: 0, chunk: written, joined: undefined }])
  )

const stands = Effect.map(Reader, (history) => history.standsBetween(tier, node, 0, 1e9, 0))
const rows = Effect.flatMap(Reader, (history) =>
  Effect.map(stands, (all) => all.flatMap((stand) => history.chunkAt(tier, stand) ?? []))
)
const read = Effect.map(rows, (all) =>
  all.map(({ bytes, endAt, id, startAt }) => [id, startAt, endAt, ...(bytes ?? [])])
)

describe("reading chunks", () => {
  it.effect("gives what was joined since the last read, even when the borders stayed where they were", () =>
    Effect.gen(function* () {
      const journal = yield* JournalStore
      yield* put(chunk(0, 9000, 1, 2))
      yield* put(chunk(3000, 6000, 3))
      yield* read
      const [first, second] = yield* read
      expect([first?.slice(1), second?.slice(1)]).toEqual([
        [0, 9000, 1, 2],
        [3000, 6000, 3]
      ])
      const ids = [first?.[0] ?? 0, second?.[0] ?? 0]
      const joined = { ids, chunk: chunk(0, 9000, 1, 2, 3) }
      journal.write([{ kind: "fold", nodeId: node, from: tier, upToId: ids[1] ?? 0, chunk: undefined, joined }])

      expect(yield* read).toEqual([[ids[0], 0, 9000, 1, 2, 3]])
      expect(yield* read).toEqual([[ids[0], 0, 9000, 1, 2, 3]])
    }).pipe(Effect.provide(stores))
  )

  it.effect("gives nothing of a chunk that was dropped since", () =>
    Effect.gen(function* () {
      const journal = yield* JournalStore
      yield* put(chunk(0, 9000, 1, 2))
      yield* read
      const [first] = yield* read
      journal.write([{ kind: "drop", tier, ids: [first?.[0] ?? 0] }])

      expect(yield* read).toEqual([])
    }).pipe(Effect.provide(stores))
  )

  it.effect("knows that a chunk is not any more what it was when somebody looked where it stands", () =>
    Effect.gen(function* () {
      const journal = yield* JournalStore
      const history = yield* Reader
      yield* put(chunk(0, 9000, 1, 2))
      yield* put(chunk(3000, 6000, 3))
      yield* put(chunk(6000, 9000, 4))
      const seen = yield* stands
      const [first = 0, second = 0, third = 0] = seen.map(({ id }) => id)
      const joined = { ids: [first, second], chunk: chunk(0, 9000, 1, 2, 3) }
      journal.write([
        { kind: "fold", nodeId: node, from: tier, upToId: second, chunk: undefined, joined },
        { kind: "drop", tier, ids: [third] }
      ])

      expect(seen.map((stand) => history.chunkAt(tier, stand))).toEqual([undefined, undefined, undefined])
      expect((yield* rows).map(({ id }) => id)).toEqual([first])
    }).pipe(Effect.provide(stores))
  )

  it.effect("does not take bytes that were damaged on disk for those that were written", () =>
    Effect.gen(function* () {
      yield* put(chunk(0, 9000, 1, 2))
      yield* run(`UPDATE history_${tier} SET bytes = x'0103'`)
      const [damaged] = yield* rows

      expect([damaged?.startAt, damaged?.bytes]).toEqual([0, undefined])
    }).pipe(Effect.provide(stores))
  )
})
