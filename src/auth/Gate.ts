// A turnstile: so many at once, so many waiting for so long, and a typed refusal for everyone else.
import { Effect } from "effect"

export interface Gate {
  /**
   * Runs `work` when its turn comes. Waiting can be interrupted, the work cannot: a client that hangs up must not
   * free the place while the work still goes on, nor escape what the work would have recorded.
   * `full` is the answer when too many wait, `late` when the turn and the work together took too long.
   */
  readonly enter: <A, E, R, E1, E2>(
    work: Effect.Effect<A, E, R>,
    refuse: { readonly full: () => E1; readonly late: () => E2 }
  ) => Effect.Effect<A, E | E1 | E2, R>
}

export interface GateSize {
  readonly permits: number
  /** Entrants beyond the permits. */
  readonly waitingMax: number
  readonly waitMs: number
}

export const make = ({ permits, waitingMax, waitMs }: GateSize): Effect.Effect<Gate> =>
  Effect.map(Effect.makeSemaphore(permits), (turn) => {
    let inside = 0
    return {
      enter: (work, { full, late }) =>
        Effect.acquireUseRelease(
          Effect.suspend(() => {
            if (inside >= permits + waitingMax) return Effect.fail(full())
            inside += 1
            return Effect.void
          }),
          () => turn.withPermits(1)(Effect.uninterruptible(work)),
          () => Effect.sync(() => (inside -= 1))
        ).pipe(Effect.timeoutFail({ duration: waitMs, onTimeout: late }))
    }
  })
