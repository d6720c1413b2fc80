// How an administrator's request to the registry begins and ends: roster and actors follow what was committed.
import { Effect } from "effect"
import { NodeDirectory } from "../NodeDirectory.ts"
import { NodeRoster } from "../NodeRoster.ts"

export const make = Effect.gen(function* () {
  const roster = yield* NodeRoster
  const directory = yield* NodeDirectory
  const follow = Effect.zipRight(roster.refresh, directory.reconcile)
  /** Makes up for a write that was committed, but not followed because the database failed right after it. */
  const caughtUp = Effect.uninterruptible(
    Effect.flatMap(roster.catchUp, (didRead) => (didRead ? directory.reconcile : Effect.void))
  )
  return {
    caughtUp,
    /** A client that leaves after the commit must not leave roster and actors behind: it is followed to the end. */
    written: <A, E, R>(write: Effect.Effect<A, E, R>) =>
      Effect.uninterruptible(Effect.zipRight(caughtUp, Effect.zipLeft(write, follow)))
  }
})
