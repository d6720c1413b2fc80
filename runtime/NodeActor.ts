// One node: a bounded mailbox, the state that only it touches, and the view it publishes after commit.
import type { NodeId } from "../schema/Ids.ts"
import { nodeNameMax } from "../schema/Node.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"
import { changesIn } from "../src/core/DetailChanges.ts"
import { gapLimitMs } from "../src/core/Bucket.ts"
import { flatten } from "../src/core/Flatten.ts"
import { type Layout, layoutOf } from "../src/core/Layout.ts"
import { type ClosedFact, ended, type OpenFact, openFactsOf } from "../src/core/Ledger.ts"
import { labelOf } from "../src/core/Line.ts"
import {
  checkpointOf,
  type Intern,
  intervalMs,
  type Message,
  type NodeState,
  type Outcome
} from "../src/core/NodeState.ts"
import { emptyView, type NodeView, show, shownBy } from "../src/core/NodeView.ts"
import { noUpgrade, requested, type UpgradeState } from "../src/core/Upgrade.ts"
import { untitled } from "../src/store/Journal.ts"
import { encoded } from "../src/core/VectorCode.ts"
import type { AlertPort } from "./alert/AlertPort.ts"
import type { TakeFacts } from "./FactSink.ts"
import type { Journal } from "./Journal.ts"
import type { ActorStatus, Cover, Ended, Mail, Regard, Reply } from "./NodeProtocol.ts"
import type { Context } from "effect"

/** Messages that wait while the actor restarts; an agent sends one every few seconds and waits for its answer. */
export const mailboxMax = 8
/** Applied reports between two checkpoints: replay of a node folds at most so many rows, some 100 s at 3 s. */
export const checkpointEvery = 32
/** Crashes in a row after which a node is parked: its reports are refused at once until a restart succeeds. */
export const parkAfter = 5

/** What all actors of a process share. */
export interface Shared {
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly step: (state: NodeState, message: Message, intern: Intern) => Outcome
  readonly intern: Intern
  /** Grows as vectors do; only used inside one synchronous turn. */
  scratch: Float64Array
  revision: number
  readonly renamed: (id: NodeId, hostname: string) => void
  readonly facts: TakeFacts
  readonly alerts: AlertPort
}

export class NodeActor {
  readonly id: NodeId
  readonly view: NodeView
  status: ActorStatus = "restoring"
  restarts = 0
  crashesInRow = 0
  lastError: string | null = null
  lastErrorAt: number | null = null
  /** Seq of the last row offered and of the last row that a checkpoint covers. */
  lastSeq = 0
  checkpointSeq = 0
  /** Seq of the last row whose commit is known: equal to `lastSeq` while nothing is in flight. */
  private settledSeq = 0
  private sinceCheckpoint = 0
  /** Committed rows that history has not sealed yet, ascending. It outlives crashes: it says what is on disk. */
  readonly unsealed: Array<number> = []
  /** Receive time of the first of them. */
  unsealedFrom = 0
  private state: NodeState | undefined
  /** The upgrade task outlives a crash of the actor, though not one of the process. */
  private carried: UpgradeState = noUpgrade
  private readonly mailbox: Array<Mail> = []
  /** Facts that are offered and not settled: neither open any more nor on disk yet. */
  private readonly closing: Array<ReadonlyArray<ClosedFact>> = []
  /** Set while the node's fiber waits for its actor to end. */
  ended: ((why: Ended) => void) | undefined
  private readonly shared: Shared

  constructor(id: NodeId, shared: Shared) {
    this.id = id
    this.view = emptyView(id)
    this.shared = shared
  }

  get depth(): number {
    return this.mailbox.length
  }

  /** False when the node cannot take it: parked, stopped or its mailbox is full. */
  offer(mail: Mail): boolean {
    if (this.status === "parked" || this.status === "stopped" || this.mailbox.length >= mailboxMax) return false
    this.mailbox.push(mail)
    if (this.status === "running") this.drain()
    return true
  }

