// @vitest-environment node
// Freshness, filters and order of the overview.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Fleet } from "../../src/web/fleet/Fleet.ts"
import { stateOf, states } from "../../src/web/fleet/Freshness.ts"
import { classify, Ordering } from "../../src/web/fleet/Ordering.ts"
import { emptyQuery, sortKeys, type Query } from "../../src/web/fleet/Query.ts"
import { totalsOf } from "../../src/web/fleet/Totals.ts"
import { FakeFleet, staleAfterSec } from "./FakeFleet.ts"

const start = 1_900_000_000_000
const staleMs = staleAfterSec * 1000

const load = (fake: FakeFleet): Fleet => {
  const fleet = new Fleet()
  fleet.apply(fake.frame("admin", null, start, 3000))
  return fleet
}

const idsOf = (fleet: Fleet, query: Partial<Query>, nowMs = start): ReadonlyArray<number> => {
  const rows = new Ordering().update(fleet, classify(fleet, nowMs).codes, { ...emptyQuery, ...query }, 1, false)
  return [...rows].map((row) => fleet.roster.id[row] ?? 0)
}

describe("freshness", () => {
  it("counts a node that never reported as waiting, however late it is", () => {
    expect(stateOf(0, staleAfterSec, start)).toBe("waiting")
  })

  it("turns a node offline only after three times its threshold, stale after one", () => {
    const at = (ageMs: number) => stateOf(start - ageMs, staleAfterSec, start)

    expect([3 * staleMs + 1, 3 * staleMs, staleMs + 1, staleMs, 0, -5000].map(at)).toEqual([
      "offline",
      "stale",
      "stale",
      "online",
      "online",
      "online"
    ])
  })

  it("leaves silent nodes out of the totals", () => {
    const fake = new FakeFleet(2, start)
    const [first, second] = fake.nodes
    if (first === undefined || second === undefined) throw new Error("no nodes")
    Object.assign(first, { cpu: 400, recv: 1000, sent: 10 })
    Object.assign(second, { cpu: 900, recv: 5000, sent: 50, receivedAtMs: start - 10 * staleMs })
    const fleet = load(fake)

    expect(totalsOf(fleet, classify(fleet, start).codes)).toEqual({ cpu: 0.4, recv: 1000, sent: 10 })
    expect(totalsOf(fleet, classify(fleet, start + 9 * staleMs).codes).cpu).toBeNull()
  })
})

describe("the filters", () => {
  const fake = new FakeFleet(60, start)
  fake.nodes.slice(0, 4).forEach((node) => (node.receivedAtMs = start - 2 * staleMs))
  fake.add("Straße-Ⅷ")
  const fleet = load(fake)

  it("find nothing for a word that occurs nowhere, and nothing for a group nobody is in", () => {
    expect(idsOf(fleet, { q: "nowhere" })).toEqual([])
    expect(idsOf(fleet, { group: "99" })).toEqual([])
  })

  it("want every word, in any case and width, over title, id, system and tags", () => {
    expect(idsOf(fleet, { q: "STRASSE" })).toEqual([])
    expect(idsOf(fleet, { q: "straße viii" })).toEqual([61])
    const lab = fake.nodes
      .filter((node) => node.tags.includes("lab") && node.platform === "alpine")
      .map((node) => node.id)
    expect(idsOf(fleet, { q: "  lab   ALPINE " })).toEqual(lab)
  })

  it("take state, group, tag and system together", () => {
    const wanted = fake.nodes.slice(0, 4).filter((node) => node.groups.includes(2) && node.tags.length > 0)
    const [node] = wanted
    if (node === undefined) throw new Error("the fleet has no such node")
    const query = { state: "stale", group: "2", tag: node.tags[0] ?? "", os: node.platform } as const

    expect(idsOf(fleet, query)).toContain(node.id)
    expect(idsOf(fleet, { ...query, state: "offline" })).toEqual([])
  })

  it("offer every group, tag and system with its count", () => {
    const facets = new Ordering().facets(fleet)

    expect(facets.groups.find((one) => one.value === "1")).toEqual({ value: "1", label: "default", count: 61 })
    expect(facets.systems.reduce((sum, one) => sum + one.count, 0)).toBe(61)
    expect(facets.tags.map((one) => one.value)).toContain("prod")
  })
})

