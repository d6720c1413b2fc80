// Days and bytes of the tiers of history: how they are written, and how the whole is shared out.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { bytesOf, limitsOf, parseBytes, parseTier } from "../../runtime/HistoryLimits.ts"
import { tierNames } from "../../src/core/Tier.ts"

const hour = 3_600_000
const day = 24 * hour
const days = { raw: day, minute: 7 * day, quarter: 45 * day, hour: 400 * day }
const settingsOf = (own: Partial<Record<(typeof tierNames)[number], number>>) => {
  const setting = (tier: (typeof tierNames)[number]) => ({ keepMs: days[tier], maxBytes: own[tier] })
  return { raw: setting("raw"), minute: setting("minute"), quarter: setting("quarter"), hour: setting("hour") }
}

describe("a size", () => {
  it.each(["", " ", "10", "10 B", "10KB", "10GiB", "10 G", "GB", "-1GB", "+1GB", "1,5GB", "1e3GB", ".5GB", "1.GB"])(
    "cannot be written %j",
    (text) => {
      expect(parseBytes(text)).toEqual(Either.left("must be a size of at least 100MB, such as 500MB or 10GB"))
    }
  )

  it.each(["0GB", "99.99MB", "0.09GB", "1001TB", `${"9".repeat(400)}TB`])("cannot be %s", (text) => {
    expect(Either.isLeft(parseBytes(text))).toBe(true)
  })

  it.each([
    ["100MB", 100_000_000],
    ["10GB", 10_000_000_000],
    [" 500 mb ", 500_000_000],
    ["1.5TB", 1_500_000_000_000],
    ["0.1005GB", 100_500_000],
    ["1000TB", 1e15]
  ])("may be %j, which is %d bytes", (text, bytes) => {
    expect(parseBytes(text)).toEqual(Either.right(bytes))
  })

  it("is a whole number of bytes, however many decimals it has", () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 999 }), fc.nat(999_999_999), (whole, part) => {
        const bytes = Either.getOrThrow(parseBytes(`${whole}.${part}MB`))

        expect(Number.isInteger(bytes)).toBe(true)
        expect(Math.floor(bytes / 1e6)).toBe(whole)
      })
    )
  })
})

describe("a tier's setting", () => {
  it.each([
    "",
    " ",
    "24",
    "h",
    "24 hours",
    "1w",
    "-1d",
    "1.5d",
    "0h",
    "0d",
    "3661d",
    "87841h",
    "100000h",
    "24h 3GB",
    "24h, 3GB, 1GB",
    ",3GB",
    "3GB, 24h"
  ])("cannot be %j", (text) => {
    expect(parseTier(text)).toEqual(Either.left("must be 1h to 3660d, such as 24h or 7d, or with bytes: 24h, 3GB"))
  })

  it.each(["24h,", "24h, ", "24h, 3", "24h, 9MB", "24h, lots"])("cannot have the bytes in %j", (text) => {
    expect(parseTier(text)).toEqual(Either.left("must be a size of at least 10MB, such as 500MB or 10GB"))
  })

  it.each([
    ["1h", hour, undefined],
    ["24h", day, undefined],
    [" 7 D ", 7 * day, undefined],
    ["3660d", 3660 * day, undefined],
    ["87840h", 3660 * day, undefined],
    ["24h, 3GB", day, 3e9],
    ["45d,500 MB", 45 * day, 5e8]
  ])("may be %j", (text, keepMs, maxBytes) => {
    expect(parseTier(text)).toEqual(Either.right({ keepMs, maxBytes }))
  })
})

describe("the bytes of the whole", () => {
  it("are shared out among the tiers, and no byte is given twice", () => {
    const limits = limitsOf(settingsOf({}), 10e9)

    expect(limits).toEqual({
      raw: { keepMs: day, maxBytes: 2.7e9 },
      minute: { keepMs: 7 * day, maxBytes: 3.4e9 },
      quarter: { keepMs: 45 * day, maxBytes: 1.3e9 },
      hour: { keepMs: 400 * day, maxBytes: 2.6e9 }
    })
    fc.assert(
      fc.property(fc.integer({ min: 100e6, max: 1e15 }), (bytes) => {
        const sum = bytesOf(limitsOf(settingsOf({}), bytes))

        expect(sum).toBeLessThanOrEqual(bytes)
        expect(sum).toBeGreaterThan(bytes - 5)
      })
    )
  })

  it("leave a tier the bytes of its own, and the others what is left, in the same proportions", () => {
    const limits = limitsOf(settingsOf({ raw: 600e6, hour: 4.7e9 }), 10e9)

    expect(tierNames.map((tier) => limits[tier].maxBytes)).toEqual([600e6, 3.4e9, 1.3e9, 4.7e9])
    expect(bytesOf(limits)).toBe(10e9)
  })

  it("are exceeded only where tiers claim more than there is; the others then get the least one can do with", () => {
    const limits = limitsOf(settingsOf({ raw: 2e9, hour: 9e9 }), 10e9)

    expect(tierNames.map((tier) => limits[tier].maxBytes)).toEqual([2e9, 10e6, 10e6, 9e9])
  })
})
