// The arithmetic of counters and rates: parsing, deltas that never go negative, and the rounding of the wire.

/** The largest double that still fits an unsigned 64-bit integer; a wrapped counter must not make a report unreadable. */
const uint64Ceiling = 18_446_744_073_709_549_568

/** Absorbs the noise of binary fractions, so that an exact 4 or 0.11 is not rounded up to the next step. */
const noise = 1e-9

/** Reads a cumulative counter; anything that is not a number counts as 0. */
export const counterOf = (text: string | undefined): number => {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) return 0
  return Math.min(Math.floor(value), uint64Ceiling)
}

/** Increase between two readings; a counter that went backwards (reset, replaced device) yields 0. */
export const increase = (before: number, after: number): number => (after > before ? after - before : 0)

/** Increase per second over `seconds` of monotonic time; 0 when no time passed. */
export const perSecond = (before: number, after: number, seconds: number): number =>
  seconds > 0 ? increase(before, after) / seconds : 0

/** Rounds up to a whole number, as rates are sent. */
export const wholeUp = (value: number): number => Math.max(0, Math.ceil(value - noise))

/** Rounds up to three decimals, as wait and service times are sent. */
export const thousandthUp = (value: number): number => Math.max(0, Math.ceil(value * 1000 - noise) / 1000)

/** A share clamped to 0..1; 0 when the whole is 0. */
export const ratioOf = (part: number, whole: number): number => (whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0)
