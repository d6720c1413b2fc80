// All rules of a node together: the contract's timeline, why alerts end without their condition, and the cost of peace.
import { describe, expect, it } from "vitest"
import { deadlineMs } from "../../../src/core/alert/Health.ts"
import { considered, type Consideration, dissolved, type Transition } from "../../../src/core/alert/NodeAlerts.ts"
import { type AlertRule, builtIns, isWatched } from "../../../src/core/alert/Rule.ts"
import type { RuleState } from "../../../src/core/alert/RuleState.ts"
import { considerationAt, cpuRule, measuredOf, staticsOf, usageOf } from "./AlertCases.ts"
import { Host } from "../../../src/core/Layout.ts"

const noon = Date.parse("2025-11-21T12:00:00Z")
const offline = builtIns[0] as AlertRule

const at = (clock: string): number => Date.parse(`2025-11-21T${clock}Z`)

/** A node with its states, considered step by step. */
const watch = (rules: ReadonlyArray<AlertRule>) => {
  let states: ReadonlyArray<RuleState> = []
  let nextId = 1
  const consider = (nowMs: number, fields: Partial<Consideration>): ReadonlyArray<Transition> => {
    const after = considered(states, rules, considerationAt(nowMs, { nextEventId: () => nextId++, ...fields }))
    states = after.states
    return after.transitions
  }
  return {
    consider,
    report: (nowMs: number, usage: number) => consider(nowMs, { measured: usageOf(usage) }),
    states: () => states
  }
}

const brief = (transitions: ReadonlyArray<Transition>) =>
  transitions.map(({ atMs, eventId, reason, rule, transition }) => [transition, rule.name, eventId, atMs, reason])

const firingState: RuleState = {
  _tag: "Firing",
  ruleId: 1,
  generation: 1,
  eventId: 5,
  openedMs: noon,
  beatMs: noon,
  clearSinceMs: null,
  channelIds: [7],
  isMuted: false,
  rule: { id: 1, generation: 1, name: "old name", metric: "cpu.usage_ratio", operator: ">=", durationSec: 60 }
}

describe("the rules of a node", () => {
  it.each<[string, AlertRule | undefined, string]>([
    ["is deleted", undefined, "rule_deleted"],
    ["was disabled, which is another generation", { ...cpuRule, enabled: false, generation: 2 }, "rule_disabled"],
    ["was changed", { ...cpuRule, generation: 2 }, "rule_updated"],
    ["is not known to this version", { ...cpuRule, metric: "gpu.usage" as "conn.tcp" }, "rule_invalid"],
    ["is no longer mounted", cpuRule, "rule_unmounted"]
  ])("close what is open when its rule %s, telling those who got the open", (_, rule, reason) => {
    const after = considered([firingState], [], considerationAt(noon + 1000, { ruleOf: () => rule }))

    expect(after).toMatchObject({ states: [], isChanged: true })
    expect(after.transitions).toEqual([
      {
        transition: "closed",
        eventId: 5,
        rule: firingState.rule,
        atMs: noon + 1000,
        value: null,
        threshold: null,
        reason,
        channelIds: [7],
        isMuted: false
      }
    ])
  })

  it("let what was only pending or cooling down vanish with its rule", () => {
    const states: ReadonlyArray<RuleState> = [
      { _tag: "Pending", ruleId: 1, generation: 1, sinceMs: noon },
      { _tag: "Cooldown", ruleId: 2, generation: 1, untilMs: noon + 60_000 }
    ]
    const after = considered(states, [], considerationAt(noon))

    expect(after).toEqual({ states: [], isChanged: true, transitions: [] })
  })

  it("judge a changed rule anew in the consideration that closes its old alert", () => {
    const rule = { ...cpuRule, generation: 2, durationSec: 0 }
    const input = considerationAt(noon + 1000, { measured: usageOf(1), ruleOf: () => rule, nextEventId: () => 6 })
    const after = considered([firingState], [rule], input)

    expect(brief(after.transitions)).toEqual([
      ["closed", "old name", 5, noon + 1000, "rule_updated"],
      ["opened", "cpu_usage_high", 6, noon + 1000, null]
    ])
    expect(after.states).toMatchObject([{ _tag: "Firing", generation: 2, eventId: 6 }])
  })

  it("all close with a deleted node", () => {
    const pending: RuleState = { _tag: "Pending", ruleId: 2, generation: 1, sinceMs: noon }
    const after = dissolved([firingState, pending], noon + 1000)

    expect(after).toMatchObject({ states: [], isChanged: true })
    expect(brief(after.transitions)).toEqual([["closed", "old name", 5, noon + 1000, "server_deleted"]])
    expect(after.transitions[0]?.channelIds).toEqual([7])
    expect(dissolved([], noon).isChanged).toBe(false)
  })

  it("are not watched while disabled or unknown", () => {
    expect(isWatched(cpuRule)).toBe(true)
    expect(isWatched({ ...cpuRule, enabled: false })).toBe(false)
    expect(isWatched({ ...cpuRule, metric: "gpu.usage" as "conn.tcp" })).toBe(false)
  })
})

