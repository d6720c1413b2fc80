// The rolling window against a plain list: what it holds, how it grows, wraps and changes its vector size.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { hostSize } from "../../src/core/Layout.ts"
import { Window, WindowPool, windowValues } from "../../src/core/Window.ts"

interface Sample {
  readonly at: number
  readonly values: ReadonlyArray<number>
}
/** The same window as a list of samples, as its documentation has it. */
class NaiveWindow {
  samples: Array<Sample> = []
  private size = hostSize

  push(at: number, vector: Float64Array, size: number): void {
    const limit = Window.samples(size)
    if (size !== this.size) {
      this.samples = this.samples.slice(-limit).map(({ at: when, values }) => ({
        at: when,
        values: Array.from({ length: size }, (_, i) => (i < hostSize ? (values[i] as number) : Number.NaN))
      }))
      this.size = size
    }
    this.samples.push({ at, values: Array.from(vector.subarray(0, size), Math.fround) })
    if (this.samples.length > limit) this.samples.shift()
  }
}

const contents = (window: Window): ReadonlyArray<Sample> =>
  Array.from({ length: window.length }, (_, i) => ({
    at: window.timeAt(i),
    values: Array.from({ length: window.size }, (_, series) => window.valueAt(i, series))
  }))
/** As one text: tens of thousands of numbers are compared at once, and NaN stays visible. */
const asText = (samples: ReadonlyArray<Sample>): string =>
  samples.map(({ at, values }) => `${at}: ${values.join(" ")}`).join("\n")
const vectorOf = (size: number, seed: number): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => (i % 7 === 3 ? Number.NaN : seed * 1000.1 + i))

/** Few sizes, so that rows of the same one fill and wrap a window: the smallest, usual ones, and one past a slot. */
const sizes = fc.constantFrom(hostSize, hostSize + 12, 100, 250, Math.floor(windowValues / 10), windowValues / 4)
const pushes = fc.array(fc.record({ size: sizes, times: fc.integer({ min: 1, max: 70 }) }), {
  minLength: 1,
  maxLength: 6
})

describe("a window", () => {
  it.each(["memory of its own", "a pool"])("holds what a plain list would hold, with %s", (memory) => {
    const pool = memory === "a pool" ? new WindowPool() : undefined
    fc.assert(
      fc.property(pushes, fc.boolean(), (all, longer) => {
        const window = new Window(pool)
        const naive = new NaiveWindow()
        let at = 1_700_000_000_123
        for (const { size, times } of all) {
          for (let i = 0; i < times; i++) {
            at += 3000
            // The vector handed over may be longer than the layout.
            const vector = vectorOf(size + (longer ? 5 : 0), at % 977)
            window.push(at, vector, size)
            naive.push(at, vector, size)
          }

          expect(asText(contents(window)) === asText(naive.samples)).toBe(true)
        }
        window.release()
      }),
      { numRuns: 25 }
    )
  })

  it("is empty at first and after its release, and can be filled again", () => {
    const window = new Window(new WindowPool())
    expect(window.length).toBe(0)
    window.push(1, vectorOf(100, 1), 100)
    window.release()
    window.release()

    expect(window.length).toBe(0)
    window.push(2, vectorOf(hostSize, 2), hostSize)
    expect(contents(window)).toEqual([{ at: 2, values: Array.from(vectorOf(hostSize, 2), Math.fround) }])
  })

  it("keeps ten samples of a node with thousands of series, 64 of a bare one, and the times exactly", () => {
    expect(Window.samples(100_000)).toBe(10)
    expect(Window.samples(1)).toBe(64)
    expect(Window.samples(100)).toBe(Math.floor(windowValues / 100))
    const window = new Window()
    for (let i = 0; i < 25; i++) window.push(1_700_000_000_001 + i, vectorOf(10_000, i), 10_000)

    expect(window.length).toBe(10)
    expect(window.timeAt(0)).toBe(1_700_000_000_016)
    expect(window.timeAt(9)).toBe(1_700_000_000_025)
  })

  it("keeps the newest samples when a larger vector leaves room for fewer", () => {
    const window = new Window()
    for (let i = 0; i < 70; i++) window.push(i, vectorOf(hostSize, i), hostSize)
    window.push(70, vectorOf(windowValues, 70), windowValues)

    expect(window.length).toBe(10)
    expect([window.timeAt(0), window.timeAt(9)]).toEqual([61, 70])
    expect(window.valueAt(0, 1)).toBe(Math.fround(61 * 1000.1 + 1))
    expect(window.valueAt(0, hostSize)).toBeNaN()
  })
})

describe("a pool of windows", () => {
  it("gives each window memory that no other has", () => {
    const pool = new WindowPool()
    const windows = Array.from({ length: WindowPool.slabWindows + 3 }, () => new Window(pool))
    for (const turn of [1, 2, 3]) {
      windows.forEach((window, i) => window.push(turn, new Float64Array(hostSize).fill(i * turn), hostSize))
    }

    windows.forEach((window, i) => {
      expect(contents(window).map(({ values }) => new Set(values))).toEqual(
        [1, 2, 3].map((turn) => new Set([i * turn]))
      )
    })
  })

  it("takes memory back: releases and new sizes need no second slab", () => {
    const pool = new WindowPool()
    const first = pool.take()
    pool.give(first)
    for (let i = 0; i < 1000; i++) {
      const window = new Window(pool)
      for (const size of [hostSize, 100, 60, windowValues]) window.push(i, vectorOf(size, i), size)
      window.release()
    }
    const taken = Array.from({ length: WindowPool.slabWindows }, () => pool.take().values)

    expect(taken.every((values) => values.buffer === first.values.buffer)).toBe(true)
    expect(new Set(taken.map((values) => values.byteOffset)).size).toBe(WindowPool.slabWindows)
  })

  it("shows a new window nothing of the one that had its memory before", () => {
    const pool = new WindowPool()
    const first = new Window(pool)
    for (let i = 0; i < 100; i++) first.push(i, new Float64Array(100).fill(777), 100)
    first.release()
    const next = new Window(pool)
    next.push(1, vectorOf(hostSize, 1), hostSize)
    next.push(2, vectorOf(100, 2), 100)

    expect(next.length).toBe(2)
    expect(contents(next).flatMap(({ values }) => values)).not.toContain(777)
  })
})
