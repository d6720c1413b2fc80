// @vitest-environment node
// The polling loop under a fake clock: failures first, then pauses and the ordinary rhythm.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { Poller, roundTimeoutMs, type Connection } from "../../src/web/live/Poller.ts"
import { ServerClock } from "../../src/web/live/ServerClock.ts"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const start = (load: (signal: AbortSignal) => Promise<number>, paused = false) => {
  const seen: Array<Connection> = []
  const rounds = vi.fn(load)
  const poller = new Poller({
    load: rounds,
    onChange: (connection) => void seen.push(connection),
    now: () => Date.now(),
    random: () => 0.5
  })
  poller.start(paused)
  return { poller, rounds, seen, last: () => seen.at(-1) }
}

const never = (signal: AbortSignal): Promise<number> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))

describe("a poller", () => {
  it("waits 3, 6, 12 and then 30 seconds after failures in a row", async () => {
    const { rounds, last } = start(() => Promise.reject(new Error("down")))
    await vi.advanceTimersByTimeAsync(0)
    for (const [index, waitMs] of [3000, 6000, 12_000, 30_000, 30_000].entries()) {
      expect(rounds).toHaveBeenCalledTimes(index + 1)
      expect(last()).toEqual({ kind: "reconnecting", retryAtMs: Date.now() + waitMs, failures: index + 1 })
      await vi.advanceTimersByTimeAsync(waitMs - 1)
      expect(rounds).toHaveBeenCalledTimes(index + 1)
      await vi.advanceTimersByTimeAsync(1)
    }
  })

  it("spreads its waits by a fifth to both sides", async () => {
    for (const [random, waitMs] of [
      [0, 2400],
      [1, 3600]
    ] as const) {
      const load = vi.fn(() => Promise.reject(new Error("down")))
      new Poller({ load, onChange: () => undefined, now: Date.now, random: () => random }).start(false)
      await vi.advanceTimersByTimeAsync(waitMs - 1)
      expect(load).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(load).toHaveBeenCalledTimes(2)
    }
  })

  it("gives up a round that takes too long and counts it as a failure", async () => {
    const { last } = start(never)
    await vi.advanceTimersByTimeAsync(roundTimeoutMs - 1)
    expect(last()).toEqual({ kind: "connecting" })
    await vi.advanceTimersByTimeAsync(1)
    expect(last()).toMatchObject({ kind: "reconnecting", failures: 1 })
  })

  it("is live at once after the first good answer and starts its waits anew", async () => {
    let isDown = true
    const { last } = start(() => (isDown ? Promise.reject(new Error("down")) : Promise.resolve(3000)))
    await vi.advanceTimersByTimeAsync(9000)
    isDown = false
    await vi.advanceTimersByTimeAsync(12_000)
    expect(last()).toEqual({ kind: "live" })
    isDown = true
    await vi.advanceTimersByTimeAsync(3000)
    expect(last()).toMatchObject({ kind: "reconnecting", failures: 1, retryAtMs: Date.now() + 3000 })
  })

  it("asks nothing while paused and at once when it goes on", async () => {
    const { poller, rounds, last } = start(() => Promise.resolve(1000))
    await vi.advanceTimersByTimeAsync(0)
    poller.pause()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([rounds.mock.calls.length, last()]).toEqual([1, { kind: "paused" }])
    poller.resume()
    await vi.advanceTimersByTimeAsync(0)
    expect([rounds.mock.calls.length, last()]).toEqual([2, { kind: "live" }])
  })

  it("ignores the answer of a round that was cut off by a pause, a stop or a poke", async () => {
    const answers: Array<(ms: number) => void> = []
    const { poller, seen } = start(() => new Promise((resolve) => answers.push(resolve)))
    poller.poke()
    answers[0]?.(1000)
    await vi.advanceTimersByTimeAsync(0)
    expect(seen).toEqual([{ kind: "connecting" }])
    poller.stop()
    answers[1]?.(1000)
    await vi.advanceTimersByTimeAsync(5000)
    expect(seen).toEqual([{ kind: "connecting" }])
    expect(answers).toHaveLength(2)
  })

  it("never polls hotter than five times a second, whatever it is told", async () => {
    const { rounds } = start(() => Promise.resolve(0))
    await vi.advanceTimersByTimeAsync(1000)
    expect(rounds.mock.calls.length).toBeLessThanOrEqual(6)
  })

  it("keeps one rhythm, not two, when poked in the middle of a wait", async () => {
    const { poller, rounds } = start(() => Promise.resolve(1000))
    await vi.advanceTimersByTimeAsync(500)
    poller.poke()
    await vi.advanceTimersByTimeAsync(3000)
    expect(rounds).toHaveBeenCalledTimes(5)
  })
})

describe("the service's clock", () => {
  it("stands still without contact and moves with the counter otherwise", () => {
    const clock = new ServerClock()
    expect(clock.read(500, true)).toBe(0)
    clock.sync(1_000_000, 500)
    expect([clock.read(2500, true), clock.read(2500, false)]).toEqual([1_002_000, 1_000_000])
  })
})
