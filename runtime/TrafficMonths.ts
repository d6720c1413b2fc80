// Writes what closed billing cycles came to, so that it outlives their facts; hourly, and before any facts are dropped.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { bucketMs } from "../src/core/Bucket.ts"
import { type Cycle, type CycleConfig, previous } from "../src/core/Cycle.ts"
import { isUpToDate, type Month, monthFrom, monthOf, monthStatusOf, monthText } from "../src/core/Month.ts"
import { monthsMax } from "../src/core/TrafficQuery.ts"
import { factsAhead, ifacesAhead } from "../src/store/ReadAhead.ts"
import { type MonthRow, type MonthWrite, type NodeIfaceRow, TrafficStore } from "../src/store/Traffic.ts"
import { AppConfig } from "./Config.ts"
import { FiberRegister, noteTrouble, supervised, type Watch } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { type Ahead, ReadAhead } from "./ReadAhead.ts"
import { type Give, inSlices } from "./Slices.ts"
import { TrafficFeed } from "./TrafficFeed.ts"
import { TrafficPlans } from "./TrafficPlans.ts"

const every = Schedule.spaced("1 hour")
/** The last bucket of a cycle is committed by the first report after it, usually within seconds. */
const settleMs = 10 * 60_000
/** Interfaces between two commits of what was found. */
const pageIfaces = 64
/** Interfaces whose past was corrected and not written again yet; past it everything is written again. */
const correctedMax = 100_000

/** What a page of interfaces asks for. */
interface Found {
  readonly writes: Array<MonthWrite>
  /** Facts from here on are still needed. */
  keepFromMs: number
}

export class TrafficMonths extends Context.Tag("runtime/TrafficMonths")<
  TrafficMonths,
  {
    /** A closed cycle as it is stored, if that is what the ledger would say, or all that is left. */
    readonly find: (
      nodeId: NodeId,
      iface: { readonly id: number; readonly name: string },
      config: CycleConfig,
      cycle: Cycle
    ) => { readonly month: Month; readonly row: MonthRow } | undefined
    /**
     * Writes what is due of every interface, or of one node anew from the facts; the instant from which on facts must
     * stay, because no snapshot has them yet. Zero when something could not be written.
     */
    readonly write: (anew?: NodeId) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.scoped(
    this,
    Effect.suspend(() => make)
  )
}

interface Tools {
  readonly store: Context.Tag.Service<typeof TrafficStore>
  readonly plans: Context.Tag.Service<typeof TrafficPlans>
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly ahead: Ahead
  readonly keepMs: number
  readonly watch: Watch
  readonly corrected: Corrected
}

/** Buckets of closed cycles that came late or again, per interface the oldest one. */
class Corrected {
  private readonly fromMs = new Map<string, number>()

  note(nodeId: NodeId, iface: string, atMs: number): void {
    const key = `${nodeId} ${iface}`
    if (this.fromMs.size >= correctedMax && !this.fromMs.has(key)) return
    this.fromMs.set(key, Math.min(atMs, this.fromMs.get(key) ?? atMs))
  }

  has(nodeId: NodeId, iface: string, { endMs }: Cycle): boolean {
    if (this.fromMs.size >= correctedMax) return true
    return (this.fromMs.get(`${nodeId} ${iface}`) ?? Number.POSITIVE_INFINITY) < endMs
  }

  forget(nodeId: NodeId, iface: string): void {
    this.fromMs.delete(`${nodeId} ${iface}`)
  }
}

const decided = (status: string): boolean => status === "sealed" || status === "stale"

const rowOf = (config: CycleConfig, cycle: Cycle, month: Month, status: string, nowMs: number): MonthRow => ({
  ...config,
  cycleStart: cycle.startMs,
  cycleEnd: cycle.endMs,
  status,
  coveredUntil: month.effective.endMs,
  generatedAt: nowMs,
  sealedAt: status === "sealed" ? nowMs : null,
  body: monthText(month)
})

/** Whether a stored snapshot must be made again; never from facts that may be partly gone. */
const mustMake = (
  { corrected }: Tools,
  { name, nodeId }: NodeIfaceRow,
  { cycle, isAnew, keptFromMs, newestAtMs, row }: Closed
): boolean => {
  if (row === undefined) return true
  const month = monthFrom(row.body)
  if (month === undefined) return true
  if (cycle.startMs < keptFromMs) return false
  if (isAnew) return true
  return !decided(row.status) && (!isUpToDate(month, cycle, newestAtMs) || corrected.has(nodeId, name, cycle))
}

interface Closed {
  readonly cycle: Cycle
  readonly config: CycleConfig
  readonly row: MonthRow | undefined
  readonly isAnew: boolean
  readonly keptFromMs: number
  readonly newestAtMs: number
  readonly nowMs: number
}

/** What is to be written about one closed cycle, and whether its facts are needed no more once that is done. */
function* closedCycle(
  tools: Tools,
  iface: NodeIfaceRow,
  closed: Closed
): Generator<Give, { row?: MonthRow; isDone: boolean }> {
  const { config, cycle, keptFromMs, newestAtMs, nowMs, row } = closed
  let month = row === undefined ? undefined : monthFrom(row.body)
  if (mustMake(tools, iface, closed)) {
    yield [factsAhead(iface.id, cycle.startMs, cycle.endMs)]
    const facts = tools.store.facts(iface.id, cycle.startMs, cycle.endMs)
    if (facts.length === 0) return { isDone: true }
    const createdMs = tools.roster.records().get(iface.nodeId)?.createdAt ?? 0
    month = monthOf(cycle, facts, { createdMs, firstMs: iface.firstSeenAt }, newestAtMs)
  } else if (row !== undefined && decided(row.status)) return { isDone: true }
  if (month === undefined) return { isDone: true }
  const status = monthStatusOf(month, cycle, keptFromMs, nowMs)
  const made = rowOf(config, cycle, month, status, nowMs)
  const isDone = decided(status)
  return row?.status === status && row.body === made.body ? { isDone } : { row: made, isDone }
}

