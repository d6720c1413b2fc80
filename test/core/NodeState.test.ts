// One step of a node's state: what a report, a Static and an upgrade change, and what a repeat must not.
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import type { Static } from "../../schema/Static.ts"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import { makeIntern } from "../../src/core/Interner.ts"
import { Host, nicSize } from "../../src/core/Layout.ts"
import {
  type Checkpoint,
  checkpointOf,
  emptyState,
  faultsOf,
  intervalMs,
  type NodeState,
  restored,
  step
} from "../../src/core/NodeState.ts"
import {
  arrivalOf,
  fullReport,
  fullStatic,
  nic,
  receivedAt,
  reportWith,
  staticWith,
  take,
  travelled
} from "../support/Reports.ts"

/** The contract's report, `seconds` later. */
const reportAt = (seconds: number, edit: (report: ReturnType<typeof fullReport>) => void = () => {}): NodeReport =>
  reportWith((report) => {
    report.timestamp = new Date(Date.parse(report.timestamp) + seconds * 1000).toISOString()
    report.metrics.system = { ...report.metrics.system, uptime_seconds: 1_040_413 + seconds }
    edit(report)
  })
const takeAt = (state: NodeState, seconds: number, report = reportAt(seconds)) =>
  take(state, report, receivedAt + seconds * 1000)
const tell = (state: NodeState, body: Static, seconds: number) =>
  step(state, { _tag: "StaticReceived", receivedAt: receivedAt + seconds * 1000, body })
const told = (version: string): Static => staticWith((body) => (body.version = version))
const manifest: UpdateManifest = {
  id: "0.2.4",
  version: "0.2.4",
  url: "https://x.test/n",
  sha256: "0".repeat(64),
  size: 1
}

/** Everything that a report may change, in a form that can be kept and compared. */
const figures = (state: NodeState) =>
  travelled({
    details: state.details ?? null,
    layout: state.layout ?? null,
    receivedAt: state.receivedAt,
    version: state.version ?? null,
    samples: state.window.length,
    last: state.window.timeAt(state.window.length - 1)
  })

describe("a report that is not applied", () => {
  const other = { hostname: "clone", version: "9.9.9" }
  it.each([
    ["a duplicate", "duplicate", reportAt(6)],
    ["a late one", "stale", reportAt(3, (report) => (report.version = "9.9.9"))],
    ["one of a second agent", "foreign", reportAt(9, (report) => Object.assign(report, other))]
  ] as const)("changes no figure: %s", (_, verdict, report) => {
    const state = emptyState()
    takeAt(
      state,
      -3,
      reportAt(-3, (first) => Object.assign(first, other))
    )
    for (const seconds of [0, 6]) takeAt(state, seconds)
    const before = figures(state)
    const { outcome } = take(state, report, receivedAt + 9000)

    expect(outcome).toEqual({ verdict, update: null })
    expect(figures(state)).toEqual(before)
  })

  it("does not end an upgrade, and is answered with it", () => {
    const state = emptyState()
    takeAt(state, 3)
    step(state, { _tag: "UpgradeRequested", manifest })
    const late = takeAt(
      state,
      0,
      reportAt(0, (report) => (report.version = "0.2.4"))
    )

    expect(late.outcome).toEqual({ verdict: "stale", update: manifest })
    expect(state.upgrade._tag).toBe("Pending")
  })
})

describe("a report that is applied", () => {
  it("is the newest sample, and its words are the details", () => {
    const state = emptyState()
    const { outcome, vector } = takeAt(state, 0)

    expect(outcome).toEqual({ verdict: "apply", update: null })
    expect(state.receivedAt).toBe(receivedAt)
    expect(state.version).toBe("0.2.2")
    expect(state.details).toMatchObject({ hostname: "edge-07", ip: "203.0.113.9", thermal: ["ok", "ok", "ok", "ok"] })
    expect(state.window.timeAt(0)).toBe(receivedAt)
    expect(state.window.valueAt(0, Host.load1)).toBe(Math.fround(vector[Host.load1] as number))
  })

  it("keeps its layout object while the devices stay, and gets another when they change", () => {
    const state = emptyState()
    takeAt(state, 0)
    const { layout } = state
    takeAt(state, 3)
    expect(state.layout).toBe(layout)
    takeAt(
      state,
      6,
      reportAt(6, ({ metrics }) => (metrics.network = [nic("wg0")]))
    )

    expect(state.layout?.nics).toEqual(["wg0"])
    expect(state.layout?.size).toBe((layout?.size ?? 0) - nicSize)
    expect(state.window.length).toBe(3)
  })

  it("gets the layout that the other nodes share", () => {
    const intern = makeIntern()
    const { changes, vector } = takeAt(emptyState(), 0)
    const [one, other] = [emptyState(), emptyState()]
    for (const state of [one, other]) step(state, { _tag: "Sample", receivedAt, vector, changes }, intern)

    expect(one.layout).toBe(other.layout)
  })

  it("of the target version ends the upgrade and is answered without it", () => {
    const state = emptyState()
    step(state, { _tag: "UpgradeRequested", manifest })

    expect(takeAt(state, 0).outcome).toEqual({ verdict: "apply", update: manifest })
    expect(
      takeAt(
        state,
        3,
        reportAt(3, (report) => (report.version = "0.2.4"))
      ).outcome.update
    ).toBeNull()
    expect(takeAt(state, 6).outcome.update).toBeNull()
  })

  it("is read during the step only: the memory of its vector may be used again", () => {
    const state = emptyState()
    const { vector } = takeAt(state, 0)
    const load = Math.fround(vector[Host.load1] as number)
    vector.fill(0)

    expect(state.window.valueAt(0, Host.load1)).toBe(load)
  })
})

