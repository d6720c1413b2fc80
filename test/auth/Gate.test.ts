// The turnstile: refusals when full or late, and that hanging up frees nothing early.
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import * as Gate from "../../src/auth/Gate.ts"

const refuse = { full: () => "full" as const, late: () => "late" as const }
const settle = Effect.yieldNow().pipe(Effect.repeatN(20))

describe("Gate", () => {
  it.effect("refuses at once whoever would wait behind a full queue", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make({ permits: 1, waitingMax: 2, waitMs: 1_000 })
      const open = yield* Deferred.make<void>()
      const inside = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 3 }, () => gate.enter(Deferred.await(open), refuse)),
          { concurrency: 3 }
        )
      )
      yield* settle

      expect(yield* Effect.flip(gate.enter(Effect.void, refuse))).toBe("full")

      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(inside)
      expect(yield* gate.enter(Effect.succeed("in"), refuse)).toBe("in")
    })
  )

  it.effect("gives up on whoever waits too long, without letting them in later", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make({ permits: 1, waitingMax: 2, waitMs: 1_000 })
      const open = yield* Deferred.make<void>()
      let ran = 0
      const holder = yield* Effect.fork(gate.enter(Effect.as(Deferred.await(open), "held"), refuse).pipe(Effect.either))
      yield* settle
      const waiter = yield* Effect.fork(
        Effect.flip(
          gate.enter(
            Effect.sync(() => (ran += 1)),
            refuse
          )
        )
      )
      yield* settle

      yield* TestClock.adjust(1_000)
      expect(yield* Fiber.join(waiter)).toBe("late")

      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(holder)
      expect(ran).toBe(0)
      expect(yield* gate.enter(Effect.succeed("in"), refuse)).toBe("in")
    })
  )

  it.effect("never runs more at once than it has permits, even when entrants hang up in the middle", () =>
    Effect.gen(function* () {
      const gate = yield* Gate.make({ permits: 2, waitingMax: 20, waitMs: 1_000 })
      let running = 0
      let most = 0
      let finished = 0
      const work = Effect.gen(function* () {
        running += 1
        most = Math.max(most, running)
        yield* settle
        running -= 1
        finished += 1
      })

      const fibers = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.fork(gate.enter(work, refuse)))
      yield* Effect.yieldNow().pipe(Effect.repeatN(5))
      const begun = running
      yield* Effect.forEach(fibers, Fiber.interruptFork)
      yield* Effect.forEach(fibers, Fiber.await)

      expect(begun).toBe(2)
      expect(most).toBe(2)
      expect(finished).toBe(2)
      expect(yield* gate.enter(Effect.succeed("in"), refuse)).toBe("in")
    })
  )
})
