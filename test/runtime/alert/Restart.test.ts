// What a restart leaves of alerts: conditions that hold, cooldowns, and a first minute in which nothing opens.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { onDisk } from "../../support/Engine.ts"
import {
  atOnce,
  events,
  high,
  inAlerting,
  low,
  makeClocks,
  passing,
  prepared,
  statesOf,
  tell,
  telling
} from "./Alerting.ts"

const minute = 60_000
describe("a restart", { timeout: 30_000 }, () => {
  it.live("goes on with a condition that has held for a while", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const clocks = makeClocks()
        const since = yield* inAlerting(
          Effect.gen(function* () {
            yield* prepared({ durationSec: 120 })
            yield* tell(1, high)
            const { now } = clocks.wall
            yield* telling(1, 30_000, high)
            return now
          }),
          { filename, clocks }
        )
        yield* inAlerting(
          Effect.gen(function* () {
            yield* telling(1, 80_000, high)
            expect(yield* statesOf(1)).toMatchObject([{ _tag: "Pending", sinceMs: since }])
            yield* telling(1, 10_000, high)
            expect(yield* events).toMatchObject([{ from: since + 120_000 }])
          }),
          { filename, clocks }
        )
      })
    )
  )

  it.live("does not cut a cooldown short", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const clocks = makeClocks()
        const closed = yield* inAlerting(
          Effect.gen(function* () {
            yield* prepared({ ...atOnce, cooldownMin: 5 })
            yield* tell(1, high)
            yield* passing(1000)
            yield* tell(1, low)
            return clocks.wall.now
          }),
          { filename, clocks }
        )
        yield* inAlerting(
          Effect.gen(function* () {
            yield* telling(1, 290_000, high)
            expect(yield* events).toHaveLength(1)
            yield* telling(1, 10_000, high)
            expect((yield* events)[1]).toMatchObject({ id: 2, from: closed + 5 * minute })
          }),
          { filename, clocks }
        )
      })
    )
  )
})

describe("the first minute", () => {
  it.live("opens nothing, but closes what is over; afterwards the alert opens without another report", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const clocks = makeClocks()
        yield* inAlerting(
          Effect.gen(function* () {
            yield* prepared()
            yield* tell(1, high)
          }),
          { filename, clocks }
        )
        const startedAt = clocks.wall.now
        yield* inAlerting(
          Effect.gen(function* () {
            yield* passing(1000)
            yield* tell(1, low)
            expect(yield* events).toMatchObject([{ reason: "condition_cleared" }])
            yield* telling(1, 56_000, high, 4000)
            expect([(yield* events).length, (yield* statesOf(1)).map(({ _tag }) => _tag)]).toEqual([1, ["Pending"]])
            yield* passing(4000)
            const opened = (yield* events)[1]
            expect(opened).toMatchObject({ id: 2, rule: 1 })
            expect((opened?.from ?? 0) - startedAt - minute).toBeLessThan(1000)
            expect((opened?.from ?? 0) - startedAt).toBeGreaterThanOrEqual(minute)
          }),
          { filename, clocks }
        )
      })
    )
  )
})
