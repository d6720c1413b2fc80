// Long computations beside an event loop: each gives way, and no two of them work in the same turn.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Ahead } from "../../runtime/ReadAhead.ts"
import { inSlices } from "../../runtime/Slices.ts"
import type { Look } from "../../src/store/ReadAhead.ts"
import { work } from "../support/Work.ts"

/** Counts the turns of the event loop while it is asked to. */
const turnsOf = () => {
  let turn = 0
  let isOver = false
  const next = () => {
    turn++
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  return { now: () => turn, end: () => (isOver = true) }
}

function* steps(turns: { now: () => number }, seen: Array<number>, count: number): Generator<void, string> {
  for (let i = 0; i < count; i++) {
    work(3)
    seen.push(turns.now())
    yield
  }
  return "the result"
}

describe("work in slices", () => {
  it.live("goes on once what it says that it will read was brought, and without anybody to bring it at once", () =>
    Effect.gen(function* () {
      const looks: ReadonlyArray<Look> = [{ freePages: 1 }]
      const seen: Array<string> = []
      function* reader() {
        yield
        seen.push("asks")
        yield looks
        seen.push("reads")
      }
      const bring: Ahead["bring"] = (wanted) =>
        Effect.async((resume) => {
          seen.push(wanted === looks ? "brought" : "something else")
          setTimeout(() => resume(Effect.void), 5)
        })
      yield* inSlices(reader(), { bring })
      expect(seen.splice(0)).toEqual(["asks", "brought", "reads"])
      yield* inSlices(reader())
      expect(seen).toEqual(["asks", "reads"])
    })
  )

  it.live("gives its result, and the loop a turn after every few milliseconds", () =>
    Effect.gen(function* () {
      const turns = turnsOf()
      const seen: Array<number> = []
      expect(yield* inSlices(steps(turns, seen, 10))).toBe("the result")
      turns.end()

      const most = Math.max(...seen.map((turn) => seen.filter((other) => other === turn).length))
      expect([seen.length, most]).toEqual([10, 2])
    })
  )

  it.live("never works for two computations in the same turn", () =>
    Effect.gen(function* () {
      const turns = turnsOf()
      const seen: ReadonlyArray<Array<number>> = [[], [], []]
      yield* Effect.all(
        seen.map((own) => inSlices(steps(turns, own, 6))),
        { concurrency: "unbounded" }
      )
      turns.end()

      expect(seen.map((own) => own.length)).toEqual([6, 6, 6])
      const taken = seen.flatMap((own) => [...new Set(own)])
      expect(new Set(taken).size).toBe(taken.length)
    })
  )

  it.live("takes a quarter of the time, however many computations there are", () =>
    Effect.gen(function* () {
      const turns = turnsOf()
      const startedAt = performance.now()
      yield* Effect.all(
        [1, 2, 3].map(() => inSlices(steps(turns, [], 20))),
        { concurrency: "unbounded" }
      )
      turns.end()

      // Three times twenty steps of three milliseconds.
      expect(performance.now() - startedAt).toBeGreaterThan(0.8 * 4 * 180)
    })
  )

  it.live("lets the others go on when one of them dies, or is interrupted between two portions", () =>
    Effect.gen(function* () {
      const dying = function* (): Generator<void, void> {
        yield
        throw new Error("a defect")
      }
      const endless = function* (): Generator<void, void> {
        for (;;) {
          work(1)
          yield
        }
      }
      const fiber = yield* Effect.fork(inSlices(endless()))
      const exit = yield* Effect.exit(inSlices(dying()))
      yield* Fiber.interrupt(fiber)
      const turns = turnsOf()
      const after = yield* inSlices(steps(turns, [], 2))
      turns.end()

      expect([exit._tag, after]).toEqual(["Failure", "the result"])
    })
  )
})
