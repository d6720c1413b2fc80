// The parameters of the traffic reads: each wrong one by its name, then defaults and bounds.
import { describe, expect, it } from "vitest"
import { exportQuery, trafficQuery } from "../../src/core/TrafficQuery.ts"

const good = { server_id: "7", iface: "eth0" }

describe("a traffic read is refused", () => {
  const wrong: Readonly<Record<string, ReadonlyArray<string | undefined>>> = {
    server_id: [undefined, "", " ", "0", "-1", "1.5", "x", "9".repeat(16), "7 "],
    iface: [undefined, "", " ", "all", "ALL", " All ", "x".repeat(257)],
    period: ["next", "Current", "current,previous"],
    months: ["0", "-1", "1.5", "x", "+1", "1e1", "9".repeat(16)]
  }
  it.each(Object.entries(wrong))("for its %s", (name, values) => {
    for (const value of values) {
      const told = trafficQuery({ ...good, [name]: value })
      expect([value, "wrong" in told && told.wrong.split(" ")[0]]).toEqual([value, name])
      expect(exportQuery({ ...good, [name]: value, kind: "facts" })).toEqual(told)
    }
  })

  it.each([[undefined], [""], ["all"], ["Days"], ["constructor"]])("as an export of kind %j", (kind) => {
    expect(exportQuery({ ...good, kind })).toEqual({ wrong: "kind must be one of facts, days, months" })
  })
})

describe("a traffic read", () => {
  it("is of the current cycle and six months when nothing else is given", () => {
    const expected = { serverId: 7, iface: "eth0", period: "current", months: 6 }

    expect(trafficQuery(good)).toEqual(expected)
    expect(trafficQuery({ ...good, iface: " eth0 ", period: "", months: " " })).toEqual(expected)
  })

  it("is of at most 24 months", () => {
    const months = (text: string) => {
      const query = trafficQuery({ ...good, months: text })
      return "wrong" in query ? query.wrong : query.months
    }
    expect(["1", "24", "25", "007", "9".repeat(15)].map(months)).toEqual([1, 24, 24, 7, 24])
  })

  it("may be of the previous cycle, and an interface may be called nearly anything", () => {
    expect(trafficQuery({ ...good, iface: "wall.all", period: " previous " })).toMatchObject({
      iface: "wall.all",
      period: "previous"
    })
    for (const kind of ["facts", "days", "months"]) expect(exportQuery({ ...good, kind })).toMatchObject({ kind })
  })
})
