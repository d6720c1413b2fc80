// Stored states come back exactly, and what nobody wrote is refused.
import { Option } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { labelOf } from "../../../src/core/alert/Rule.ts"
import type { RuleState } from "../../../src/core/alert/RuleState.ts"
import { statesIn, statesText } from "../../../src/core/alert/RuleStateCode.ts"
import { cpuRule } from "./AlertCases.ts"

const id = fc.integer({ min: -4, max: 1_000_000 })
const ms = fc.integer({ min: 0, max: 4_000_000_000_000 })
const identity = { ruleId: id, generation: fc.nat() }
const state = fc.oneof<[fc.Arbitrary<RuleState>, fc.Arbitrary<RuleState>, fc.Arbitrary<RuleState>]>(
  fc.record({ _tag: fc.constant("Pending" as const), ...identity, sinceMs: ms }),
  fc.record({
    _tag: fc.constant("Firing" as const),
    ...identity,
    eventId: fc.nat(),
    openedMs: ms,
    beatMs: ms,
    clearSinceMs: fc.oneof(ms, fc.constant(null)),
    channelIds: fc.array(fc.nat()),
    isMuted: fc.boolean(),
    rule: fc.string().map((name) => ({ ...labelOf(cpuRule), name }))
  }),
  fc.record({ _tag: fc.constant("Cooldown" as const), ...identity, untilMs: ms })
)

it.each(["", "null", "{}", "[1]", '[{"_tag":"Pending","ruleId":1,"generation":1}]', '[{"_tag":"Gone","ruleId":1}]'])(
  "%j is refused",
  (text) => {
    expect(Option.isNone(statesIn(text))).toBe(true)
  }
)

it("states come back as they were, none of them as no text at all", () => {
  fc.assert(
    fc.property(fc.array(state, { maxLength: 10 }), (states) => {
      const text = statesText(states)

      expect(text === null).toBe(states.length === 0)
      expect(Option.getOrThrow(statesIn(text))).toEqual(states)
    })
  )
})
