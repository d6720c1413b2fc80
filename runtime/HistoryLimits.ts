// How long and how large each tier of history may get, and how that is written in a setting.
import { Either } from "effect"
import { type Tier, tierNames } from "../src/core/Tier.ts"

export interface TierLimit {
  readonly keepMs: number
  readonly maxBytes: number
}
export type HistoryLimits = Record<Tier, TierLimit>

/** A tier's setting: its days, and its bytes when they are given beside them. */
export interface TierSetting {
  readonly keepMs: number
  readonly maxBytes: number | undefined
}

const units = { h: 3_600_000, d: 86_400_000 } as const
const sizes = { MB: 1e6, GB: 1e9, TB: 1e12 } as const
/** Below this a tier cannot hold what is folded at once. */
const keepMinMs = units.h
const keepMaxMs = 3660 * units.d
const bytesMin = 10e6
/** Below this the smallest share of the whole would be less than a tier can do with. */
const wholeMin = 100e6

const parseSize = (text: string, least: number): Either.Either<number, string> => {
  const match = /^(\d+(?:\.\d+)?)\s*(MB|GB|TB)$/i.exec(text.trim())
  const unit = match?.[2]?.toUpperCase() as keyof typeof sizes | undefined
  const bytes = unit === undefined ? 0 : Number(match?.[1]) * sizes[unit]
  return bytes >= least && bytes <= 1e15
    ? Either.right(Math.floor(bytes))
    : Either.left(`must be a size of at least ${least / 1e6}MB, such as 500MB or 10GB`)
}

/** Of all tiers together: "10GB", "500 MB", "1.5TB"; decimal units, at least 100 MB. */
export const parseBytes = (text: string): Either.Either<number, string> => parseSize(text, wholeMin)

/** "24h", "7d", or with bytes of its own: "24h, 3GB". */
export const parseTier = (text: string): Either.Either<TierSetting, string> => {
  const [time, size, ...rest] = text.split(",").map((part) => part.trim())
  const match = /^(\d{1,5})\s*([hd])$/i.exec(time ?? "")
  const unit = match?.[2]?.toLowerCase() as keyof typeof units | undefined
  const keepMs = unit === undefined ? 0 : Number(match?.[1]) * units[unit]
  if (rest.length > 0 || keepMs < keepMinMs || keepMs > keepMaxMs) {
    return Either.left("must be 1h to 3660d, such as 24h or 7d, or with bytes: 24h, 3GB")
  }
  return size === undefined
    ? Either.right({ keepMs, maxBytes: undefined })
    : Either.map(parseSize(size, bytesMin), (maxBytes) => ({ keepMs, maxBytes }))
}

/**
 * Hundredths of the whole for tiers without bytes of their own. They follow what 1,000 usual nodes need at the default
 * days: 1 of raw, 1.3 of minutes, 0.5 of quarters, 1 of hours.
 */
const shares: Record<Tier, number> = { raw: 27, minute: 34, quarter: 13, hour: 26 }

export const limitsOf = (tiers: Record<Tier, TierSetting>, bytes: number): HistoryLimits => {
  const own = tierNames.filter((tier) => tiers[tier].maxBytes !== undefined)
  // What is left of the whole, among those without bytes of their own; each gets something, whatever the others take.
  const left = own.reduce((rest, tier) => rest - (tiers[tier].maxBytes ?? 0), bytes)
  const parts = tierNames.reduce((sum, tier) => sum + (own.includes(tier) ? 0 : shares[tier]), 0)
  const limit = (tier: Tier): TierLimit => {
    const { keepMs, maxBytes } = tiers[tier]
    return { keepMs, maxBytes: maxBytes ?? Math.max(bytesMin, Math.floor((left * shares[tier]) / parts)) }
  }
  return { raw: limit("raw"), minute: limit("minute"), quarter: limit("quarter"), hour: limit("hour") }
}

/** Bytes of all tiers together at most. */
export const bytesOf = (limits: HistoryLimits): number =>
  tierNames.reduce((sum, tier) => sum + limits[tier].maxBytes, 0)
