// Turns two counter readings of one interface into the bytes that may be billed between them, never more than passed.
import type { Origin } from "./Origin.ts"

/** A counter as it was reported: a number below 2^53, else its decimal digits. */
export type Exact = number | string

/** One interface's cumulative byte counters, with the origin of the report that gave them. */
export interface Counters extends Origin {
  recv: Exact
  sent: Exact
}

/** Bits that say why a pair of readings is not a plain difference. */
export const Flag = {
  /** The counters do not continue; nothing is known about a rate. */
  reset: 1,
  /** Bytes were booked although some may be missing: those that passed before the restart. */
  lowerBound: 2,
  /** The reset looks like a 32-bit counter that wrapped. It stays a reset: a replaced interface looks the same. */
  wrap32: 4,
  /** More bytes than any link carries; none were booked. */
  quarantined: 8
} as const

/** What a pair of readings comes to: bytes that both directions booked, and `Flag` bits. */
export interface Delta {
  inBytes: number
  outBytes: number
  flags: number
}

/**
 * `same` boot of the same machine; `late` report that counted already; `restarted` since the previous reading;
 * `replaced` by a machine, or a boot, whose counters say nothing about the time since the previous reading.
 */
export type Continuity = "same" | "late" | "restarted" | "replaced"

/** 400 Gbit/s, the fastest Ethernet port in common use, in bytes per second. */
const linkBytesPerSec = 50_000_000_000
/** A report may have waited this long on its way, so that the next seems to follow at once: an agent gives up at 10 s. */
const delayMaxMs = 15_000
/**
 * A report that looks older is held to be one for this long after the last one counted: retries on the way come within
 * it. Later it is a machine whose clock and uptime were set back, such as one restored from an image.
 */
const lateMaxMs = 60_000
/** Boot time is computed from two clocks of which one is whole seconds; NTP may slew it by a few more. */
const bootToleranceMs = 10_000
/** Uptime is whole seconds, rounded down. */
const uptimeStepMs = 1000
const restartToleranceMs = 2 * uptimeStepMs

/**
 * How `current` follows `previous`, both applied reports of one node in the order of their arrival. The boot time by
 * the machine's clock and its uptime against our clock must both disagree before counters are held to be new ones; a
 * restart counts only when, by our clock, it fell between the two, so that no boot's bytes are booked again.
 */
export const continuity = (previous: Origin, current: Origin): Continuity => {
  if (current.hostname !== previous.hostname) return "replaced"
  const advancedMs = (current.uptimeSec - previous.uptimeSec) * 1000
  const agedMs = current.receivedAt - previous.receivedAt
  const bootedMs = current.bootAt - previous.bootAt
  if (Math.abs(bootedMs) <= bootToleranceMs) {
    const isLater = current.reportedAt > previous.reportedAt
    if (advancedMs > 0 || (advancedMs === 0 && isLater)) return "same"
    if (!isLater && (agedMs <= lateMaxMs || isRepeated(previous, current))) return "late"
  } else {
    // One of the clocks was set; the uptime shows the same boot.
    if (advancedMs >= 0 && Math.abs(advancedMs - agedMs) <= bootToleranceMs) return "same"
    if (bootedMs < 0 && agedMs <= lateMaxMs) return "late"
  }
  const bootedAt = current.receivedAt - current.uptimeSec * 1000
  return bootedAt >= previous.receivedAt - restartToleranceMs ? "restarted" : "replaced"
}

const isRepeated = (previous: Origin, current: Origin): boolean =>
  current.reportedAt === previous.reportedAt && current.uptimeSec === previous.uptimeSec

/**
 * Milliseconds over which the bytes between two readings passed: as received, or as measured by the agent when that is
 * longer, because reports that were held up arrive all at once. Never negative.
 */
export const measuredMs = (previous: Origin, current: Origin): number => {
  const received = Math.max(0, current.receivedAt - previous.receivedAt)
  const reported = current.reportedAt - previous.reportedAt
  const advanced = (current.uptimeSec - previous.uptimeSec) * 1000
  if (Math.abs(reported - advanced) <= uptimeStepMs) return Math.max(received, reported)
  return Math.max(received, advanced - uptimeStepMs)
}

/**
 * Books one pair of readings into `delta` and returns it.
 *
 * - `same`: the difference; when either direction went back, a reset of both, for which nothing is booked.
 * - `restarted`: a reset with a lower bound: the new counters, or the difference when that is smaller and the counters
 *   may have survived.
 * - `replaced`: a reset without bytes, even when the counters are higher.
 * - Bytes past 400 Gbit/s over the measured time, with 15 s of grace, or past 2^53 - 1 are quarantined: not booked.
 *
 * `late` pairs are not for booking; the previous reading stays the one to measure from.
 */
export const book = (previous: Counters, current: Counters, kind: Exclude<Continuity, "late">, delta: Delta): Delta => {
  delta.inBytes = 0
  delta.outBytes = 0
  delta.flags = kind === "same" ? 0 : Flag.reset
  if (kind === "replaced") return delta
  const inBytes = difference(previous.recv, current.recv)
  const outBytes = difference(previous.sent, current.sent)
  const isBack = inBytes < 0 || outBytes < 0
  if (isBack && kind === "same") {
    const isWrap =
      (inBytes >= 0 || wraps32(previous.recv, current.recv)) && (outBytes >= 0 || wraps32(previous.sent, current.sent))
    delta.flags = isWrap ? Flag.reset | Flag.wrap32 : Flag.reset
    return delta
  }
  const bookedIn = isBack ? difference(0, current.recv) : inBytes
  const bookedOut = isBack ? difference(0, current.sent) : outBytes
  const bytesMax = ((measuredMs(previous, current) + delayMaxMs) / 1000) * linkBytesPerSec
  if (bookedIn > bytesMax || bookedOut > bytesMax) {
    delta.flags |= Flag.quarantined
    return delta
  }
  delta.inBytes = bookedIn
  delta.outBytes = bookedOut
  if (kind === "restarted") delta.flags |= Flag.lowerBound
  return delta
}

/** Exact where a double holds it; infinite past 2^53 - 1, which no link carries between two reports. */
const difference = (previous: Exact, current: Exact): number => {
  if (typeof previous === "number" && typeof current === "number") return current - previous
  const exact = BigInt(current) - BigInt(previous)
  if (exact < 0n) return -1
  return exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : Number.POSITIVE_INFINITY
}

const half32 = 2 ** 31
/** From the upper half of 32 bits to the lower. */
const wraps32 = (previous: Exact, current: Exact): boolean =>
  Number(previous) >= half32 && Number(previous) < 2 * half32 && Number(current) < half32
