// The compact columnar frame of GET /api/front/live: what the overview page polls instead of full snapshots.
import { Schema } from "effect"

const { Array: Arr, Int, NullOr, String: Str, Struct } = Schema

/**
 * What changes seldom, one column each, one row per visible node in display order.
 * A node that never reported stands here too for administrators (`received_at` is then 0 in its values).
 */
export const Roster = Struct({
  id: Arr(Int),
  title: Arr(Str),
  os: Arr(Str),
  platform: Arr(Str),
  arch: Arr(Str),
  tags: Arr(Arr(Str)),
  groups: Arr(Arr(Int)),
  stale_after_sec: Arr(Int),
  cores: Arr(Int),
  memory_total: Arr(Schema.Number),
  /** Administrators only, else absent: agent version, 1 when outdated, 1 when guests see the node, fault texts. */
  version: Schema.optional(Arr(Str)),
  outdated: Schema.optional(Arr(Int)),
  guest_visible: Schema.optional(Arr(Int)),
  fault: Schema.optional(Arr(Str)),
  /** Names of the groups used in `groups`. */
  group_names: Schema.Record({ key: Str, value: Str })
})
export type Roster = typeof Roster.Type

/**
 * Quantised values. `row` holds indexes into the roster; null means "every row, in order".
 * Ratios are per mille, rates are bytes per second, load is hundredths, temperatures tenths of a degree;
 * -1 means unknown (load, temperature, disk).
 */
export const LiveValues = Struct({
  row: NullOr(Arr(Int)),
  /** Milliseconds of the service's clock; 0 when the node never reported. */
  received_at: Arr(Int),
  cpu: Arr(Int),
  load1: Arr(Int),
  mem: Arr(Int),
  swap: Arr(Int),
  /** The fullest mount. */
  disk: Arr(Int),
  recv_bps: Arr(Int),
  sent_bps: Arr(Int),
  read_bps: Arr(Int),
  write_bps: Arr(Int),
  uptime_sec: Arr(Int),
  processes: Arr(Int),
  tcp: Arr(Int),
  udp: Arr(Int),
  temp: Arr(Int)
})
export type LiveValues = typeof LiveValues.Type

export const LiveFrame = Struct({
  /** Pass it back as `since`. A `since` that the service does not know gets a whole frame. */
  seq: Int,
  /** The service's clock in milliseconds; ages are computed from it, never from the client's clock. */
  now: Int,
  viewer: Schema.Literal("guest", "admin"),
  /** How long a client should wait before it asks again. */
  poll_ms: Int,
  /** Null when unchanged since `since`. When present, `values.row` is null. */
  roster: NullOr(Roster),
  values: LiveValues
}).annotations({ identifier: "LiveFrame", description: "Columnar live frame; see the field notes in the schema." })
export type LiveFrame = typeof LiveFrame.Type

/** The last minutes of one node at report resolution, from its rolling window (GET /api/front/recent). */
export const Recent = Struct({
  server_id: Int,
  /** Milliseconds of the service's clock, ascending. */
  at: Arr(Int),
  cpu: Arr(Schema.Number),
  mem: Arr(Schema.Number),
  recv_bps: Arr(Schema.Number),
  sent_bps: Arr(Schema.Number),
  read_bps: Arr(Schema.Number),
  write_bps: Arr(Schema.Number)
}).annotations({ identifier: "Recent" })
export type Recent = typeof Recent.Type
