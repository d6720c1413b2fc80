// The service's doubt in itself: since when it has been able to hear its nodes, and when their silence counts.

/** One look at the clocks, about once a second. */
export interface Tick {
  /** The wall clock, milliseconds. */
  readonly nowMs: number
  /** A clock that is never set, milliseconds from any origin. */
  readonly monoMs: number
  /** Whether reports are being accepted. */
  readonly isTaking: boolean
}

export interface Health extends Tick {
  /** Silence counts from no earlier than here. */
  readonly healthySinceMs: number
  /** The same instant on the clock that is never set, for deadlines that the wall clock must not move. */
  readonly healthySinceMonoMs: number
  /** What last made it doubt. */
  readonly doubt: "start" | "stall" | "clock" | "refusing"
}

/** Ticks come every second; this long without one, nothing else ran in time either. */
export const stallMs = 3000
/** How far the wall clock may leave the other between two ticks; slewing moves it by less than a millisecond. */
export const jumpMs = 2000

/** At the start nothing has been heard yet. */
export const started = (tick: Tick): Health => doubted(tick, "start")

/** The health after one more tick. */
export const ticked = (health: Health, tick: Tick): Health => {
  const passedMs = tick.monoMs - health.monoMs
  if (passedMs > stallMs) return doubted(tick, "stall")
  if (Math.abs(tick.nowMs - health.nowMs - passedMs) > jumpMs) return doubted(tick, "clock")
  if (!tick.isTaking) return doubted(tick, "refusing")
  return { ...health, ...tick }
}

const doubted = (tick: Tick, doubt: Health["doubt"]): Health => ({
  ...tick,
  healthySinceMs: tick.nowMs,
  healthySinceMonoMs: tick.monoMs,
  doubt
})

/** How long a node may be silent, milliseconds: the configured seconds or four of its report intervals (decision 29). */
export const silenceMs = (configuredSec: number, intervalMs: number): number =>
  Math.max(configuredSec * 1000, 4 * intervalMs)

/**
 * Up to when a node counts as online, on one clock throughout: heard last at `heardMs`, silent for `thresholdMs` at
 * most, counted from no earlier than `healthySinceMs`. The deadline itself is still online (semantics 4.3).
 */
export const deadlineMs = (heardMs: number, healthySinceMs: number, thresholdMs: number): number =>
  Math.max(heardMs, healthySinceMs) + thresholdMs
