// The tail of the journal: what leaves it and when, and that nothing leaves that a restart would miss.
import { describe, expect, it } from "@effect/vitest"
import { type Context, Effect, Layer, TestClock } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Intake } from "../../runtime/Intake.ts"
import { Journal } from "../../runtime/Journal.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { layer as retentionLayer } from "../../runtime/Retention.ts"
import { NodeId } from "../../schema/Ids.ts"
import { encoded } from "../../src/core/VectorCode.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { full } from "../support/Disk.ts"
import {
  actorOf,
  type Answer,
  epoch,
  type EngineOptions,
  inEngine,
  journalRows,
  killedCopy,
  makeFaults,
  onDisk,
  pass,
  post,
  reportOf,
  send,
  type Store,
  turns,
  until,
  viewOf
} from "../support/Engine.ts"

const ok: Answer = { _tag: "Acknowledged", update: null }
const at = (seconds: number) => epoch + seconds * 1000
const poison = 0.666
/** Age past which a row leaves, and the time between two rounds. */
const [tailMs, roundMs] = [120_000, 15_000]

type Services = Layer.Layer.Success<ReturnType<typeof import("../support/Engine.ts").engine>>

/** The engine with its retention, which makes its first round at once. */
const inKeptEngine = <A, E>(body: Effect.Effect<A, E, Services>, options: EngineOptions = {}) =>
  inEngine(Effect.provide(body, retentionLayer), options)

/** A round is over when nothing of it waits for a clock any more. */
const rounds = (ms: number) =>
  Effect.gen(function* () {
    for (let gone = 0; gone < ms; gone += roundMs) {
      yield* TestClock.adjust(Math.min(roundMs, ms - gone))
      yield* pass(100, 20)
    }
  })

const rowsOf = (id: number) => Effect.map(journalRows, (rows) => rows.filter(({ nodeId }) => nodeId === id))
const covered = (id: number) =>
  Effect.map(
    JournalStore,
    (store: Context.Tag.Service<typeof JournalStore>) => store.checkpoint(NodeId.make(id))?.seq ?? 0
  )

