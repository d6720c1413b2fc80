// The node record as administrators read and write it.
import { Schema } from "effect"
import { GroupId, NodeId } from "./Ids.ts"

/** Bounds of the write form; ids of one bulk call are bounded by the interface. */
export const nodeNameMax = 64
export const tagsMax = 32
export const tagLengthMax = 64
export const secretLengthMax = 128
export const bulkIdsMax = 10_000

export const CycleMode = Schema.Literal("default", "calendar_month", "vendor_compatible", "clamp_to_month_end")
export type CycleMode = typeof CycleMode.Type

export const DirectionMode = Schema.Literal("default", "out", "both", "max")
export type DirectionMode = typeof DirectionMode.Type

export const VersionStatus = Schema.Struct({
  version: Schema.String,
  is_outdated: Schema.Boolean,
  supports_auto_update: Schema.Boolean
}).annotations({ identifier: "VersionStatus" })
export type VersionStatus = typeof VersionStatus.Type

/** What is wrong with a node that its figures alone do not say. Appended to the record for our own page. */
export const NodeFault = Schema.Struct({
  kind: Schema.Literal("two_agents", "malformed_pieces", "crashing"),
  message: Schema.String,
  since: Schema.String
}).annotations({ identifier: "NodeFault" })
export type NodeFault = typeof NodeFault.Type

export const Node = Schema.Struct({
  id: NodeId,
  name: Schema.String,
  hostname: Schema.String,
  ip: Schema.optional(Schema.String),
  is_guest_visible: Schema.Boolean,
  traffic_p95_enabled: Schema.Boolean,
  traffic_cycle_mode: CycleMode,
  traffic_billing_start_day: Schema.Int,
  traffic_billing_anchor_date: Schema.String,
  traffic_billing_timezone: Schema.String,
  traffic_direction_mode: DirectionMode,
  secret: Schema.String,
  tags: Schema.Array(Schema.String),
  display_order: Schema.Int,
  group_ids: Schema.Array(GroupId),
  version: VersionStatus,
  faults: Schema.Array(NodeFault)
}).annotations({ identifier: "Node" })
export type Node = typeof Node.Type

/**
 * Write form. The members stay unknown here because each has its own error code;
 * `src/core/NodePatch` checks them in the order of the contract.
 */
export const NodePatch = Schema.Struct({
  name: Schema.optional(Schema.Unknown),
  display_order: Schema.optional(Schema.Unknown),
  is_guest_visible: Schema.optional(Schema.Unknown),
  traffic_p95_enabled: Schema.optional(Schema.Unknown),
  traffic_cycle_mode: Schema.optional(Schema.Unknown),
  traffic_billing_start_day: Schema.optional(Schema.Unknown),
  traffic_billing_anchor_date: Schema.optional(Schema.Unknown),
  traffic_billing_timezone: Schema.optional(Schema.Unknown),
  traffic_direction_mode: Schema.optional(Schema.Unknown),
  tags: Schema.optional(Schema.Unknown),
  secret: Schema.optional(Schema.Unknown),
  group_ids: Schema.optional(Schema.Unknown)
}).annotations({
  identifier: "NodePatch",
  description:
    "Any subset of: name, display_order, is_guest_visible, traffic_* fields, tags, secret, group_ids. Omitted members stay unchanged."
})
export type NodePatch = typeof NodePatch.Type

/** `enabled` is asked for before the ids are looked at. */
export const P95Switch = Schema.Struct({
  ids: Schema.optional(Schema.Unknown),
  enabled: Schema.optional(Schema.NullOr(Schema.Boolean))
}).annotations({
  identifier: "P95Switch",
  description: "`ids`: 1 to 10000 different node ids. `enabled`: whether these nodes have a 95th percentile; required."
})
export type P95Switch = typeof P95Switch.Type

/** First id is shown first. */
export const DisplayOrder = Schema.Struct({ ids: Schema.optional(Schema.Unknown) }).annotations({
  identifier: "DisplayOrder",
  description: "`ids`: every active node exactly once, first shown first."
})
