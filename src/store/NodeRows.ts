// How a node stands in its table: the row as it is read, the record made of it, and the columns that changes write.
import { Schema } from "effect"
import { GroupId, NodeId } from "../../schema/Ids.ts"
import { CycleMode, DirectionMode } from "../../schema/Node.ts"
import type { Changes } from "../core/NodePatch.ts"

/** A node as everything but the administrator's secret column knows it. */
export interface NodeRecord {
  readonly id: NodeId
  readonly name: string
  readonly tags: ReadonlyArray<string>
  /** Larger is shown first. */
  readonly displayOrder: number
  readonly guestVisible: boolean
  /** Ascending. */
  readonly groupIds: ReadonlyArray<GroupId>
  readonly trafficP95Enabled: boolean
  readonly trafficCycleMode: CycleMode
  /** 1 to 31. */
  readonly trafficBillingStartDay: number
  /** Empty or YYYY-MM-DD. */
  readonly trafficBillingAnchorDate: string
  /** Empty or a name of the zone database. */
  readonly trafficBillingTimezone: string
  readonly trafficDirectionMode: DirectionMode
  /** Milliseconds. */
  readonly createdAt: number
}

/** A record with what is stored of its secret; neither is the secret itself. */
export interface StoredNode {
  readonly record: NodeRecord
  readonly secretDigest: string
  readonly secretSealed: string
}

const Flag = Schema.Literal(0, 1)

export const Row = Schema.Struct({
  id: NodeId,
  name: Schema.String,
  secret_digest: Schema.String,
  secret_sealed: Schema.String,
  tags: Schema.String,
  display_order: Schema.Int,
  is_guest_visible: Flag,
  traffic_p95_enabled: Flag,
  traffic_cycle_mode: CycleMode,
  traffic_billing_start_day: Schema.Int,
  traffic_billing_anchor_date: Schema.String,
  traffic_billing_timezone: Schema.String,
  traffic_direction_mode: DirectionMode,
  created_at: Schema.Int
})
export type Row = typeof Row.Type

export const MemberRow = Schema.Struct({ node_id: NodeId, group_id: GroupId })
export type MemberRow = typeof MemberRow.Type

/** Tags as their column holds them. */
export const Tags = Schema.parseJson(Schema.Array(Schema.String))

/** Joins rows, id ascending, with the memberships of the same ids, by node and group ascending. */
export const joined = (
  rows: ReadonlyArray<Row>,
  members: ReadonlyArray<MemberRow>,
  tagsOf: ReadonlyMap<string, ReadonlyArray<string>>
): ReadonlyArray<StoredNode> => {
  const groupsOf = new Map<NodeId, Array<GroupId>>()
  for (const { group_id, node_id } of members) {
    const known = groupsOf.get(node_id)
    if (known === undefined) groupsOf.set(node_id, [group_id])
    else known.push(group_id)
  }
  return rows.map((row) => ({
    record: recordOf(row, groupsOf.get(row.id) ?? [], tagsOf.get(row.tags) ?? []),
    secretDigest: row.secret_digest,
    secretSealed: row.secret_sealed
  }))
}

const recordOf = (row: Row, groupIds: ReadonlyArray<GroupId>, tags: ReadonlyArray<string>): NodeRecord => ({
  id: row.id,
  name: row.name,
  tags,
  displayOrder: row.display_order,
  guestVisible: row.is_guest_visible === 1,
  groupIds,
  trafficP95Enabled: row.traffic_p95_enabled === 1,
  trafficCycleMode: row.traffic_cycle_mode,
  trafficBillingStartDay: row.traffic_billing_start_day,
  trafficBillingAnchorDate: row.traffic_billing_anchor_date,
  trafficBillingTimezone: row.traffic_billing_timezone,
  trafficDirectionMode: row.traffic_direction_mode,
  createdAt: row.created_at
})

/** The columns of the node's own row that the changes write; secret and memberships are the store's work. */
export const columnsOf = (changes: Changes): Record<string, string | number> => {
  const columns: Record<string, string | number | boolean | undefined> = {
    name: changes.name,
    display_order: changes.displayOrder,
    is_guest_visible: changes.guestVisible,
    traffic_p95_enabled: changes.trafficP95Enabled,
    traffic_cycle_mode: changes.trafficCycleMode,
    traffic_billing_start_day: changes.trafficBillingStartDay,
    traffic_billing_anchor_date: changes.trafficBillingAnchorDate,
    traffic_billing_timezone: changes.trafficBillingTimezone,
    traffic_direction_mode: changes.trafficDirectionMode,
    tags: changes.tags === undefined ? undefined : JSON.stringify(changes.tags)
  }
  const written: Record<string, string | number> = {}
  for (const [column, value] of Object.entries(columns)) {
    if (value !== undefined) written[column] = typeof value === "boolean" ? Number(value) : value
  }
  return written
}
