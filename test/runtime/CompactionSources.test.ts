// What seals and folds work on: the same, whoever read it, and never used once the node has moved on.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { foldOf, foldQuestion, type Seal, sealOf, sealQuestion, settleSeal } from "../../runtime/Compaction.ts"
import { foldSource, packed, sealSource, unpacked } from "../../runtime/CompactionSources.ts"
import { Compactor } from "../../runtime/Compactor.ts"
import { HistoryMarks } from "../../runtime/HistoryMarks.ts"
import { Journal } from "../../runtime/Journal.ts"
import type { NodeActor } from "../../runtime/NodeActor.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { ReadAhead, layer as readAhead } from "../../runtime/ReadAhead.ts"
import { NodeId } from "../../schema/Ids.ts"
import { atOnce } from "../../src/core/Steps.ts"
import { stretchStart, tiers } from "../../src/core/Tier.ts"
import { HistoryStore } from "../../src/store/History.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { onDisk } from "../support/Engine.ts"
import { elapse, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { Hands } from "../support/ManualClock.ts"

const id = NodeId.make(1)
const never = Number.POSITIVE_INFINITY

/** The clock is set to where a new stretch of the node's minutes begins. */
const stretchBegins = Effect.map(Hands, (clock) => {
  const { chunkMs } = tiers.minute
  clock.advance(stretchStart(id, chunkMs, clock.now) + chunkMs - clock.now)
  return clock.now
})

/** So many reports of the node, three seconds apart, all on the disk. */
const reported = (count: number) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    const memory: Array<Remembered> = []
    for (let n = 0; n < count; n++) {
      yield* tell(1, { cpu: (n % 10) / 10 }, memory)
      clock.advance(3000)
      if (n % 100 === 99) yield* written
    }
    yield* written
  })

const shelves = Effect.all({ journal: JournalStore, history: HistoryStore, marks: HistoryMarks })
const actorOf = Effect.map(NodeSupervisor, (supervisor) => supervisor.actor(id) as NodeActor)

describe("the source of a seal", () => {
  it("survives its packing, whatever rows are there", () => {
    const row = fc.record({
      receivedAt: fc.integer({ min: 0, max: 2 ** 42 }),
      vector: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      details: fc.option(fc.string())
    })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), fc.option(fc.string(), { nil: undefined }), (rows, details) => {
        const all = rows.map((one, i) => ({ ...one, seq: 3 * i + 1, nodeId: id }))
        // Some rows are not there any more.
        const found = all.filter(({ seq }) => seq % 4 !== 0)
        const source = { seqs: all.map(({ seq }) => seq), details, rows: new Map(found.map((one) => [one.seq, one])) }
        expect(unpacked(id, structuredClone(packed(source)))).toEqual(source)
      })
    )
  })
})

describe("sources that a thread read", { timeout: 60_000 }, () => {
  it.effect("are what the service reads by itself, of a seal and of a fold", () =>
    onDisk((filename) =>
      inHistory(
        Effect.gen(function* () {
          const { toFold, toSeal } = yield* ReadAhead
          const { reader } = yield* HistoryStore
          yield* stretchBegins
          yield* reported(200)
          const sealing = sealQuestion(yield* actorOf)
          expect(sealing.seqs).toHaveLength(200)
          expect(yield* toSeal(sealing)).toEqual(atOnce(sealSource(reader, sealing)))

          for (let round = 0; round < 3; round++) {
            yield* elapse(300_000, 4000)
            yield* (yield* Compactor).drain
            yield* reported(100)
          }
          const folding = { id, from: "raw", afterId: 0 } as const
          const found = yield* toFold(folding)
          expect(found?.rows.length).toBeGreaterThan(1)
          const plain = atOnce(foldSource(reader, folding))
          const bytes = (rows: typeof plain.rows) =>
            rows.map((one) => ({ ...one, bytes: Buffer.from(one.bytes ?? []) }))
          expect({ ...found, rows: bytes(found?.rows ?? []) }).toEqual({ ...plain, rows: bytes(plain.rows) })
        }).pipe(Effect.provide(readAhead)),
        { filename }
      )
    )
  )

  it.effect("are not used for rows that were sealed since, nor for chunks that were folded", () =>
    onDisk((filename) =>
      inHistory(
        Effect.gen(function* () {
          const tools = yield* shelves
          const actor = yield* actorOf
          const mark = tools.marks.of(id)
          const startAt = yield* stretchBegins
          yield* reported(60)
          const stale = atOnce(sealSource(tools.history.reader, sealQuestion(actor)))
          // Some rows have gone into a chunk, more have come.
          const journal = yield* Journal
          const first = atOnce(sealOf(tools, actor, startAt + 20 * 3000)) as Seal
          expect([first.taken, first.nextAt]).toEqual([20, startAt + 20 * 3000])
          journal.offer(first.write, () => undefined)
          yield* written
          settleSeal(tools, actor, mark, first)
          yield* reported(10)
          const seal = atOnce(sealOf(tools, actor, never, stale))
          expect([seal?.taken, seal?.lost]).toEqual([50, 0])
          // A source that fits, but knows of fewer rows, seals those.
          const fitting = atOnce(sealSource(tools.history.reader, sealQuestion(actor)))
          yield* reported(10)
          const next = atOnce(sealOf(tools, actor, never, fitting))
          expect([next?.taken, next?.lost]).toEqual([50, 0])

          if (seal === undefined || next === undefined) throw new Error("nothing was sealed")
          journal.offer(seal.write, () => undefined)
          yield* written
          const question = foldQuestion(id, mark, "raw")
          const chunks = atOnce(foldSource(tools.history.reader, question))
          expect(chunks.rows).toHaveLength(2)
          const upToId = chunks.rows[1]?.id
          expect(atOnce(foldOf(tools, id, mark, "raw", chunks))?.write.upToId).toBe(upToId)
          mark.folded.raw = upToId ?? 0
          expect(atOnce(foldOf(tools, id, mark, "raw", chunks))).toBeUndefined()
        }),
        { filename }
      )
    )
  )
})
