// The timer wheel against a plain map, over any schedule and any clock.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Deadlines } from "../../../src/core/alert/Deadlines.ts"

const startMs = 1_900_000_000_000

/** Some past, most soon, some beyond several turns of the wheel. */
const delay = fc.oneof(
  fc.integer({ min: -5000, max: 0 }),
  fc.integer({ min: 0, max: 120_000 }),
  fc.integer({ min: 0, max: 5_000_000 })
)
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("arm" as const), id: fc.nat(20), ms: delay }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disarm" as const), id: fc.nat(20), ms: fc.constant(0) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      id: fc.constant(0),
      ms: fc.integer({ min: 0, max: 30_000 })
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      id: fc.constant(0),
      ms: fc.integer({ min: -4_000_000, max: 8_000_000 })
    })
  }
)

describe("Deadlines", () => {
  it("tells nobody before the time, nor twice, nor whoever was disarmed", () => {
    const wheel = new Deadlines(startMs)
    wheel.arm(1, startMs + 2500)
    wheel.arm(2, startMs + 2500)
    wheel.disarm(2)

    expect(wheel.due(startMs + 2499)).toEqual([])
    expect(wheel.due(startMs + 3000)).toEqual([1])
    expect(wheel.due(startMs + 60_000)).toEqual([])
    expect(wheel.size).toBe(0)
  })

  it("forgets the earlier deadline of an id that is armed again", () => {
    const wheel = new Deadlines(startMs)
    wheel.arm(1, startMs + 1000)
    wheel.arm(1, startMs + 9000)

    expect(wheel.due(startMs + 8999)).toEqual([])
    expect(wheel.due(startMs + 9000)).toEqual([1])
  })

  it("holds a deadline that had passed when it was armed, through a clock that is set back, until its time", () => {
    const wheel = new Deadlines(startMs)
    wheel.arm(1, startMs - 1000)

    expect(wheel.due(startMs - 3_600_000)).toEqual([])
    expect(wheel.due(startMs - 1000)).toEqual([1])
  })

  it("tells everybody at once whose time a clock set forward has passed", () => {
    const wheel = new Deadlines(startMs)
    for (let id = 0; id < 3000; id++) wheel.arm(id, startMs + id * 1000)

    expect(wheel.due(startMs + 2_999_000)).toHaveLength(3000)
  })

  it("tells each armed id within a second after its time and never before, whatever the clock does", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 120 }), (commands) => {
        const wheel = new Deadlines(startMs)
        const armed = new Map<number, number>()
        let nowMs = startMs
        for (const { id, kind, ms } of commands) {
          if (kind === "arm") {
            wheel.arm(id, nowMs + ms)
            armed.set(id, nowMs + ms)
          } else if (kind === "disarm") {
            wheel.disarm(id)
            armed.delete(id)
          } else {
            nowMs += ms
            for (const due of wheel.due(nowMs)) {
              expect(armed.get(due)).toBeLessThanOrEqual(nowMs)
              armed.delete(due)
            }
            for (const atMs of armed.values()) expect(nowMs - atMs).toBeLessThan(1000)
          }
          expect(wheel.size).toBe(armed.size)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("carries ten thousand ids that are asked for their new deadline as they come due", () => {
    const wheel = new Deadlines(startMs)
    for (let id = 0; id < 10_000; id++) wheel.arm(id, startMs + 14_000 + (id % 3000))
    let asked = 0
    for (let nowMs = startMs; nowMs <= startMs + 140_000; nowMs += 1000) {
      for (const id of wheel.due(nowMs)) {
        asked++
        wheel.arm(id, nowMs + 14_000)
      }
    }

    expect(wheel.size).toBe(10_000)
    // Once per threshold each, however many reports came in between.
    expect(asked).toBeLessThanOrEqual(10 * 10_000)
    expect(asked).toBeGreaterThanOrEqual(8 * 10_000)
  })
})
