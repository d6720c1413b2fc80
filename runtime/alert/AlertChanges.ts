// How an administrator's change of alerts ends: the running alerts follow what was committed.
import { Effect } from "effect"
import { AlertWatch } from "./AlertWatch.ts"

/** What was written, and whether the running alerts know of it already; otherwise they will as soon as they can. */
export interface Written<A> {
  readonly value: A
  readonly isFollowed: boolean
}

export const make = Effect.map(AlertWatch, (watch) => {
  let isBehind = false
  const follow = Effect.map(watch.changed, () => {
    isBehind = false
  })
  return {
    /** Makes up for a change that was committed, but could not be read again right after it. */
    caughtUp: Effect.suspend(() => (isBehind ? follow : Effect.void)),
    /** A client that leaves after the commit must not leave the running alerts behind: it is followed to the end. */
    written: <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<Written<A>, E, R> =>
      Effect.uninterruptible(
        Effect.flatMap(write, (value) => {
          isBehind = true
          return follow.pipe(
            Effect.as({ value, isFollowed: true }),
            Effect.catchTag("StorageUnavailable", () => Effect.succeed({ value, isFollowed: false }))
          )
        })
      )
  }
})

export type AlertChanges = Effect.Effect.Success<typeof make>
