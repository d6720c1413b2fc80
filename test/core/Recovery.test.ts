// Recovery is replay: the checkpoint at any row, and the rows after it folded through step, give the state that was.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import type { Static } from "../../schema/Static.ts"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import type { Changes } from "../../src/core/Details.ts"
import { makeIntern } from "../../src/core/Interner.ts"
import { Host, type Layout, namesOf } from "../../src/core/Layout.ts"
import {
  type Checkpoint,
  checkpointOf,
  emptyState,
  faultsOf,
  type NodeState,
  restored,
  step
} from "../../src/core/NodeState.ts"
import { reportRows } from "../support/ArbitraryReports.ts"
import { fullReport, fullStatic, take, type Taken, travelled } from "../support/Reports.ts"

const startedAt = Date.UTC(2026, 0, 5)
const dayMs = 86_400_000

interface Arriving {
  readonly _tag: "Report"
  readonly agent: number
  /** What the report says beside its times. */
  readonly body: number
  readonly afterMs: number
  readonly how: "next" | "again" | "late" | "rebooted" | "clock set"
  readonly clockMs: number
}
interface Told {
  readonly _tag: "Static"
  readonly afterMs: number
  readonly version: string
}
interface Wished {
  readonly _tag: "Upgrade"
  readonly version: string
}
type Event = Arriving | Told | Wished

const versions = fc.constantFrom("0.2.1", "0.2.2", "0.3.0", "1.0.0")
/** The service's own clock mostly runs on; now and then two things fall into one millisecond, or it is set back. */
const pauses = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1000, max: 30_000 }) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(90_000, 400_000, -3_600_000) }
)
const events: fc.Arbitrary<ReadonlyArray<Event>> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        _tag: fc.constant("Report" as const),
        agent: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 2) }),
        body: fc.nat(11),
        afterMs: pauses,
        how: fc.oneof(
          { weight: 5, arbitrary: fc.constant("next" as const) },
          { weight: 2, arbitrary: fc.constantFrom("again", "late", "rebooted", "clock set") }
        ),
        clockMs: fc.constantFrom(-10 * dayMs, -5000, 4000, 3 * dayMs)
      })
    },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Static" as const), afterMs: pauses, version: versions }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Upgrade" as const), version: versions }) }
  ),
  { minLength: 1, maxLength: 25 }
)

const manifest = (version: string): UpdateManifest => ({
  id: version,
  version,
  url: "https://example.test/node",
  sha256: "0".repeat(64),
  size: 1
})

interface Agent {
  readonly hostname: string
  bootedAt: number
  clockMs: number
  last: NodeReport | undefined
}
const agentsOf = (): ReadonlyArray<Agent> =>
  ["edge", "edge", "clone"].map((hostname, i) => ({
    hostname,
    bootedAt: startedAt - (i + 1) * 500_000,
    clockMs: 0,
    last: undefined
  }))

/** The report that an agent sends at the true time `now`. */
const sent = (agent: Agent, bodies: ReadonlyArray<NodeReport>, event: Arriving, now: number): NodeReport => {
  if (event.how === "again" && agent.last !== undefined) return agent.last
  if (event.how === "rebooted") agent.bootedAt = now - 5000
  if (event.how === "clock set") agent.clockMs += event.clockMs
  const at = event.how === "late" ? now - 7000 : now
  const report = travelled(bodies[event.body % bodies.length] as NodeReport)
  const made: NodeReport = {
    ...report,
    hostname: agent.hostname,
    timestamp: new Date(at + agent.clockMs).toISOString(),
    metrics: {
      ...report.metrics,
      system: { ...report.metrics.system, uptime_seconds: Math.max(0, Math.floor((at - agent.bootedAt) / 1000)) }
    }
  }
  if (event.how !== "late") agent.last = made
  return made
}

/** A row as the journal keeps it: bytes and text. */
interface Row {
  readonly receivedAt: number
  readonly vector: Float64Array
  readonly details: string | null
}
interface Cut {
  /** Rows that the checkpoint covers. */
  readonly rows: number
  readonly receivedAt: number
  readonly vector: Float64Array
  readonly text: string
}
interface Disk {
  readonly rows: Array<Row>
  readonly cuts: Array<Cut>
  statics: { readonly receivedAt: number; readonly text: string } | undefined
}
interface Run {
  readonly state: NodeState
  readonly vector: Float64Array | undefined
  readonly disk: Disk
  readonly now: number
}

const write = (disk: Disk, { changes, outcome, vector }: Taken, receivedAt: number): void => {
  if (outcome.verdict === "duplicate") return
  disk.rows.push({
    receivedAt,
    vector: vector.slice(),
    details: changes === undefined ? null : JSON.stringify(changes)
  })
}

/** Lives through the events as a node's actor does, writing what the actor writes, with a checkpoint after each row. */
const live = (bodies: ReadonlyArray<NodeReport>, happening: ReadonlyArray<Event>): Run => {
  const state = emptyState()
  const disk: Disk = { rows: [], cuts: [], statics: undefined }
  const agents = agentsOf()
  let vector: Float64Array | undefined
  let now = startedAt
  let trueNow = startedAt
  for (const event of happening) {
    if (event._tag === "Upgrade") {
      step(state, { _tag: "UpgradeRequested", manifest: manifest(event.version) })
      continue
    }
    now += event.afterMs
    trueNow += Math.max(event.afterMs, 0)
    if (event._tag === "Static") {
      const body: Static = { ...fullStatic(), version: event.version }
      step(state, { _tag: "StaticReceived", receivedAt: now, body })
      disk.statics = { receivedAt: now, text: JSON.stringify(body) }
      continue
    }
    const agent = agents[event.agent] as Agent
    const taken = take(state, sent(agent, bodies, event, trueNow), now)
    write(disk, taken, now)
    if (taken.outcome.verdict === "apply") vector = taken.vector
    const checkpoint = checkpointOf(state)
    if (checkpoint !== undefined && vector !== undefined) {
      const text = JSON.stringify(checkpoint)
      disk.cuts.push({ rows: disk.rows.length, receivedAt: state.receivedAt, vector: vector.slice(), text })
    }
  }
  return { state, vector, disk, now }
}

