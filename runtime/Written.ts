// Waits for what the journal makes of a write.
import { type Context, Effect } from "effect"
import type { Journal } from "./Journal.ts"

type JournalService = Context.Tag.Service<typeof Journal>

/** True once it is on disk; false when the journal is full or closed, or its commit failed. */
export const written = (journal: JournalService, write: Parameters<JournalService["offer"]>[0]) =>
  Effect.async<boolean>((resume) => {
    const isTaken = journal.offer(write, (committed) => resume(Effect.succeed(committed)))
    if (!isTaken) resume(Effect.succeed(false))
  })
