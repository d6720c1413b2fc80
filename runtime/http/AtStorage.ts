// What a read answers when the database is in trouble in the middle of it.
import { Effect } from "effect"
import { ServiceUnavailable } from "../../schema/Errors.ts"

/** `what` is read, as the log names it; the client is told `message`. */
export const atStorage = (what: string, message: string) => {
  const unreadable = () => new ServiceUnavailable({ message })
  return {
    unreadable,
    /** What SQLite throws in the middle of a read: the database is in trouble, not the request. The log names the cause. */
    guarded: <A, E, R>(read: Effect.Effect<A, E, R>) =>
      Effect.catchAllDefect(read, (defect) =>
        Effect.zipRight(Effect.logError(`${what} cannot be read`, { cause: String(defect) }), Effect.fail(unreadable()))
      )
  }
}

/** Of the figures that are kept of nodes. */
export const ofHistory = atStorage("history", "the stored figures cannot be read right now")
