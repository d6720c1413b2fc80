// What alerts did, on the wire: events, their summary by node, deliveries with their attempts, and the dispatcher's status.
import { Schema } from "effect"

const { Array: Arr, Boolean: Bool, Int, Literal, NullOr, Number: Num, optional, String: Str, Struct } = Schema

/** RFC 3339 in UTC and whole seconds. */
const Instant = Str

export const eventsMax = 500
export const eventsDefault = 200

export const AlertEvent = Struct({
  /** Decimal. */
  id: Str,
  rule_id: Int,
  rule_generation: Int,
  server_id: Int,
  /** As the node was known when it opened. */
  server_name: Str,
  server_hostname: Str,
  server_ip: optional(Str),
  status: Literal("open", "closed"),
  metric: Str,
  rule_name: Str,
  first_trigger_at: Instant,
  last_trigger_at: Instant,
  closed_at: optional(Instant),
  current_value: optional(Num),
  effective_threshold: optional(Num),
  close_reason: optional(Str),
  title: optional(Str),
  message: optional(Str),
  /** Opened under a silence: nobody was told. */
  muted: Bool
}).annotations({ identifier: "AlertEvent" })
export type AlertEvent = typeof AlertEvent.Type

export const AlertEventPage = Struct({
  /** The latest beginning first. */
  items: Arr(AlertEvent),
  /** `<RFC 3339 time>,<id>`. */
  next_cursor: NullOr(Str),
  has_more: Bool
}).annotations({ identifier: "AlertEventPage" })
export type AlertEventPage = typeof AlertEventPage.Type

export const AlertEventSummary = Struct({
  items: Arr(
    Struct({
      server_id: Int,
      open_count: Int,
      last_trigger_at: Instant,
      /** Of the alert that was true last. */
      metric: Str,
      rule_name: Str,
      metrics: Arr(Str)
    })
  )
}).annotations({ identifier: "AlertEventSummary" })
export type AlertEventSummary = typeof AlertEventSummary.Type

export const AlertEventServers = Struct({ items: Arr(Struct({ id: Int, name: Str })) }).annotations({
  identifier: "AlertEventServers"
})
export type AlertEventServers = typeof AlertEventServers.Type

const DeliveryStatus = Literal("pending", "sent", "failed")

/** One notification to one channel. */
export const AlertDelivery = Struct({
  id: Int,
  /** Decimal. */
  event_id: Str,
  transition: Literal("opened", "closed"),
  channel_id: Int,
  channel_name: Str,
  channel_type: Str,
  server_id: optional(Int),
  server_name: optional(Str),
  title: Str,
  status: DeliveryStatus,
  attempts: Int,
  created_at: Instant,
  last_attempt_at: optional(Instant),
  /** While it is pending. */
  next_attempt_at: optional(Instant),
  settled_at: optional(Instant),
  /** Why it is not sent. */
  reason: optional(Str)
}).annotations({ identifier: "AlertDelivery" })
export type AlertDelivery = typeof AlertDelivery.Type

export const AlertDeliveryPage = Struct({
  /** The newest first. */
  items: Arr(AlertDelivery),
  next_cursor: NullOr(Str),
  has_more: Bool
}).annotations({ identifier: "AlertDeliveryPage" })
export type AlertDeliveryPage = typeof AlertDeliveryPage.Type

export const AlertAttempts = Struct({
  /** The latest first. */
  items: Arr(
    Struct({
      at: Instant,
      latency_ms: Int,
      outcome: Literal("sent", "retry", "failed"),
      reason: optional(Str),
      message: optional(Str),
      /** Notifications told in the same message. */
      notifications: Int
    })
  )
}).annotations({ identifier: "AlertAttempts" })
export type AlertAttempts = typeof AlertAttempts.Type

/** What the dispatcher did since the start, and what waits; one line per channel that has something to tell or had. */
export const AlertDispatchStatus = Struct({
  pending: Int,
  sent: Int,
  retried: Int,
  failed: Int,
  /** Given up because too many waited, ever. */
  overflowed: Int,
  channels: Arr(
    Struct({
      channel_id: Int,
      pending: Int,
      /** `resting`: it failed so often that only one attempt is made now and then. */
      state: Literal("ready", "resting", "limited"),
      failures_in_row: Int,
      /** While it rests or is limited. */
      rests_until: NullOr(Str),
      last_error: NullOr(Str),
      last_error_at: NullOr(Str),
      restarts: Int
    })
  )
}).annotations({ identifier: "AlertDispatchStatus" })
export type AlertDispatchStatus = typeof AlertDispatchStatus.Type
