// The state of one node and step(), the one place where a report changes anything; replay runs through it too.
import type { NodeFault } from "../../schema/Node.ts"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import type { Static } from "../../schema/Static.ts"
import { type Changes, type Details, gapMsOf, merged } from "./Details.ts"
import { Host, type Layout, layoutOf, type LayoutNames } from "./Layout.ts"
import { type ClosedFact, emptyLedger, type Ledger, packed, type PackedLedger, record, unpacked } from "./Ledger.ts"
import { conflictAt, emptyOrigin, judge, type Origin, originOf, type OriginState, type Verdict } from "./Origin.ts"
import { manifestOf, noUpgrade, reported, requested, type UpgradeState } from "./Upgrade.ts"
import { Window, type WindowPool } from "./Window.ts"

/** Owned by exactly one actor; plain and mutable. */
export interface NodeState {
  layout: Layout | undefined
  details: Details | undefined
  /** Receive time of the last applied report, milliseconds; 0 before the first. */
  receivedAt: number
  readonly window: Window
  readonly origin: OriginState
  /** Traffic by interface; undefined until a report has one. */
  ledger: Ledger | undefined
  upgrade: UpgradeState
  statics: Statics | undefined
  /** Version of the last metrics or static report, whichever is newer. */
  version: string | undefined
}

export interface Statics {
  readonly receivedAt: number
  readonly body: Static
}

/** One report as it is journaled and replayed: numbers, and the sections that changed. */
export interface Sample {
  readonly _tag: "Sample"
  readonly receivedAt: number
  /** At least `layout.size` values; only read during the step. */
  readonly vector: Float64Array
  readonly changes: Changes | undefined
}
export interface StaticReceived {
  readonly _tag: "StaticReceived"
  readonly receivedAt: number
  readonly body: Static
}
export interface UpgradeRequested {
  readonly _tag: "UpgradeRequested"
  readonly manifest: UpdateManifest
}
export type Message = Sample | StaticReceived | UpgradeRequested

/** What a step decided. Only an applied sample changes figures; the others are acknowledged and counted. */
export interface Outcome {
  readonly verdict: Verdict
  readonly update: UpdateManifest | null
  /** Facts that the report completed; undefined for none. */
  readonly facts?: ReadonlyArray<ClosedFact> | undefined
}

/** Gives one shared layout per set of names, so that ten thousand equal nodes hold one. */
export type Intern = (names: LayoutNames) => Layout

/** A node without a trace; its window takes memory from the pool with its first sample. */
export const emptyState = (pool?: WindowPool): NodeState => ({
  layout: undefined,
  details: undefined,
  receivedAt: 0,
  window: new Window(pool),
  origin: emptyOrigin(),
  ledger: undefined,
  upgrade: noUpgrade,
  statics: undefined,
  version: undefined
})

const applied: Outcome = { verdict: "apply", update: null }

/** Whichever of metrics and Static is newer; told by what is held alone, so that replay in any order agrees. */
const versionOf = ({ details, receivedAt, statics }: NodeState): string | undefined =>
  statics !== undefined && statics.receivedAt >= receivedAt ? statics.body.version : details?.version

const stepLedger = (state: NodeState, origin: Origin, vector: Float64Array, details: Details): Outcome["facts"] => {
  const layout = state.layout as Layout
  if (state.ledger === undefined && layout.nics.length === 0) return undefined
  state.ledger ??= emptyLedger()
  return record(state.ledger, { origin, layout, vector, wide: details.wide, limitMs: gapMsOf(details) })
}

const stepSample = (state: NodeState, sample: Sample, intern: Intern): Outcome => {
  const details = merged(state.details, sample.changes)
  const { receivedAt, vector } = sample
  const sent = originOf(
    details.hostname,
    vector[Host.reportedAt] as number,
    vector[Host.uptimeSec] as number,
    receivedAt
  )
  const verdict = judge(state.origin, sent)
  let facts: Outcome["facts"]
  if (verdict === "apply") {
    if (state.layout === undefined || sample.changes?.layout !== undefined) state.layout = intern(details.layout)
    state.details = details
    state.receivedAt = receivedAt
    state.version = versionOf(state)
    state.upgrade = reported(state.upgrade, details.version)
    state.window.push(receivedAt, vector, state.layout.size)
    facts = stepLedger(state, sent, vector, details)
  }
  return state.upgrade === noUpgrade && verdict === "apply" && facts === undefined
    ? applied
    : { verdict, update: manifestOf(state.upgrade), facts }
}

/**
 * Applies one message. Deterministic: the same state and messages give the same state and outcomes,
 * which is what makes recovery a replay.
 */
export const step = (state: NodeState, message: Message, intern: Intern = layoutOf): Outcome => {
  switch (message._tag) {
    case "Sample":
      return stepSample(state, message, intern)
    case "StaticReceived":
      // The last to arrive counts, also when our clock was set back between two: it is the one on disk.
      state.statics = { receivedAt: message.receivedAt, body: message.body }
      state.version = versionOf(state)
      state.upgrade = reported(state.upgrade, message.body.version)
      return { verdict: "apply", update: manifestOf(state.upgrade) }
    case "UpgradeRequested":
      state.upgrade = requested(state.upgrade, message.manifest)
      return { verdict: "apply", update: message.manifest }
  }
}

/** Report interval that the node announced, milliseconds; agents default to 3 s. */
export const intervalMs = (state: NodeState): number => (state.statics?.body.report_interval_seconds ?? 3) * 1000

const noFaults: ReadonlyArray<NodeFault> = []

/** What is wrong with the node at `now`, readable. */
export const faultsOf = (state: NodeState, now: number): ReadonlyArray<NodeFault> => {
  const since = conflictAt(state.origin, now)
  // Asked after every report; nearly all nodes are well.
  if (since === undefined && (state.details?.dropped.length ?? 0) === 0) return noFaults
  const faults: Array<NodeFault> = []
  if (since !== undefined) {
    faults.push({
      kind: "two_agents",
      message: "two agents report with this node's secret; only one of them is shown",
      since: new Date(since).toISOString()
    })
  }
  const dropped = state.details?.dropped ?? []
  if (dropped.length > 0) {
    faults.push({
      kind: "malformed_pieces",
      message: `dropped from the last report: ${dropped.join("; ")}`,
      since: new Date(state.receivedAt).toISOString()
    })
  }
  return faults
}

/** What a checkpoint holds beside the vector: everything a state needs that replay does not bring back. */
export interface Checkpoint {
  readonly details: Details
  readonly origin: OriginState
  /** Absent while the node has no interface. */
  readonly ledger?: PackedLedger
}

export const checkpointOf = ({ details, ledger, origin }: NodeState): Checkpoint | undefined => {
  if (details === undefined) return undefined
  return ledger === undefined ? { details, origin } : { details, origin, ledger: packed(ledger) }
}

/** The state at a checkpoint: the last applied vector with its receive time, behind which replay goes on. */
export const restored = (
  checkpoint: Checkpoint,
  receivedAt: number,
  vector: Float64Array,
  intern: Intern = layoutOf,
  pool?: WindowPool
): NodeState => {
  const layout = intern(checkpoint.details.layout)
  const state: NodeState = {
    ...emptyState(pool),
    layout,
    details: { ...checkpoint.details, layout },
    receivedAt,
    origin: { ...emptyOrigin(), ...checkpoint.origin },
    ledger: checkpoint.ledger === undefined ? undefined : unpacked(checkpoint.ledger),
    version: checkpoint.details.version
  }
  state.window.push(receivedAt, vector, layout.size)
  return state
}
