// The states of all rules on all nodes, and what a report or a consideration makes of them; on disk whenever it is told.
import { Clock, Context, Effect, Layer, Option } from "effect"
import type { NodeId } from "../../schema/Ids.ts"
import { isSilenced } from "../../src/core/alert/Silence.ts"
import type { Style } from "../../src/core/alert/Messages.ts"
import { type Consideration, considered, dissolved } from "../../src/core/alert/NodeAlerts.ts"
import { type AlertRule, isWatched } from "../../src/core/alert/Rule.ts"
import type { RuleState } from "../../src/core/alert/RuleState.ts"
import { statesIn } from "../../src/core/alert/RuleStateCode.ts"
import { intervalMs, type NodeState } from "../../src/core/NodeState.ts"
import type { NodeView } from "../../src/core/NodeView.ts"
import type { AlertStep } from "../../src/store/alert/AlertWrites.ts"
import { OutboxStore } from "../../src/store/alert/Outbox.ts"
import { AppConfig } from "../Config.ts"
import { FiberRegister, noteTrouble, type Watch } from "../FiberStatus.ts"
import { Journal } from "../Journal.ts"
import { Monotonic } from "../Monotonic.ts"
import { NodeRoster } from "../NodeRoster.ts"
import { pause } from "../Pause.ts"
import { AlertBook } from "./AlertBook.ts"
import { type AlertPort, AlertSeat } from "./AlertPort.ts"
import { type Affected, stepOf } from "./AlertRender.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { Hearing } from "./Hearing.ts"

/** After the start nothing opens for so long: agents come back, and disks are warmed (semantics 4.3). */
export const graceMs = 60_000
/** States read at once at the start. */
const pageNodes = 1000

type Page = ReturnType<Context.Tag.Service<typeof AlertBook>["page"]>

interface Entry {
  states: ReadonlyArray<RuleState>
  /** Of which `rules` are those mounted here and watched. */
  page: Page | undefined
  rules: ReadonlyArray<AlertRule>
}

interface Tools {
  readonly book: Context.Tag.Service<typeof AlertBook>
  readonly store: Context.Tag.Service<typeof OutboxStore>
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly dispatcher: Context.Tag.Service<typeof Dispatcher>
  readonly clock: Clock.Clock
  readonly monotonic: Context.Tag.Service<typeof Monotonic>
  readonly watch: Watch
  readonly style: Style
}

export class AlertDesk extends Context.Tag("runtime/alert/AlertDesk")<AlertDesk, Desk>() {}

class Desk implements AlertPort {
  readonly hearing: Hearing
  /** Deleted nodes whose alerts are still on disk. */
  readonly leaving = new Set<NodeId>()
  private readonly entries = new Map<NodeId, Entry>()
  private readonly tools: Tools
  private lastEventId: number
  private targets: { readonly page: Page; readonly channelIds: ReadonlyArray<number> } | undefined
  /** Filled anew for each consideration: a report must not pay for making one. */
  private readonly input: Input

  constructor(tools: Tools) {
    this.tools = tools
    this.lastEventId = tools.store.lastEventId()
    this.input = new Input(tools, () => ++this.lastEventId)
    this.hearing = new Hearing(this.tick(), () => tools.book.page().settings.offlineAfterSec)
  }

  /** A look at the clocks: before anything is judged without a report. */
  look(): void {
    this.hearing.look(this.tick())
  }

  /** Whether alerts may open yet. */
  get canOpen(): boolean {
    return this.hearing.uptimeMs(this.tools.monotonic.now()) >= graceMs
  }

  /** Nodes whose silence is over its deadline, or that are to be looked at again. */
  due(): ReadonlyArray<NodeId> {
    return this.hearing.due(this.tools.monotonic.now())
  }

  /** Ids of all nodes that can be heard. */
  nodes(): Iterable<NodeId> {
    return this.entries.keys()
  }

