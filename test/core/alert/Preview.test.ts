// A rule run over the past: the same openings and closings as in life.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { considered } from "../../../src/core/alert/NodeAlerts.ts"
import { preview, type Point } from "../../../src/core/alert/Preview.ts"
import { type AlertRule, builtIns } from "../../../src/core/alert/Rule.ts"
import type { RuleState } from "../../../src/core/alert/RuleState.ts"
import { considerationAt, cpuRule, usageOf } from "./AlertCases.ts"

const startMs = 1_900_000_000_000
const offline = builtIns[0] as AlertRule
const rule: AlertRule = { ...cpuRule, durationSec: 6, updatedAt: startMs + 3_600_000 }

const past = (points: ReadonlyArray<readonly [sec: number, value: number | null]>, untilSec: number) => ({
  points: points.map(([sec, value]): Point => ({ atMs: startMs + sec * 1000, value })),
  untilMs: startMs + untilSec * 1000,
  staleMs: 14_000,
  cores: 0
})
const seconds = (episodes: ReturnType<typeof preview>) =>
  episodes.map(({ closedMs, openedMs }) => [openedMs - startMs, closedMs === null ? null : closedMs - startMs])

describe("a preview", () => {
  it("of nothing is nothing", () => {
    expect(preview(rule, past([], 100))).toEqual([])
  })

  it("opens after the duration and closes with the condition, also before the rule was written", () => {
    const episodes = preview(rule, past([[0, 1], [3, 1], [6, 1], [9, 0.2], [12, 1], [15, 0.2]], 20)) // prettier-ignore

    expect(seconds(episodes)).toEqual([[6000, 9000]])
  })

  it("takes an absent value as clear, and a gap as silence that closes and that no duration reaches across", () => {
    const episodes = preview(rule, past([[0, 1], [6, 1], [9, null], [12, 1], [18, 1], [40, 1], [46, 1]], 50)) // prettier-ignore

    expect(seconds(episodes)).toEqual([
      [6000, 9000],
      [18_000, 32_001],
      [46_000, null]
    ])
  })

  it("closes what nothing was heard of up to the end, and leaves open what was heard in time", () => {
    expect(
      seconds(
        preview(
          rule,
          past(
            [
              [0, 1],
              [6, 1]
            ],
            20
          )
        )
      )
    ).toEqual([[6000, null]])
    expect(
      seconds(
        preview(
          rule,
          past(
            [
              [0, 1],
              [6, 1]
            ],
            21
          )
        )
      )
    ).toEqual([[6000, 20_001]])
  })

  it("of the offline rule is the gaps", () => {
    const episodes = preview(
      offline,
      past(
        [
          [0, null],
          [14, 0.5],
          [60, 0.5]
        ],
        90
      )
    )

    expect(seconds(episodes)).toEqual([
      [28_001, 60_000],
      [74_001, null]
    ])
  })

  it("adds the cores it is told", () => {
    const load: AlertRule = { ...rule, durationSec: 0, metric: "cpu.load1", threshold: 1, thresholdMode: "core_plus" }
    const query = { ...past([[0, 4.9], [3, 5], [6, 4.9]], 10), cores: 4 } // prettier-ignore

    expect(seconds(preview(load, query))).toEqual([[3000, 6000]])
  })

  it("tells of reports what they would have opened and closed in life", () => {
    const course = fc.array(
      fc.record({ gap: fc.integer({ min: 1, max: 12 }), value: fc.constantFrom(0.1, 0.6, 0.95) }),
      {
        maxLength: 80
      }
    )
    const lively: AlertRule = { ...rule, updatedAt: 0, clearThreshold: 0.5, keepFiringSec: 5, cooldownMin: 1 }
    fc.assert(
      fc.property(course, (steps) => {
        let sec = 0
        let states: ReadonlyArray<RuleState> = []
        const told: Array<readonly [string, number]> = []
        const points = steps.map(({ gap, value }) => [(sec += gap), value] as const)
        for (const [at, value] of points) {
          const input = considerationAt(startMs + at * 1000, { measured: usageOf(value), nextEventId: () => 1 })
          const after = considered(states, [lively], input)
          states = after.states
          for (const { atMs, transition } of after.transitions)
            if (transition !== "beat") told.push([transition, atMs - startMs])
        }
        const shown = seconds(preview(lively, past(points, sec))).flatMap(
          ([opened, closed]) =>
          closed === null ? [["opened", opened]] : [["opened", opened], ["closed", closed]] // prettier-ignore
        )

        expect(shown).toEqual(told)
      })
    )
  })
})
