// Runs long computations in small portions, so that the event loop belongs to others in between.
import { Effect } from "effect"
import { channel } from "node:diagnostics_channel"
import type { Look } from "../src/store/ReadAhead.ts"
import { portionMs } from "./LoopTurn.ts"
import { pause } from "./Pause.ts"
import type { Ahead } from "./ReadAhead.ts"

/** A computation gives way at each of its yields; what it yields it is about to read, and shall be in memory by then. */
export type Give = void | ReadonlyArray<Look>

/** A computation gives way at its yields once it has worked so long, sooner in a turn that others have worked in. */
const workMs = 4
/** All of them together rest three times as long as they work: a quarter of the loop, whatever there is to do. */
const restFactor = 3

/** One portion in a turn of the loop, whosever it is: several computations at once shall not hold it for longer. */
const oneInATurn = Effect.unsafeMakeSemaphore(1)
/** Computations of this process, which has one loop, that are under way and do not wait for what they are to read. */
let active = 0

/** What waits leaves its share to the others. */
const waiting = (brought: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.sync(() => active--),
    () => brought,
    () => Effect.sync(() => active++)
  )

/** Whoever listens is told how many milliseconds each portion took. */
const portions = channel("watchpost:portion")

/** Works until the portion is done or has to wait; gives the milliseconds that it took, and the last step. */
const portion = <A>(steps: Generator<Give, A>) => {
  const startedAt = performance.now()
  const shareMs = portionMs(workMs)
  for (;;) {
    const step = steps.next()
    const spentMs = performance.now() - startedAt
    if (step.done !== true && step.value === undefined && spentMs < shareMs) continue
    if (portions.hasSubscribers) portions.publish(spentMs)
    return { step, spentMs }
  }
}

const inPortions = <A>(steps: Generator<Give, A>, ahead: Ahead | undefined): Effect.Effect<A> =>
  Effect.gen(function* () {
    for (;;) {
      const { spentMs, step } = yield* oneInATurn.withPermits(1)(
        Effect.zipLeft(
          Effect.sync(() => portion(steps)),
          pause
        )
      )
      // With n under way each has an n-th of the quarter: its own rest, and what the others may work and rest. Also the
      // last one rests: the next computation may be there at once.
      yield* Effect.sleep(spentMs * ((1 + restFactor) * active - 1))
      if (step.done === true) return step.value
      if (ahead !== undefined && step.value !== undefined) yield* waiting(ahead.bring(step.value))
    }
  })

/** The result of the steps, which are taken beside everything else that this process does; `ahead` is who brings. */
export const inSlices = <A>(steps: Generator<Give, A>, ahead?: Ahead): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => active++),
    () => inPortions(steps, ahead),
    () => Effect.sync(() => active--)
  )
