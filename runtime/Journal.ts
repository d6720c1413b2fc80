// The one writer of hot tables: gathers what is offered, commits it, syncs the log beside the loop, then settles each offer.
import { Context, Deferred, Effect, Layer } from "effect"
import { JournalStore, type Write } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import type { Settle, SettleRow } from "./JournalBatch.ts"
import { idle, outlast, repair } from "./JournalRepair.ts"
import { type JournalFigures, type RowOffer, rowsMax, Writer } from "./JournalWriter.ts"
import { pause } from "./Pause.ts"

export class Journal extends Context.Tag("runtime/Journal")<
  Journal,
  {
    /** Why writes are refused right now, or undefined when they are taken. */
    readonly closed: () => string | undefined
    /** Whether another row would be taken: asked before a turn, because a turn that cannot be written must be undone. */
    readonly room: () => boolean
    /** Copies the first `size` values; gives the row's seq, or 0 when the journal is full or closed. */
    readonly offerRow: (row: RowOffer, vector: Float64Array, size: number, settle: SettleRow) => number
    /** False when the journal is full or closed. */
    readonly offer: (write: Exclude<Write, { kind: "row" }>, settle: Settle) => boolean
    /** Settles with the commit of everything offered so far; at once when nothing waits. False when full. */
    readonly afterCommit: (settle: Settle) => boolean
    /** Waits until everything offered so far is settled. */
    readonly flushed: Effect.Effect<void>
    /**
     * Ends when a sync has failed and the disk answers again. What the service knows and what stands on the disk may
     * differ then: the journal stays closed, and everything must be read anew.
     */
    readonly lost: Effect.Effect<void>
    readonly figures: JournalFigures
    /** Of the last row that is on disk. */
    readonly lastSeq: () => number
  }
>() {}

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const writer = new Writer(store)
  const register = yield* FiberRegister
  const watch = register.register("Journal", () => writer.waiting, rowsMax)
  const lost = yield* Deferred.make<void>()

  const turn = Effect.gen(function* () {
    while (writer.isRefusing) {
      writer.commit()
      yield* pause
    }
    if (writer.isLost) {
      yield* outlast(writer, store, watch)
      yield* Deferred.succeed(lost, undefined)
      return yield* Effect.never
    }
    // First, so that a repair that died of a defect is taken up again.
    if (writer.failure !== undefined) yield* repair(writer, store, watch, () => store.probe())
    yield* writer.due
    yield* idle(store)
    writer.commit()
    writer.rethrow()
  })
  yield* Effect.forkScoped(supervised(watch, Effect.forever(turn)))
  // What is still waiting when the scope closes is committed, so that every offer is settled.
  yield* Effect.addFinalizer(() => Effect.sync(() => writer.commitAll()))

  return Journal.of({
    closed: () => writer.failure,
    room: () => writer.room(),
    offerRow: (row, vector, size, settle) => writer.offerRow(row, vector, size, settle),
    offer: (write, settle) => {
      if (writer.failure !== undefined || writer.waiting >= rowsMax) return false
      writer.push(write, settle)
      return true
    },
    afterCommit: (settle) => {
      if (writer.failure !== undefined || writer.waiting >= rowsMax) return false
      if (writer.waiting === 0) settle(true)
      else writer.push(undefined, settle)
      return true
    },
    flushed: Effect.async<void>((resume) => {
      if (writer.waiting === 0) resume(Effect.void)
      else writer.push(undefined, () => resume(Effect.void))
    }),
    lost: Deferred.await(lost),
    figures: writer.figures,
    lastSeq: () => writer.committedSeq
  })
})

export const layer = Layer.scoped(Journal, make)