/** Walks an interface's closed cycles back to its first fact. */
function* visit(tools: Tools, iface: NodeIfaceRow, nowMs: number, anew: NodeId | undefined, found: Found) {
  const plan = tools.plans.of(iface.nodeId, nowMs)
  // Nobody reads a deleted node any more, and its facts go by age alone.
  if (plan === undefined || iface.firstBucket === null) return
  if (anew !== undefined && iface.nodeId !== anew) return
  const { config } = plan
  const rows = new Map(tools.store.months(iface.id, config, monthsMax + 1).map((row) => [row.cycleStart, row]))
  const newestAtMs = tools.store.lastFact(iface.id)?.start ?? 0
  found.keepFromMs = Math.min(found.keepFromMs, plan.cycle.startMs)
  let cycle = previous(config, plan.cycle)
  for (let back = 0; back <= monthsMax; back++, cycle = previous(config, cycle)) {
    const row = rows.get(cycle.startMs)
    if (row === undefined && cycle.endMs <= iface.firstBucket * bucketMs) break
    if (nowMs < cycle.endMs + settleMs) {
      found.keepFromMs = Math.min(found.keepFromMs, cycle.startMs)
      continue
    }
    const keptFromMs = nowMs - tools.keepMs
    const closed: Closed = { cycle, config, row, isAnew: anew !== undefined, keptFromMs, newestAtMs, nowMs }
    const made = yield* closedCycle(tools, iface, closed)
    if (made.row !== undefined) found.writes.push({ kind: "month", ifaceId: iface.id, ...made.row })
    if (!made.isDone) found.keepFromMs = Math.min(found.keepFromMs, cycle.startMs)
    yield
  }
  tools.corrected.forget(iface.nodeId, iface.name)
}

function* visitAll(tools: Tools, page: ReadonlyArray<NodeIfaceRow>, nowMs: number, anew: NodeId | undefined) {
  const found: Found = { writes: [], keepFromMs: Number.POSITIVE_INFINITY }
  for (const iface of page) {
    yield* visit(tools, iface, nowMs, anew, found)
    yield
  }
  return found
}

/** True when all of it is on disk. */
const put = ({ journal }: Tools, writes: ReadonlyArray<MonthWrite>) =>
  Effect.gen(function* () {
    let isWritten = true
    for (const write of writes) {
      const settle = (committed: boolean) => void (isWritten &&= committed)
      if (journal.offer(write, settle)) continue
      yield* journal.flushed
      if (!journal.offer(write, settle)) isWritten = false
    }
    yield* journal.flushed
    return isWritten
  })

const round = (tools: Tools, anew: NodeId | undefined) =>
  Effect.gen(function* () {
    const nowMs = yield* Clock.currentTimeMillis
    const revision = tools.plans.revision()
    let keepFromMs = nowMs
    let isWritten = tools.journal.closed() === undefined
    for (let after = 0; isWritten;) {
      yield* tools.ahead.bring([ifacesAhead(after, pageIfaces)])
      const page = tools.store.allIfaces(after, pageIfaces)
      const found = yield* inSlices(visitAll(tools, page, nowMs, anew), tools.ahead)
      keepFromMs = Math.min(keepFromMs, found.keepFromMs)
      isWritten = yield* put(tools, found.writes)
      if (page.length < pageIfaces) break
      after = page[page.length - 1]?.id ?? after
    }
    if (!isWritten) noteTrouble(tools.watch, "snapshots of closed cycles could not be written", nowMs)
    // Other settings make other cycles, of which nothing is written yet.
    return isWritten && anew === undefined && tools.plans.revision() === revision ? keepFromMs : 0
  })

const make = Effect.gen(function* () {
  const corrected = new Corrected()
  const tools: Tools = {
    store: yield* TrafficStore,
    plans: yield* TrafficPlans,
    roster: yield* NodeRoster,
    journal: yield* Journal,
    ahead: yield* ReadAhead,
    keepMs: (yield* AppConfig).trafficKeepMs,
    watch: (yield* FiberRegister).register("TrafficMonths", () => 0, 0),
    corrected
  }
  const clock = yield* Effect.clock
  const feed = yield* TrafficFeed
  feed.listen((nodeId, facts) => {
    const startMs = tools.plans.of(nodeId, clock.unsafeCurrentTimeMillis())?.cycle.startMs ?? 0
    for (const { fact, iface } of facts) if (fact.start < startMs) corrected.note(nodeId, iface, fact.start)
  })
  const turn = yield* Effect.makeSemaphore(1)
  const write = (anew?: NodeId) => turn.withPermits(1)(round(tools, anew))
  yield* Effect.forkScoped(supervised(tools.watch, Effect.andThen(Effect.repeat(write(), every), Effect.never)))
  return TrafficMonths.of({
    write,
    find: (nodeId, iface, config, cycle) => {
      const row = tools.store.month(iface.id, config, cycle.startMs)
      const month = row === undefined ? undefined : monthFrom(row.body)
      if (row === undefined || month === undefined) return undefined
      if (decided(row.status)) return { month, row }
      const newestAtMs = tools.store.lastFact(iface.id)?.start ?? 0
      return isUpToDate(month, cycle, newestAtMs) && !corrected.has(nodeId, iface.name, cycle)
        ? { month, row }
        : undefined
    }
  })
})
