// How long a silence lasts, and the instant at which it ends.
const hourMs = 3_600_000
const lengthsMs = { h1: hourMs, h4: 4 * hourMs, d1: 24 * hourMs, w1: 168 * hourMs } as const
/** What the service takes. */
const mostMs = 366 * 24 * hourMs

export const silenceLengths = ["h1", "h4", "d1", "w1", "own"] as const
export type SilenceLength = (typeof silenceLengths)[number]

/** RFC 3339; null when the moment of one's own is none, has passed, or is too far away. `own` is local time. */
export const untilOf = (length: SilenceLength, own: string, nowMs: number): string | null => {
  const endMs = length === "own" ? Date.parse(own) : nowMs + lengthsMs[length]
  return endMs > nowMs && endMs <= nowMs + mostMs ? new Date(endMs).toISOString() : null
}
