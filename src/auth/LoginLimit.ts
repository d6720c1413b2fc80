// Limits failed authentication per client network and overall; what succeeds is never counted.
import ipaddr from "ipaddr.js"
import * as RateLimit from "../core/RateLimit.ts"

export interface FailureQuota {
  /** Failures of one client network per window. */
  readonly perNetwork: number
  /** Failures of all networks together per window, or undefined where guessing is hopeless anyway. */
  readonly overall: number | undefined
  readonly windowMs: number
}

/** What a refused client is told: X-RateLimit-Limit, -Remaining, -Reset (unix seconds) and Retry-After (seconds). */
export interface Refusal {
  readonly limit: number
  readonly remaining: number
  readonly resetSec: number
  readonly retryAfterSec: number
}

export interface FailureLimit {
  /** Why this client has to wait, or undefined when it may try. */
  readonly blocked: (address: string, nowMs: number) => Refusal | undefined
  /** Counts one failure. */
  readonly failed: (address: string, nowMs: number) => void
  /** Remembers a network that authenticated: the overall quota, which others can exhaust, does not hold it back. */
  readonly succeeded: (address: string) => void
  readonly stats: () => { readonly networks: number; readonly evicted: number; readonly refused: number }
}

/** Decision 37 and contract 2.7: five failed logins a minute for a network, sixty for the whole world. */
export const loginQuota: FailureQuota = { perNetwork: 5, overall: 60, windowMs: 60_000 }

/** Decision 3: failed node authentication. Secrets hold 256 bits, so only the work of refusing is limited. */
export const nodeQuota: FailureQuota = { perNetwork: 60, overall: undefined, windowMs: 60_000 }

/** About 1.5 MB when full; a flood from more networks than this pushes the longest silent ones out. */
const networksMax = 10_000
/** Networks remembered after a login: a handful of people and places. */
const knownMax = 64
/** Spent entries dropped per failure: two, so that the table shrinks faster than it grows. */
const sweptPerFailure = 2

/** The network that stands for a client: IPv4 /24, IPv6 /40; anything else stands for itself. */
export const networkOf = (address: string): string => {
  if (!ipaddr.isValid(address)) return `?${address.slice(0, 64)}`
  const parsed = ipaddr.process(address)
  const bytes = parsed.toByteArray()
  return parsed.kind() === "ipv4" ? `4/${bytes.slice(0, 3).join(".")}` : `6/${bytes.slice(0, 5).join(".")}`
}

const refusal = (limit: number, atMs: number, nowMs: number): Refusal => ({
  limit,
  remaining: 0,
  resetSec: Math.ceil(atMs / 1000),
  retryAfterSec: Math.max(1, Math.ceil((atMs - nowMs) / 1000))
})

/** Deletes from the front until at most `max` keys are left; answers how many went. */
const dropOldest = (keyed: Set<string> | Map<string, unknown>, max: number): number => {
  let dropped = 0
  for (const key of keyed.keys()) {
    if (keyed.size <= max) break
    keyed.delete(key)
    dropped += 1
  }
  return dropped
}

/** One limiter with its own table. Synchronous and free of clocks, so any lane can ask it. */
export const make = (quota: FailureQuota): FailureLimit => {
  const { windowMs } = quota
  const counts = new Map<string, RateLimit.SlidingCount>()
  const known = new Set<string>()
  let total = RateLimit.none
  let evicted = 0
  let refused = 0

  const waitFor = (count: RateLimit.SlidingCount, limit: number, nowMs: number): Refusal | undefined => {
    const freeAtMs = RateLimit.freeAtMs(count, nowMs, { limit, windowMs })
    return freeAtMs > nowMs ? refusal(limit, freeAtMs, nowMs) : undefined
  }
  const find = (network: string, nowMs: number): Refusal | undefined => {
    const count = counts.get(network)
    const own = count === undefined ? undefined : waitFor(count, quota.perNetwork, nowMs)
    if (own !== undefined || quota.overall === undefined || known.has(network)) return own
    return waitFor(total, quota.overall, nowMs)
  }
  // Entries stand in the order of their last failure, so the spent ones are in front.
  const sweep = (nowMs: number) => {
    let swept = 0
    for (const [network, count] of counts) {
      if (swept++ === sweptPerFailure || !RateLimit.isSpent(count, nowMs, windowMs)) return
      counts.delete(network)
    }
  }

  return {
    blocked: (address, nowMs) => {
      // The common case, no failure anywhere lately, costs no parsing.
      if (counts.size === 0) return undefined
      const found = find(networkOf(address), nowMs)
      if (found !== undefined) refused += 1
      return found
    },
    failed: (address, nowMs) => {
      sweep(nowMs)
      const network = networkOf(address)
      const count = RateLimit.add(counts.get(network) ?? RateLimit.none, nowMs, windowMs)
      counts.delete(network)
      evicted += dropOldest(counts, networksMax - 1)
      counts.set(network, count)
      total = RateLimit.add(total, nowMs, windowMs)
    },
    succeeded: (address) => {
      const network = networkOf(address)
      known.delete(network)
      known.add(network)
      dropOldest(known, knownMax)
    },
    stats: () => ({ networks: counts.size, evicted, refused })
  }
}
