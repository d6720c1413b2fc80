// Branded identifiers as they stand in paths, bodies and rows.
import { Schema } from "effect"

const id = <B extends string>(brand: B) => Schema.Int.pipe(Schema.positive(), Schema.brand(brand))

export const NodeId = id("NodeId")
export type NodeId = typeof NodeId.Type

export const GroupId = id("GroupId")
export type GroupId = typeof GroupId.Type

export const SessionId = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64), Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** `server_` and 32 lower-case hex digits; names this installation to agents. */
export const InstallId = Schema.String.pipe(Schema.pattern(/^server_[0-9a-f]{32}$/), Schema.brand("InstallId"))
export type InstallId = typeof InstallId.Type

/** Plain decimal digits; ours stay far below the exact range of a double. */
const PathId = Schema.String.pipe(
  Schema.pattern(/^[1-9]\d{0,15}$/),
  Schema.compose(Schema.NumberFromString),
  Schema.int(),
  Schema.positive(),
  Schema.lessThanOrEqualTo(Number.MAX_SAFE_INTEGER)
)

export const NodeIdFromPath = PathId.pipe(Schema.brand("NodeId"))
export const GroupIdFromPath = PathId.pipe(Schema.brand("GroupId"))
/** Of alert rules, channels, silences and deliveries. */
export const AlertIdFromPath = PathId