describe("the version of a node", () => {
  it("is that of the last report or Static, whichever is newer", () => {
    const state = emptyState()
    tell(state, told("0.1.0"), 0)
    expect(state.version).toBe("0.1.0")
    takeAt(state, 3)
    expect(state.version).toBe("0.2.2")
    tell(state, told("0.3.0"), 6)
    expect(state.version).toBe("0.3.0")
    takeAt(state, 9)
    expect(state.version).toBe("0.2.2")
  })

  it("is the same in either order when both came in one millisecond", () => {
    const [one, other] = [emptyState(), emptyState()]
    takeAt(one, 0)
    tell(one, told("0.3.0"), 0)
    tell(other, told("0.3.0"), 0)
    takeAt(other, 0)

    expect(one.version).toBe(other.version)
  })
})

describe("a Static", () => {
  it("replaces the one before, also when our clock was set back between the two", () => {
    const state = emptyState()
    tell(state, told("0.2.2"), 0)
    tell(state, told("0.2.3"), -3600)

    expect(state.statics?.body.version).toBe("0.2.3")
    expect(state.version).toBe("0.2.3")
  })

  it("of the target version ends the upgrade", () => {
    const state = emptyState()
    step(state, { _tag: "UpgradeRequested", manifest })

    expect(tell(state, told("0.2.3"), 0).update).toEqual(manifest)
    expect(tell(state, told("0.2.4"), 3).update).toBeNull()
  })

  it("tells the interval; until then it is three seconds", () => {
    const state = emptyState()
    expect(intervalMs(state)).toBe(3000)
    tell(
      state,
      staticWith((body) => (body.report_interval_seconds = 60)),
      0
    )
    expect(intervalMs(state)).toBe(60_000)
  })
})

describe("the faults of a node", () => {
  it("are none while all is well, and for a node that never reported", () => {
    const state = emptyState()
    expect(faultsOf(state, receivedAt)).toEqual([])
    takeAt(state, 0)
    expect(faultsOf(state, receivedAt)).toEqual([])
  })

  it("name the pieces that the last report lost, until one loses none", () => {
    const state = emptyState()
    take(state, reportAt(0), receivedAt, arrivalOf({ dropped: ["metrics.thermal must be an object", "x"] }))

    expect(faultsOf(state, receivedAt)).toEqual([
      {
        kind: "malformed_pieces",
        message: "dropped from the last report: metrics.thermal must be an object; x",
        since: "2026-06-14T08:21:34.500Z"
      }
    ])
    takeAt(state, 3)
    expect(faultsOf(state, receivedAt)).toEqual([])
  })

  it("tell of two agents while both are heard", () => {
    const state = emptyState()
    const clone = (seconds: number) => reportAt(seconds, (report) => (report.hostname = "clone"))
    takeAt(state, 0)
    takeAt(state, 1, clone(1))
    takeAt(state, 3)

    expect(faultsOf(state, receivedAt + 3000)).toMatchObject([
      { kind: "two_agents", since: "2026-06-14T08:21:37.500Z" }
    ])
    expect(faultsOf(state, receivedAt + 400_000)).toEqual([])
  })
})

describe("a checkpoint", () => {
  it("is none before the first report", () => {
    const state = emptyState()
    tell(state, fullStatic(), 0)

    expect(checkpointOf(state)).toBeUndefined()
  })

  it("brings back a state with the last sample in its window", () => {
    const state = emptyState()
    takeAt(state, 0)
    const { vector } = takeAt(state, 3)
    const again = restored(travelled(checkpointOf(state) as Checkpoint), state.receivedAt, vector)

    expect(again.window.length).toBe(1)
    expect(again.window.timeAt(0)).toBe(receivedAt + 3000)
    expect(again.version).toBe("0.2.2")
    expect(takeAt(again, 3).outcome.verdict).toBe("duplicate")
    expect(takeAt(again, 0).outcome.verdict).toBe("stale")
    expect(takeAt(again, 6).changes).toBeUndefined()
  })
})