  /** Makes an upgrade pending. Volatile by contract, so nothing is written. */
  upgrade(manifest: UpdateManifest): void {
    if (this.state === undefined) this.carried = requested(this.carried, manifest)
    else this.shared.step(this.state, { _tag: "UpgradeRequested", manifest }, this.shared.intern)
  }

  /** Takes over a restored state, publishes it and works off what waited. */
  start(state: NodeState, vector: Float64Array | undefined, lastSeq: number, checkpointSeq: number): void {
    this.state = state
    state.upgrade = this.carried
    this.carried = noUpgrade
    this.closing.length = 0
    this.lastSeq = lastSeq
    this.settledSeq = lastSeq
    this.checkpointSeq = checkpointSeq
    this.sinceCheckpoint = 0
    this.status = "running"
    this.shared.alerts.begun(this.id, state)
    if (vector !== undefined) show(this.view, state.receivedAt, shownBy(state), vector, ++this.shared.revision)
    if (state.statics !== undefined) this.publishStatics(state.statics, state.version)
    this.drain()
  }

  /** Ends the actor for good; what waits is refused. */
  stop(): void {
    this.status = "stopped"
    this.drop()
    this.refuseAll()
  }

  /** Refuses everything until a restart succeeds. */
  park(): void {
    this.status = "parked"
    this.refuseAll()
  }

  private refuseAll(): void {
    for (const mail of this.mailbox.splice(0)) mail.reply.refuse()
  }

  /** The window of the running node, for the recent view; undefined while it restarts. */
  get window(): NodeState["window"] | undefined {
    return this.state?.window
  }

  /**
   * Per interface the fact of its open bucket as far as it got at `now`, and before it the facts that are not on disk
   * yet; nothing while the node restarts. With a report in flight they are ahead of the disk by that report.
   */
  openFacts(now: number): ReadonlyArray<OpenFact> {
    if (this.state?.ledger === undefined) return []
    return [...this.closing.flat().map(ended), ...openFactsOf(this.state.ledger, now)]
  }

  /** Offers a checkpoint of the published state when rows up to `seq` are not covered by one. */
  coverUpTo(seq: number): Cover {
    // Nobody knows its rows now; they are what it will be rebuilt from.
    if (this.state === undefined) return "away"
    if (this.checkpointSeq >= Math.min(this.lastSeq, seq)) return "covered"
    // Only a quiet node: with a report in flight the state is ahead of the published vector.
    const checkpoint = this.settledSeq === this.lastSeq ? checkpointOf(this.state) : undefined
    if (checkpoint === undefined) return "busy"
    const { id: nodeId, lastSeq, view } = this
    const [vector, text] = [encoded(view.vector), JSON.stringify(checkpoint)]
    const taken = this.shared.journal.offer(
      { kind: "checkpoint", seq: lastSeq, nodeId, receivedAt: view.receivedAt, vector, checkpoint: text },
      (committed) => {
        if (committed) this.checkpointSeq = Math.max(this.checkpointSeq, lastSeq)
      }
    )
    return taken ? "offered" : "busy"
  }

  /** Considers the node's alerts without a report; when busy, it is to be asked again. */
  considerAlerts(): Regard {
    // With a report in flight its alerts are ahead of what is published.
    if (this.status !== "running" || this.settledSeq !== this.lastSeq) return "busy"
    const { alerts, journal } = this.shared
    const step = alerts.considered(this.view)
    if (step === null) return "quiet"
    const taken = journal.offer({ kind: "alert", step }, (committed) => {
      if (committed) alerts.committed(step)
      else this.end({ _tag: "RolledBack" })
    })
    if (taken) return "offered"
    this.end({ _tag: "RolledBack" })
    return "busy"
  }

  private drain(): void {
    while (this.status === "running" && this.mailbox.length > 0) {
      const mail = this.mailbox.shift() as Mail
      try {
        if (mail._tag === "Report") this.takeReport(mail)
        else this.takeStatic(mail)
      } catch (cause) {
        mail.reply.refuse()
        this.end({ _tag: "Crashed", message: cause instanceof Error ? cause.message : String(cause) })
      }
    }
  }

