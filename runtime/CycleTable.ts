// Something kept per interface for its current cycle: built from the ledger, fed with facts, cut anew when cycles change.
import type { Context } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { Fact } from "../src/core/Bucket.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"
import type { Stretch } from "../src/core/Usage.ts"
import { factsAhead, ifacesAhead } from "../src/store/ReadAhead.ts"
import type { TrafficStore } from "../src/store/Traffic.ts"
import type { Give } from "./Slices.ts"
import type { Plan, TrafficPlans } from "./TrafficPlans.ts"

/** What is kept of the facts of a cycle. */
export interface Folded {
  /** Takes a committed fact, new or in the place of another; what must be read again from the ledger, if anything. */
  readonly take: (fact: Fact) => Stretch | undefined
  /** Everything of a stretch, as the ledger has it. */
  readonly retake: (stretch: Stretch, facts: ReadonlyArray<Fact>) => void
}

export interface Entry<F> {
  readonly plan: Plan
  readonly ifaceId: number
  readonly folded: F
}

interface Iface {
  readonly id: number
  readonly nodeId: NodeId
  readonly name: string
}

/** A build that gives way: a fact committed behind what it has read already spoils it. */
interface Building extends Iface {
  readUpToMs: number
  isSpoilt: boolean
}

export interface TableOptions<F> {
  readonly store: Context.Tag.Service<typeof TrafficStore>
  readonly plans: Context.Tag.Service<typeof TrafficPlans>
  readonly make: (plan: Plan) => F
  readonly isWanted: (nodeId: NodeId) => boolean
  /** Interfaces kept; one more lets the oldest go, which is then read from the ledger whenever it is asked for. */
  readonly entriesMax: number
}

/** Interfaces listed and looked at at once: some 0.5 ms. */
const pageIfaces = 50
/** Days of facts read at once: some 2 ms. */
const chunkMs = 4 * 86_400_000

/** Invariant: an entry holds exactly the committed facts of its plan's cycle. Interfaces without any have no entry. */
export class CycleTable<F extends Folded> {
  /** Interfaces that the running sweep has still to build. */
  behind = 0
  /** Entries built from the ledger so far, and those let go because reading it failed. */
  readonly figures = { built: 0, lost: 0 }
  private readonly entries = new Map<NodeId, Map<string, Entry<F>>>()
  private readonly builds = new Set<Building>()
  private count = 0
  private readonly options: TableOptions<F>

  constructor(options: TableOptions<F>) {
    this.options = options
  }

  get size(): number {
    return this.count
  }

  /** Builds the entry at once when it is not there; undefined for what the ledger does not know or nobody wants. */
  get(nodeId: NodeId, name: string, nowMs: number): Entry<F> | undefined {
    const { isWanted, plans, store } = this.options
    const plan = isWanted(nodeId) ? plans.of(nodeId, nowMs) : undefined
    if (plan === undefined) return undefined
    const known = this.entries.get(nodeId)?.get(name)
    if (known !== undefined && known.plan.key === plan.key) return known
    const iface = store.iface(nodeId, name)
    if (iface === undefined) return undefined
    const { entry, facts } = this.read(iface.id, plan)
    if (facts > 0) this.put(nodeId, name, entry)
    return entry
  }

  /** What is there already, of whatever cycle. */
  kept(nodeId: NodeId, name: string): Entry<F> | undefined {
    return this.entries.get(nodeId)?.get(name)
  }

  /** Takes the facts of a commit. */
  accept(nodeId: NodeId, closed: ReadonlyArray<ClosedFact>): void {
    for (const build of this.builds) {
      if (build.nodeId !== nodeId) continue
      if (closed.some(({ fact, iface }) => iface === build.name && fact.start < build.readUpToMs)) build.isSpoilt = true
    }
    const named = this.entries.get(nodeId)
    if (named === undefined) return
    for (const { fact, iface } of closed) {
      const entry = named.get(iface)
      if (entry === undefined || fact.start < entry.plan.cycle.startMs) continue
      // The next cycle has begun: whoever asks for it builds it.
      if (fact.start >= entry.plan.cycle.endMs) this.drop(nodeId, iface)
      else this.apply(nodeId, iface, entry, fact)
    }
  }

  /** Lets an entry go; the next look at it reads the ledger. */
  drop(nodeId: NodeId, name: string): void {
    const named = this.entries.get(nodeId)
    if (named === undefined || !named.delete(name)) return
    this.count--
    if (named.size === 0) this.entries.delete(nodeId)
  }

