// Time as the agent sees it, replaceable in tests.

export interface Clock {
  /** Milliseconds that never go backwards; the base of every rate and every timer. */
  readonly monotonicMs: () => number
  /** Wall clock time in UTC, for timestamps only. */
  readonly now: () => Date
}

export const systemClock: Clock = { monotonicMs: () => performance.now(), now: () => new Date() }
