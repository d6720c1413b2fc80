// Runs long computations in small portions, so that the event loop belongs to others in between.
import { Effect } from "effect"
import { portionMs } from "./LoopTurn.ts"
import { pause } from "./Pause.ts"

/** A computation gives way at its yields once it has worked so long, sooner in a turn that others have worked in. */
const workMs = 4
/** All of them together rest three times as long as they work: a quarter of the loop, whatever there is to do. */
const restFactor = 3

/** One portion in a turn of the loop, whosever it is: several computations at once shall not hold it for longer. */
const oneInATurn = Effect.unsafeMakeSemaphore(1)
/** Computations that are under way in this process, which has one loop. */
let active = 0

/** Works until the portion is done; gives the milliseconds that it took, and the result once there is one. */
export const portion = <A>(steps: Generator<void, A>) => {
  const startedAt = performance.now()
  const shareMs = portionMs(workMs)
  for (;;) {
    const step = steps.next()
    const spentMs = performance.now() - startedAt
    if (step.done === true || spentMs >= shareMs) return { step, spentMs }
  }
}

/** Whether to rest also behind the last portion, as it is due when the next computation follows at once. */
type Ending = "and rest" | "at once"

const portions = <A>(steps: Generator<void, A>, ending: Ending): Effect.Effect<A> =>
  Effect.gen(function* () {
    for (;;) {
      const { spentMs, step } = yield* oneInATurn.withPermits(1)(
        Effect.zipLeft(
          Effect.sync(() => portion(steps)),
          pause
        )
      )
      if (step.done === true && ending === "at once") return step.value
      // With n under way each has an n-th of the quarter: its own rest, and what the others may work and rest.
      yield* Effect.sleep(spentMs * ((1 + restFactor) * active - 1))
      if (step.done === true) return step.value
    }
  })

/** The result of the steps, which are taken beside everything else that this process does. */
export const inSlices = <A>(steps: Generator<void, A>, ending: Ending = "at once"): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => active++),
    () => portions(steps, ending),
    () => Effect.sync(() => active--)
  )
