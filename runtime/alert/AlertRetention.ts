// Lets closed events and settled deliveries go after their time, in slices, in the journal's commits.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { OutboxStore } from "../../src/store/alert/Outbox.ts"
import { FiberRegister, supervised } from "../FiberStatus.ts"
import { Journal } from "../Journal.ts"
import { written } from "../Written.ts"

const every = Schedule.spaced("1 hour")
const keptMs = 90 * 86_400_000
/** Rows of each table per transaction: some 5 ms of a blocked loop. */
const sliceRows = 1000
/** Slices per round: what a fleet that flaps all day leaves behind in an hour, ten times over. */
const slicesMax = 500
const pauseMs = 10

export class AlertRetention extends Context.Tag("runtime/alert/AlertRetention")<
  AlertRetention,
  {
    /** Drops what is due now. */
    readonly sweep: Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* OutboxStore
  const watch = (yield* FiberRegister).register("AlertRetention", () => 0, 0)
  const round = Effect.gen(function* () {
    if (journal.closed() !== undefined) return
    const endedBefore = (yield* Clock.currentTimeMillis) - keptMs
    for (let slice = 0; slice < slicesMax; slice++) {
      // The first one in any case: it also takes the mounts of deleted nodes.
      if (slice > 0 && !store.hasEnded(endedBefore)) return
      if (!(yield* written(journal, { kind: "dropAlerts", endedBefore, limit: sliceRows }))) return
      yield* Effect.sleep(pauseMs)
    }
  })
  const turn = yield* Effect.makeSemaphore(1)
  const sweep = turn.withPermits(1)(round)
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(sweep, every), Effect.never)))
  return AlertRetention.of({ sweep })
})

export const layer = Layer.scoped(AlertRetention, make)
