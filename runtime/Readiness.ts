// Whether the service can take reports right now, and since when it runs.
import { Clock, Context, Effect, Layer } from "effect"
import { Journal } from "./Journal.ts"
import { isDamage } from "./JournalRepair.ts"

export class Readiness extends Context.Tag("runtime/Readiness")<
  Readiness,
  {
    readonly startedAt: string
    /** Why it is not ready, or undefined. Nodes are restored before the listener opens, so only the disk is left. */
    readonly reason: () => string | undefined
  }
>() {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const journal = yield* Journal
      const startedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
      return Readiness.of({
        startedAt,
        reason: () => {
          const closed = journal.closed()
          if (closed === undefined || isDamage(closed)) return closed
          return "the journal cannot write to the disk"
        }
      })
    })
  )
}
