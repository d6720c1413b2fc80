// @vitest-environment node
// Small pure parts: windows of long lists, chart scales and paths, cells, commands, tags, moves, keys.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { fixedCells, movingCells } from "../../src/web/fleet/Cells.ts"
import { Fleet, sparkLength } from "../../src/web/fleet/Fleet.ts"
import { states } from "../../src/web/fleet/Freshness.ts"
import { sparkHeight, sparkPath, sparkWidth } from "../../src/web/fleet/Sparkline.ts"
import { scrollDelta, windowOf } from "../../src/web/fleet/Window.ts"
import { installCommands, shellWord } from "../../src/web/pages/admin/Install.ts"
import { tagsMax, withTag } from "../../src/web/pages/admin/Tags.ts"
import { toneOfHealth } from "../../src/web/pages/node/Health.ts"
import { linePath, nearest, scaleOf, spread } from "../../src/web/charts/Trend.ts"
import { moveIn } from "../../src/web/pages/overview/ListKeys.ts"
import { english } from "../../src/web/text/English.ts"
import { makeFormat, unknown } from "../../src/web/text/Format.ts"
import { FakeFleet } from "./FakeFleet.ts"

describe("the window of a long list", () => {
  it("is empty without rows, and below and above the list never larger than the list", () => {
    expect(windowOf(0, 800, 40, 0)).toEqual({ first: 0, end: 0 })
    fc.assert(
      fc.property(fc.integer({ min: -5000, max: 900_000 }), fc.nat(10_000), (top, count) => {
        const { first, end } = windowOf(top, 800, 40, count)
        expect(first).toBeGreaterThanOrEqual(0)
        expect(end).toBeLessThanOrEqual(count)
        expect(end - first).toBeLessThanOrEqual(800 / 40 + 14)
      })
    )
  })

  it("holds every row that can be seen", () => {
    fc.assert(
      fc.property(fc.nat(300_000), (top) => {
        const { first, end } = windowOf(top, 800, 40, 10_000)
        expect(first * 40).toBeLessThanOrEqual(top)
        expect(end * 40).toBeGreaterThanOrEqual(Math.min(400_000, top + 800))
      })
    )
  })

  it("scrolls only as far as a row needs, and not at all when the row is visible", () => {
    expect(scrollDelta(400, 800, 40, 12, 60)).toBe(0)
    expect(scrollDelta(400, 800, 40, 5, 60)).toBe(-260)
    expect(scrollDelta(0, 800, 40, 30, 60)).toBe(440)
  })
})

describe("a chart", () => {
  it("has a scale even for series that are flat, empty or unknown", () => {
    for (const values of [[], [0, 0], [-1, -1], [null]])
      expect(scaleOf([{ name: "x", values }], null).max).toBeGreaterThan(0)
  })

  it("has round ticks from zero to an edge that no value passes", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { minLength: 1 }), (values) => {
        const { max, ticks } = scaleOf([{ name: "x", values }], null)
        expect(max).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-9))
        expect([ticks[0], ticks.at(-1)]).toEqual([0, max])
        expect(ticks.length).toBeLessThanOrEqual(6)
      })
    )
  })

  it("lifts its pen at unknown samples and at long pauses", () => {
    const frame = { width: 100, height: 10, fromMs: 0, toMs: 10_000, max: 1 }
    const pens = (at: ReadonlyArray<number>, values: ReadonlyArray<number | null>) =>
      linePath(at, values, frame).match(/M/g)?.length

    expect(pens([0, 1000, 2000, 3000], [1, 1, 1, 1])).toBe(1)
    expect(pens([0, 1000, 2000, 3000], [1, null, 1, -1])).toBe(2)
    expect(pens([0, 1000, 2000, 9000, 10_000], [1, 1, 1, 1, 1])).toBe(2)
  })

  it("finds the nearest sample and a spread that ends at the newest", () => {
    expect([nearest([], 5), nearest([0, 10, 20], 14), nearest([0, 10, 20], 99)]).toEqual([-1, 1, 2])
    expect(spread(100, 3)).toEqual([99, 49, 0])
    expect([spread(1, 12), spread(0, 12)]).toEqual([[0], []])
  })

  it("keeps sparklines inside their box", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -1, max: 32_000 }), { minLength: 2, maxLength: sparkLength }),
        (samples) => {
          const numbers = [...sparkPath(Int16Array.from(samples), samples.length).matchAll(/[ML]([\d.]+) ([\d.]+)/g)]
          expect(numbers).toHaveLength(samples.length)
          for (const [, x, y] of numbers) {
            expect(Number(x)).toBeLessThanOrEqual(sparkWidth)
            expect(Number(y)).toBeLessThanOrEqual(sparkHeight)
          }
        }
      )
    )
  })
})

