// Keeps the journal tail short: rows older than replay needs are covered by checkpoints, then deleted in slices.
import { Clock, Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"

/** Age past which a row leaves the tail. Replay needs at most 32 reports of a node: 96 s at 3 s. */
const tailMs = 120_000
/** Database size past which only half of that is kept: a fleet this large has many rows per second. */
const tailBytesMax = 2_147_483_648
const every = Schedule.fixed("15 seconds")
/** Rows per delete: some 5 ms of a blocked loop. */
const sliceRows = 2000
const pauseMs = 10
/** How long the checkpoints of quiet nodes may take before the round is given up until the next. */
const coverAttemptsMax = 100

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const journal = yield* Journal
  const supervisor = yield* NodeSupervisor
  const register = yield* FiberRegister
  const figures = { behind: 0 }
  const watch = register.register("Retention", () => figures.behind, 0)

  const trim = (upTo: number, keep: ReadonlyArray<NodeId>) =>
    Effect.gen(function* () {
      for (;;) {
        while (store.busy()) yield* Effect.sleep(1)
        const gone = store.trim(upTo, sliceRows, keep)
        figures.behind = Math.max(0, figures.behind - gone)
        if (gone < sliceRows) return
        yield* Effect.sleep(pauseMs)
      }
    })

  const round = Effect.gen(function* () {
    if (journal.closed() !== undefined) return
    const now = yield* Clock.currentTimeMillis
    const keepMs = store.bytes() > tailBytesMax ? tailMs / 2 : tailMs
    const upTo = store.seqBefore(now - keepMs)
    if (upTo === 0) return
    // No row leaves before a checkpoint covers it: otherwise a restart would lose what was acknowledged.
    let covering = supervisor.coverUpTo(upTo)
    for (let attempt = 0; covering.pending > 0; attempt++) {
      if (attempt === coverAttemptsMax || journal.closed() !== undefined) return
      yield* journal.flushed
      yield* Effect.sleep(pauseMs)
      covering = supervisor.coverUpTo(upTo)
    }
    // A node that cannot be rebuilt takes no reports, so what is kept for it does not grow.
    yield* trim(upTo, covering.away)
  })

  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(round, every), Effect.never)))
})

export const layer = Layer.scopedDiscard(make)
