// Keeps the journal tail short: rows that history has sealed are covered by checkpoints, then deleted in slices.
import { Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { trimAhead } from "../src/store/ReadAhead.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { Journal } from "./Journal.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ReadAhead } from "./ReadAhead.ts"
import { written } from "./Written.ts"

const every = Schedule.fixed("15 seconds")
/** Rows per delete: some 1 ms of a blocked loop. */
const sliceRows = 500
const neighbourRows = 32
const pauseMs = 10
/** How long the checkpoints of quiet nodes may take before the round is given up until the next. */
const coverAttemptsMax = 1000

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const journal = yield* Journal
  const supervisor = yield* NodeSupervisor
  const marks = yield* HistoryMarks
  const ahead = yield* ReadAhead
  const register = yield* FiberRegister
  const watch = register.register("Retention", () => 0, 0)

  const trim = (upTo: number, keep: ReadonlyArray<NodeId>) =>
    Effect.gen(function* () {
      for (;;) {
        const write = { kind: "trim", upTo, limit: sliceRows, keep } as const
        // Also the next page: SQLite moves what is left of the last one's neighbours together.
        yield* ahead.bring([trimAhead({ ...write, limit: sliceRows + neighbourRows })])
        if (!store.trimmable(write) || !(yield* written(journal, write))) return
        yield* Effect.sleep(pauseMs)
      }
    })

  /** The last row before the first that is in no chunk yet. Told by order, not by time: clocks are set. */
  const sealedUpTo = (): number => {
    // What is committed is also on its node's list; a row that is only offered is neither. The journal knows without a
    // look at the disk, where the largest number among the checkpoints takes a walk through all of them.
    let first = journal.lastSeq() + 1
    for (const { unsealed } of supervisor.all()) {
      const seq = unsealed[0]
      if (seq !== undefined && seq < first) first = seq
    }
    return first - 1
  }

  const round = Effect.gen(function* () {
    if (journal.closed() !== undefined) return
    const upTo = sealedUpTo()
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

  yield* Effect.forkScoped(
    supervised(watch, marks.ready.pipe(Effect.andThen(Effect.repeat(round, every)), Effect.andThen(Effect.never)))
  )
})

export const layer = Layer.scopedDiscard(make)
