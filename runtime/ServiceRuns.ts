// When this service could take reports: a heartbeat on disk, so that its own outages are never charged to nodes.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { Span } from "../src/core/Online.ts"
import { HistoryStore } from "../src/store/History.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"

/** A kill leaves at most so much of a run unsaid. */
const every = Schedule.fixed("5 seconds")
/** A heartbeat later than this means that the process stood still: that time was an outage too. */
const stallMs = 20_000

export class ServiceRuns extends Context.Tag("runtime/ServiceRuns")<
  ServiceRuns,
  {
    /** Stretches in which reports could be taken, ascending; the last one reaches to the last heartbeat or now. */
    readonly all: () => ReadonlyArray<Span>
  }
>() {}

const make = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* HistoryStore
  const register = yield* FiberRegister
  const startedAt = yield* Clock.currentTimeMillis
  const runs: Array<{ fromMs: number; toMs: number }> = store
    .runs()
    .map(({ aliveUntil, startedAt }) => ({ fromMs: startedAt, toMs: aliveUntil }))
  let isFirst = true

  const beat = (now: number): void => {
    if (journal.closed() !== undefined) return
    const last = runs[runs.length - 1]
    const isNew = isFirst || last === undefined || now - last.toMs > stallMs || now < last.toMs
    const run = {
      fromMs: isNew ? Math.max(isFirst ? startedAt : now, last?.toMs ?? 0) : (last?.fromMs ?? now),
      toMs: now
    }
    if (run.toMs < run.fromMs) return
    journal.offer({ kind: "run", startedAt: run.fromMs, aliveUntil: run.toMs, isNew }, (committed) => {
      if (!committed) return
      if (isNew) runs.push(run)
      else if (last !== undefined) last.toMs = run.toMs
      isFirst = false
    })
  }
  const watch = register.register("ServiceRuns", () => runs.length, 0)
  const loop = Effect.repeat(Effect.map(Clock.currentTimeMillis, beat), every)
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(loop, Effect.never)))
  // The journal ends after this and writes what is offered here.
  yield* Effect.addFinalizer(() => Effect.map(Clock.currentTimeMillis, beat))
  return ServiceRuns.of({ all: () => runs })
})

export const layer = Layer.scoped(ServiceRuns, make)
