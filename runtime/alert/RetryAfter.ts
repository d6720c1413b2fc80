// How long another side asks us to wait, from the header of HTTP or from a number of seconds.

/** Longer waits are no serious answer, and would outlast the message. */
const waitMaxMs = 86_400_000

/** Milliseconds to wait for whole or broken seconds; undefined for anything but a number from 0 up. */
export const waitOfSeconds = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && seconds >= 0 ? Math.min(Math.ceil(seconds * 1000), waitMaxMs) : undefined

/** Milliseconds to wait by `Retry-After` (RFC 9110 10.2.3): seconds or a date; undefined when it is neither. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  const text = header?.trim() ?? ""
  if (/^[0-9]{1,15}$/.test(text)) return waitOfSeconds(Number(text))
  // All three date forms of HTTP name a day in letters; Date.parse alone would take a bare number for a year.
  const at = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - nowMs, 0), waitMaxMs)
}
