// Every row of the table of states, hysteresis, damping, silences, and clocks that were set.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { builtIns, labelOf } from "../../../src/core/alert/Rule.ts"
import { type Cooldown, type Firing, type Pending, step } from "../../../src/core/alert/RuleState.ts"
import { cpuRule, momentAt } from "./AlertCases.ts"

const startMs = 1_900_000_000_000
const offline = builtIns[0] as (typeof builtIns)[number]

const pending = (sinceMs: number): Pending => ({ _tag: "Pending", ruleId: 1, generation: 1, sinceMs })
const firing = (fields: Partial<Firing> = {}): Firing => ({
  _tag: "Firing",
  ruleId: 1,
  generation: 1,
  eventId: 5,
  openedMs: startMs,
  beatMs: startMs,
  clearSinceMs: null,
  channelIds: [7],
  isMuted: false,
  rule: labelOf(cpuRule),
  ...fields
})
const cooldown = (untilMs: number): Cooldown => ({ _tag: "Cooldown", ruleId: 1, generation: 1, untilMs })

describe("nothing held", () => {
  it.each(["between", "clear", "stale", "unknown"] as const)("stays so where the condition is %s", (condition) => {
    expect(step(undefined, cpuRule, condition, momentAt(startMs))).toBeUndefined()
  })

  it("becomes pending from the time of the report, and from the last change of the rule where that is later", () => {
    const early = step(undefined, { ...cpuRule, updatedAt: startMs - 1 }, "holds", momentAt(startMs))
    const late = step(
      undefined,
      { ...cpuRule, updatedAt: startMs + 500 },
      "holds",
      momentAt(startMs + 900, { observedMs: startMs })
    )

    expect(early).toEqual({ state: pending(startMs), effect: "none", reason: null })
    expect(late?.state).toEqual(pending(startMs + 500))
  })

  it("opens at once where no duration is asked for, also behind a later change of the rule", () => {
    const rule = { ...cpuRule, durationSec: 0, updatedAt: startMs + 500 }
    const moment = momentAt(startMs + 900, { observedMs: startMs, nextEventId: () => 41 })

    expect(step(undefined, rule, "holds", moment)).toEqual({
      state: firing({
        eventId: 41,
        openedMs: startMs + 900,
        beatMs: startMs + 900,
        channelIds: [7, 8],
        rule: labelOf(rule)
      }),
      effect: "opened",
      reason: null
    })
  })

  it("opens nothing while the service has just started", () => {
    const stepped = step(undefined, { ...cpuRule, durationSec: 0 }, "holds", momentAt(startMs, { canOpen: false }))

    expect(stepped).toEqual({ state: pending(startMs), effect: "none", reason: null })
  })
})

describe("pending", () => {
  it.each(["between", "clear", "stale", "unknown"] as const)("ends without a trace where it is %s", (condition) => {
    const stepped = step(pending(startMs), cpuRule, condition, momentAt(startMs + 90_000))

    expect(stepped).toEqual({ state: undefined, effect: "none", reason: null })
  })

  it("waits a millisecond before its duration and opens with it", () => {
    expect(step(pending(startMs), cpuRule, "holds", momentAt(startMs + 59_999))).toBeUndefined()
    const stepped = step(pending(startMs), cpuRule, "holds", momentAt(startMs + 60_000, { nextEventId: () => 9 }))

    expect(stepped?.effect).toBe("opened")
    expect(stepped?.state).toMatchObject({ _tag: "Firing", eventId: 9, openedMs: startMs + 60_000, isMuted: false })
  })

  it("does not grow old between two reports", () => {
    const moment = momentAt(startMs + 90_000, { observedMs: startMs + 59_000 })

    expect(step(pending(startMs), cpuRule, "holds", moment)).toBeUndefined()
  })

  it("is kept through the first minute of the service and opens after it", () => {
    expect(step(pending(startMs), cpuRule, "holds", momentAt(startMs + 90_000, { canOpen: false }))).toBeUndefined()
    const after = step(pending(startMs), cpuRule, "holds", momentAt(startMs + 93_000, { nextEventId: () => 1 }))

    expect(after?.effect).toBe("opened")
  })

  it("starts again from now when the clock was set back behind its beginning", () => {
    const stepped = step(pending(startMs + 3_600_000), cpuRule, "holds", momentAt(startMs))

    expect(stepped?.state).toEqual(pending(startMs))
  })
})

