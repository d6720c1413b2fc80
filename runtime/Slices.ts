// Runs a long computation in small portions, so that the event loop belongs to others in between.
import { Effect } from "effect"
import { pause } from "./Pause.ts"

/** The computation gives way at its yields once it has worked so long. */
const workMs = 4

/** Rests `restFactor` times as long as it worked: 1 takes at most half a core, 3 a quarter. */
export const inSlices = <A>(steps: Generator<void, A>, restFactor: number): Effect.Effect<A> =>
  Effect.gen(function* () {
    let startedAt = performance.now()
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
      const spentMs = performance.now() - startedAt
      if (spentMs < workMs) continue
      yield* pause
      yield* Effect.sleep(spentMs * restFactor)
      startedAt = performance.now()
    }
  })
