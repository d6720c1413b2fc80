// /api/admin/alerts/events and /deliveries: what alerts did, who was told of it, and telling it again.
import { HttpApiBuilder } from "@effect/platform"
import { Clock, Effect } from "effect"
import type { AlertDelivery, AlertEvent, AlertEventSummary } from "../../schema/AlertEvents.ts"
import { Api } from "../../schema/api/Api.ts"
import { cursorOf, deliveriesAsked, eventsAsked } from "../../src/core/alert/EventQuery.ts"
import { isoSeconds } from "../../src/core/Online.ts"
import { AlertDeliveries, type AttemptRow, type DeliveryRow } from "../../src/store/alert/Deliveries.ts"
import { AlertEvents, type EventRow, type EventSummary } from "../../src/store/alert/Events.ts"
import { Dispatcher } from "../alert/Dispatcher.ts"

export const layer = HttpApiBuilder.group(Api, "alertEvents", (handlers) =>
  Effect.gen(function* () {
    const events = yield* AlertEvents
    const deliveries = yield* AlertDeliveries
    const dispatcher = yield* Dispatcher
    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { items, next } = yield* events.list(yield* eventsAsked(urlParams))
          const next_cursor = next === null ? null : cursorOf(next)
          return { items: items.map(eventAnswer), next_cursor, has_more: next !== null }
        })
      )
      .handle("summary", () => Effect.map(events.summary, (items) => ({ items: items.map(summaryAnswer) })))
      .handle("servers", () => Effect.map(events.servers, (items) => ({ items })))
      .handle("deliveries", ({ urlParams }) =>
        Effect.gen(function* () {
          const { beforeId, items } = yield* deliveries.list(yield* deliveriesAsked(urlParams))
          const next_cursor = beforeId === null ? null : String(beforeId)
          return { items: items.map(deliveryAnswer), next_cursor, has_more: beforeId !== null }
        })
      )
      .handle("attempts", ({ path }) =>
        Effect.map(deliveries.attempts(path.id), (items) => ({ items: items.map(attemptAnswer) }))
      )
      .handle("resend", ({ path }) =>
        // Once it is asked for, the doorbell is rung, whether the client waits for the answer or not.
        Effect.uninterruptible(Effect.flatMap(Clock.currentTimeMillis, (now) => dispatcher.resend(path.id, now)))
      )
  })
)

/** A member that is left out where there is nothing to tell. */
const given = <K extends string, V>(name: K, value: V | null): { readonly [P in K]?: V } =>
  value === null ? {} : ({ [name]: value } as { readonly [P in K]?: V })
const instant = (ms: number | null): string | null => (ms === null ? null : isoSeconds(ms))

const eventAnswer = (row: EventRow): AlertEvent => ({
  id: String(row.id),
  rule_id: row.ruleId,
  rule_generation: row.ruleGeneration,
  server_id: row.nodeId,
  server_name: row.serverName,
  server_hostname: row.serverHostname,
  ...given("server_ip", row.serverIp),
  status: row.closedAt === null ? "open" : "closed",
  metric: row.metric,
  rule_name: row.ruleName,
  first_trigger_at: isoSeconds(row.firstAt),
  last_trigger_at: isoSeconds(row.lastAt),
  ...given("closed_at", instant(row.closedAt)),
  ...given("current_value", row.value),
  ...given("effective_threshold", row.threshold),
  ...given("close_reason", row.closeReason),
  ...given("title", row.title),
  ...given("message", row.message),
  muted: row.isMuted
})

const summaryAnswer = (row: EventSummary): AlertEventSummary["items"][number] => ({
  server_id: row.nodeId,
  open_count: row.openCount,
  last_trigger_at: isoSeconds(row.lastAt),
  metric: row.metric,
  rule_name: row.ruleName,
  metrics: row.metrics
})

const deliveryAnswer = (row: DeliveryRow): AlertDelivery => ({
  id: row.id,
  event_id: String(row.eventId),
  transition: row.transition,
  channel_id: row.channelId,
  channel_name: row.channelName,
  channel_type: row.channelType,
  ...given("server_id", row.nodeId),
  ...given("server_name", row.serverName),
  title: row.title,
  status: row.status,
  attempts: row.attempts,
  created_at: isoSeconds(row.createdAt),
  ...given("last_attempt_at", instant(row.lastAt)),
  ...given("next_attempt_at", instant(row.nextAt)),
  ...given("settled_at", instant(row.settledAt)),
  ...given("reason", row.reason)
})

const attemptAnswer = (row: AttemptRow) => ({
  at: isoSeconds(row.at),
  latency_ms: row.latencyMs,
  outcome: row.outcome,
  ...given("reason", row.reason),
  ...given("message", row.message),
  notifications: row.rowCount
})
