// Where facts go once they are on disk: nowhere, unless a layer gives a place.
import { Context } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"

/** Called after the commit that holds the facts, in their order; must neither throw nor take long. */
export type TakeFacts = (nodeId: NodeId, facts: ReadonlyArray<ClosedFact>) => void

export class FactSink extends Context.Reference<FactSink>()("runtime/FactSink", {
  defaultValue: (): { readonly take: TakeFacts } => ({ take: () => {} })
}) {}
