// @vitest-environment node
// The columnar store: whole frames, parts, frames that do not fit, and what follows a node to its new row.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { LiveFrame } from "../../schema/Live.ts"
import { Fleet, sparkLength, valueNames } from "../../src/web/fleet/Fleet.ts"
import { FakeFleet } from "./FakeFleet.ts"

const start = 1_900_000_000_000

const sample = (fleet: Fleet, id: number): ReadonlyArray<number> => {
  const into = new Int16Array(sparkLength)
  return [...into.subarray(0, fleet.sparkOf(fleet.rowOf(id) ?? -1, into))]
}

const whole = (fake: FakeFleet): LiveFrame => fake.frame("admin", null, start, 3000)

describe("a fleet", () => {
  it("refuses a part before it ever got a roster and asks for a whole frame", () => {
    const fake = new FakeFleet(3, start)
    const fleet = new Fleet()

    expect(fleet.apply({ ...whole(fake), roster: null })).toBe(false)
    expect(fleet.seq).toBeNull()
    expect(fleet.count).toBe(0)
  })

  it("refuses columns of unequal length", () => {
    const fleet = new Fleet()
    const frame = whole(new FakeFleet(3, start))

    expect(fleet.apply({ ...frame, values: { ...frame.values, cpu: [1, 2] } })).toBe(false)
    expect(fleet.count).toBe(0)
  })

  it("refuses a row beyond its roster, keeps what it had and asks for a whole frame", () => {
    const fake = new FakeFleet(3, start)
    const fleet = new Fleet()
    fleet.apply(whole(fake))
    const before = fleet.value("cpu", 0)
    fake.tick(start + 3000)
    const part = fake.frame("admin", fleet.seq, start, 3000)

    expect(fleet.apply({ ...part, values: { ...part.values, row: [0, 1, 3] } })).toBe(false)
    expect(fleet.value("cpu", 0)).toBe(before)
    expect(fleet.seq).toBeNull()
  })

  it("holds the same values after parts as the service does", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(19), { maxLength: 20 }), { maxLength: 8 }), (silences) => {
        const fake = new FakeFleet(20, start)
        const fleet = new Fleet()
        fleet.apply(whole(fake))
        silences.forEach((silent, round) => {
          fake.nodes.forEach((node, index) => (node.isSilent = silent.includes(index)))
          fake.tick(start + (round + 1) * 3000)
          expect(fleet.apply(fake.frame("admin", fleet.seq, start, 3000))).toBe(true)
        })
        const expected = whole(fake).values
        for (const name of valueNames) expect([...fleet.values[name]]).toEqual(expected[name])
      }),
      { numRuns: 40 }
    )
  })

  it("adds a sparkline sample per report, not per frame, and keeps the last thirty", () => {
    const fake = new FakeFleet(1, start)
    const fleet = new Fleet()
    fleet.apply(whole(fake))
    fleet.apply(whole(fake))
    expect(sample(fleet, 1)).toHaveLength(1)

    const seen: Array<number> = []
    for (let i = 1; i <= sparkLength + 5; i++) {
      fake.tick(start + i * 3000)
      fleet.apply(fake.frame("admin", fleet.seq, start, 3000))
      seen.push(fleet.value("cpu", 0))
    }
    expect(sample(fleet, 1)).toEqual(seen.slice(-sparkLength))
  })

  it("takes sparklines along when the roster is ordered anew and drops those of deleted nodes", () => {
    const fake = new FakeFleet(4, start)
    const fleet = new Fleet()
    for (let i = 0; i < 5; i++) {
      fake.tick(start + i * 3000)
      fleet.apply(whole(fake))
    }
    const before = [1, 2, 3, 4].map((id) => sample(fleet, id))
    fake.nodes.reverse()
    fake.nodes.splice(0, 1)
    fake.touchRoster()
    fleet.apply(whole(fake))

    expect([3, 2, 1].map((id) => fleet.rowOf(id))).toEqual([0, 1, 2])
    expect([1, 2, 3].map((id) => sample(fleet, id))).toEqual(before.slice(0, 3))
    expect(fleet.rowOf(4)).toBeUndefined()
  })

  it("knows nothing after a reset", () => {
    const fleet = new Fleet()
    fleet.apply(whole(new FakeFleet(4, start)))
    fleet.reset()

    expect([fleet.count, fleet.seq, fleet.rowOf(1)]).toEqual([0, null, undefined])
  })
})
