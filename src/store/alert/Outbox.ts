// What the dispatcher and the nodes' actors read of alerts: stored states, and notifications that are due.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../../../schema/Ids.ts"
import type { ChannelType } from "../../core/alert/Channel.ts"
import { Database } from "../Sql.ts"
import { perConnection } from "../PerConnection.ts"
import { prepareReads } from "./AlertStatements.ts"

export interface StoredStates {
  readonly nodeId: NodeId
  /** JSON of its rules' states. */
  readonly body: string
}
export interface Backlog {
  readonly channelId: number
  /** Rows that are not settled. */
  readonly pending: number
  /** Rows that were ever given up because there were too many. */
  readonly overflowed: number
}
/** Times in milliseconds. */
export interface DueRow {
  readonly id: number
  readonly eventId: number
  readonly transition: "opened" | "closed"
  readonly channelId: number
  readonly channelType: ChannelType
  readonly title: string
  readonly body: string
  /** JSON of an object of strings. */
  readonly meta: string
  /** Since when it ages. */
  readonly createdAt: number
  readonly nextAt: number
  readonly attempts: number
}
/** Grouped rows of a channel and transition, due or not. */
export interface GroupDue {
  readonly transition: "opened" | "closed"
  /** How many are due. */
  readonly due: number
  readonly firstAt: number
  readonly lastAt: number
  /** When the next one is due. */
  readonly nextAt: number
}
/** One of many rows told in one message. */
export interface GroupMember {
  readonly id: number
  readonly eventId: number
  readonly transition: "opened" | "closed"
  readonly createdAt: number
  readonly attempts: number
  readonly meta: string
  /** 0, and a blank name, when the event is gone. */
  readonly nodeId: number
  readonly serverName: string
  /** When the event opened. */
  readonly firstAt: number
  readonly closedAt: number | null
}

type Transition = GroupDue["transition"]

/** All members are synchronous and throw what SQLite throws. Rows are due once nothing earlier of their event waits. */
export class OutboxStore extends Context.Tag("store/alert/Outbox")<
  OutboxStore,
  {
    /** States of nodes behind an id, by id. */
    readonly states: (after: NodeId | 0, limit: number) => ReadonlyArray<StoredStates>
    /** The greatest id that an event ever had, 0 before the first. */
    readonly lastEventId: () => number
    readonly backlogs: (limit: number) => ReadonlyArray<Backlog>
    /** The row that is due first, now or later. */
    readonly next: (channelId: number) => DueRow | undefined
    /** The same among rows of no group. */
    readonly nextSingle: (channelId: number) => DueRow | undefined
    /** The same among grouped rows of a transition. */
    readonly nextOfGroup: (channelId: number, transition: Transition) => DueRow | undefined
    readonly groups: (channelId: number, now: number) => ReadonlyArray<GroupDue>
    /** Grouped rows that are due, the first due first. */
    readonly members: (
      channelId: number,
      transition: Transition,
      now: number,
      limit: number
    ) => ReadonlyArray<GroupMember>
    readonly pendingIds: (channelId: number, limit: number) => ReadonlyArray<number>
    /** Pending rows that age since `createdUpTo` or longer. */
    readonly agedIds: (channelId: number, createdUpTo: number, limit: number) => ReadonlyArray<number>
    readonly isKnown: (id: number) => boolean
    /** Whether retention has something to drop. */
    readonly hasEnded: (before: number) => boolean
  }
>() {}

const make = Effect.gen(function* () {
  const database = yield* Database
  const prepared = perConnection(prepareReads)
  const on = () => prepared(database.handle())
  return OutboxStore.of({
    states: (after, limit) => on().states.all(after, limit) as Array<StoredStates>,
    lastEventId: () => on().lastEventId.get() as number,
    backlogs: (limit) => on().backlogs.all(limit) as Array<Backlog>,
    next: (channelId) => on().next.get(channelId) as DueRow | undefined,
    nextSingle: (channelId) => on().nextSingle.get(channelId) as DueRow | undefined,
    nextOfGroup: (channelId, transition) => on().nextOfGroup.get(channelId, transition) as DueRow | undefined,
    groups: (channelId, now) => on().groups.all(now, channelId) as Array<GroupDue>,
    members: (channelId, transition, now, limit) =>
      on().members.all(channelId, transition, now, limit) as Array<GroupMember>,
    pendingIds: (channelId, limit) => on().pendingIds.all(channelId, limit) as Array<number>,
    agedIds: (channelId, createdUpTo, limit) => on().agedIds.all(channelId, createdUpTo, limit) as Array<number>,
    isKnown: (id) => on().isKnown.get(id) !== undefined,
    hasEnded: (before) => on().hasEnded.get({ before }) === 1
  })
})

export const layer = Layer.effect(OutboxStore, make)