  take(id: NodeId, body: string): void {
    this.entryOf(id).states = this.decoded(id, body)
  }

  begun(id: NodeId, state: NodeState): void {
    this.entryOf(id)
    this.hearing.begin(id, state.receivedAt > 0, intervalMs(state), this.tools.monotonic.now())
  }

  described(id: NodeId, state: NodeState): void {
    this.hearing.setInterval(id, intervalMs(state))
    // A shorter interval may have brought the deadline nearer.
    this.hearing.rearm(id, this.tools.monotonic.now(), undefined)
  }

  reported(view: NodeView, state: NodeState, vector: Float64Array): AlertStep | null {
    const { details, layout, receivedAt, statics } = state
    this.hearing.hear(view.id, this.tools.monotonic.now())
    if (details === undefined || layout === undefined) return null
    const input = this.input
    input.measured = { layout, vector, details, statics }
    input.isStale = false
    input.nowMs = receivedAt
    input.observedMs = receivedAt
    return this.guarded(view, state.details?.hostname)
  }

  considered(view: NodeView): AlertStep | null {
    const entry = this.entryOf(view.id)
    const { clock, monotonic } = this.tools
    const { details, layout, receivedAt, statics, vector } = view
    const input = this.input
    input.measured = layout === undefined || details === undefined ? undefined : { layout, vector, details, statics }
    // Every applied report ends an open silence, so where one is open there was none: doubt in ourselves is no recovery.
    input.isStale = entry.states.some(isOpenSilence) || this.hearing.isSilent(view.id, monotonic.now())
    input.nowMs = clock.unsafeCurrentTimeMillis()
    input.observedMs = receivedAt
    return this.guarded(view, details?.hostname)
  }

  committed({ outbox }: AlertStep): void {
    if (outbox.length > 0) this.tools.dispatcher.ring([...new Set(outbox.map(({ channelId }) => channelId))])
  }

  reload(id: NodeId): void {
    const stored = this.stored(id)
    this.entryOf(id).states = stored ?? []
  }

  departed(id: NodeId): void {
    this.entries.delete(id)
    this.hearing.forget(id)
    this.leaving.add(id)
  }

  /** What ends the alerts of a deleted node by what is on disk; null when nothing is left there. */
  farewell(id: NodeId, name: string): AlertStep | null {
    const states = this.stored(id)
    if (states === undefined) return null
    const { book, clock, style } = this.tools
    const who = { nodeId: id, name, hostname: "", ip: null, lastReportMs: null }
    return stepOf(who, dissolved(states, clock.unsafeCurrentTimeMillis()), book.page().channels, style)
  }

  /** When the node is looked at again without a report: at its deadline, or while it has open alerts after `againMs`. */
  rearm(id: NodeId, againMs: number): void {
    const now = this.tools.monotonic.now()
    const isOpen = this.entries.get(id)?.states.length !== 0
    this.hearing.rearm(id, now, isOpen ? now + againMs : undefined)
  }

  private entryOf(id: NodeId): Entry {
    let entry = this.entries.get(id)
    if (entry === undefined) this.entries.set(id, (entry = { states: [], page: undefined, rules: [] }))
    return entry
  }

  private tick() {
    const { clock, journal, monotonic } = this.tools
    return { nowMs: clock.unsafeCurrentTimeMillis(), monoMs: monotonic.now(), isTaking: journal.room() }
  }

  private decoded(id: NodeId, body: string): ReadonlyArray<RuleState> {
    return Option.getOrElse(statesIn(body), () => {
      const { clock, watch } = this.tools
      noteTrouble(watch, `the alert states of node ${id} cannot be read`, clock.unsafeCurrentTimeMillis())
      return []
    })
  }

  private stored(id: NodeId): ReadonlyArray<RuleState> | undefined {
    const [row] = this.tools.store.states((id - 1) as NodeId | 0, 1)
    return row?.nodeId === id ? this.decoded(id, row.body) : undefined
  }

