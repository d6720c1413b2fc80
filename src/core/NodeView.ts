// What the outside may see of a node: the figures of its last committed report. Replaced as a whole, read synchronously.
import type { NodeId } from "../../schema/Ids.ts"
import type { Details } from "./Details.ts"
import type { Layout } from "./Layout.ts"
import { faultsOf, type NodeState, type Statics } from "./NodeState.ts"
import type { NodeFault } from "../../schema/Node.ts"

export interface NodeView {
  readonly id: NodeId
  /** 0 before the first report. */
  receivedAt: number
  layout: Layout | undefined
  details: Details | undefined
  /** `layout.size` values of the last committed report. */
  vector: Float64Array
  statics: Statics | undefined
  version: string | undefined
  faults: ReadonlyArray<NodeFault>
  /** Rises with every change of anything above, over all nodes. */
  revision: number
}

const nothing = new Float64Array(0)

export const emptyView = (id: NodeId): NodeView => ({
  id,
  receivedAt: 0,
  layout: undefined,
  details: undefined,
  vector: nothing,
  statics: undefined,
  version: undefined,
  faults: [],
  revision: 0
})

/** What a view takes from the state after an applied report: kept until the commit, when the state may be further on. */
export interface Shown {
  readonly layout: Layout
  readonly details: Details
  readonly version: string | undefined
  readonly faults: ReadonlyArray<NodeFault>
}

/** Puts a committed report into the view; `vector` is only read. */
export const show = (
  view: NodeView,
  receivedAt: number,
  shown: Shown,
  vector: Float64Array,
  revision: number
): void => {
  const { size } = shown.layout
  if (view.vector.length !== size) view.vector = new Float64Array(size)
  view.vector.set(vector.length === size ? vector : vector.subarray(0, size))
  view.receivedAt = receivedAt
  view.layout = shown.layout
  view.details = shown.details
  view.version = shown.version
  view.faults = shown.faults
  view.revision = revision
}

/** Only for a state that a report was applied to. */
export const shownBy = (state: NodeState): Shown => ({
  layout: state.layout as Layout,
  details: state.details as Details,
  version: state.version,
  faults: faultsOf(state, state.receivedAt)
})
