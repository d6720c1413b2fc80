// Properties of the sliding count against a list of every event.
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import * as RateLimit from "../../src/core/RateLimit.ts"

const windowMs = 60_000
const startMs = 1_900_000_000_000

const gaps = fc.array(fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 90_000 })), {
  maxLength: 200
})
const limits = fc.integer({ min: 1, max: 12 })

/** Plays attempts at the given gaps and adds each one that fits; answers the moments of those. */
const play = (steps: ReadonlyArray<number>, limit: number) => {
  let nowMs = startMs
  let count = RateLimit.none
  const taken: Array<number> = []
  for (const step of steps) {
    nowMs += step
    if (RateLimit.remaining(count, nowMs, { limit, windowMs }) === 0) continue
    count = RateLimit.add(count, nowMs, windowMs)
    taken.push(nowMs)
  }
  return { count, nowMs, taken }
}

describe("RateLimit", () => {
  it("refuses the event after the last one of the quota, and has room again when the slot has faded", () => {
    let count = RateLimit.none
    for (let i = 0; i < 5; i++) count = RateLimit.add(count, startMs, windowMs)
    const quota = { limit: 5, windowMs }

    expect(RateLimit.remaining(count, startMs, quota)).toBe(0)
    // A fifth of the next slot has to pass until four of the five remain in view.
    const nextSlotMs = (Math.floor(startMs / windowMs) + 1) * windowMs
    expect(RateLimit.freeAtMs(count, startMs, quota)).toBe(nextSlotMs + 12_000)
  })

  it("never lets more than the quota into one slot, nor more than twice the quota into any window", () => {
    fc.assert(
      fc.property(gaps, limits, (steps, limit) => {
        const { taken } = play(steps, limit)
        for (const from of taken) {
          expect(taken.filter((at) => at >= from && at < from + windowMs).length).toBeLessThanOrEqual(2 * limit)
          const slot = Math.floor(from / windowMs)
          expect(taken.filter((at) => Math.floor(at / windowMs) === slot).length).toBeLessThanOrEqual(limit)
        }
      })
    )
  })

  it("names the first millisecond at which an event fits", () => {
    fc.assert(
      fc.property(gaps, limits, (steps, limit) => {
        const { count, nowMs } = play(steps, limit)
        const quota = { limit, windowMs }
        const freeAtMs = RateLimit.freeAtMs(count, nowMs, quota)

        expect(RateLimit.remaining(count, freeAtMs, quota)).toBeGreaterThan(0)
        if (freeAtMs > nowMs) expect(RateLimit.remaining(count, freeAtMs - 1, quota)).toBe(0)
      })
    )
  })

  it("forgets everything after two windows without an event", () => {
    fc.assert(
      fc.property(gaps, limits, (steps, limit) => {
        const { count, nowMs } = play(steps, limit)

        expect(RateLimit.isSpent(count, nowMs + 2 * windowMs, windowMs)).toBe(true)
        expect(RateLimit.remaining(count, nowMs + 2 * windowMs, { limit, windowMs })).toBe(limit)
      })
    )
  })

  it("keeps the count when the clock goes back", () => {
    let count = RateLimit.none
    for (let i = 0; i < 5; i++) count = RateLimit.add(count, startMs, windowMs)

    expect(RateLimit.remaining(count, startMs - 3_600_000, { limit: 5, windowMs })).toBe(0)
  })
})
