// The one writer of hot tables: gathers what is offered, commits and settles it, and syncs the log beside the loop.
import { Context, Deferred, Effect, Layer } from "effect"
import { JournalStore, type Write } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import type { Settle, SettleRow } from "./JournalBatch.ts"
import { idle, outlast, repair } from "./JournalRepair.ts"
import type { OnDisk } from "./JournalTelling.ts"
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
    /** Calls back when everything committed so far is on the disk (true), or nobody knows (false). */
    readonly onDisk: (done: OnDisk) => void
    /** Waits until everything offered so far is settled, and on the disk. */
    readonly flushed: Effect.Effect<void>
    /**
     * Ends when a sync has failed and the disk answers again. What the service knows may not be on the disk then: the
     * journal stays closed, and everything must be read anew.
     */
    readonly lost: Effect.Effect<void>
    readonly figures: JournalFigures
    /** Of the last row that is committed. */
    readonly lastSeq: () => number
  }
>() {}

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const writer = new Writer(store)
  const register = yield* FiberRegister
  const watch = register.register("Journal", () => writer.depth, rowsMax)
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
    // What a settle threw is a defect of this fiber, whoever's offer made the commit.
    writer.telling.rethrow()
  })
  yield* Effect.forkScoped(supervised(watch, Effect.forever(turn)))
  // What is still waiting when the scope closes is committed, so that every offer is settled.
  yield* Effect.addFinalizer(() => Effect.sync(() => writer.commitAll()))

  return Journal.of({
    closed: () => writer.failure,
    room: () => writer.room(),
    offerRow: (row, vector, size, settle) => writer.offerRow(row, vector, size, settle),
    offer: (write, settle) => {
      if (!writer.isOpen) return false
      writer.push(write, settle)
      return true
    },
    afterCommit: (settle) => {
      if (!writer.isOpen) return false
      if (writer.waiting === 0) settle(true)
      else writer.push(undefined, settle)
      return true
    },
    onDisk: (done) => writer.onDisk(done),
    flushed: Effect.async<void>((resume) => {
      const synced = () => writer.onDisk(() => resume(Effect.void))
      if (writer.waiting === 0) synced()
      else writer.push(undefined, synced)
    }),
    lost: Deferred.await(lost),
    figures: writer.figures,
    lastSeq: () => writer.committedSeq
  })
})

export const layer = Layer.scoped(Journal, make)