describe("a row", () => {
  const start = 1_900_000_000_000
  const fake = new FakeFleet(3, start)
  Object.assign(fake.nodes[0] ?? {}, { cpu: 970, disk: -1, receivedAtMs: start - 20_000 })
  const fleet = new Fleet()
  fleet.apply(fake.frame("admin", null, start, 3000))
  const cells = (code: number) => movingCells(fleet, 0, code, start, english, makeFormat("en", english.units))

  it("shows no figure of a node that is offline or was never seen, only when it was seen", () => {
    const { cpu, recv, load, uptime, seen } = cells(states.indexOf("offline"))

    expect([cpu.text, recv, load, uptime, seen]).toEqual([unknown, unknown, unknown, unknown, "20s ago"])
    expect(cells(states.indexOf("waiting")).seen).toBe("never")
  })

  it("raises no alarm over old figures and none over unknown ones", () => {
    expect(cells(states.indexOf("online")).cpu).toEqual({ ratio: 0.97, text: "97%", level: "bad" })
    expect(cells(states.indexOf("stale")).cpu.level).toBe("old")
    expect(cells(states.indexOf("online")).disk).toEqual({ ratio: null, text: unknown, level: "calm" })
  })

  it("marks for guests nothing that only administrators may know", () => {
    const guest = new Fleet()
    guest.apply(fake.frame("guest", null, start, 3000))

    expect(fixedCells(guest, 0)).toMatchObject({ version: "", isOutdated: false, isHidden: false, fault: "" })
  })
})

describe("the administration", () => {
  it("quotes a secret that a shell would not take as it is", () => {
    expect(shellWord("Ab3dEf6h")).toBe("Ab3dEf6h")
    expect(shellWord("a b'c$(x)")).toBe(`'a b'\\''c$(x)'`)
  })

  it("demands https only where the page itself came over https", () => {
    expect(installCommands("https://mon.example.test", "s")[0]).toBe(
      "node dist/monitor-node.mjs report install https://mon.example.test/api/node/metrics s --require-https"
    )
    expect(installCommands("http://10.0.0.1:8080", "s")).toEqual([
      "node dist/monitor-node.mjs report install http://10.0.0.1:8080/api/node/metrics s",
      "node dist/monitor-node.mjs push"
    ])
  })

  it("takes tags trimmed, once each, and no more than the service does", () => {
    expect(withTag(["a"], " b, a ,,c ")).toEqual(["a", "b", "c"])
    const many = Array.from({ length: 50 }, (_, i) => `t${i}`).join(",")
    expect(withTag([], many)).toHaveLength(tagsMax)
  })

  it("calls a health word it does not know a reason to look, not to worry", () => {
    expect(["PASSED", "failed", "mystery"].map(toneOfHealth)).toEqual(["ok", "bad", "warn"])
  })
})

describe("the keys of the list", () => {
  it("do nothing outside the list but for the letters", () => {
    for (const key of ["ArrowDown", "ArrowUp", "Home", "End", "PageDown", "x"])
      expect(moveIn(key, 3, 10, false, false)).toBeNull()
  })

  it("land on the current row first, stop at both ends and lead from the first row to the search", () => {
    expect([moveIn("j", 0, 10, false, false), moveIn("j", 0, 10, true, true), moveIn("j", 9, 10, true, true)]).toEqual([
      0, 1, 9
    ])
    expect([moveIn("k", 0, 10, true, true), moveIn("k", 5, 10, true, true)]).toEqual([-1, 4])
    expect([moveIn("End", 0, 10, true, true), moveIn("PageUp", 4, 10, true, true)]).toEqual([9, 0])
  })
})
