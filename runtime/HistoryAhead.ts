// Brings into memory what an answer about a node's history will read: once for all the charts of a page.
import { Effect } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { Span } from "../src/core/Online.ts"
import type { Tier } from "../src/core/Tier.ts"
import { shelfAhead, tailAhead } from "../src/store/ReadAhead.ts"
import { shelvesOf, type Tools } from "./HistoryGathering.ts"
import type { Lane } from "./ReadAhead.ts"

/** What was brought is taken to be in memory for so long: charts come within a second, and a page asks every minute. */
const freshMs = 10_000
/** Pages remembered: those of some hundred people at once. */
const freshMax = 512

/** What an answer is about. */
export interface Scope {
  readonly id: NodeId
  /** Coarsest that it reads. */
  readonly tier: Tier
  readonly span: Span
}

export class HistoryAhead {
  /** When each was brought, on the monotonic clock, oldest first. */
  private readonly brought = new Map<string, number>()
  private readonly tools: Tools
  private readonly lane: Lane

  constructor(tools: Tools, lane: Lane) {
    this.tools = tools
    this.lane = lane
  }

  /** Calls back once an answer can be gathered from memory, at once when that was so a moment ago. */
  begin(scope: Scope, done: () => void): void {
    const { id, span, tier } = scope
    // A chart's span ends when it is asked for; those of a page are of nearly the same.
    const key = `${id} ${tier} ${span.toMs - span.fromMs} ${Math.floor(span.toMs / freshMs)}`
    const now = performance.now()
    if (now - (this.brought.get(key) ?? Number.NEGATIVE_INFINITY) < freshMs) return done()
    this.lane.begin(this.looks(scope), () => {
      this.brought.delete(key)
      this.brought.set(key, performance.now())
      const oldest = this.brought.keys().next()
      if (this.brought.size > freshMax && oldest.done !== true) this.brought.delete(oldest.value)
      done()
    })
  }

  readonly bring = (scope: Scope): Effect.Effect<void> =>
    Effect.async<void>((resume) => this.begin(scope, () => resume(Effect.void)))

  private looks({ id, span: { fromMs, toMs }, tier }: Scope) {
    const unsealed = this.tools.supervisor.actor(id)?.unsealed ?? []
    const shelves = shelvesOf(this.tools, id, tier)
    return [
      ...shelves.map(({ behind, tier }) => shelfAhead(tier, id, fromMs, toMs, behind)),
      ...(unsealed.length === 0 ? [] : tailAhead(id, unsealed))
    ]
  }
}
