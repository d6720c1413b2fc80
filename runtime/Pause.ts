// Gives the event loop to sockets and timers between two slices of a long computation.
import { Effect } from "effect"

/** Resumes after one turn of the event loop; a plain yield of a fiber would only let other fibers run. */
export const pause: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})