  /** Builds what is missing and lets go what nobody wants; gives way at its yields. */
  *sweep(nowMs: number): Generator<Give, void> {
    const { entriesMax, isWanted, plans } = this.options
    for (const [nodeId, named] of this.entries) {
      if (isWanted(nodeId) && plans.of(nodeId, nowMs) !== undefined) continue
      for (const name of named.keys()) this.drop(nodeId, name)
    }
    const due = yield* this.due(nowMs)
    this.behind = due.length
    for (const iface of due) {
      this.behind--
      if (this.count < entriesMax || this.entries.get(iface.nodeId)?.has(iface.name) === true) {
        yield* this.build(iface, nowMs)
      }
      yield
    }
  }

  /** What the entry of an interface is when it is made from scratch; undefined when facts came in between. */
  *fresh(iface: Iface, plan: Plan, nowMs: number): Generator<Give, Entry<F> | undefined> {
    const { make, store } = this.options
    const { endMs, startMs } = plan.cycle
    const folded = make(plan)
    const build: Building = { ...iface, readUpToMs: startMs, isSpoilt: false }
    const chunkEnd = (fromMs: number): number => Math.min(endMs, fromMs + chunkMs)
    this.builds.add(build)
    try {
      yield [factsAhead(iface.id, startMs, chunkEnd(startMs))]
      while (build.readUpToMs < endMs && !build.isSpoilt) {
        const toMs = chunkEnd(build.readUpToMs)
        for (const fact of store.facts(iface.id, build.readUpToMs, toMs)) folded.take(fact)
        build.readUpToMs = toMs
        // Behind the present there is nothing to read, and what comes must not come between this and the end.
        if (toMs < nowMs) yield [factsAhead(iface.id, toMs, chunkEnd(toMs))]
      }
    } finally {
      this.builds.delete(build)
    }
    return build.isSpoilt ? undefined : { plan, ifaceId: iface.id, folded }
  }

  /** Puts an entry in the place of an earlier one. */
  put(nodeId: NodeId, name: string, entry: Entry<F>): void {
    const named = this.entries.get(nodeId) ?? new Map<string, Entry<F>>()
    if (!named.has(name)) {
      if (this.count >= this.options.entriesMax) this.dropOldest()
      this.count++
    }
    named.set(name, entry)
    this.entries.set(nodeId, named)
    this.figures.built++
  }

  private *due(nowMs: number): Generator<Give, ReadonlyArray<Iface>> {
    const { isWanted, plans, store } = this.options
    const due: Array<Iface> = []
    for (let after = 0; ;) {
      yield [ifacesAhead(after, pageIfaces)]
      const page = store.allIfaces(after, pageIfaces)
      for (const { firstBucket, id, name, nodeId } of page) {
        after = id
        const plan = firstBucket !== null && isWanted(nodeId) ? plans.of(nodeId, nowMs) : undefined
        if (plan === undefined || this.entries.get(nodeId)?.get(name)?.plan.key === plan.key) continue
        const last = store.lastFact(id)
        if (last !== undefined && last.start >= plan.cycle.startMs) due.push({ id, nodeId, name })
        else this.drop(nodeId, name)
      }
      if (page.length < pageIfaces) return due
    }
  }

  private *build(iface: Iface, nowMs: number): Generator<Give, void> {
    const { plans } = this.options
    const plan = plans.of(iface.nodeId, nowMs)
    if (plan === undefined) return
    const isKept = () => this.entries.get(iface.nodeId)?.get(iface.name)?.plan.key === plan.key
    if (isKept()) return
    const entry = yield* this.fresh(iface, plan, nowMs)
    // Meanwhile somebody may have asked for it, or the settings may have changed.
    if (entry === undefined || isKept() || plans.of(iface.nodeId, nowMs)?.key !== plan.key) return
    this.put(iface.nodeId, iface.name, entry)
  }

  private read(ifaceId: number, plan: Plan): { entry: Entry<F>; facts: number } {
    const folded = this.options.make(plan)
    const facts = this.options.store.facts(ifaceId, plan.cycle.startMs, plan.cycle.endMs)
    for (const fact of facts) folded.take(fact)
    return { entry: { plan, ifaceId, folded }, facts: facts.length }
  }

  private apply(nodeId: NodeId, name: string, { folded, ifaceId }: Entry<F>, fact: Fact): void {
    const again = folded.take(fact)
    if (again === undefined) return
    try {
      folded.retake(again, this.options.store.facts(ifaceId, again.startMs, again.endMs))
    } catch {
      // The database does not answer: better no entry than a wrong one.
      this.figures.lost++
      this.drop(nodeId, name)
    }
  }

  private dropOldest(): void {
    for (const [nodeId, named] of this.entries) for (const name of named.keys()) return this.drop(nodeId, name)
  }
}
