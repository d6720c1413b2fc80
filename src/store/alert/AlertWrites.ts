// The hot writes of alerts: a step of a node with its events and notifications, what became of deliveries, retention.
import type Sqlite from "better-sqlite3"
import type { NodeId } from "../../../schema/Ids.ts"
import type { ChannelType } from "../../core/alert/Channel.ts"
import type { Transition } from "../../core/alert/NodeAlerts.ts"
import { perConnection } from "../PerConnection.ts"
import { prepareWrites, type Writes } from "./AlertStatements.ts"

/** A notification as it was rendered when the transition happened. */
export interface OutboxRow {
  readonly eventId: number
  readonly transition: "opened" | "closed"
  readonly channelId: number
  /** The row fails when the channel is of another type by the time it is due. */
  readonly channelType: ChannelType
  readonly title: string
  readonly body: string
  /** JSON of an object of strings. */
  readonly meta: string
  /** Rows of one group may be told in one message to channels that people read. */
  readonly group: "offline" | null
  /** Not delivered before this, and aged from it, milliseconds. */
  readonly notBeforeAt: number
}
export interface EventChange {
  readonly transition: Transition
  /** As the node was known at that time. */
  readonly serverName: string
  readonly serverHostname: string
  readonly serverIp: string | null
  /** As told, or as it would have been; null where nothing was rendered. */
  readonly title: string | null
  readonly message: string | null
}
/** What one report or one consideration did to the alerts of a node. */
export interface AlertStep {
  readonly nodeId: NodeId
  /** JSON of the states of its rules; null: none left. */
  readonly states: string | null
  readonly events: ReadonlyArray<EventChange>
  readonly outbox: ReadonlyArray<OutboxRow>
}
export interface AlertStepWrite {
  readonly kind: "alert"
  readonly step: AlertStep
}

export interface SettledRow {
  readonly id: number
  /** `pending`: another attempt follows at `nextAt`. */
  readonly state: "pending" | "sent" | "failed"
  readonly nextAt: number
  /** Why it is not sent. */
  readonly reason: string | null
}
export interface Attempt {
  readonly atMs: number
  readonly latencyMs: number
  readonly outcome: "sent" | "retry" | "failed"
  readonly reason: string | null
  readonly message: string | null
  /** Outbox rows that it was for. */
  readonly rowCount: number
}
/** What became of outbox rows: after one attempt that was for all of them, or without one (channel gone, too old). */
export interface SettleWrite {
  readonly kind: "settle"
  readonly atMs: number
  readonly rows: ReadonlyArray<SettledRow>
  /** Its ledger row stands under the first of the rows, unless `leadId` names another. */
  readonly attempt: Attempt | null
  /** The first row of the attempt, when that was settled by an earlier write; null: the first row of this one. */
  readonly leadId: number | null
}
/** Makes a settled row pending again, as if it were new. */
export interface ResendWrite {
  readonly kind: "resend"
  readonly outboxId: number
  readonly atMs: number
}
/** Drops at most `limit` closed events, settled rows and attempts each that ended before an instant, milliseconds. */
export interface DropAlertsWrite {
  readonly kind: "dropAlerts"
  readonly endedBefore: number
  readonly limit: number
}
export type AlertWrite = AlertStepWrite | SettleWrite | ResendWrite | DropAlertsWrite

/** Pending rows of a channel: what a dead channel of a large fleet may leave behind, some 100 MB. */
export const pendingMax = 100_000

const putEvent = (on: Writes, nodeId: NodeId, change: EventChange): void => {
  const { atMs, eventId, isMuted, reason, rule, threshold, transition, value } = change.transition
  switch (transition) {
    case "opened":
      on.open.run(
        eventId,
        rule.id,
        rule.generation,
        rule.name,
        nodeId,
        change.serverName,
        change.serverHostname,
        change.serverIp,
        rule.metric,
        atMs,
        atMs,
        value,
        threshold,
        isMuted ? 1 : 0,
        change.title,
        change.message
      )
      return
    case "beat":
      on.beat.run(atMs, value, threshold, eventId)
      return
    case "unmuted":
      on.unmute.run(change.title, change.message, eventId)
      return
    case "closed":
      on.close.run(atMs, reason, value, threshold, change.title, change.message, eventId)
  }
}

/** One more row; past the bound the one that was due first makes room. */
const putOutbox = (on: Writes, row: OutboxRow, most: number): void => {
  const { body, channelId, channelType, eventId, group, meta, notBeforeAt, title, transition } = row
  const { changes } = on.enqueue.run(
    eventId,
    transition,
    channelId,
    channelType,
    title,
    body,
    meta,
    group,
    notBeforeAt,
    notBeforeAt
  )
  if (changes === 0) return
  if ((on.grow.get(channelId, 1) as number) <= most) return
  const oldest = on.firstDue.get(channelId) as number
  on.settle.run("failed", notBeforeAt, "overflow", notBeforeAt, oldest)
  on.overflow.run(channelId)
}

const putStep = (on: Writes, { events, nodeId, outbox, states }: AlertStep, most: number): void => {
  if (states === null) on.dropStates.run(nodeId)
  else on.states.run(nodeId, states)
  for (const change of events) putEvent(on, nodeId, change)
  for (const row of outbox) putOutbox(on, row, most)
}

const putSettled = (on: Writes, { atMs, attempt, leadId, rows }: SettleWrite): void => {
  const lead = leadId ?? rows[0]?.id
  if (attempt !== null && lead !== undefined && leadId === null) {
    const { latencyMs, message, outcome, reason, rowCount } = attempt
    on.attempt.run(lead, attempt.atMs, latencyMs, outcome, reason, message, rowCount)
  }
  for (const { id, nextAt, reason, state } of rows) {
    const before = on.rowState.get(id) as { readonly state: string; readonly channelId: number } | undefined
    if (before === undefined || before.state === "sent") continue
    // A row that made room while it was being delivered was delivered all the same; it does not come back otherwise.
    if (before.state === "failed" && state !== "sent") continue
    if (attempt !== null) on.tried.run(attempt.atMs, lead, id)
    on.settle.run(state, nextAt, reason, state === "pending" ? null : atMs, id)
    if (before.state === "pending" && state !== "pending") on.grow.get(before.channelId, -1)
  }
}

const resend = (on: Writes, { atMs, outboxId }: ResendWrite): void => {
  const channelId = on.requeue.get(atMs, atMs, outboxId) as number | undefined
  if (channelId !== undefined) on.grow.get(channelId, 1)
}

const drop = (on: Writes, { endedBefore, limit }: DropAlertsWrite): void => {
  on.dropAttempts.run(endedBefore, limit)
  on.dropOutbox.run(endedBefore, limit)
  on.dropEvents.run(endedBefore, limit)
  on.dropMounts.run(limit)
}

/** Works inside the transaction that the journal has open. */
export interface AlertWriter {
  readonly step: (db: Sqlite.Database, step: AlertStep) => void
  readonly write: (db: Sqlite.Database, write: AlertWrite) => void
}

/** `most`: pending rows per channel. */
export const alertWriter = (most = pendingMax): AlertWriter => {
  const prepared = perConnection(prepareWrites)
  return {
    step: (db, step) => putStep(prepared(db), step, most),
    write: (db, write) => {
      const on = prepared(db)
      switch (write.kind) {
        case "alert":
          return putStep(on, write.step, most)
        case "settle":
          return putSettled(on, write)
        case "resend":
          return resend(on, write)
        case "dropAlerts":
          return drop(on, write)
      }
    }
  }
}
