// Fixed fibers: started again after whatever ends them, with a rest between, and seen by the status endpoint.
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema, TestClock } from "effect"
import { FiberRegister, statusOf, supervised, type Watch } from "../../runtime/FiberStatus.ts"
import { FiberStatus } from "../../schema/System.ts"
import { quiet } from "../store/Support.ts"

const watchOf = (name: string, depth = () => 0, depthMax = 0) =>
  Effect.map(FiberRegister, (register) => register.register(name, depth, depthMax))

/** A loop that notes when it starts and then ends as it is told. */
const noting = (starts: Array<number>, end: (run: number) => Effect.Effect<never>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    starts.push(now)
    return end(starts.length)
  })

const test = (name: string, body: Effect.Effect<void, never, FiberRegister>, timeoutMs = 30_000) =>
  it.effect(name, () => body.pipe(Effect.provide([FiberRegister.layer, quiet])), timeoutMs)

describe("a supervised fiber", () => {
  test(
    "is started again after a defect, a thrown error and its own interruption, and tells the last of them",
    Effect.gen(function* () {
      const watch = yield* watchOf("Worker")
      const starts: Array<number> = []
      const ends = [
        Effect.die(new Error("first\nwith a second line")),
        Effect.sync((): never => {
          throw new TypeError("second")
        }),
        Effect.interrupt
      ]
      const fiber = yield* Effect.fork(
        supervised(
          watch,
          noting(starts, (run) => ends[run - 1] ?? Effect.never)
        )
      )
      yield* TestClock.adjust(1)
      expect(statusOf(watch)).toMatchObject({ state: "restarting", restarts: 1, last_error: "Error: first" })
      expect(statusOf(watch).last_error_at).toBe("1970-01-01T00:00:00.000Z")
      yield* TestClock.adjust(120)
      expect(statusOf(watch)).toMatchObject({ state: "restarting", restarts: 2, last_error: "TypeError: second" })
      yield* TestClock.adjust(240)
      expect(statusOf(watch)).toMatchObject({ restarts: 3 })
      yield* TestClock.adjust(480)

      expect(statusOf(watch)).toMatchObject({ state: "running", restarts: 3 })
      expect(starts.length).toBe(4)
      yield* Fiber.interrupt(fiber)
      expect(statusOf(watch).state).toBe("stopped")
    })
  )

  test(
    "rests 100 ms, then twice as long each time up to ten seconds, a fifth more or less",
    Effect.gen(function* () {
      const watch = yield* watchOf("Worker")
      const starts: Array<number> = []
      const fiber = yield* Effect.fork(
        supervised(
          watch,
          noting(starts, () => Effect.die("again"))
        )
      )
      for (let i = 0; i < 1100; i++) yield* TestClock.adjust(50)
      yield* Fiber.interrupt(fiber)
      const rests = starts.slice(1).map((at, i) => at - (starts[i] ?? 0))
      const expected = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]

      expect(rests.length).toBeGreaterThanOrEqual(9)
      for (const [i, restMs] of rests.slice(0, 10).entries()) {
        const meant = expected[i] ?? 0
        expect(restMs).toBeGreaterThanOrEqual(meant * 0.8)
        // The clock of this test moves in steps of 50 ms.
        expect(restMs).toBeLessThanOrEqual(meant * 1.2 + 50)
      }
    }),
    60_000
  )

  test(
    "rests briefly again after two quiet minutes",
    Effect.gen(function* () {
      const watch = yield* watchOf("Worker")
      const starts: Array<number> = []
      // Six quick ends, then one after three minutes of work.
      const loop = noting(starts, (run) =>
        run <= 6 ? Effect.die("quick") : Effect.andThen(Effect.sleep("3 minutes"), Effect.die("late"))
      )
      const fiber = yield* Effect.fork(supervised(watch, loop))
      for (let i = 0; i < 10; i++) yield* TestClock.adjust(1000)
      expect(starts.length).toBe(7)
      yield* TestClock.adjust("3 minutes")
      const diedAt = watch.lastErrorAt ?? 0
      for (let i = 0; i < 20; i++) yield* TestClock.adjust(20)

      expect(starts.length).toBe(8)
      expect((starts[7] ?? 0) - diedAt).toBeLessThanOrEqual(400)
      yield* Fiber.interrupt(fiber)
    })
  )

  test(
    "tells at most 300 characters of its error",
    Effect.gen(function* () {
      const watch = yield* watchOf("Worker")
      const fiber = yield* Effect.fork(supervised(watch, Effect.die(new Error("x".repeat(5000)))))
      yield* TestClock.adjust(1)

      expect(watch.lastError?.length).toBe(300)
      yield* Fiber.interrupt(fiber)
    })
  )
})

describe("the register", () => {
  test(
    "lists every fiber with its depth of this moment, in the shape of the status answer",
    Effect.gen(function* () {
      const queue: Array<number> = []
      yield* watchOf("Journal", () => queue.length, 4096)
      yield* watchOf("Retention")
      const register = yield* FiberRegister
      queue.push(1, 2, 3)
      const listed = register.list()

      expect(Schema.decodeUnknownSync(Schema.Array(FiberStatus))(listed)).toEqual(listed)
      expect(listed).toMatchObject([
        {
          name: "Journal",
          state: "running",
          depth: 3,
          depth_max: 4096,
          restarts: 0,
          last_error: null,
          last_error_at: null
        },
        { name: "Retention", depth: 0, depth_max: 0 }
      ])
    })
  )

  test(
    "knows one fiber per name, the last that registered",
    Effect.gen(function* () {
      yield* watchOf("Worker")
      const second: Watch = yield* watchOf("Worker", () => 7)
      second.restarts = 2
      expect((yield* FiberRegister).list()).toMatchObject([{ depth: 7, restarts: 2 }])
    })
  )
})
