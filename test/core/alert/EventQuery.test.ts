// Parameters of the event and delivery lists: what is refused, what is meant, and cursors that lead back where they came from.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { channelAnswer } from "../../../src/core/alert/AlertAnswers.ts"
import { cursorOf, deliveriesAsked, eventsAsked, timeOf } from "../../../src/core/alert/EventQuery.ts"

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const instant = fc.integer({ min: 0, max: Date.parse("9999-12-31T23:59:59.999Z") })

describe("a cursor", () => {
  it("leads back to the very event, to the millisecond", () => {
    fc.assert(
      fc.property(instant, id, (firstAt, eventId) => {
        const asked = eventsAsked({ cursor: cursorOf({ firstAt, id: eventId }) })
        expect(Either.getOrThrow(asked).after).toEqual({ firstAt, id: eventId })
      })
    )
  })

  it("that nobody gave out is refused or leads to some event, and never fails otherwise", () => {
    const outcomes = new Set<string>()
    const part = fc.constantFrom("2027-01-01T00:00:00Z", "2027-01-01", "7", "0", ",", "-1", " ", "x", "9".repeat(17))
    const text = fc.oneof(
      fc.string(),
      fc.array(part, { maxLength: 4 }).map((parts) => parts.join(""))
    )
    fc.assert(
      fc.property(text, (cursor) => {
        const asked = eventsAsked({ cursor })
        outcomes.add(asked._tag)
        if (Either.isLeft(asked)) expect(asked.left.message).toBe("cursor must be the next_cursor of a page")
        else if (cursor.trim() !== "") expect(asked.right.after?.id).toBeGreaterThan(0)
      }),
      { examples: [["2027-01-01T00:00:00Z,7"], ["2027-01-01T00:00:00Z,0"]], numRuns: 500 }
    )
    expect([...outcomes].toSorted()).toEqual(["Left", "Right"])
  })
})

describe("a query", () => {
  it("is about the open events, 200 at most, when nothing is said, blanks included", () => {
    const blank = { server_id: "", status: " ", metric: "", from: "", to: "", cursor: "", limit: "" }
    for (const params of [{}, blank]) {
      expect(Either.getOrThrow(eventsAsked(params))).toEqual({ status: "open", limit: 200 })
    }
    expect(Either.getOrThrow(deliveriesAsked({ status: "" }))).toEqual({ limit: 200 })
  })

  it("never asks for more than 500", () => {
    fc.assert(
      fc.property(id, (limit) => {
        expect(Either.getOrThrow(eventsAsked({ limit: String(limit) })).limit).toBe(Math.min(limit, 500))
        expect(Either.getOrThrow(deliveriesAsked({ limit: String(limit) })).limit).toBe(Math.min(limit, 500))
      })
    )
  })

  it("names the one parameter that is wrong", () => {
    const good = { server_id: "7", status: "all", metric: "cpu.load1", from: "2027-01-01T00:00:00Z", limit: "5" }
    for (const name of ["server_id", "status", "metric", "from", "to", "cursor", "limit"]) {
      const asked = eventsAsked({ ...good, [name]: "§" })
      expect(Either.isLeft(asked) && asked.left.message.split(" ")[0]).toBe(name)
    }
    for (const name of ["channel_id", "event_id", "server_id", "status", "cursor", "limit"]) {
      const asked = deliveriesAsked({ [name]: "§" })
      expect(Either.isLeft(asked) && asked.left.message.split(" ")[0]).toBe(name)
    }
  })

  it("takes the whole second of an end that is told in seconds", () => {
    const toMs = (to: string) => Either.getOrThrow(eventsAsked({ to })).toMs
    expect(toMs("2027-01-01T00:00:00Z")).toBe(Date.UTC(2027, 0, 1) + 999)
    expect(toMs("2027-01-01T00:00:00.250Z")).toBe(Date.UTC(2027, 0, 1) + 250)
    expect(timeOf("1800000000")).toBeUndefined()
  })
})

describe("a stored channel", () => {
  it("that another version wrote is told without its configuration", () => {
    const row = { id: 1, name: "a", type: "webhook", enabled: true, createdAt: 0, updatedAt: 1999 } as const
    for (const config of ["", "{", "[]", "5", '{"url":{"deep":1}}']) {
      expect(channelAnswer({ ...row, config }).config).toEqual({})
    }
    expect(channelAnswer({ ...row, config: '{"url":"x","to":["y"]}' })).toMatchObject({
      config: { url: "x", to: ["y"] },
      created_at: "1970-01-01T00:00:00Z",
      updated_at: "1970-01-01T00:00:01Z"
    })
  })
})
