// One guarded source of a report: a failing or slow read is answered with the last good value.
import type { Clock } from "./Clock.ts"

export interface Source<T> {
  /** Reads the source, or answers its last value while it fails or rests. Never throws. */
  readonly value: () => T
}

/** A read slower than this blocks the loop noticeably, so it must earn a rest. */
const slowReadMs = 50
/** After a slow read the source rests this many times the time it took: at most 5 % of the time is spent in it. */
const restFactor = 20
/** A restarting kernel interface may fail once or twice; past that the old value would be a lie. */
const failuresMax = 3

/** Guards `read`; `unknown` is answered before the first success and after three failures in a row. */
export const makeSource = <T>(clock: Clock, unknown: T, read: () => T): Source<T> => {
  let last = unknown
  let failures = 0
  let restUntilMs = Number.NEGATIVE_INFINITY
  const value = (): T => {
    const startMs = clock.monotonicMs()
    if (startMs < restUntilMs) return last
    try {
      last = read()
      failures = 0
    } catch {
      failures = Math.min(failures + 1, failuresMax)
      if (failures >= failuresMax) last = unknown
    }
    const endMs = clock.monotonicMs()
    if (endMs - startMs > slowReadMs) restUntilMs = endMs + (endMs - startMs) * restFactor
    return last
  }
  return { value }
}
