// A report is applied once: repeats, late copies and a second agent are told from reboots and clocks that were set.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  conflictAt,
  conflictShownMs,
  emptyOrigin,
  judge,
  type Origin,
  originOf,
  type OriginState,
  type Verdict
} from "../../src/core/Origin.ts"
import { travelled } from "../support/Reports.ts"

const start = Date.UTC(2026, 5, 14)
const second = 1000
const day = 86_400 * second

/** One agent on a machine: `clock` is how far its clock is from the true time, in milliseconds. */
interface Machine {
  readonly hostname?: string
  readonly bootedAt?: number
  readonly clock?: number
}
const measured = (at: number, { bootedAt = start - day, clock = 0, hostname = "edge" }: Machine = {}): Origin =>
  originOf(hostname, at + clock, Math.max(0, Math.floor((at - bootedAt) / second)), at)
/** The same report, received later. */
const receivedAt = (report: Origin, at: number): Origin => ({ ...report, receivedAt: at })

const judged = (state: OriginState, ...reports: ReadonlyArray<Origin>): ReadonlyArray<Verdict> =>
  reports.map((report) => judge(state, report))
const every3s = (count: number, machine: Machine = {}, from = start): ReadonlyArray<Origin> =>
  Array.from({ length: count }, (_, i) => measured(from + i * 3 * second, machine))
/** A state that has applied ten reports in a row, and the time of the next. */
const running = (machine: Machine = {}): { readonly state: OriginState; readonly now: number } => {
  const state = emptyOrigin()
  expect(judged(state, ...every3s(10, machine))).toEqual(Array.from({ length: 10 }, () => "apply"))
  return { state, now: start + 30 * second }
}

describe("a repeated report", () => {
  it("is a duplicate, however often it comes", () => {
    const { now, state } = running()
    const report = measured(now)

    expect(judged(state, report, report, receivedAt(report, now + 50), receivedAt(report, now + 9000))).toEqual([
      "apply",
      "duplicate",
      "duplicate",
      "duplicate"
    ])
    expect(judge(state, measured(now + 3000))).toBe("apply")
  })

  it("is stale when a newer one came between", () => {
    const { now, state } = running()
    const old = measured(now)

    expect(judged(state, old, measured(now + 3000), receivedAt(old, now + 3100))).toEqual(["apply", "apply", "stale"])
    expect(judge(state, measured(now + 6000))).toBe("apply")
  })

  it("is a duplicate also for a sender that tells no uptime", () => {
    const state = emptyOrigin()
    const told = (at: number): Origin => originOf("edge", at, 0, at)

    expect(judged(state, told(start), told(start), told(start + 60_000), told(start + 60_000))).toEqual([
      "apply",
      "duplicate",
      "apply",
      "duplicate"
    ])
  })
})

describe("reports out of order", () => {
  it("are applied only forward", () => {
    const { now, state } = running()
    const at = (seconds: number): Origin => receivedAt(measured(now + seconds * second), now + 10 * second)

    expect(judged(state, at(6), at(0), at(3), at(9), at(6))).toEqual(["apply", "stale", "stale", "apply", "stale"])
  })

  it("stay stale when many late ones come at once, oldest first", () => {
    const { now, state } = running()
    const late = every3s(10, {}, now).map((report, i) => receivedAt(report, now + 60 * second + i))
    judge(state, measured(now + 60 * second))

    expect(new Set(judged(state, ...late))).toEqual(new Set(["stale"]))
    expect(judge(state, measured(now + 63 * second))).toBe("apply")
  })

  it("never apply one report twice nor go back, in whatever order and number copies arrive", () => {
    const deliveries = fc.array(fc.record({ report: fc.nat(19), lateMs: fc.integer({ min: 0, max: 1000 }) }), {
      minLength: 1,
      maxLength: 60
    })
    fc.assert(
      fc.property(deliveries, (all) => {
        const state = emptyOrigin()
        const sent = every3s(20)
        const applied: Array<number> = []
        // Everything was stuck until a minute later and is released within a second.
        const arriving = all.map(({ lateMs, report }) => receivedAt(sent[report] as Origin, start + 120_000 + lateMs))
        for (const report of arriving.sort((a, b) => a.receivedAt - b.receivedAt)) {
          if (judge(state, report) === "apply") applied.push(report.reportedAt)
        }

        expect(applied).toEqual([...new Set(applied)].sort((a, b) => a - b))
        expect(state.current?.reportedAt).toBe(Math.max(...arriving.map((report) => report.reportedAt)))
      }),
      { numRuns: 500 }
    )
  })
})