describe("firing", () => {
  it("beats at most every minute while it holds, and says nothing between", () => {
    expect(step(firing(), cpuRule, "holds", momentAt(startMs + 59_999))).toBeUndefined()
    const beat = step(firing(), cpuRule, "holds", momentAt(startMs + 60_000))

    expect(beat).toEqual({ state: firing({ beatMs: startMs + 60_000 }), effect: "beat", reason: null })
  })

  it("closes when clear, with a cooldown only where the rule has one", () => {
    const none = step(firing(), cpuRule, "clear", momentAt(startMs + 1000))
    const some = step(firing(), { ...cpuRule, cooldownMin: 5 }, "clear", momentAt(startMs + 1000))

    expect(none).toEqual({ state: undefined, effect: "closed", reason: "condition_cleared" })
    expect(some).toEqual({ state: cooldown(startMs + 301_000), effect: "closed", reason: "condition_cleared" })
  })

  it("closes without a cooldown when the node falls silent", () => {
    const stepped = step(firing(), { ...cpuRule, cooldownMin: 5 }, "stale", momentAt(startMs + 1000))

    expect(stepped).toEqual({ state: undefined, effect: "closed", reason: "snapshot_stale" })
  })

  it("stays when nothing can be said of the node", () => {
    expect(step(firing(), offline, "unknown", momentAt(startMs + 90_000))).toBeUndefined()
  })

  it("stays between the threshold and the clear threshold, and beats there", () => {
    expect(step(firing(), cpuRule, "between", momentAt(startMs + 1000))).toBeUndefined()
    expect(step(firing(), cpuRule, "between", momentAt(startMs + 60_000))?.effect).toBe("beat")
  })

  it("closes only after it was clear for as long as the rule asks", () => {
    const rule = { ...cpuRule, keepFiringSec: 30 }
    const clearing = step(firing(), rule, "clear", momentAt(startMs + 1000))
    const waiting = firing({ clearSinceMs: startMs + 1000 })

    expect(clearing).toEqual({ state: waiting, effect: "none", reason: null })
    expect(step(waiting, rule, "clear", momentAt(startMs + 30_999))).toBeUndefined()
    expect(step(waiting, rule, "clear", momentAt(startMs + 31_000))?.reason).toBe("condition_cleared")
  })

  it.each(["holds", "between"] as const)("begins its clear time anew where it %s in between", (condition) => {
    const rule = { ...cpuRule, keepFiringSec: 30 }
    const stepped = step(firing({ clearSinceMs: startMs + 1000 }), rule, condition, momentAt(startMs + 20_000))

    expect(stepped).toEqual({ state: firing(), effect: "none", reason: null })
  })

  it("lets a beat through after the clock was set back", () => {
    expect(step(firing(), cpuRule, "holds", momentAt(startMs - 3_600_000))?.effect).toBe("beat")
  })

  it("does not wait for hours to be clear after the clock was set back", () => {
    const rule = { ...cpuRule, keepFiringSec: 30 }
    const backMs = startMs - 3_600_000
    const stepped = step(firing({ clearSinceMs: startMs }), rule, "clear", momentAt(backMs))

    expect(stepped?.state).toEqual(firing({ clearSinceMs: backMs }))
  })
})

describe("cooldown", () => {
  const rule = { ...cpuRule, cooldownMin: 5 }

  it.each(["holds", "clear", "stale"] as const)("is not looked at before its end where it %s", (condition) => {
    expect(step(cooldown(startMs + 1), rule, condition, momentAt(startMs))).toBeUndefined()
  })

  it("ends with its last moment, from which the duration starts again", () => {
    const report = step(cooldown(startMs), rule, "holds", momentAt(startMs))
    const between = step(cooldown(startMs), rule, "holds", momentAt(startMs + 900, { observedMs: startMs - 2000 }))

    expect(report?.state).toEqual(pending(startMs))
    expect(between?.state).toEqual(pending(startMs))
    expect(step(cooldown(startMs), rule, "clear", momentAt(startMs))?.state).toBeUndefined()
  })

  it("is at most as long as the rule says after the clock was set back", () => {
    const stepped = step(cooldown(startMs + 3_600_000), rule, "holds", momentAt(startMs))

    expect(stepped?.state).toEqual(cooldown(startMs + 300_000))
  })
})

describe("a silence", () => {
  const muted = firing({ isMuted: true, channelIds: [] })

  it("lets an alert open, but tells nobody", () => {
    const moment = momentAt(startMs + 60_000, { isSilenced: true, nextEventId: () => 3 })
    const stepped = step(pending(startMs), cpuRule, "holds", moment)

    expect(stepped?.effect).toBe("opened")
    expect(stepped?.state).toMatchObject({ isMuted: true, channelIds: [] })
  })

  it("is followed by the news once it has ended, if it still holds", () => {
    const still = step(muted, cpuRule, "holds", momentAt(startMs + 1000, { isSilenced: true }))
    const after = step(muted, cpuRule, "holds", momentAt(startMs + 2000))

    expect(still).toBeUndefined()
    expect(after).toEqual({
      state: firing({ channelIds: [7, 8], beatMs: startMs + 2000 }),
      effect: "unmuted",
      reason: null
    })
  })

  it("is not followed by news of what is clear, nor during the first minute of the service", () => {
    const rule = { ...cpuRule, keepFiringSec: 30 }

    expect(step(muted, rule, "clear", momentAt(startMs + 1000))?.effect).toBe("none")
    expect(step(muted, cpuRule, "holds", momentAt(startMs + 1000, { canOpen: false }))).toBeUndefined()
  })

  it("that comes later leaves those in place who were told of the opening", () => {
    const stepped = step(firing(), cpuRule, "clear", momentAt(startMs + 1000, { isSilenced: true }))

    expect(stepped?.effect).toBe("closed")
  })
})

it("hysteresis: a value that swings between the two thresholds neither closes nor opens anything", () => {
  const swings = fc.array(fc.constantFrom("holds" as const, "between" as const), { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(swings, (conditions) => {
      let state: ReturnType<typeof firing> = firing()
      conditions.forEach((condition, i) => {
        const stepped = step(state, cpuRule, condition, momentAt(startMs + 3000 * (i + 1)))
        expect(["none", "beat"]).toContain(stepped?.effect ?? "none")
        if (stepped !== undefined) state = stepped.state as Firing
        expect(state._tag).toBe("Firing")
      })
    })
  )
})
