// The port through which everything outside the engine reaches nodes: what they are, and commands to them.
import { Context, type Effect } from "effect"
import type { NotFound } from "../schema/Errors.ts"
import type { NodeId } from "../schema/Ids.ts"
import type { NodeFault } from "../schema/Node.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"

/** What a node's own reports say of it; published after commit. */
export interface NodeFacts {
  readonly hostname: string
  readonly ip: string | undefined
  /** Last reported version, or undefined before the first report. */
  readonly version: string | undefined
  readonly faults: ReadonlyArray<NodeFault>
}

export class NodeDirectory extends Context.Tag("runtime/NodeDirectory")<
  NodeDirectory,
  {
    readonly facts: (id: NodeId) => NodeFacts | undefined
    /** Makes an upgrade task pending; the next accepted reports carry the manifest. */
    readonly requestUpgrade: (id: NodeId, manifest: UpdateManifest) => Effect.Effect<void, NotFound>
    /** Stops and forgets the actors of nodes that the roster no longer holds, and starts those it newly holds. */
    readonly reconcile: Effect.Effect<void>
  }
>() {}
