// What goes into a node's actor and what comes out: mail, its answers, and how a run of the actor ends.
import type { NodeReport } from "../schema/Report.ts"
import type { Static } from "../schema/Static.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"
import type { Arrival } from "../src/core/DetailChanges.ts"

/** Answers one agent: exactly one of the two is called, exactly once. */
export interface Reply {
  readonly acknowledge: (update: UpdateManifest | null, applied: boolean) => void
  readonly refuse: () => void
}
export type Mail =
  | {
      readonly _tag: "Report"
      readonly report: NodeReport
      readonly arrival: Arrival
      readonly receivedAt: number
      readonly reply: Reply
    }
  | { readonly _tag: "Static"; readonly body: Static; readonly receivedAt: number; readonly reply: Reply }

export type ActorStatus = "restoring" | "running" | "restarting" | "parked" | "stopped"

/** Whether a checkpoint covers a node's rows: already, once the one offered is written, later, or not while it is away. */
export type Cover = "covered" | "offered" | "busy" | "away"

/** What a consideration of a node's alerts came to: something to write, nothing, or not now. */
export type Regard = "offered" | "quiet" | "busy"

/** Why an actor's run ended: a defect in its turn, or a commit that failed. */
export type Ended = { readonly _tag: "Crashed"; readonly message: string } | { readonly _tag: "RolledBack" }