  private end(why: Ended): void {
    if (this.status !== "running") return
    this.status = "restarting"
    this.carried = this.state?.upgrade ?? noUpgrade
    this.drop()
    this.ended?.(why)
  }

  private drop(): void {
    this.state?.window.release()
    this.state = undefined
  }

  private takeReport({ arrival, receivedAt, reply, report }: Mail & { _tag: "Report" }): void {
    const state = this.state as NodeState
    const { shared } = this
    const changes = changesIn(state.details, state.layout, report, arrival, gapLimitMs(intervalMs(state)))
    const layout = changes?.layout === undefined ? (state.layout as Layout) : layoutOf(changes.layout)
    if (shared.scratch.length < layout.size) shared.scratch = new Float64Array(layout.size * 2)
    const vector = shared.scratch
    flatten(vector, layout, report)
    const outcome = shared.step(state, { _tag: "Sample", receivedAt, vector, changes }, shared.intern)
    const { facts, update, verdict } = outcome
    const applied = verdict === "apply"
    if (verdict === "duplicate") {
      // The first copy may still wait for its commit; the repeat is acknowledged with it.
      if (!shared.journal.afterCommit((ok) => (ok ? reply.acknowledge(update, false) : reply.refuse()))) reply.refuse()
      return
    }
    const alerts = applied ? shared.alerts.reported(this.view, state, vector) : null
    const due = applied && ++this.sinceCheckpoint >= checkpointEvery
    const shown = shownBy(state)
    const seq = shared.journal.offerRow(
      {
        nodeId: this.id,
        receivedAt,
        details: changes === undefined ? null : JSON.stringify(changes),
        isApplied: applied,
        checkpoint: due ? JSON.stringify(checkpointOf(state)) : null,
        facts: facts ?? null,
        alerts
      },
      vector,
      layout.size,
      (committed, written) => {
        if (facts !== undefined) this.closing.splice(0, this.closing.indexOf(facts) + 1)
        if (!committed) return this.undo(reply)
        this.settledSeq = seq
        if (due) this.checkpointSeq = Math.max(this.checkpointSeq, seq)
        if (applied) {
          if (this.unsealed.push(seq) === 1) this.unsealedFrom = receivedAt
          show(this.view, receivedAt, shown, written, ++shared.revision)
        } else this.publishFaults(shown.faults)
        reply.acknowledge(update, applied)
        if (facts !== undefined) shared.facts(this.id, facts)
        if (alerts !== null) shared.alerts.committed(alerts)
      }
    )
    if (seq === 0) return this.undo(reply)
    if (facts !== undefined) this.closing.push(facts)
    this.lastSeq = seq
    if (due) this.sinceCheckpoint = 0
  }

  private takeStatic({ body, receivedAt, reply }: Mail & { _tag: "Static" }): void {
    const state = this.state as NodeState
    this.shared.step(state, { _tag: "StaticReceived", receivedAt, body }, this.shared.intern)
    const { statics, version } = state
    const hostname = labelOf(body.system.hostname, nodeNameMax) || untitled
    const taken = this.shared.journal.offer(
      { kind: "static", nodeId: this.id, receivedAt, body: JSON.stringify(body), hostname },
      (committed) => {
        if (!committed) return this.undo(reply)
        this.publishStatics(statics, version)
        this.shared.renamed(this.id, hostname)
        this.shared.alerts.described(this.id, state)
        reply.acknowledge(null, true)
      }
    )
    if (!taken) this.undo(reply)
  }

  /** The state is ahead of the disk: refuse, and let the node's fiber rebuild it by replay. */
  private undo(reply: Reply): void {
    reply.refuse()
    this.end({ _tag: "RolledBack" })
  }

  /** A second agent's report changes no figure, but it is what tells of the second agent. */
  private publishFaults(faults: NodeView["faults"]): void {
    const { view } = this
    if (faults.length === view.faults.length) return
    view.faults = faults
    view.revision = ++this.shared.revision
  }

  private publishStatics(statics: NodeState["statics"], version: string | undefined): void {
    const { view } = this
    view.statics = statics
    view.version = version
    view.revision = ++this.shared.revision
  }
}