describe("a reboot", () => {
  it("is applied with its first report", () => {
    const { now, state } = running()
    const reboot = { bootedAt: now + 20 * second }

    expect(judged(state, ...every3s(5, reboot, now + 25 * second))).toEqual(Array.from({ length: 5 }, () => "apply"))
    expect(conflictAt(state, now + 60 * second)).toBeUndefined()
  })

  it("seconds after a boot is applied at once, also when the clock went back with it", () => {
    const state = emptyOrigin()
    const first = measured(start + 4 * second, { bootedAt: start })
    const again = measured(start + 9 * second, { bootedAt: start + 8 * second, clock: -day })

    expect(judged(state, first, again)).toEqual(["apply", "apply"])
  })

  it("is not undone by a late report from before it", () => {
    const { now, state } = running()
    const before = receivedAt(measured(now), now + 30 * second)
    const after = { bootedAt: now + 20 * second }

    expect(judged(state, measured(now + 25 * second, after), before)).toEqual(["apply", "foreign"])
    expect(judge(state, measured(now + 31 * second, after))).toBe("apply")
  })

  it.each([1, 40, 3600])("every %i s is applied each time", (restSec) => {
    const { now, state } = running()
    for (let i = 1, at = now; i <= 10; i++, at += restSec * second) {
      const verdicts = judged(state, ...every3s(4, { bootedAt: at, clock: i * 60_000 }, at + 4 * second))
      at += 13 * second

      expect(verdicts).toEqual(["apply", "apply", "apply", "apply"])
    }
    expect(state.conflictSince).toBeUndefined()
  })
})

describe("a clock that is set", () => {
  it.each([
    ["forward by a second", second],
    ["forward by an hour", 3600 * second],
    ["forward by ten days", 10 * day],
    ["back by a second", -second],
    ["back by an hour", -3600 * second],
    ["back by ten days", -10 * day]
  ])("%s is no second agent, and nothing is lost", (_, clock) => {
    const { now, state } = running()

    expect(judged(state, ...every3s(5, { clock }, now))).toEqual(Array.from({ length: 5 }, () => "apply"))
    expect(judged(state, ...every3s(5, {}, now + 15 * second))).toEqual(Array.from({ length: 5 }, () => "apply"))
    expect(state.conflictSince).toBeUndefined()
  })

  it("by our own side does not stop a node: time here may jump while its own runs on", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -10 * day, max: 10 * day }), { maxLength: 5 }), (jumps) => {
        const { now, state } = running()
        jumps.forEach((jump, i) => {
          expect(judge(state, receivedAt(measured(now + i * 3 * second), now + jump))).toBe("apply")
        })
      })
    )
  })
})

describe("a machine without a clock of its own", () => {
  // It starts at the same moment each time and learns the true time minutes later, or never.
  const fake = Date.UTC(2024, 0, 1)
  const booted = (at: number): Machine => ({ bootedAt: at, clock: fake - at })

  it("is applied from its first report on, and when it learns the time", () => {
    const state = emptyOrigin()
    const boot = booted(start)

    expect(judged(state, ...every3s(10, boot, start + 5 * second)).every((verdict) => verdict === "apply")).toBe(true)
    expect(judge(state, measured(start + 40 * second, { bootedAt: start }))).toBe("apply")
    expect(state.conflictSince).toBeUndefined()
  })

  it("is applied again from its third report after a reboot that sets its clock back to the same start", () => {
    const state = emptyOrigin()
    judged(state, ...every3s(100, booted(start), start))
    const again = start + 330 * second

    expect(judged(state, ...every3s(6, booted(again), again + 5 * second))).toEqual([
      "stale",
      "stale",
      "apply",
      "apply",
      "apply",
      "apply"
    ])
    expect(state.conflictSince).toBeUndefined()
  })

  it("is applied at once after a reboot when it had learned the time before", () => {
    const { now, state } = running()

    expect(judge(state, measured(now + 40 * second, booted(now + 30 * second)))).toBe("apply")
  })
})

