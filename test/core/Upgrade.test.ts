// The upgrade task of a node: asked for, shown to the agent until it reports the target or something newer.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import { manifestOf, noUpgrade, reported, requested, type UpgradeState } from "../../src/core/Upgrade.ts"
import { clearsUpgrade } from "../../src/core/Version.ts"

const manifest = (version: string): UpdateManifest => ({
  id: version,
  version,
  url: `https://example.test/deploy/${version}`,
  sha256: "0".repeat(64),
  size: 9_123_456
})
const pending = (version: string): UpgradeState => requested(noUpgrade, manifest(version))

describe("an upgrade task", () => {
  it("is none until it is asked for, whatever is reported", () => {
    expect(manifestOf(noUpgrade)).toBeNull()
    expect(reported(noUpgrade, "9.9.9")).toBe(noUpgrade)
  })

  it.each([
    ["0.2.3", "0.2.4"],
    ["0.2.4-rc.1", "0.2.4"],
    ["0.2.4+b1", "0.2.4+b2"],
    ["0.2.4", "0.2.4+b2"],
    ["garbage", "0.2.4"],
    ["", "0.2.4"]
  ])("stays pending while %j is reported and %s is the target", (version, target) => {
    const state = pending(target)

    expect(reported(state, version)).toBe(state)
    expect(manifestOf(state)).toEqual(manifest(target))
  })

  it.each([
    ["0.2.4", "0.2.4"],
    ["0.2.4+b2", "0.2.4+b2"],
    ["0.2.5", "0.2.4"],
    ["0.2.5-rc.1", "0.2.4"],
    ["1.0.0", "0.9.9+b1"]
  ])("ends when %s is reported and %s is the target", (version, target) => {
    expect(manifestOf(reported(pending(target), version))).toBeNull()
  })

  it("is replaced by a newer wish, also by one for an older version", () => {
    const twice = requested(pending("0.2.4"), manifest("0.2.2"))

    expect(manifestOf(twice)).toEqual(manifest("0.2.2"))
    expect(manifestOf(reported(twice, "0.2.3"))).toBeNull()
  })

  it("is, after any row of wishes and reports, the last wish that no later report fulfilled", () => {
    const versions = fc.constantFrom("0.2.1", "0.2.2", "0.2.2+b1", "0.3.0-rc.1", "0.3.0", "junk")
    const happenings = fc.array(fc.record({ wish: fc.boolean(), version: versions }), { maxLength: 20 })
    fc.assert(
      fc.property(happenings, (all) => {
        const state = all.reduce<UpgradeState>(
          (before, { version, wish }) => (wish ? requested(before, manifest(version)) : reported(before, version)),
          noUpgrade
        )
        const at = all.findLastIndex(({ wish }) => wish)
        const target = all[at]?.version
        const isDone = target === undefined || all.slice(at + 1).some(({ version }) => clearsUpgrade(version, target))

        expect(manifestOf(state)).toEqual(isDone ? null : manifest(target))
      })
    )
  })
})
