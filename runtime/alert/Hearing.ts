// Since when each node has been silent, and whether that counts: on a clock that nobody sets, doubting the service first.
import type { NodeId } from "../../schema/Ids.ts"
import { Deadlines } from "../../src/core/alert/Deadlines.ts"
import { deadlineMs, type Health, silenceMs, started, type Tick, ticked } from "../../src/core/alert/Health.ts"

/** The wheel tells whole seconds of its time; given quarters for seconds it tells to the quarter of one. */
const wheelFactor = 4

interface Heard {
  /** Monotonic. */
  heardMs: number
  intervalMs: number
  /** Before its first report a node cannot fall silent. */
  hasReported: boolean
  isArmed: boolean
}

/** Times are of the monotonic clock unless they say otherwise, milliseconds. */
export class Hearing {
  private readonly nodes = new Map<NodeId, Heard>()
  private readonly deadlines: Deadlines
  private readonly afterSec: () => number
  private readonly startedMs: number
  private health: Health

  /** `afterSec`: the configured silence, seconds. */
  constructor(first: Tick, afterSec: () => number) {
    this.afterSec = afterSec
    this.startedMs = first.monoMs
    this.health = started(first)
    this.deadlines = new Deadlines(first.monoMs * wheelFactor)
  }

  /** One look at the clocks: at least twice a second, and before anything is judged. */
  look(tick: Tick): void {
    this.health = ticked(this.health, tick)
  }

  /** Since the service was started. */
  uptimeMs(monoMs: number): number {
    return monoMs - this.startedMs
  }

  /** The node can be heard from now on: what it may have said before was not taken. */
  begin(id: NodeId, hasReported: boolean, intervalMs: number, monoMs: number): void {
    const node = { heardMs: monoMs, intervalMs, hasReported, isArmed: false }
    this.nodes.set(id, node)
    this.deadlines.disarm(id)
    if (hasReported) this.arm(id, node, this.deadlineOf(node) + 1)
  }

  /** An applied report. Its deadline moves on, but the wheel need not know before the old one has come. */
  hear(id: NodeId, monoMs: number): void {
    const node = this.nodes.get(id)
    if (node === undefined) return
    node.heardMs = monoMs
    node.hasReported = true
    if (!node.isArmed) this.arm(id, node, this.deadlineOf(node) + 1)
  }

  setInterval(id: NodeId, intervalMs: number): void {
    const node = this.nodes.get(id)
    if (node !== undefined) node.intervalMs = intervalMs
  }

  forget(id: NodeId): void {
    this.nodes.delete(id)
    this.deadlines.disarm(id)
  }

  isSilent(id: NodeId, monoMs: number): boolean {
    const node = this.nodes.get(id)
    return node !== undefined && node.hasReported && monoMs > this.deadlineOf(node)
  }

  /** Nodes that are silent now, or whose time to be looked at again has come; they are not told again by themselves. */
  due(monoMs: number): ReadonlyArray<NodeId> {
    const found: Array<NodeId> = []
    for (const id of this.deadlines.due(monoMs * wheelFactor) as ReadonlyArray<NodeId>) {
      const node = this.nodes.get(id)
      if (node === undefined) continue
      node.isArmed = false
      const deadline = this.deadlineOf(node)
      if (monoMs > deadline) found.push(id)
      else this.arm(id, node, deadline + 1)
    }
    return found
  }

  /** Sets when the node is looked at next: at its deadline, or where that has passed at `againMs`, if given. */
  rearm(id: NodeId, monoMs: number, againMs: number | undefined): void {
    const node = this.nodes.get(id)
    if (node === undefined || !node.hasReported) return
    const deadline = this.deadlineOf(node)
    if (monoMs <= deadline) this.arm(id, node, deadline + 1)
    else if (againMs !== undefined) this.arm(id, node, againMs)
  }

  private arm(id: NodeId, node: Heard, atMs: number): void {
    node.isArmed = true
    this.deadlines.arm(id, atMs * wheelFactor)
  }

  private deadlineOf({ heardMs, intervalMs }: Heard): number {
    return deadlineMs(heardMs, this.health.healthySinceMonoMs, silenceMs(this.afterSec(), intervalMs))
  }
}
