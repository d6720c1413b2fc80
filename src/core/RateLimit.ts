// Counts events in a sliding window: two fixed slots, the older one weighted by how much of it is still in view.

/** Events of the slot that holds the last one, and of the slot before it. A slot is `floor(time / windowMs)`. */
export interface SlidingCount {
  readonly slot: number
  readonly current: number
  readonly previous: number
}

/** How many events are allowed per window; `limit` is at least 1. */
export interface Quota {
  readonly limit: number
  readonly windowMs: number
}

export const none: SlidingCount = { slot: 0, current: 0, previous: 0 }

/** The same events seen at `nowMs`. A clock that went back leaves the count as it is. */
export const slide = (count: SlidingCount, nowMs: number, windowMs: number): SlidingCount => {
  const slot = Math.floor(nowMs / windowMs)
  if (slot <= count.slot) return count
  return { slot, current: 0, previous: slot === count.slot + 1 ? count.current : 0 }
}

/** True when no event of the count is in view any more. */
export const isSpent = (count: SlidingCount, nowMs: number, windowMs: number): boolean => {
  const seen = slide(count, nowMs, windowMs)
  return seen.current === 0 && seen.previous === 0
}

/** Adds one event. */
export const add = (count: SlidingCount, nowMs: number, windowMs: number): SlidingCount => {
  const seen = slide(count, nowMs, windowMs)
  return { ...seen, current: seen.current + 1 }
}

const elapsedMs = (count: SlidingCount, nowMs: number, windowMs: number): number =>
  Math.min(windowMs, Math.max(0, nowMs - count.slot * windowMs))

/** Whole events that still fit into the window at `nowMs`; 0 means refuse. */
export const remaining = (count: SlidingCount, nowMs: number, { limit, windowMs }: Quota): number => {
  const seen = slide(count, nowMs, windowMs)
  // In milliseconds of slot, so that the arithmetic stays in exact integers.
  const usedMs = seen.previous * (windowMs - elapsedMs(seen, nowMs, windowMs)) + seen.current * windowMs
  return Math.max(0, Math.floor((limit * windowMs - usedMs) / windowMs))
}

/** The first moment from `nowMs` on at which one event fits, if none is added meanwhile. */
export const freeAtMs = (count: SlidingCount, nowMs: number, { limit, windowMs }: Quota): number => {
  const seen = slide(count, nowMs, windowMs)
  if (remaining(seen, nowMs, { limit, windowMs }) > 0) return nowMs
  if (seen.current < limit) return decayedAtMs(seen.slot, seen.previous, limit - 1 - seen.current, windowMs)
  return decayedAtMs(seen.slot + 1, seen.current, limit - 1, windowMs)
}

/** When `previous` events, fading over the slot, have come down to `allowed` (which is smaller). */
const decayedAtMs = (slot: number, previous: number, allowed: number, windowMs: number): number =>
  slot * windowMs + Math.ceil(((previous - allowed) * windowMs) / previous)
