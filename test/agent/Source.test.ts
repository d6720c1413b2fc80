import { describe, expect, it } from "vitest"
import { makeSource } from "../../src/agent/Source.ts"
import { makeTestClock } from "./support/Machine.ts"

describe("makeSource", () => {
  it("answers the unknown value until the first success", () => {
    const source = makeSource(makeTestClock(), -1, () => {
      throw new Error("absent")
    })
    expect(source.value()).toBe(-1)
  })

  it("bridges two failures with the last value and admits the third", () => {
    let isBroken = false
    const source = makeSource(makeTestClock(), 0, () => {
      if (isBroken) throw new Error("gone")
      return 7
    })
    const before = source.value()
    isBroken = true
    expect([before, source.value(), source.value(), source.value()]).toEqual([7, 7, 7, 0])
    isBroken = false
    expect(source.value()).toBe(7)
  })

  it("rests after a slow read for twenty times its duration", () => {
    const clock = makeTestClock()
    let reads = 0
    const source = makeSource(clock, 0, () => {
      clock.pass(100)
      return ++reads
    })
    source.value()
    clock.pass(1999)
    expect(source.value()).toBe(1)
    clock.pass(1)
    expect(source.value()).toBe(2)
  })
})
