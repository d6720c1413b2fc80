// The view that counts for billing: out, the sum, or the larger side of each figure on its own.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type EffectiveDirection, selected, selectedUsage, type Sides, type Usage } from "../../src/core/Direction.ts"

const sides = (inValue: number, outValue: number, both = inValue + outValue): Sides => ({
  in: inValue,
  out: outValue,
  both
})
const usage: Usage = { bytes: sides(910, 880), peak: sides(70, 90, 130), p95: sides(12, 12, 20) }
const modes: ReadonlyArray<EffectiveDirection> = ["out", "both", "max"]

describe("the selected direction", () => {
  it.each(modes)("is empty without data in mode %s", (mode) => {
    expect(selectedUsage(mode, undefined)).toEqual({
      bytes: { value: 0, direction: "" },
      peak: { value: 0, direction: "" },
      p95: { value: null, direction: "" }
    })
  })

  it.each(modes)("of a percentile that is not available is empty in mode %s, the others stay", (mode) => {
    const view = selectedUsage(mode, { ...usage, p95: null })

    expect(view.p95).toEqual({ value: null, direction: "" })
    expect(view.bytes.direction).not.toBe("")
    expect(view.peak.direction).not.toBe("")
  })

  it("is out for every figure in mode out", () => {
    expect(selectedUsage("out", usage)).toEqual({
      bytes: { value: 880, direction: "out" },
      peak: { value: 90, direction: "out" },
      p95: { value: 12, direction: "out" }
    })
  })

  it("is the total in mode both, where rates are of the per-bucket sum and not the sum of two", () => {
    expect(selectedUsage("both", usage)).toEqual({
      bytes: { value: 1790, direction: "total" },
      peak: { value: 130, direction: "total" },
      p95: { value: 20, direction: "total" }
    })
  })

  it("is chosen for each figure on its own in mode max, ties are out", () => {
    expect(selectedUsage("max", usage)).toEqual({
      bytes: { value: 910, direction: "in" },
      peak: { value: 90, direction: "out" },
      p95: { value: 12, direction: "out" }
    })
  })

  it("is in only where in is strictly larger", () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(3), (a, b) => {
        expect(selected("max", sides(a, b))).toEqual({ value: Math.max(a, b), direction: a > b ? "in" : "out" })
      })
    )
  })
})
