// Makes what is written of what happened: events with their texts, and a notification for every channel that is told.
import type { NodeId } from "../../schema/Ids.ts"
import type { Channel } from "../../src/core/alert/Channel.ts"
import { digested } from "../../src/core/alert/Digest.ts"
import { rendered, type Rendered, type Style } from "../../src/core/alert/Messages.ts"
import type { Considered, Transition } from "../../src/core/alert/NodeAlerts.ts"
import type { Firing, RuleState } from "../../src/core/alert/RuleState.ts"
import { statesText } from "../../src/core/alert/RuleStateCode.ts"
import type { AlertStep, EventChange, OutboxRow } from "../../src/store/alert/AlertWrites.ts"
import type { Digest } from "./Grouping.ts"

/** Whom it happened to, as known at that time. */
export interface Affected {
  readonly nodeId: NodeId
  /** Blank where it is not known. */
  readonly name: string
  readonly hostname: string
  readonly ip: string | null
  /** The last report before a silence, wall clock, milliseconds; null where it is not known. */
  readonly lastReportMs: number | null
}
/** Null: the channel is there, but cannot be read. */
export type Channels = ReadonlyMap<number, Channel | null>

export const stepOf = (who: Affected, after: Considered, channels: Channels, style: Style): AlertStep => {
  const events: Array<EventChange> = []
  const outbox: Array<OutboxRow> = []
  for (const transition of after.transitions) {
    const text = textOf(who, transition, after.states, style)
    events.push({
      transition,
      serverName: who.name,
      serverHostname: who.hostname,
      serverIp: who.ip,
      title: text?.title ?? null,
      message: text?.body ?? null
    })
    if (text === undefined) continue
    for (const channelId of transition.channelIds) {
      const channel = channels.get(channelId) ?? null
      // Told to it once, and deleted since: nobody is left to tell.
      if (channel !== null) outbox.push(rowOf(who, transition, channel, text))
    }
  }
  return { nodeId: who.nodeId, states: statesText(after.states), events, outbox }
}

/** Renders the one message that stands for many. */
export const digestIn =
  (style: Style): Digest =>
  (members, transition) =>
    digested(
      transition,
      members.map(({ closedAt, createdAt, firstAt, nodeId, serverName }) => ({
        nodeId,
        nodeName: serverName,
        atMs: transition === "opened" ? firstAt : (closedAt ?? createdAt)
      })),
      style
    )

/** Undefined for what nobody is told and no event shows. */
const textOf = (
  who: Affected,
  { atMs, eventId, reason, rule, threshold, transition, value }: Transition,
  states: ReadonlyArray<RuleState>,
  style: Style
): Rendered | undefined => {
  if (transition === "beat") return undefined
  const { lastReportMs, name: nodeName, nodeId } = who
  // Told late because of a silence, it is still told with the time at which it began.
  const firing = states.find((state): state is Firing => state._tag === "Firing" && state.eventId === eventId)
  const [kind, toldMs] =
    transition === "closed" ? (["closed", atMs] as const) : (["opened", firing?.openedMs ?? atMs] as const)
  return rendered(
    { transition: kind, rule, nodeId, nodeName, value, threshold, atMs: toldMs, reason, lastReportMs },
    style
  )
}

const rowOf = (who: Affected, change: Transition, channel: Channel, { body, title }: Rendered): OutboxRow => {
  const { atMs, eventId, reason, rule } = change
  const transition = change.transition === "closed" ? "closed" : "opened"
  const isFamiliar = transition === "opened" || reason === "condition_cleared"
  const isRead = channel.config.type !== "webhook"
  return {
    eventId,
    transition,
    channelId: channel.id,
    channelType: channel.config.type,
    title,
    body,
    meta: JSON.stringify({
      event_id: String(eventId),
      transition,
      dedupe_key: `alert:${eventId}:${transition}:${channel.id}`,
      rule_id: String(rule.id),
      server_id: String(who.nodeId),
      ...(transition === "closed" && reason !== null ? { close_reason: reason } : {})
    }),
    // A digest says "offline" or "back online", which any other reason to close is not.
    group: rule.metric === "node.offline" && isRead && isFamiliar ? "offline" : null,
    notBeforeAt: atMs
  }
}
