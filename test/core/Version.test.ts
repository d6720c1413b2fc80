// Versions: what is none, which is newer, and what that means for updates.
import fc from "fast-check"
import semver from "semver"
import { describe, expect, it } from "vitest"
import {
  clearsUpgrade,
  compareVersions,
  isOutdated,
  isVersion,
  supportsAutoUpdate,
  versionStatus
} from "../../src/core/Version.ts"

const identifiers = fc.array(fc.stringMatching(/^(?:0|[1-9][0-9]{0,2}|[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,2})$/), {
  minLength: 1,
  maxLength: 3
})
const numbers = fc.oneof(fc.nat(3), fc.nat(1000))
const versions = fc
  .record({
    release: fc.tuple(numbers, numbers, numbers),
    pre: fc.option(identifiers),
    build: fc.option(fc.stringMatching(/^[0-9A-Za-z-]{1,4}$/))
  })
  .map(({ build, pre, release }) => {
    const tail = `${pre === null ? "" : `-${pre.join(".")}`}${build === null ? "" : `+${build}`}`
    return `${release.join(".")}${tail}`
  })
  .filter((text) => text.length <= 64)

describe("a version", () => {
  it.each([
    "",
    "unknown",
    "1",
    "1.2",
    "1.2.3.4",
    "v1.2.3",
    "V1.2.3",
    "=1.2.3",
    " 1.2.3",
    "1.2.3 ",
    "1.2.3\n",
    "01.2.3",
    "1.02.3",
    "1.2.03",
    "1.2.3-",
    "1.2.3+",
    "1.2.3-01",
    "1.2.3-a..b",
    "1.2.3-ä",
    "1.2.3+a..b",
    "1.2.3+a+b",
    "-1.2.3",
    "1.2.x",
    "1,2,3",
    "１.2.3",
    `1.2.3-${"a".repeat(59)}`
  ])("is not %j", (text) => {
    expect(isVersion(text)).toBe(false)
    expect(isOutdated(text, undefined)).toBe(true)
    expect(supportsAutoUpdate(text)).toBe(false)
  })

  it.each(["0.0.0", "1.2.3", "1.2.3-0", "1.2.3-a.1.-", "1.2.3+001", "1.2.3--", `1.2.3-${"a".repeat(58)}`])(
    "is %j",
    (text) => {
      expect(isVersion(text)).toBe(true)
    }
  )

  it("is never found where a strict reading by another implementation finds none, and the other way round", () => {
    const near = fc.stringMatching(/^v?[0-9]{1,2}\.[0-9]{1,2}\.[0-9x]{1,2}(?:[-+][0-9a-z.+-]{0,6})?$/)

    fc.assert(
      fc.property(fc.oneof(near, versions, fc.string()), (text) => {
        const theirs = /^\d/.test(text) && text.trim() === text && semver.valid(text) !== null && text.length <= 64

        expect(isVersion(text)).toBe(theirs)
      }),
      { numRuns: 2000 }
    )
  })
})

describe("the order of versions", () => {
  it("does not exist beside something that is no version", () => {
    expect(compareVersions("1.0.0", "v1.0.0")).toBeUndefined()
    expect(compareVersions("", "1.0.0")).toBeUndefined()
  })

  it("is the one of the standard's own example", () => {
    const ascending = [
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11"
    ]
    const all = [...ascending, "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0"]

    for (let i = 1; i < all.length; i++) expect(compareVersions(all[i - 1] ?? "", all[i] ?? "")).toBe(-1)
  })

  it("tells numbers apart that a double cannot", () => {
    expect(compareVersions("9007199254740993.0.0", "9007199254740992.0.0")).toBe(1)
    expect(compareVersions("1.0.0-9007199254740993", "1.0.0-9007199254740992")).toBe(1)
    expect(compareVersions("1.0.0-10000000000000000", "1.0.0-9999999999999999")).toBe(1)
  })

  it("agrees with another implementation", () => {
    fc.assert(
      fc.property(versions, versions, (a, b) => {
        expect(compareVersions(a, b)).toBe(semver.compare(a, b))
      }),
      { numRuns: 2000 }
    )
  })

  it("is antisymmetric and ignores build metadata", () => {
    fc.assert(
      fc.property(versions, versions, (a, b) => {
        expect(compareVersions(a, b)).toBe(0 - (compareVersions(b, a) ?? NaN) || 0)
        expect(compareVersions(a, a.split("+")[0] ?? "")).toBe(0)
      })
    )
  })
})

describe("an outdated version", () => {
  it.each([
    [undefined, "1.0.0", true],
    ["", "1.0.0", true],
    ["unknown", undefined, true],
    ["0.9.9", "1.0.0", true],
    ["1.0.0-rc.1", "1.0.0", true],
    ["1.0.0", "1.0.0", false],
    ["1.0.0+b", "1.0.0", false],
    ["1.0.1", "1.0.0", false],
    ["0.0.1", undefined, false],
    ["0.0.1", "unknown", false],
    ["0.0.1", "v9.9.9", false]
  ])("of a node at %j beside the bundled %j: %j", (version, bundled, outdated) => {
    expect(isOutdated(version, bundled)).toBe(outdated)
  })
})

describe("automatic update", () => {
  it.each([
    [undefined, false],
    ["0.2.0", false],
    ["0.2.1-rc.1", false],
    ["0.2.1-0", false],
    ["0.2.1", true],
    ["0.2.1+x", true],
    ["0.2.2-rc.1", true],
    ["0.10.0", true],
    ["1.0.0", true]
  ])("of a node at %j is possible: %j", (version, possible) => {
    expect(supportsAutoUpdate(version)).toBe(possible)
  })

  it("shows a node that never reported as outdated, without support and with an empty version", () => {
    expect(versionStatus(undefined, "1.0.0")).toEqual({ version: "", is_outdated: true, supports_auto_update: false })
  })
})

describe("an upgrade task", () => {
  it.each([
    ["1.0.0", "1.0.0", true],
    ["1.0.1", "1.0.0", true],
    ["1.0.0", "1.0.0-rc.1", true],
    ["0.9.0", "1.0.0", false],
    ["1.0.0-rc.1", "1.0.0", false],
    ["1.0.0+a", "1.0.0+b", false],
    ["1.0.0", "1.0.0+b", false],
    ["1.0.0+b", "1.0.0+b", true],
    ["custom", "custom", true],
    ["v2.0.0", "1.0.0", false],
    ["2.0.0", "custom", false],
    ["", "1.0.0", false]
  ])("at a report of %j towards %j is cleared: %j", (reported, target, cleared) => {
    expect(clearsUpgrade(reported, target)).toBe(cleared)
  })

  it("is never left pending and cleared by two versions in each other's place", () => {
    fc.assert(
      fc.property(versions, versions, (a, b) => {
        expect(a !== b && clearsUpgrade(a, b) && clearsUpgrade(b, a)).toBe(false)
      })
    )
  })
})
