// Answers about history beside what changes it: they are of one moment, whatever was sealed since the question was put.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Compactor } from "../../runtime/Compactor.ts"
import { chart, count, toolsOf } from "../../runtime/HistoryGathering.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import type { HistoryAnswer } from "../../schema/History.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { HistoryQuery } from "../../src/core/HistoryQuery.ts"
import { historyReader } from "../../src/store/HistoryReader.ts"
import { Database } from "../../src/store/Sql.ts"
import { epoch, onDisk } from "../support/Engine.ts"
import { asked, elapse, expected, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { Hands } from "../support/ManualClock.ts"

const id = NodeId.make(1)

/** Thirty-five minutes of reports, all acknowledged. */
const reported = (memory: Array<Remembered>, round: number) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    const settles: Array<() => void> = []
    for (let n = 0; n < 700; n++) {
      settles.push(yield* tell(1, { cpu: ((n * 37 + round) % 100) / 100 }, memory))
      clock.advance(3000)
      if (n % 100 === 99) yield* written
    }
    yield* written
    for (const settle of settles) settle()
  })

/** Everything since the epoch in quarters of an hour. */
const queryUntil = (toMs: number): HistoryQuery => ({
  serverId: 1,
  metric: "cpu.usage_ratio",
  range: "custom",
  agg: "avg",
  device: "",
  fromMs: epoch,
  toMs,
  stepMs: 900_000,
  tier: "quarter"
})

const remembered = (memory: ReadonlyArray<Remembered>, toMs: number) =>
  expected(memory, 1, ({ cpu }) => cpu, { agg: "avg", fromMs: epoch, toMs, stepMs: 900_000 })

const sealed = Effect.zipRight(
  elapse(5000),
  Effect.flatMap(Compactor, ({ drain }) => drain)
)

describe("an answer about history", { timeout: 120_000 }, () => {
  it.effect("counts nothing twice that was sealed or folded since the question was put, and loses nothing", () =>
    inHistory(
      Effect.gen(function* () {
        const memory: Array<Remembered> = []
        const tools = toolsOf(historyReader((yield* Database).handle))
        const actor = (yield* NodeSupervisor).actor(id)
        let sealedSince = 0
        for (let round = 0; round < 6; round++) {
          yield* reported(memory, round)
          const toMs = (yield* Hands).now
          const unsealed = [...(actor?.unsealed ?? [])]
          yield* sealed
          sealedSince += unsealed.filter((seq) => !actor?.unsealed.includes(seq)).length
          const found = chart(tools, { id, query: queryUntil(toMs), devices: [], unsealed })
          const { points } = JSON.parse(found.text) as HistoryAnswer
          expect([round, points]).toEqual([round, remembered(memory, toMs)])
          const counted = count(tools, { id, tier: "quarter", span: { fromMs: epoch, toMs }, unsealed })
          const sum = counted.counts.reduce((all, n) => all + n, 0)
          expect([round, sum, counted.damaged]).toEqual([round, memory.length, 0])
        }
        // Otherwise the lists that were handed over were of that very moment.
        expect(sealedSince).toBeGreaterThan(0)
      })
    )
  )

  it.live("that a thread gives is of one moment, too, while the service seals, folds and joins", () =>
    onDisk((filename) =>
      inHistory(
        Effect.gen(function* () {
          const memory: Array<Remembered> = []
          for (let round = 0; round < 4; round++) {
            yield* reported(memory, round)
            const toMs = (yield* Hands).now
            const range = { from: new Date(epoch).toISOString(), to: new Date(toMs).toISOString() }
            const questions = Effect.forEach(
              Array.from({ length: 40 }),
              () => Effect.zipLeft(asked(1, "cpu.usage_ratio", range), elapse(100)),
              { concurrency: 2 }
            )
            const [answers] = yield* Effect.all([questions, sealed], { concurrency: "unbounded" })
            for (const { missing, points, step_sec } of answers) {
              const all = expected(memory, 1, ({ cpu }) => cpu, {
                agg: "avg",
                fromMs: epoch,
                toMs,
                stepMs: step_sec * 1000
              })
              expect([round, points, missing]).toEqual([round, all, []])
            }
          }
        }),
        { filename }
      )
    )
  )
})