const twoAgents: ReadonlyArray<readonly [string, Machine, Machine]> = [
  ["with another hostname", { hostname: "edge" }, { hostname: "clone" }],
  ["booted at another time", {}, { bootedAt: start - 5000 * second }],
  ["both, and a clock that is wrong", {}, { hostname: "clone", bootedAt: start - 60_000, clock: -day }]
]
describe("two agents on one secret", () => {
  it.each(twoAgents)("%s: one is shown, the other heard, and the totals do not see-saw", (_, one, other) => {
    const { now, state } = running(one)
    const turns = Array.from({ length: 40 }, (_, i) => measured(now + i * 1500, i % 2 === 0 ? other : one))
    const verdicts = judged(state, ...turns)

    expect(verdicts[0]).toBe("apply")
    expect(verdicts.slice(1)).toEqual(Array.from({ length: 39 }, (_, i) => (i % 2 === 0 ? "foreign" : "apply")))
    expect(conflictAt(state, now + 60 * second)).toBe(now + 1500)
  })

  it.each(twoAgents)("%s: when the one in place falls silent, the other takes over after a minute", (_, one, other) => {
    const { now, state } = running(one)
    judged(state, measured(now, other), measured(now + 1500, one), measured(now + 3000, other))
    const verdicts = judged(state, ...every3s(30, one, now + 4500))
    const first = verdicts.indexOf("apply")

    expect(first).toBe(Math.floor((60_000 - 1500) / 3000) + 1)
    expect(verdicts.slice(first)).toEqual(Array.from({ length: 30 - first }, () => "apply"))
  })

  it("are a fault that is shown until five minutes after the last sign, from its beginning", () => {
    const { now, state } = running()
    judged(
      state,
      measured(now, { hostname: "clone" }),
      measured(now + 1000),
      measured(now + 2000, { hostname: "clone" })
    )
    judge(state, measured(now + 31_000))

    expect(conflictAt(state, now + 31_000)).toBe(now + 1000)
    expect(conflictAt(state, now + 31_000 + conflictShownMs)).toBe(now + 1000)
    expect(conflictAt(state, now + 31_001 + conflictShownMs)).toBeUndefined()
  })

  it("seen again after a month are a new fault", () => {
    const { now, state } = running()
    const clone = { hostname: "clone" }
    judged(state, measured(now, clone), measured(now + 1000), measured(now + 2000, clone))
    const later = now + 30 * day
    judged(state, measured(later), measured(later + 1000, clone), measured(later + 2000), measured(later + 3000, clone))

    expect(conflictAt(state, later + 3000)).toBe(later + 2000)
  })

  it("are not a host that was renamed, nor one whose machine was replaced", () => {
    const { now, state } = running()
    const renamed = every3s(5, { hostname: "edge-new" }, now)
    const replaced = every3s(5, { hostname: "edge-new", bootedAt: now }, now + 20 * second)

    expect(new Set(judged(state, ...renamed, ...replaced))).toEqual(new Set(["apply"]))
    expect(state.conflictSince).toBeUndefined()
  })

  it("are not a host that comes back under its old name after a while", () => {
    const { now, state } = running()
    judged(state, ...every3s(30, { hostname: "other" }, now))

    expect(judge(state, measured(now + 90 * second))).toBe("apply")
    expect(state.conflictSince).toBeUndefined()
  })
})

describe("the memory of an origin", () => {
  it("does not hold on to the report that it judged, nor changes it", () => {
    const { now, state } = running()
    const reports = [measured(now), measured(now + 1000, { hostname: "clone" }), measured(now + 2000)]
    const copies = travelled(reports)
    judged(state, ...reports, measured(now + 3000, { hostname: "clone" }), measured(now + 6000))

    expect(reports).toEqual(copies)
  })

  it("gives the same verdicts after it travelled as JSON at any moment", () => {
    const machine = fc.record({ hostname: fc.constantFrom("edge", "clone"), clock: fc.constantFrom(0, -day, 5000) })
    const steps = fc.array(fc.tuple(machine, fc.integer({ min: 0, max: 40_000 })), { maxLength: 30 })
    fc.assert(
      fc.property(steps, (all) => {
        const state = emptyOrigin()
        let now = start
        for (const [from, pause] of all) {
          now += pause
          const copy: OriginState = { ...emptyOrigin(), ...travelled(state) }
          const report = measured(now, from)

          expect(judge(copy, report)).toBe(judge(state, report))
          expect(travelled(copy)).toEqual(travelled(state))
        }
      })
    )
  })
})
