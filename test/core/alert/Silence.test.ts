// Silences by node, group and rule, up to their end.
import { expect, it } from "vitest"
import { isSilenced, nextEndMs, type Silence } from "../../../src/core/alert/Silence.ts"

const silence = (scope: Silence["scope"], targetId: number, untilMs = 1000): Silence => ({
  id: 1,
  scope,
  targetId,
  untilMs,
  comment: "",
  createdAt: 0
})
const holds = (one: Silence, nowMs = 0): boolean => isSilenced([one], 5, [7, 8], -1, nowMs)

it("a silence covers only its node, its group or its rule, though their numbers are the same", () => {
  expect(
    [silence("node", 7), silence("group", 5), silence("rule", 5), silence("rule", 1)].map((one) => holds(one))
  ).toEqual([false, false, false, false])
  expect([silence("node", 5), silence("group", 8), silence("rule", -1)].map((one) => holds(one))).toEqual([
    true,
    true,
    true
  ])
})

it("a silence ends with its last moment, and one that ended does not hide another", () => {
  expect(holds(silence("node", 5), 999)).toBe(true)
  expect(holds(silence("node", 5), 1000)).toBe(false)
  expect(isSilenced([silence("node", 5, 10), silence("rule", -1, 2000)], 5, [], -1, 1000)).toBe(true)
  expect(isSilenced([], 5, [7], -1, 0)).toBe(false)
})

it("the next end is the earliest that is still to come", () => {
  const all = [silence("node", 1, 500), silence("node", 2, 3000), silence("node", 3, 2000)]

  expect([0, 500, 2500, 3000].map((nowMs) => nextEndMs(all, nowMs))).toEqual([500, 2000, 3000, undefined])
})