describe("a node that is silent", () => {
  it("opens nothing and closes nothing offline before its first report", () => {
    const node = watch([offline, { ...cpuRule, durationSec: 0 }])

    expect(node.consider(noon, { measured: undefined, isStale: true })).toEqual([])
    expect(node.states()).toEqual([])
  })

  it("is only pending as offline until the service has run for a minute", () => {
    const node = watch([offline])
    const early = node.consider(noon, { isStale: true, canOpen: false })
    const late = node.consider(noon + 60_000, { isStale: true, observedMs: noon - 90_000 })

    expect(early).toEqual([])
    expect(brief(late)).toEqual([["opened", "node_offline", 1, noon + 60_000, null]])
    expect(late[0]).toMatchObject({ value: 1, threshold: 1 })
  })

  it("stays offline where its last report is lost, and comes back with the next", () => {
    const node = watch([offline])
    node.consider(noon, { isStale: true })

    expect(node.consider(noon + 1000, { measured: undefined, isStale: true })).toEqual([])
    const back = node.report(noon + 2000, 0)
    expect(brief(back)).toEqual([["closed", "node_offline", 1, noon + 2000, "condition_cleared"]])
    expect(back[0]).toMatchObject({ value: 0, threshold: 1 })
  })
})

describe("a consideration between two reports", () => {
  it("does not make the last report older or younger than it is", () => {
    const node = watch([cpuRule])
    node.report(noon, 1)

    expect(node.consider(noon + 100_000, { measured: usageOf(1), observedMs: noon })).toEqual([])
    expect(node.states()).toEqual([{ _tag: "Pending", ruleId: 1, generation: 1, sinceMs: noon }])
  })

  it("tells what a silence has muted when it ends", () => {
    const node = watch([{ ...cpuRule, durationSec: 0 }])
    const muted = node.consider(noon, { measured: usageOf(1), isSilenced: (id) => id === 1 })
    const told = node.consider(noon + 1000, { measured: usageOf(1), observedMs: noon })

    expect(muted).toMatchObject([{ transition: "opened", isMuted: true, channelIds: [] }])
    expect(told).toMatchObject([{ transition: "unmuted", eventId: 1, isMuted: false, channelIds: [7, 8] }])
  })
})

