// The service's doubt in itself: a stall, a set clock, a refusing journal and the start all wait for a full threshold.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { deadlineMs, silenceMs, started, ticked } from "../../../src/core/alert/Health.ts"

const startMs = 1_900_000_000_000
const tickAt = (passedMs: number, setMs = 0, isTaking = true) => ({
  nowMs: startMs + passedMs + setMs,
  monoMs: 500 + passedMs,
  isTaking
})

describe("Health", () => {
  const fresh = started(tickAt(0))

  it.each([
    ["a stall", tickAt(3001), "stall"],
    ["a clock set forward", tickAt(1000, 2001), "clock"],
    ["a clock set back", tickAt(1000, -2001), "clock"],
    ["a journal that takes nothing", tickAt(1000, 0, false), "refusing"]
  ] as const)("begins anew after %s", (_, tick, doubt) => {
    const health = ticked(fresh, tick)

    expect(health).toEqual({ ...tick, healthySinceMs: tick.nowMs, healthySinceMonoMs: tick.monoMs, doubt })
  })

  it("begins at the start and is not moved by ticks that come a little late or by a clock that is slewed", () => {
    const health = [tickAt(3000), tickAt(4000, 1), tickAt(7000, 1999)].reduce(ticked, fresh)

    expect(health).toMatchObject({ healthySinceMs: startMs, healthySinceMonoMs: 500, doubt: "start" })
  })

  it("is as old as the last tick that gave reason to doubt, for any course of ticks", () => {
    const course = fc.array(
      fc.record({
        passedMs: fc.oneof({ weight: 5, arbitrary: fc.constant(1000) }, { weight: 1, arbitrary: fc.nat(10_000) }),
        setMs: fc.oneof(
          { weight: 5, arbitrary: fc.constant(0) },
          { weight: 1, arbitrary: fc.integer({ min: -9000, max: 9000 }) }
        ),
        isTaking: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) })
      }),
      { maxLength: 60 }
    )
    fc.assert(
      fc.property(course, (steps) => {
        let [passed, set, expected] = [0, 0, 500]
        let health = started(tickAt(0))
        for (const { isTaking, passedMs, setMs } of steps) {
          passed += passedMs
          set += setMs
          if (passedMs > 3000 || Math.abs(setMs) > 2000 || !isTaking) expected = 500 + passed
          health = ticked(health, tickAt(passed, set, isTaking))
          expect(health.healthySinceMonoMs).toBe(expected)
        }
      })
    )
  })
})

describe("the offline deadline", () => {
  it("is the configured time, or four intervals of a slow node, after its last report", () => {
    expect(silenceMs(14, 3000)).toBe(14_000)
    expect(silenceMs(14, 60_000)).toBe(240_000)
    expect(deadlineMs(startMs, startMs - 90_000, silenceMs(14, 3000))).toBe(startMs + 14_000)
  })

  it("gives a full threshold to nodes that fell silent while nobody listened", () => {
    expect(deadlineMs(startMs - 3_600_000, startMs, 14_000)).toBe(startMs + 14_000)
  })
})