describe("the order", () => {
  it("is a permutation of the fleet with unknown values last, equal ones in display order, for every column", () => {
    fc.assert(
      fc.property(fc.constantFrom(...sortKeys), fc.constantFrom("asc", "desc"), fc.nat(50), (sort, dir, seed) => {
        const fake = new FakeFleet(40, start, seed)
        fake.nodes.forEach((node, i) => (node.receivedAtMs = i % 7 === 0 ? 0 : start - (i % 5) * staleMs))
        const fleet = load(fake)
        const { codes } = classify(fleet, start)
        const rows = [...new Ordering().update(fleet, codes, { ...emptyQuery, sort, dir }, 1, false)]

        expect([...rows].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i))
        if (sort !== "cpu") return
        const keys = rows.map((row) => {
          const state = states[codes[row] ?? 0]
          return state === "online" || state === "stale" ? fleet.value("cpu", row) : null
        })
        const known = keys.filter((key) => key !== null)
        expect(keys.slice(known.length).every((key) => key === null)).toBe(true)
        expect(known).toEqual([...known].sort((a, b) => (dir === "asc" ? a - b : b - a)))
        expect(rows.slice(known.length)).toEqual(rows.slice(known.length).sort((a, b) => a - b))
      })
    )
  })

  it("compares numbers in names as numbers", () => {
    const fake = new FakeFleet(0, start)
    for (const title of ["web-10", "web-9", "Web-1"]) fake.add(title)

    expect(idsOf(load(fake), { sort: "name", dir: "asc" })).toEqual([3, 2, 1])
  })

  it("does not move while it is held, not even when every value changed", () => {
    const fake = new FakeFleet(30, start)
    const fleet = load(fake)
    const ordering = new Ordering()
    const query: Query = { ...emptyQuery, sort: "cpu", dir: "desc" }
    const rows = (version: number, held: boolean) => [
      ...ordering.update(fleet, classify(fleet, start).codes, query, version, held)
    ]
    const before = rows(1, true)
    for (let version = 2; version < 12; version++) {
      fake.nodes.forEach((node) => (node.cpu = (node.cpu * 7919 + version) % 1000))
      fake.tick(start)
      fleet.apply(fake.frame("admin", null, start, 3000))
      fleet.rosterRevision = 1
      expect(rows(version, true)).toEqual(before)
    }
    expect(rows(12, false)).not.toEqual(before)
  })

  it("sorts live columns again at every third frame at most", () => {
    const fake = new FakeFleet(30, start)
    const fleet = load(fake)
    const ordering = new Ordering()
    const query: Query = { ...emptyQuery, sort: "cpu", dir: "desc" }
    const codes = classify(fleet, start).codes
    const first = ordering.update(fleet, codes, query, 1, false)

    expect(ordering.update(fleet, codes, query, 2, false)).toBe(first)
    expect(ordering.update(fleet, codes, query, 3, false)).toBe(first)
    expect(ordering.update(fleet, codes, query, 4, false)).not.toBe(first)
  })

  it("follows a new query and a new roster at once, held or not", () => {
    const fake = new FakeFleet(5, start)
    const fleet = load(fake)
    const ordering = new Ordering()
    const codes = classify(fleet, start).codes
    expect(ordering.update(fleet, codes, emptyQuery, 1, true)).toHaveLength(5)
    expect(ordering.update(fleet, codes, { ...emptyQuery, q: "nowhere" }, 1, true)).toHaveLength(0)

    fake.add("sixth")
    fleet.apply(fake.frame("admin", null, start, 3000))
    expect(ordering.update(fleet, classify(fleet, start).codes, emptyQuery, 2, true)).toHaveLength(6)
  })
})
