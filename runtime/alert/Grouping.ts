// Nodes that fall silent together are told to people in one message: how long the first waits for the others, and when.
import type { Context } from "effect"
import type { AlertSettings } from "../../src/store/alert/AlertSettings.ts"
import type { DueRow, GroupDue, GroupMember, OutboxStore } from "../../src/store/alert/Outbox.ts"
import { isDue } from "./Breaker.ts"
import type { Note } from "./Sink.ts"

/** One attempt: what is told, and the rows it is for. */
export interface Job {
  readonly note: Omit<Note, "sentAtMs">
  readonly rows: ReadonlyArray<Pick<DueRow, "id" | "createdAt" | "attempts">>
}

/** Renders the one message for many; never called with fewer than two. */
export type Digest = (
  members: ReadonlyArray<GroupMember>,
  transition: GroupMember["transition"]
) => { readonly title: string; readonly body: string }

/** After so long without another one the group is complete. */
const quietMs = 5000
/** Rows of one message: a whole fleet, read at once in some 30 ms. */
const membersMax = 10_000

export type GroupJob =
  | { readonly _tag: "Digest"; readonly job: Job }
  | { readonly _tag: "Row"; readonly row: DueRow; readonly untilMs: number }
  | { readonly _tag: "Wait"; readonly untilMs: number }

const releaseAt = ({ firstAt, lastAt }: GroupDue, windowSec: number): number =>
  Math.min(lastAt + quietMs, firstAt + windowSec * 1000)

export interface GroupTools {
  readonly store: Context.Tag.Service<typeof OutboxStore>
  readonly digest: Digest
}

/** What is to be done about the grouped rows of a channel, or when to look again; undefined without any. */
export const groupJob = (
  { digest, store }: GroupTools,
  channelId: number,
  { groupOfflineOver, groupOfflineWindowSec }: AlertSettings,
  now: number
): GroupJob | undefined => {
  let untilMs = Infinity
  // Openings first: "opened" sorts behind "closed".
  const groups = store.groups(channelId, now).toSorted((a, b) => b.transition.localeCompare(a.transition))
  for (const group of groups) {
    const { due, nextAt, transition } = group
    const dueAt = Math.max(nextAt, releaseAt(group, groupOfflineWindowSec))
    if (!isDue(dueAt, now)) {
      untilMs = Math.min(untilMs, dueAt)
      continue
    }
    if (due > Math.max(1, groupOfflineOver)) {
      const rows = store.members(channelId, transition, now, membersMax)
      return { _tag: "Digest", job: { rows, note: { ...digest(rows, transition), transition, meta: { transition } } } }
    }
    const row = store.nextOfGroup(channelId, transition)
    if (row !== undefined) return { _tag: "Row", row, untilMs: now }
  }
  return groups.length === 0 ? undefined : { _tag: "Wait", untilMs }
}
