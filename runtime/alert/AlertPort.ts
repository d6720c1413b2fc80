// What the nodes' actors ask of the alerts; nobody answers unless a layer gives a desk.
import { Context } from "effect"
import type { NodeId } from "../../schema/Ids.ts"
import type { NodeState } from "../../src/core/NodeState.ts"
import type { NodeView } from "../../src/core/NodeView.ts"
import type { AlertStep } from "../../src/store/alert/AlertWrites.ts"

/** All members are synchronous, part of the actor's turn; but for `reload` none of them throws. */
export interface AlertPort {
  /** The actor took over a restored state; from here on its node can be heard. */
  readonly begun: (id: NodeId, state: NodeState) => void
  /** The node told its interval and its hardware. */
  readonly described: (id: NodeId, state: NodeState) => void
  /**
   * What an applied report does to the node's alerts, for the transaction of its row; null for nothing. `view` is still
   * of the report before, `state` and `vector` are of this one.
   */
  readonly reported: (view: NodeView, state: NodeState, vector: Float64Array) => AlertStep | null
  /** The same without a report, by what is published; only while no report is on its way to the disk. */
  readonly considered: (view: NodeView) => AlertStep | null
  /** The step is on disk. */
  readonly committed: (step: AlertStep) => void
  /** Takes what is on disk for what is: a step may not have got there. Throws what the database throws. */
  readonly reload: (id: NodeId) => void
  /** The node was deleted and its actor stopped. */
  readonly departed: (id: NodeId) => void
}

export const noAlerts: AlertPort = {
  begun: () => {},
  described: () => {},
  reported: () => null,
  considered: () => null,
  committed: () => {},
  reload: () => {},
  departed: () => {}
}

export class AlertSeat extends Context.Reference<AlertSeat>()("runtime/alert/AlertPort", {
  defaultValue: (): AlertPort => noAlerts
}) {}