describe("the thresholds", () => {
  it("hold an alert between the clear threshold and the threshold", () => {
    const node = watch([{ ...cpuRule, durationSec: 0, clearThreshold: 0.7 }])

    expect(node.report(noon, 0.95)).toMatchObject([{ transition: "opened", value: 0.95, threshold: 0.9 }])
    expect(node.report(noon + 3000, 0.7)).toEqual([])
    expect(node.report(noon + 6000, 0.69)).toMatchObject([{ transition: "closed", value: 0.69 }])
    expect(node.report(noon + 9000, 0.8)).toEqual([])
  })

  it("count the cores of the node, the clear threshold too", () => {
    const rule: AlertRule = {
      ...cpuRule,
      metric: "cpu.load1",
      threshold: 1,
      thresholdOffset: 0.5,
      thresholdMode: "core_plus",
      clearThreshold: -1,
      durationSec: 0
    }
    const statics = staticsOf({ cpu: { info: { cores_logical: 4 } } })
    const node = watch([rule])
    const load = (nowMs: number, value: number) =>
      node.consider(nowMs, { measured: measuredOf((vector) => void (vector[Host.load1] = value), {}, { statics }) })

    expect(load(noon, 5.49)).toEqual([])
    expect(load(noon + 3000, 5.5)).toMatchObject([{ transition: "opened", threshold: 5.5 }])
    expect(load(noon + 6000, 3.5)).toEqual([])
    expect(load(noon + 9000, 3.4)).toMatchObject([{ transition: "closed", threshold: 5.5 }])
  })
})

describe("the contract's timeline", () => {
  const rule: AlertRule = { ...cpuRule, cooldownMin: 5, updatedAt: noon }

  it("opens, closes, cools down, opens again, falls silent and comes back", () => {
    const node = watch([rule, offline])
    const pendingSince = (clock: string) => [{ _tag: "Pending", ruleId: 1, generation: 1, sinceMs: at(clock) }]

    expect(node.report(at("12:10:00"), 0.95)).toEqual([])
    expect(node.states()).toEqual(pendingSince("12:10:00"))
    expect(node.report(at("12:10:59"), 0.95)).toEqual([])
    expect(brief(node.report(at("12:11:00"), 0.95))).toEqual([["opened", rule.name, 1, at("12:11:00"), null]])
    expect(brief(node.report(at("12:11:30"), 0.5))).toEqual([
      ["closed", rule.name, 1, at("12:11:30"), "condition_cleared"]
    ])
    expect(node.states()).toEqual([{ _tag: "Cooldown", ruleId: 1, generation: 1, untilMs: at("12:16:30") }])
    expect(node.report(at("12:12:00"), 0.99)).toEqual([])
    expect(node.report(at("12:16:30"), 0.99)).toEqual([])
    expect(node.states()).toEqual(pendingSince("12:16:30"))
    expect(brief(node.report(at("12:17:30"), 0.99))).toEqual([["opened", rule.name, 2, at("12:17:30"), null]])

    const silent = (clock: string) => ({
      measured: usageOf(0.99),
      observedMs: at("12:17:30"),
      isStale: at(clock) > deadlineMs(at("12:17:30"), noon, 14_000)
    })
    expect(node.consider(at("12:17:44"), silent("12:17:44"))).toEqual([])
    expect(brief(node.consider(at("12:17:45"), silent("12:17:45")))).toEqual([
      ["closed", rule.name, 2, at("12:17:45"), "snapshot_stale"],
      ["opened", "node_offline", 3, at("12:17:45"), null]
    ])

    expect(brief(node.report(at("12:18:10"), 0.99))).toEqual([
      ["closed", "node_offline", 3, at("12:18:10"), "condition_cleared"]
    ])
    expect(node.states()).toEqual(pendingSince("12:18:10"))
  })
})

describe("a report in peace", () => {
  it("gives back the very states and the same answer each time", () => {
    const rules = [cpuRule, ...builtIns]
    const one = considered([], rules, considerationAt(noon))
    const two = considered([], rules, considerationAt(noon + 3000))
    const states: ReadonlyArray<RuleState> = [{ _tag: "Pending", ruleId: 1, generation: 1, sinceMs: noon }]
    const busy = considered(states, rules, considerationAt(noon + 3000, { measured: usageOf(1) }))

    expect(two).toBe(one)
    expect(one).toEqual({ states: [], isChanged: false, transitions: [] })
    expect(busy.states).toBe(states)
    expect(busy.isChanged).toBe(false)
  })
})
