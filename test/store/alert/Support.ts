// The alerts' stores on a database of their own in memory, and short ways to write what the journal writes.
import { Effect, Layer } from "effect"
import { NodeId } from "../../../schema/Ids.ts"
import type { Transition } from "../../../src/core/alert/NodeAlerts.ts"
import { AlertChannels } from "../../../src/store/alert/Channels.ts"
import { AlertDeliveries } from "../../../src/store/alert/Deliveries.ts"
import { AlertEvents } from "../../../src/store/alert/Events.ts"
import { AlertMounts } from "../../../src/store/alert/Mounts.ts"
import { layer as outboxLayer } from "../../../src/store/alert/Outbox.ts"
import { AlertRules } from "../../../src/store/alert/Rules.ts"
import { AlertSettingsStore } from "../../../src/store/alert/AlertSettings.ts"
import { AlertSilences } from "../../../src/store/alert/Silences.ts"
import type { AlertStepWrite, EventChange, OutboxRow, SettleWrite } from "../../../src/store/alert/AlertWrites.ts"
import { JournalStore, layer as journalLayer, type Write } from "../../../src/store/Journal.ts"
import { fill, quiet, stores } from "../Support.ts"

/** A whole second, for what is told without fractions. */
export const start = 1_800_000_000_000

export const alertStores = (filename?: string) =>
  Layer.mergeAll(
    AlertRules.layer,
    AlertMounts.layer,
    AlertSettingsStore.layer,
    AlertChannels.layer,
    AlertSilences.layer,
    AlertEvents.layer,
    AlertDeliveries.layer,
    outboxLayer,
    journalLayer
  ).pipe(Layer.provideMerge(stores(filename === undefined ? {} : { filename })), Layer.provideMerge(quiet))

/** Runs the body over three nodes. */
export const inAlerts = <A, E>(body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof alertStores>>>) =>
  Effect.provide(Effect.zipRight(fill(3), body), alertStores())

export const write = (...writes: ReadonlyArray<Write>) => Effect.map(JournalStore, (store) => store.write(writes))

export const transitionOf = (
  eventId: number,
  transition: Transition["transition"],
  over: Partial<Transition> = {}
): Transition => ({
  transition,
  eventId,
  rule: { id: 1, generation: 3, name: "cpu", metric: "cpu.usage_ratio", operator: ">=", durationSec: 60 },
  atMs: start,
  value: 0.95,
  threshold: 0.9,
  reason: transition === "closed" ? "condition_cleared" : null,
  channelIds: [1],
  isMuted: false,
  ...over
})

export const changeOf = (
  eventId: number,
  transition: Transition["transition"],
  over: Partial<Transition> = {}
): EventChange => ({
  transition: transitionOf(eventId, transition, over),
  serverName: "node-1",
  serverHostname: "host-1",
  serverIp: "192.0.2.1",
  title: `${transition} ${eventId}`,
  message: `message of ${eventId}`
})

export const outboxOf = (eventId: number, over: Partial<OutboxRow> = {}): OutboxRow => ({
  eventId,
  transition: "opened",
  channelId: 1,
  channelType: "webhook",
  title: `title of ${eventId}`,
  body: "body",
  meta: JSON.stringify({ event_id: String(eventId) }),
  group: null,
  notBeforeAt: start,
  ...over
})

export const stepOf = (
  events: ReadonlyArray<EventChange>,
  outbox: ReadonlyArray<OutboxRow> = [],
  nodeId = 1,
  states: string | null = "[]"
): AlertStepWrite => ({ kind: "alert", step: { nodeId: NodeId.make(nodeId), states, events, outbox } })

/** One attempt for these rows. */
export const settleOf = (
  ids: ReadonlyArray<number>,
  state: "pending" | "sent" | "failed",
  over: Partial<SettleWrite> = {}
): SettleWrite => ({
  kind: "settle",
  atMs: start + 50,
  rows: ids.map((id) => ({ id, state, nextAt: start + 2000, reason: state === "sent" ? null : "connect" })),
  attempt: {
    atMs: start,
    latencyMs: 50,
    outcome: state === "pending" ? "retry" : state,
    reason: state === "sent" ? null : "connect",
    message: state === "sent" ? null : "no connection",
    rowCount: ids.length
  },
  leadId: null,
  ...over
})
