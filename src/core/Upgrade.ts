// The upgrade task of a node: none or pending, a state machine of its own; volatile by contract.
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import { clearsUpgrade } from "./Version.ts"

export type UpgradeState = { readonly _tag: "None" } | { readonly _tag: "Pending"; readonly manifest: UpdateManifest }
export const noUpgrade: UpgradeState = { _tag: "None" }

/** A newer request replaces an older one. */
export const requested = (_: UpgradeState, manifest: UpdateManifest): UpgradeState => ({ _tag: "Pending", manifest })

/** A report of the target version, or of one with higher precedence, ends the task. */
export const reported = (state: UpgradeState, version: string): UpgradeState =>
  state._tag === "Pending" && clearsUpgrade(version, state.manifest.version) ? noUpgrade : state

/** What the answer to a report carries. */
export const manifestOf = (state: UpgradeState): UpdateManifest | null =>
  state._tag === "Pending" ? state.manifest : null
