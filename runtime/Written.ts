// Waits for what the journal makes of a write.
import { type Context, Effect } from "effect"
import type { Journal } from "./Journal.ts"

type JournalService = Context.Tag.Service<typeof Journal>

/** True once everything committed so far is on the disk; false when a sync failed and nobody knows. */
export const onDisk = (journal: JournalService): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => journal.onDisk((isOnDisk) => resume(Effect.succeed(isOnDisk))))

/** True once it is on disk; false when the journal is full or closed, or its commit or sync failed. */
export const written = (journal: JournalService, write: Parameters<JournalService["offer"]>[0]) =>
  Effect.async<boolean>((resume) => {
    const told = (isOnDisk: boolean) => resume(Effect.succeed(isOnDisk))
    const isTaken = journal.offer(write, (committed) => (committed ? journal.onDisk(told) : told(false)))
    if (!isTaken) resume(Effect.succeed(false))
  })