/** What a start makes of the disk: the checkpoint, the rows after it, then the Static. */
const recover = ({ rows, statics }: Disk, cut: Cut | undefined): Pick<Run, "state" | "vector"> => {
  const intern = makeIntern()
  const state =
    cut === undefined ? emptyState() : restored(JSON.parse(cut.text) as Checkpoint, cut.receivedAt, cut.vector, intern)
  let vector = cut?.vector
  for (const row of rows.slice(cut?.rows ?? 0)) {
    const changes = row.details === null ? undefined : (JSON.parse(row.details) as Changes)
    const sample = { _tag: "Sample", receivedAt: row.receivedAt, vector: row.vector, changes } as const
    if (step(state, sample, intern).verdict === "apply") vector = row.vector
  }
  if (statics !== undefined) {
    const body = JSON.parse(statics.text) as Static
    step(state, { _tag: "StaticReceived", receivedAt: statics.receivedAt, body }, intern)
  }
  return { state, vector }
}

/** A state without its window and upgrade task, in the form that travels: what recovery must bring back. */
const essence = (
  { details, layout, origin, receivedAt, statics, version }: NodeState,
  vector: Float64Array | undefined
) =>
  travelled({
    details: details === undefined ? null : { ...details, layout: namesOf(details.layout as Layout) },
    layout: layout ?? null,
    origin,
    receivedAt,
    statics: statics ?? null,
    version: version ?? null,
    vector: [...(vector ?? [])].map(String)
  })

/** The recovered window holds the newest samples of the one that was; how many, the checkpoint decides. */
const expectNewest = (window: NodeState["window"], whole: NodeState["window"]): void => {
  const skipped = whole.length - window.length

  expect(window.size).toBe(whole.size)
  expect(skipped).toBeGreaterThanOrEqual(0)
  for (let i = 0; i < window.length; i++) {
    const hostSeries = (of: NodeState["window"], sample: number) =>
      Array.from({ length: Host.pressure }, (_, series) => of.valueAt(sample, series))

    expect(window.timeAt(i)).toBe(whole.timeAt(skipped + i))
    expect(hostSeries(window, i)).toEqual(hostSeries(whole, skipped + i))
  }
}

describe("invariant 4: recovery is replay", () => {
  it("a checkpoint at any row and the rows after it give the state that was", () => {
    let rows = 0
    fc.assert(
      fc.property(reportRows, events, fc.nat(), (bodies, happening, at) => {
        const { disk, now, state, vector } = live(bodies, happening)
        const cut = at % (disk.cuts.length + 1)
        const again = recover(disk, disk.cuts[cut])

        expect(essence(again.state, again.vector)).toEqual(essence(state, vector))
        expect(faultsOf(again.state, now)).toEqual(faultsOf(state, now))
        if (state.details !== undefined) expectNewest(again.state.window, state.window)
        rows += disk.rows.length - (disk.cuts[cut]?.rows ?? 0)
      }),
      { numRuns: 150 }
    )

    // The property says nothing when nothing is replayed.
    expect(rows).toBeGreaterThan(100)
  })

  it("the recovered state judges and changes on as the one that was", () => {
    fc.assert(
      fc.property(reportRows, events, events, fc.nat(), (bodies, before, after, at) => {
        const all = live(bodies, [...before, ...after])
        const run = live(bodies, before)
        const again = recover(run.disk, run.disk.cuts[at % (run.disk.cuts.length + 1)])
        for (const row of all.disk.rows.slice(run.disk.rows.length)) {
          const changes = row.details === null ? undefined : (JSON.parse(row.details) as Changes)
          const sample = { _tag: "Sample", receivedAt: row.receivedAt, vector: row.vector, changes } as const

          expect(step(again.state, sample).verdict).toBe(step(run.state, sample).verdict)
        }
        expect(travelled(again.state.origin)).toEqual(travelled(run.state.origin))
      }),
      { numRuns: 60 }
    )
  })

  it("covers every kind of verdict, reset and fault in what the properties live through", () => {
    const verdicts = new Set<string>()
    let faults = 0
    fc.assert(
      fc.property(events, (happening) => {
        const state = emptyState()
        const agents = agentsOf()
        let now = startedAt
        for (const event of happening) {
          if (event._tag !== "Report") continue
          now += Math.max(0, event.afterMs)
          const report = sent(agents[event.agent] as Agent, [fullReport()], event, now)
          verdicts.add(take(state, report, now).outcome.verdict)
        }
        faults += faultsOf(state, now).length
      }),
      // One known row of chances: this looks at what is generated, not at what is tested.
      { numRuns: 200, seed: 20260614 }
    )

    expect([...verdicts].sort()).toEqual(["apply", "duplicate", "foreign", "stale"])
    expect(faults).toBeGreaterThan(0)
  })
})