  /** An alert that cannot be judged must not cost the report. */
  private guarded(view: NodeView, hostname: string | undefined): AlertStep | null {
    try {
      return this.step(view, hostname)
    } catch (cause) {
      const { clock, watch } = this.tools
      noteTrouble(watch, `the alerts of node ${view.id} failed: ${String(cause)}`, clock.unsafeCurrentTimeMillis())
      return null
    }
  }

  private step(view: NodeView, hostname: string | undefined): AlertStep | null {
    const { book, style } = this.tools
    const page = book.page()
    const entry = this.entryOf(view.id)
    if (entry.page !== page) {
      entry.page = page
      entry.rules = page.mountedOn(view.id).filter(isWatched)
    }
    const input = this.input
    input.nodeId = view.id
    input.canOpen = this.canOpen
    input.channelIds = this.channelIds(page)
    const after = considered(entry.states, entry.rules, input)
    if (!after.isChanged && after.transitions.length === 0) return null
    const step = stepOf(this.affected(view, hostname), after, page.channels, style)
    entry.states = after.states
    return step
  }

  private channelIds(page: Page): ReadonlyArray<number> {
    if (this.targets?.page !== page) this.targets = { page, channelIds: page.targets.map(({ id }) => id) }
    return this.targets.channelIds
  }

  private affected({ details, id, receivedAt, statics }: NodeView, hostname: string | undefined): Affected {
    return {
      nodeId: id,
      name: this.tools.roster.records().get(id)?.name ?? "",
      hostname: hostname ?? statics?.body.system.hostname ?? "",
      ip: details?.ip ?? null,
      lastReportMs: receivedAt > 0 ? receivedAt : null
    }
  }
}

const isOpenSilence = (state: RuleState): boolean => state._tag === "Firing" && state.rule.metric === "node.offline"

class Input implements Consideration {
  nodeId = 0
  nowMs = 0
  observedMs = 0
  measured: Consideration["measured"]
  isStale = false
  canOpen = false
  channelIds: ReadonlyArray<number> = []
  readonly isSilenced: (ruleId: number) => boolean
  readonly nextEventId: () => number
  readonly ruleOf: Consideration["ruleOf"]

  constructor({ book, roster }: Tools, nextEventId: () => number) {
    this.nextEventId = nextEventId
    this.ruleOf = (ruleId) => book.page().rules.find(({ id }) => id === ruleId)
    this.isSilenced = (ruleId) => {
      const { silences } = book.page()
      if (silences.length === 0) return false
      const groupIds = roster.records().get(this.nodeId as NodeId)?.groupIds ?? []
      return isSilenced(silences, this.nodeId, groupIds, ruleId, this.nowMs)
    }
  }
}

const make = Effect.gen(function* () {
  const { language, timezone } = yield* AppConfig
  const roster = yield* NodeRoster
  const store = yield* OutboxStore
  const desk: Desk = new Desk({
    book: yield* AlertBook,
    store,
    roster,
    journal: yield* Journal,
    dispatcher: yield* Dispatcher,
    clock: yield* Effect.clock,
    monotonic: yield* Monotonic,
    watch: (yield* FiberRegister).register("AlertDesk", () => desk.leaving.size, 0),
    style: { locale: language, zone: timezone }
  })
  let after: NodeId | 0 = 0
  for (;;) {
    const page: ReturnType<typeof store.states> = store.states(after, pageNodes)
    for (const { body, nodeId } of page) {
      // Deleted, and ended before that could be told.
      if (roster.records().has(nodeId)) desk.take(nodeId, body)
      else desk.leaving.add(nodeId)
      after = nodeId
    }
    if (page.length < pageNodes) break
    yield* pause
  }
  return Context.make(AlertDesk, desk).pipe(Context.add(AlertSeat, desk))
})

/** Must be there before the actors are. */
export const layer = Layer.effectContext(make)
