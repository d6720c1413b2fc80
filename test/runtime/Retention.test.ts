// The tail of the journal: what leaves it and when, and that nothing leaves that a restart would miss.
import { describe, expect, it } from "@effect/vitest"
import { type Context, Effect } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Intake } from "../../runtime/Intake.ts"
import { Journal } from "../../runtime/Journal.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { NodeId } from "../../schema/Ids.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { full } from "../support/Disk.ts"
import {
  actorOf,
  type Answer,
  epoch,
  inEngine,
  journalRows,
  killedCopy,
  makeFaults,
  onDisk,
  post,
  reportOf,
  send,
  type Store,
  turns,
  until,
  viewOf
} from "../support/Engine.ts"
import { elapse, inHistory } from "../support/History.ts"
import { Hands } from "../support/ManualClock.ts"

const ok: Answer = { _tag: "Acknowledged", update: null }
const at = (seconds: number) => epoch + seconds * 1000
const poison = 0.666
/** By then a row is sealed: a whole stretch and what compaction waits for. Retention makes a round every so often. */
const [tailMs, roundMs] = [245_000, 15_000]

const rounds = (ms: number) => elapse(ms, 500)

const rowsOf = (id: number) => Effect.map(journalRows, (rows) => rows.filter(({ nodeId }) => nodeId === id))
const covered = (id: number) =>
  Effect.map(
    JournalStore,
    (store: Context.Tag.Service<typeof JournalStore>) => store.checkpoint(NodeId.make(id))?.seq ?? 0
  )

describe("retention", { timeout: 30_000 }, () => {
  it.effect(
    "Invariant 8: disk use is bounded: rows leave once they are sealed, each behind a checkpoint of its node",
    () =>
      inHistory(
        Effect.gen(function* () {
          const committed: Array<{ readonly seq: number; readonly nodeId: number }> = []
          const silentAfter = 20
          for (let n = 1; n <= 240; n++) {
            for (const id of n <= silentAfter ? [1, 2, 3] : [1, 2]) {
              // The second node is slow.
              if (id === 2 && n % 7 !== 0) continue
              expect(yield* send(id, { at: at(n), hostname: `h${id}` })).toEqual(ok)
              committed.push({ seq: (yield* Journal).lastSeq(), nodeId: id })
            }
            yield* elapse(3000, 500)
            if (n % 5 !== 0) continue
            const rows = yield* journalRows
            const kept = new Set(rows.map(({ seq }) => seq))
            for (const { nodeId, seq } of committed) {
              if (!kept.has(seq)) expect(yield* covered(nodeId)).toBeGreaterThanOrEqual(seq)
            }
            const { now } = yield* Hands
            const oldest = Math.min(...rows.map(({ receivedAt }) => receivedAt))
            expect(now - oldest).toBeLessThanOrEqual(tailMs + roundMs + 3100)
          }
          expect(yield* rowsOf(3)).toEqual([])
          expect(committed.length).toBeGreaterThan(270)
          expect((yield* journalRows).length).toBeLessThan(120)
        }),
        { nodes: 3 }
      )
  )

  it.effect(
    "leaves a node that has been silent for long the view it had, also over a kill",
    () =>
      onDisk((filename) =>
        Effect.gen(function* () {
          const before = yield* inHistory(
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
          yield* inHistory(
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
    return inHistory(
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
        yield* inHistory(
          Effect.gen(function* () {
            yield* rounds(tailMs + 3 * roundMs)
            expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 1, parked: 1 })
            expect([(yield* rowsOf(1)).length, (yield* rowsOf(2)).length]).toEqual([2, 0])
            faults.poison = undefined
            yield* elapse(40_000)
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
      write: (batch) => {
        const count = () => store.tail(0, 1e9, 1e6).length
        const before = count()
        store.write(batch)
        if (batch.some(({ kind }) => kind === "trim")) slices.push(before - count())
      }
    })
    return inHistory(
      Effect.gen(function* () {
        const journal = yield* Journal
        const { handle } = yield* Database
        const vector = new Float64Array(60)
        const row = {
          nodeId: NodeId.make(9),
          receivedAt: epoch,
          details: null,
          isApplied: true,
          checkpoint: null,
          facts: null,
          alerts: null
        }
        // Rows of a node that is long gone: nothing has to cover them.
        for (let i = 0; i < 2300; i++) {
          if (!journal.room()) yield* journal.flushed
          journal.offerRow(row, vector, vector.length, () => undefined)
        }
        yield* journal.flushed
        handle().exec("BEGIN")
        yield* rounds(roundMs)
        expect(slices).toEqual([])
        handle().exec("COMMIT")
        yield* elapse(500, 10)

        expect(slices).toEqual([500, 500, 500, 500, 300])
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
    return inHistory(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        for (let gone = 0; gone < tailMs + 5 * roundMs && fails.left > 0; gone += 5000) {
          yield* elapse(5000)
        }
        expect([fails.left, (yield* journalRows).length, yield* covered(1)]).toEqual([0, 1, 0])
        yield* rounds(2 * roundMs)

        expect([(yield* journalRows).length, yield* covered(1)]).toEqual([0, 1])
      }),
      { wrap }
    )
  })

  it.effect("touches nothing while the disk refuses, and goes on when it does not", () => {
    const faults = makeFaults()
    return inHistory(
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
      trimmable: (write) => {
        if (fails.left-- > 0) throw new Error("disk I/O error")
        return store.trimmable(write)
      }
    })
    return inHistory(
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
