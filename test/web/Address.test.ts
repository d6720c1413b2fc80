// @vitest-environment node
// What stands in the address: routes, the way back after a sign-in, filters.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { states } from "../../src/web/fleet/Freshness.ts"
import {
  emptyQuery,
  firstDirection,
  parseQuery,
  pressSort,
  printQuery,
  sortKeys,
  type Query
} from "../../src/web/fleet/Query.ts"
import { loginPath, routeOf, safeNext } from "../../src/web/state/Routes.ts"

describe("a path", () => {
  it("leads nowhere when it names no page, no number or no known tab", () => {
    for (const path of [
      "/nodes",
      "/nodes/",
      "/nodes/0",
      "/nodes/-1",
      "/nodes/1x",
      "/nodes/1/2",
      "/admin/nope",
      "/admin/nodes/3",
      "/traffic/0",
      "/traffic/eth0",
      "/traffic/1/2"
    ]) {
      expect([path, routeOf(path).name]).toEqual([path, "missing"])
    }
  })

  it("leads to its page with and without a trailing slash", () => {
    expect(routeOf("/")).toEqual({ name: "overview" })
    expect(routeOf("/nodes/42/")).toEqual({ name: "node", id: "42" })
    expect(routeOf("/traffic/")).toEqual({ name: "traffic" })
    expect(routeOf("/traffic/42")).toEqual({ name: "usage", id: "42" })
    expect(routeOf("/admin/traffic")).toEqual({ name: "admin", tab: "traffic" })
    expect(routeOf("/admin")).toEqual({ name: "admin", tab: "nodes" })
    expect(routeOf("/admin/status")).toEqual({ name: "admin", tab: "status" })
    expect(routeOf("/admin/system/")).toEqual({ name: "admin", tab: "system" })
  })
})

describe("the way back after a sign-in", () => {
  it("never leaves the origin and never leads back to the sign-in", () => {
    const hostile = [
      null,
      "",
      "https://evil.test",
      "//evil.test",
      "/\\evil.test",
      "\\\\evil.test",
      "javascript:alert(1)",
      "/\t/evil.test",
      "/a\\..\\b",
      "/login?next=/login",
      "nodes/1"
    ]
    for (const next of hostile) expect([next, safeNext(next)]).toEqual([next, "/"])
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(new URL(safeNext(text), "https://here.test").origin).toBe("https://here.test")
      })
    )
  })

  it("keeps the page with its filters", () => {
    const path = loginPath("/nodes/7?range=1h")

    expect(safeNext(new URL(path, "https://here.test").searchParams.get("next"))).toBe("/nodes/7?range=1h")
    expect(loginPath("/")).toBe("/login")
  })
})

describe("the filters in the address", () => {
  it("ignore what they do not know", () => {
    expect(parseQuery(new URLSearchParams("state=dead&sort=colour&dir=up&group=&x=1"))).toEqual(emptyQuery)
  })

  it("come back as they were written", () => {
    const text = fc.option(fc.string({ minLength: 1 }), { nil: null })
    const query: fc.Arbitrary<Query> = fc
      .record({
        q: fc.string(),
        state: fc.option(fc.constantFrom(...states), { nil: null }),
        group: text,
        tag: text,
        os: text,
        sort: fc.option(fc.constantFrom(...sortKeys), { nil: null }),
        dir: fc.constantFrom("asc" as const, "desc" as const)
      })
      .map((one) => (one.sort === null ? { ...one, dir: "asc" } : one))
    fc.assert(
      fc.property(query, (one) => {
        expect(parseQuery(new URLSearchParams(printQuery(one)))).toEqual(one)
      })
    )
  })

  it("leave a plain address for a plain list", () => {
    expect(printQuery(emptyQuery)).toBe("")
    expect(printQuery({ ...emptyQuery, sort: "cpu", dir: "desc" })).toBe("?sort=cpu")
  })

  it("go through first direction, other direction and none when a column is pressed", () => {
    for (const key of sortKeys) {
      const once = pressSort(emptyQuery, key)
      const twice = pressSort(once, key)
      expect([once.sort, once.dir]).toEqual([key, firstDirection(key)])
      expect([twice.sort, twice.dir === once.dir]).toEqual([key, false])
      expect(pressSort(twice, key)).toEqual(emptyQuery)
    }
  })
})