describe("retention", { timeout: 30_000 }, () => {
  it.effect("Invariant 8: disk use is bounded: rows leave at two minutes, each behind a checkpoint of its node", () =>
    inKeptEngine(
      Effect.gen(function* () {
        const committed: Array<{ readonly seq: number; readonly nodeId: number }> = []
        const silentAfter = 20
        for (let n = 1; n <= 120; n++) {
          for (const id of n <= silentAfter ? [1, 2, 3] : [1, 2]) {
            // The second node is slow.
            if (id === 2 && n % 7 !== 0) continue
            expect(yield* send(id, { at: at(n), hostname: `h${id}` })).toEqual(ok)
            committed.push({ seq: (yield* Journal).lastSeq(), nodeId: id })
          }
          yield* TestClock.adjust(3000)
          if (n % 5 !== 0) continue
          yield* pass(60, 20)
          const rows = yield* journalRows
          const kept = new Set(rows.map(({ seq }) => seq))
          for (const { nodeId, seq } of committed) {
            if (!kept.has(seq)) expect(yield* covered(nodeId)).toBeGreaterThanOrEqual(seq)
          }
          const now = yield* TestClock.currentTimeMillis
          const oldest = Math.min(...rows.map(({ receivedAt }) => receivedAt))
          expect(now - oldest).toBeLessThanOrEqual(tailMs + roundMs + 3100)
          // Nothing that is younger has gone.
          expect(kept.size).toBeGreaterThanOrEqual(Math.min(committed.length, 40))
        }
        expect(yield* rowsOf(3)).toEqual([])
        expect(committed.length).toBeGreaterThan(150)
        expect((yield* journalRows).length).toBeLessThan(60)
      }),
      { nodes: 3 }
    )
  )

  it.effect(
    "leaves a node that has been silent for long the view it had, also over a kill",
    () =>
      onDisk((filename) =>
        Effect.gen(function* () {
          const before = yield* inKeptEngine(
            Effect.gen(function* () {
              for (const n of [1, 2, 3]) yield* send(1, { at: at(n), cpu: n / 10, serial: "s-1", nics: ["a", "b"] })
              const view = yield* viewOf(1)
              yield* rounds(600_000)
              expect([yield* rowsOf(1), yield* covered(1)]).toEqual([[], 3])
              expect(yield* viewOf(1)).toEqual(view)
              killedCopy(filename)
              return view
            }),
            { filename }
          )
          yield* inKeptEngine(
            Effect.gen(function* () {
              expect(yield* viewOf(1)).toEqual(before)
              expect((yield* Journal).lastSeq()).toBe(3)
              expect(yield* send(1, { at: at(3), nics: ["a", "b"] })).toEqual(ok)
              expect(yield* send(1, { at: at(4000), nics: ["a", "b"] })).toEqual(ok)
              expect((yield* journalRows).map(({ seq }) => seq)).toEqual([4])
            }),
            { filename: `${filename}.killed` }
          )
        })
      ),
    30_000
  )

  it.effect("keeps the rows of a node that cannot be rebuilt and no others for its sake", () => {
    const faults = makeFaults()
    return inKeptEngine(
      Effect.gen(function* () {
        for (const n of [1, 2]) for (const id of [1, 2]) yield* send(id, { at: at(n), cpu: id === 1 ? poison : 0.1 })
        faults.poison = poison
        expect(yield* send(1, { at: at(3), cpu: poison })).toEqual({ _tag: "Refused" })
        yield* rounds(tailMs + 3 * roundMs)

        expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 1, parked: 1 })
        expect((yield* rowsOf(1)).map((row) => row.reportedAt)).toEqual([at(1), at(2)])
        expect(yield* rowsOf(2)).toEqual([])
        faults.poison = undefined
        yield* rounds(60_000)
        expect((yield* actorOf(1)).status).toBe("running")
        expect((yield* viewOf(1))?.vector[0]).toBe(at(2))
        expect(yield* rowsOf(1)).toEqual([])
      }),
      { ...faults, nodes: 2 }
    )
  })

  it.effect("keeps them also when it could not be rebuilt from the start", () =>
    onDisk((filename) => {
      const faults = makeFaults()
      return Effect.gen(function* () {
        yield* inEngine(
          Effect.gen(function* () {
            for (const n of [1, 2])
              for (const id of [1, 2]) yield* send(id, { at: at(n), cpu: id === 1 ? poison : 0.1 })
          }),
          { filename, nodes: 2 }
        )
        faults.poison = poison
        yield* inKeptEngine(
          Effect.gen(function* () {
            yield* rounds(tailMs + 3 * roundMs)
            expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 1, parked: 1 })
            expect([(yield* rowsOf(1)).length, (yield* rowsOf(2)).length]).toEqual([2, 0])
            faults.poison = undefined
            yield* pass(40_000, 2000)
            expect((yield* viewOf(1))?.vector[0]).toBe(at(2))
          }),
          { ...faults, filename }
        )
      })
    })
  )

  it.effect("deletes in slices, and waits for an administrator's transaction", () => {
    const slices: Array<number> = []
    const wrap = (store: Store): Store => ({
      ...store,
      trim: (...args) => {
        const gone = store.trim(...args)
        slices.push(gone)
        return gone
      }
    })
    return inKeptEngine(
      Effect.gen(function* () {
        const store = yield* JournalStore
        const { handle } = yield* Database
        const vector = encoded(new Float64Array(60))
        const row = { kind: "row", nodeId: NodeId.make(9), details: null, checkpoint: null, vector } as const
        // Rows of a node that is long gone: nothing has to cover them.
        store.write(Array.from({ length: 4500 }, (_, i) => ({ ...row, seq: i + 1, receivedAt: epoch })))
        yield* TestClock.adjust(tailMs)
        handle().exec("BEGIN")
        yield* rounds(roundMs)
        expect(slices).toEqual([])
        handle().exec("COMMIT")
        yield* pass(100, 10)

        expect(slices).toEqual([2000, 2000, 500])
        expect(yield* journalRows).toEqual([])
      }),
      { wrap }
    )
  })

  it.effect("leaves room for agents' reports while thousands of quiet nodes get their checkpoints", () =>
    inEngine(
      Effect.gen(function* () {
        const [intake, journal, supervisor] = [yield* Intake, yield* Journal, yield* NodeSupervisor]
        const ids = Array.from({ length: 5000 }, (_, i) => i + 1)
        yield* Effect.forEach(ids, (id) => send(id, { at: at(1), hostname: `h${id}` }), { concurrency: 1000 })
        const answers: Array<ReadonlyArray<Answer>> = []
        let second = 2
        let covering = supervisor.coverUpTo(journal.lastSeq())
        for (; covering.pending > 0; covering = supervisor.coverUpTo(5000)) {
          answers.push(post(intake, 7, reportOf({ at: at(second++), hostname: "h7" })))
          yield* journal.flushed
        }
        yield* until("the answers", () => answers.every(({ length }) => length > 0))

        expect(answers.length).toBeGreaterThanOrEqual(10)
        expect(new Set(answers.flat().map(({ _tag }) => _tag))).toEqual(new Set(["Acknowledged"]))
        for (const id of [1, 512, 513, 2500, 5000]) expect(yield* covered(id)).toBeGreaterThan(0)
      }),
      { nodes: 5000 }
    )
  )

  it.effect("deletes nothing whose checkpoint could not be written", () => {
    const fails = { left: 1 }
    const wrap = (store: Store): Store => ({
      ...store,
      write: (batch) => {
        if (batch.some(({ kind }) => kind === "checkpoint") && fails.left-- > 0) throw full()
        store.write(batch)
      }
    })
    return inKeptEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        for (let gone = 0; gone < tailMs + 5 * roundMs && fails.left > 0; gone += 5000) {
          yield* TestClock.adjust(5000)
          yield* turns(20)
        }
        expect([fails.left, (yield* journalRows).length, yield* covered(1)]).toEqual([0, 1, 0])
        yield* rounds(2 * roundMs)

        expect([(yield* journalRows).length, yield* covered(1)]).toEqual([0, 1])
      }),
      { wrap }
    )
  })

  it.effect("halves what it keeps while the database is larger than two gigabytes", () => {
    const size = { bytes: 3e9 }
    return inKeptEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        yield* rounds(tailMs / 2)
        expect((yield* journalRows).length).toBe(1)
        yield* rounds(2 * roundMs)
        expect((yield* journalRows).length).toBe(0)
      }),
      { wrap: (store) => ({ ...store, bytes: () => size.bytes }) }
    )
  })

  it.effect("touches nothing while the disk refuses, and goes on when it does not", () => {
    const faults = makeFaults()
    return inKeptEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        faults.fault = full()
        expect(yield* send(1, { at: at(2) })).toEqual({ _tag: "Refused" })
        yield* rounds(tailMs + 3 * roundMs)
        expect([(yield* journalRows).length, yield* covered(1)]).toEqual([1, 0])
        faults.fault = undefined
        yield* rounds(3 * roundMs)

        expect([(yield* journalRows).length, yield* covered(1)]).toEqual([0, 1])
      }),
      faults
    )
  })

  it.effect("is started again after a defect, and says what it was", () => {
    const fails = { left: 0 }
    const wrap = (store: Store): Store => ({
      ...store,
      trim: (...args) => {
        if (fails.left-- > 0) throw new Error("disk I/O error")
        return store.trim(...args)
      }
    })
    return inKeptEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        fails.left = 2
        yield* rounds(tailMs + 3 * roundMs)
        yield* turns(5)

        expect((yield* journalRows).length).toBe(0)
        const status = (yield* FiberRegister).list().find(({ name }) => name === "Retention")
        expect(status).toMatchObject({ state: "running", restarts: 2, last_error: expect.stringContaining("disk I/O") })
      }),
      { wrap }
    )
  })
})
