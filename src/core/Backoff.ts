// How long a node waits before its next restart: doubling, capped, jittered; a pure function of its crashes.

const firstMs = 100
const capMs = 30_000
/** Each delay is shortened by up to this share, so that nodes that crashed together do not return together. */
const jitter = 0.25
/** A crash this long after the one before starts a new row. */
export const quietMs = 120_000

/** Crashes in a row after one more at `now`, the one before having been at `lastAt`. */
export const crashesInRow = (before: number, lastAt: number | null, now: number): number =>
  lastAt !== null && now - lastAt <= quietMs ? before + 1 : 1

/** Milliseconds until the restart after the n-th crash in a row (n from 1). `chance` is uniform in [0, 1). */
export const restartDelayMs = (n: number, chance: number): number =>
  Math.min(capMs, firstMs * 2 ** Math.min(n - 1, 20)) * (1 - jitter * chance)
