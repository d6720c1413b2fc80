// Groups of nodes: the admin record, the guest-filtered reading and the write form.
import { Schema } from "effect"
import { GroupId, NodeId } from "./Ids.ts"

export const groupNameMax = 64
export const groupRemarkMax = 255

export const Group = Schema.Struct({
  id: GroupId,
  name: Schema.String,
  remark: Schema.String,
  server_count: Schema.Int
}).annotations({ identifier: "Group" })
export type Group = typeof Group.Type

/** Decimal group id to name. */
export const GroupMap = Schema.Record({ key: Schema.String, value: Schema.String })

/** What the front page knows of a group; guests get only groups with a visible node. */
export const FrontGroup = Schema.Struct({
  id: GroupId,
  name: Schema.String,
  node_ids: Schema.Array(NodeId)
}).annotations({ identifier: "FrontGroup" })
export type FrontGroup = typeof FrontGroup.Type

export const GroupWrite = Schema.Struct({
  name: Schema.optional(Schema.NullOr(Schema.String)),
  remark: Schema.optional(Schema.NullOr(Schema.String))
}).annotations({ identifier: "GroupWrite" })
export type GroupWrite = typeof GroupWrite.Type
