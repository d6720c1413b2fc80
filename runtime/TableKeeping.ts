// The fiber behind a table of cycles: builds what is missing in the background, after the start and after every change.
import { Clock, type Context, Effect, Schedule, type Scope } from "effect"
import type { CycleTable, Folded } from "./CycleTable.ts"
import { supervised, type Watch } from "./FiberStatus.ts"
import { ReadAhead } from "./ReadAhead.ts"
import { inSlices } from "./Slices.ts"
import type { TrafficPlans } from "./TrafficPlans.ts"

/** A look for changes. Reads do not wait for it: what they ask for is built at once. */
const every = Schedule.spaced("5 seconds")
/** A sweep without a change finds new interfaces and cycles that have begun: 10,000 interfaces take some 50 ms. */
const sweepMs = 60_000

/** Keeps the table until the scope closes. */
export const keepTable = <F extends Folded>(
  table: CycleTable<F>,
  plans: Context.Tag.Service<typeof TrafficPlans>,
  watch: Watch
): Effect.Effect<void, never, ReadAhead | Scope.Scope> =>
  Effect.gen(function* () {
    const ahead = yield* ReadAhead
    let sweptAt = Number.NEGATIVE_INFINITY
    let swept = ""
    const round = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const revision = plans.revision()
      if (revision === swept && Math.abs(now - sweptAt) < sweepMs) return
      yield* inSlices(table.sweep(now), ahead)
      swept = revision
      sweptAt = now
    })
    yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(round, every), Effect.never)))
  })
