// One layout is shared by all nodes with the same devices, and the memory for that is bounded.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { makeIntern } from "../../src/core/Interner.ts"
import { layoutOf, namesIn } from "../../src/core/Layout.ts"
import { reportRows } from "../support/ArbitraryReports.ts"
import { fullReport, nic, reportWith, travelled } from "../support/Reports.ts"

describe("an interner", () => {
  it("gives nodes with equal devices the same layout, however the names came about", () => {
    const intern = makeIntern()
    const names = namesIn(fullReport())

    expect(intern(names)).toBe(intern(namesIn(fullReport())))
    expect(intern(names)).toBe(intern(travelled(names)))
    expect(intern(names)).toEqual(layoutOf(names))
  })

  it("keeps different devices apart, also those that differ in one word", () => {
    fc.assert(
      fc.property(reportRows, (row) => {
        const intern = makeIntern()
        const found = new Map(row.map((report) => [JSON.stringify(namesIn(report)), intern(namesIn(report))]))

        expect(new Set(found.values()).size).toBe(found.size)
        for (const report of row) expect(intern(namesIn(report))).toEqual(layoutOf(namesIn(report)))
      })
    )
  })

  it("starts anew after 4096 layouts, and goes on giving right ones", () => {
    const intern = makeIntern()
    const namesOfNode = (i: number) => namesIn(reportWith((report) => (report.metrics.network = [nic(`eth${i}`)])))
    const first = intern(namesOfNode(0))
    for (let i = 1; i < 4096; i++) intern(namesOfNode(i))

    expect(intern(namesOfNode(0))).toBe(first)
    intern(namesOfNode(4096))
    expect(intern(namesOfNode(0))).not.toBe(first)
    expect(intern(namesOfNode(0))).toEqual(first)
  })
})
