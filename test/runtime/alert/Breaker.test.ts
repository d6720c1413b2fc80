// Pauses between attempts and the rest of a channel: bounds that hold for every number of failures.
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { Breaker, limitDelayMs, retryDelayMs } from "../../../runtime/alert/Breaker.ts"

describe("the pause before another attempt", () => {
  it("is a random part of 2 s that doubles up to 5 min, never less than a second", () => {
    const most = [2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]
    expect(most.map((_, i) => retryDelayMs(i + 1, 0.999999))).toEqual(most)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0, max: 0.9999, noNaN: true }),
        (n, chance) => {
          const delay = retryDelayMs(n, chance)
          expect(Number.isInteger(delay)).toBe(true)
          expect(delay).toBeGreaterThanOrEqual(1000)
          expect(delay).toBeLessThanOrEqual(Math.max(1000, Math.round((most[n - 1] ?? 300_000) * chance)))
        }
      )
    )
  })

  it("that the other side asked for is granted between a second and an hour", () => {
    expect([0, -5, 1500.2, 3_600_000, 1e12].map(limitDelayMs)).toEqual([1000, 1000, 1501, 3_600_000, 3_600_000])
  })
})

describe("a channel's rest", () => {
  it("begins with the fifth failure in a row, doubles from 2 s to 5 min and ends with the first answer", () => {
    const breaker = new Breaker()
    const rests = Array.from({ length: 14 }, () => {
      breaker.failed(1000)
      return Math.max(0, breaker.restsUntilMs(1000) - 1000)
    })

    expect(rests).toEqual([0, 0, 0, 0, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000])
    expect(breaker.state(1000)).toBe("resting")
    // Over, but not yet proven.
    expect([breaker.restsUntilMs(301_000), breaker.state(301_000)]).toEqual([0, "resting"])
    breaker.answered()
    expect([breaker.restsUntilMs(1000), breaker.state(1000), breaker.failuresInRow]).toEqual([0, "ready", 0])
  })

  it("is no rest when the other side asked for a pause", () => {
    const breaker = new Breaker()
    breaker.limited(5000)

    expect([breaker.restsUntilMs(1000), breaker.state(1000)]).toEqual([5000, "limited"])
    expect([breaker.restsUntilMs(5000), breaker.state(5000)]).toEqual([0, "ready"])
  })
})
