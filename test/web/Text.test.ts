// @vitest-environment node
// What readers read: numbers and units, complete catalogues, a text for every error code.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { catalogue } from "../../schema/Errors.ts"
import { adminChinese } from "../../src/web/pages/admin/AdminChinese.ts"
import { adminEnglish } from "../../src/web/pages/admin/AdminEnglish.ts"
import { trafficChinese } from "../../src/web/pages/traffic/TrafficChinese.ts"
import { trafficEnglish } from "../../src/web/pages/traffic/TrafficEnglish.ts"
import { chinese } from "../../src/web/text/Chinese.ts"
import { chineseErrors } from "../../src/web/text/ChineseErrors.ts"
import { english } from "../../src/web/text/English.ts"
import { englishErrors } from "../../src/web/text/EnglishErrors.ts"
import { makeFormat, unknown } from "../../src/web/text/Format.ts"

const format = makeFormat("en", english.units)

describe("a figure", () => {
  it("is a dash when it is not known", () => {
    expect([
      format.bytes(-1),
      format.rate(-1),
      format.bytes(NaN),
      format.duration(-1),
      format.dateTime("no time")
    ]).toEqual(Array(5).fill(unknown))
  })

  it("takes the unit in which it has at most four digits", () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (value) => {
        for (const text of [format.bytes(value), format.rate(value)]) {
          expect(text.split(" ")[0]?.replace(/[,.]/g, "").length).toBeLessThanOrEqual(4)
        }
      })
    )
  })

  it("never rounds up to a thousand of the smaller unit", () => {
    expect(format.rate(999.4)).toBe("999 B/s")
    expect(format.rate(999.6)).toBe("1.0 kB/s")
    expect(format.rate(999_600)).toBe("1.0 MB/s")
    expect(format.rate(9960)).toBe("10 kB/s")
    expect(format.bytes(1536)).toBe("1.5 KiB")
  })

  it("gives durations in their two largest parts and ages in one", () => {
    expect([0, 59, 60, 3600, 3660, 90_061].map(format.duration)).toEqual(["0s", "59s", "1m", "1h", "1h 1m", "1d 1h"])
    expect([-500, 999, 61_000, 7_200_000].map(format.age)).toEqual(["0s", "0s", "1m", "2h"])
  })
})

/** Paths of all leaves, with what each is. */
const leaves = (value: unknown, path = ""): ReadonlyArray<string> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`))
    : [`${path}: ${typeof value}${typeof value === "function" ? value.length : ""}${value === "" ? " EMPTY" : ""}`]

describe("the catalogues", () => {
  it("hold the same texts, with the same arguments, and none that is empty but the gap of Chinese units", () => {
    for (const [one, other] of [
      [english, chinese],
      [adminEnglish, adminChinese],
      [trafficEnglish, trafficChinese]
    ]) {
      const plain = (value: unknown) => leaves(value).map((leaf) => leaf.replace(".gap: string EMPTY", ".gap: string"))
      expect(plain(other).sort()).toEqual(plain(one).sort())
      expect(plain(one).filter((leaf) => leaf.includes("EMPTY"))).toEqual([])
    }
  })

  it("say in both languages what every error code of the service means", () => {
    const codes = [...new Set(catalogue.map((one) => one.code)), "network", "timeout"]

    for (const errors of [englishErrors, chineseErrors]) expect(codes.filter((code) => !errors[code])).toEqual([])
  })
})
