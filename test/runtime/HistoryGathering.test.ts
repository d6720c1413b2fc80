// Readings that take several turns of the event loop, and what becomes of them when chunks go away under them.
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Compactor } from "../../runtime/Compactor.ts"
import { gathering, inTurns, receiving, type Tools } from "../../runtime/HistoryGathering.ts"
import { HistoryMarks } from "../../runtime/HistoryMarks.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { TailRows } from "../../runtime/TailRows.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { HistoryQuery } from "../../src/core/HistoryQuery.ts"
import { isoSeconds } from "../../src/core/Online.ts"
import { HistoryStore } from "../../src/store/History.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { epoch } from "../support/Engine.ts"
import { elapse, expected, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { Hands } from "../support/ManualClock.ts"

const busy = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** Each step takes longer than a portion may, in so many turns. */
function* slowed<A>(steps: Generator<void, A>, turns = 1): Generator<void, A> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    for (let turn = 0; turn < turns; turn++) {
      busy(5)
      yield
    }
  }
}

const reading = <A>(begin: () => Generator<void, A>): Promise<A> =>
  new Promise((resolve, reject) => {
    inTurns(begin, (result) =>
      Exit.isSuccess(result) ? resolve(result.value) : reject(Cause.squash(result.cause) as Error)
    )
  })

const tools: Effect.Effect<Tools, never, HistoryStore | HistoryMarks | NodeSupervisor | JournalStore> = Effect.gen(
  function* () {
    return {
      store: yield* HistoryStore,
      marks: yield* HistoryMarks,
      supervisor: yield* NodeSupervisor,
      tails: new TailRows(yield* JournalStore),
      layouts: new Map()
    }
  }
)

describe("a reading", () => {
  it("that is short is done at once, in the turn in which it began", () => {
    const done: Array<number> = []
    inTurns(
      function* () {
        yield
        yield
        return 7
      },
      (result) => done.push(Exit.getOrElse(result, () => Number.NaN))
    )

    expect(done).toEqual([7])
  })

  it("that is long takes one portion in a turn, and lets timers and sockets in between", async () => {
    let turns = 0
    const count = (): void => {
      turns++
      if (turns < 100) setImmediate(count)
    }
    setImmediate(count)
    const before = turns
    const steps = await reading(() =>
      slowed(
        (function* () {
          for (let i = 0; i < 10; i++) yield
          return 10
        })()
      )
    )

    expect(steps).toBe(10)
    expect(turns - before).toBeGreaterThanOrEqual(9)
  })

  it("that is left is not taken any further, and nobody is told of it", async () => {
    let taken = 0
    let told = 0
    const leave = inTurns(
      () =>
        slowed(
          (function* () {
            for (;;) {
              taken++
              yield
            }
          })()
        ),
      () => told++
    )
    leave()
    await new Promise((resolve) => setTimeout(resolve, 30))

    expect([taken, told]).toEqual([1, 0])
  })

  it("that fails hands on what was thrown, in the first turn and in later ones", async () => {
    for (const at of [0, 3]) {
      const failing = () =>
        slowed(
          (function* () {
            for (let i = 0; i < at; i++) yield
            throw new Error("the disk is gone")
          })()
        )
      await expect(reading(failing)).rejects.toThrow("the disk is gone")
    }
  })
})

describe("a reading beside sealing, folding and joining", { timeout: 120_000 }, () => {
  it.effect("is of one moment: nothing is lost and nothing counted twice, however slowly it goes", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        const clock = yield* Hands
        const id = NodeId.make(1)
        const made = yield* tools
        let restarted = 0
        for (let round = 0; round < 6; round++) {
          const settles: Array<() => void> = []
          for (let n = 0; n < 700; n++) {
            settles.push(yield* tell(1, { cpu: ((n * 37 + round) % 100) / 100 }, memory))
            clock.advance(3000)
            if (n % 100 === 99) yield* written
          }
          yield* written
          for (const settle of settles) settle()
          const toMs = clock.now
          const query: HistoryQuery = {
            serverId: 1,
            metric: "cpu.usage_ratio",
            range: "custom",
            agg: "avg",
            device: "",
            fromMs: epoch,
            toMs,
            stepMs: 900_000,
            tier: "quarter"
          }
          let begun = 0
          const beginning = () => {
            begun++
            return slowed(gathering(made, id, query), 12)
          }
          const [points, received] = yield* Effect.all(
            [
              Effect.promise(() => reading(beginning)),
              Effect.promise(() => reading(() => slowed(receiving(made, id, "quarter", { fromMs: epoch, toMs }), 12))),
              Effect.zipRight(
                elapse(5000),
                Effect.flatMap(Compactor, ({ drain }) => drain)
              )
            ],
            { concurrency: "unbounded" }
          )
          const found: Array<{ ts: string; value: number }> = []
          points.points.each("avg", (startMs, value) => found.push({ ts: isoSeconds(startMs), value }))
          const all = expected(memory, 1, ({ cpu }) => cpu, { agg: "avg", fromMs: epoch, toMs, stepMs: 900_000 })
          expect([round, found]).toEqual([round, all])
          expect([round, received.reduce((sum, n) => sum + n, 0)]).toEqual([round, memory.length])
          if (begun > 1) restarted++
        }
        // Otherwise nothing went away under any of them.
        expect(restarted).toBeGreaterThan(0)
      })
    )
  )
})
