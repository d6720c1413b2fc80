// When a channel is tried again: the pause of a single notification, and the rest of a channel that keeps failing.

const firstMs = 2000
const capMs = 300_000
/** Nothing is looked at more often than this without being asked to. */
export const tickMs = 1000
/** Transient failures in a row after which the whole channel rests, whatever else it has to tell. */
const failuresMax = 5
/** The longest wait another side may ask for. */
const limitMsMax = 3_600_000
/** Doublings after which the cap is reached for certain. */
const doublingsMax = 20

const doubledMs = (times: number): number => Math.min(capMs, firstMs * 2 ** Math.min(times, doublingsMax))

/**
 * Milliseconds until the attempt after the n-th one that failed (n from 1): up to 2 s, doubling to 5 min, with full
 * jitter, so that what failed together does not come back together. `chance` is uniform in [0, 1).
 */
export const retryDelayMs = (n: number, chance: number): number =>
  Math.max(tickMs, Math.round(doubledMs(n - 1) * chance))

/** What of the wait another side asked for is granted, milliseconds. */
export const limitDelayMs = (askedMs: number): number => Math.min(limitMsMax, Math.max(tickMs, Math.ceil(askedMs)))

/** Whether an instant has come. One further off than any wait was set by a clock that was put back since. */
export const isDue = (atMs: number, now: number): boolean => atMs <= now || atMs > now + limitMsMax + tickMs

/** One channel's. After the rest a single attempt decides whether it is over; times are milliseconds. */
export class Breaker {
  failuresInRow = 0
  private untilMs = 0
  private isLimited = false

  /** Nothing is sent before this instant; 0 when nothing holds it up. */
  restsUntilMs(now: number): number {
    return isDue(this.untilMs, now) ? 0 : this.untilMs
  }

  state(now: number): "ready" | "resting" | "limited" {
    if (this.restsUntilMs(now) > 0) return this.isLimited ? "limited" : "resting"
    return this.failuresInRow >= failuresMax ? "resting" : "ready"
  }

  /** It answered, whatever it said. */
  answered(): void {
    this.failuresInRow = 0
    this.untilMs = 0
    this.isLimited = false
  }

  failed(now: number): void {
    this.failuresInRow++
    this.isLimited = false
    if (this.failuresInRow >= failuresMax) this.untilMs = now + doubledMs(this.failuresInRow - failuresMax)
  }

  /** It asked to be left alone until then; that is no failure. */
  limited(untilMs: number): void {
    this.failuresInRow = 0
    this.untilMs = untilMs
    this.isLimited = true
  }
}
