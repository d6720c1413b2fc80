// Runs a long computation in small portions, so that the event loop belongs to others in between.
import { Effect } from "effect"
import { pause } from "./Pause.ts"

/** The computation gives way at its yields once it has worked so long. */
const workMs = 4

/** One portion in a turn of the loop, whosever it is: several computations at once shall not hold it for longer. */
const oneInATurn = Effect.unsafeMakeSemaphore(1)

/** Works until the portion is done; gives the milliseconds that it took, and the result once there is one. */
const portion = <A>(steps: Generator<void, A>) =>
  Effect.sync(() => {
    const startedAt = performance.now()
    for (;;) {
      const step = steps.next()
      const spentMs = performance.now() - startedAt
      if (step.done === true || spentMs >= workMs) return { step, spentMs }
    }
  })

/** Rests `restFactor` times as long as it worked: 1 takes at most half a core, 3 a quarter. */
export const inSlices = <A>(steps: Generator<void, A>, restFactor: number): Effect.Effect<A> =>
  Effect.gen(function* () {
    for (;;) {
      const { spentMs, step } = yield* oneInATurn.withPermits(1)(Effect.zipLeft(portion(steps), pause))
      if (step.done === true) return step.value
      yield* Effect.sleep(spentMs * restFactor)
    }
  })
