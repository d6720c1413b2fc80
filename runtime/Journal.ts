// The one writer of hot tables: gathers what is offered, commits it in one transaction, then settles each offer.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"
import type { AlertStep } from "../src/store/alert/AlertWrites.ts"
import { JournalStore, type Write } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Batch, type Settle, type SettleRow } from "./JournalBatch.ts"
import { codeOf, idle, repair } from "./JournalRepair.ts"
import { pause } from "./Pause.ts"

/** Rows waiting to be committed: more than a second of a fleet of 10,000. Past it the disk is not keeping up. */
export const rowsMax = 4096
/** Their vectors, in doubles: 32 MB. */
const arenaMax = 4_194_304
/**
 * Rows of one commit. With this many waiting there is nothing to gain by waiting longer: 3.3 µs per row, 3.2 with eight
 * times more. And whoever waited is answered in one turn of the event loop, which takes some 60 µs each.
 */
const rowsEager = 128
/** The same for facts, of which a report has hundreds after a silence of a day: some 10 ms. */
const factsEager = 2048
/** Batches that are kept to be filled again: one is filled while one is settled, and a hold makes a few more. */
const sparesMax = 4
/** At the latest after this a waiting row is committed; fewer commits cost less, and nobody notices 5 ms. */
const lingerMs = 5

export interface RowOffer {
  readonly nodeId: NodeId
  readonly receivedAt: number
  readonly details: string | null
  readonly isApplied: boolean
  readonly checkpoint: string | null
  /** Facts that the report completed: on disk with its row or not at all; null for none. */
  readonly facts: ReadonlyArray<ClosedFact> | null
  /** What the report did to the node's alerts, on disk with its row or not at all; null for nothing. */
  readonly alerts: AlertStep | null
}

export interface JournalFigures {
  rows: number
  commits: number
  failures: number
  commitMsLast: number
  commitMsMax: number
}

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
    readonly figures: JournalFigures
    /** Of the last row that is on disk. */
    readonly lastSeq: () => number
  }
>() {}

/** Everything the writer owns. Only the journal's fiber commits; offers come from any synchronous caller. */
class Writer {
  /** What is offered goes here. */
  private filling = new Batch()
  /** Full ones that could not be committed yet, oldest first: each gets a turn of the event loop for itself. */
  private readonly full: Array<Batch> = []
  /** Settled ones: an offer made by a settle must not overwrite what others still read. */
  private readonly spares: Array<Batch> = []
  /** Offers that wait for their commit, and the doubles that their vectors take. */
  waiting = 0
  private held = 0
  /** Of the last row offered, and of the last one on disk. */
  seq: number
  committedSeq: number
  failure: string | undefined
  /** SQLite's error code of the failure. */
  failureCode = ""
  /** On the monotonic clock: setting the machine's clock back must not hold up a commit. */
  committedAt = 0
  private isCommitting = false
  /** What a settle threw: a defect of this fiber's, whoever's offer made the commit. */
  private defect: { readonly cause: unknown } | undefined
  wake: (() => void) | undefined
  readonly figures: JournalFigures = { rows: 0, commits: 0, failures: 0, commitMsLast: 0, commitMsMax: 0 }
  private readonly store: Context.Tag.Service<typeof JournalStore>

  constructor(store: Context.Tag.Service<typeof JournalStore>) {
    this.store = store
    this.committedSeq = this.seq = store.lastSeq()
  }

  private get isEnough(): boolean {
    return this.filling.settles.length >= rowsEager || this.filling.facts >= factsEager
  }

  /** Whether whoever waits must be refused before the journal is repaired. */
  get isRefusing(): boolean {
    return this.failure !== undefined && this.full.length > 0
  }

  /** Whether another row would be taken, even one whose vector is wide. */
  room(): boolean {
    return this.failure === undefined && this.waiting < rowsMax && this.held < arenaMax / 2
  }

  offerRow(row: RowOffer, vector: Float64Array, size: number, settle: SettleRow): number {
    // Enough for one commit: done here, so that its requests are answered while they are young. Batches of hundreds
    // save nothing per row and make the collector copy every waiting request. What a hold has left is committed by the
    // fiber, one batch in a turn.
    if (this.isEnough && this.full.length === 0 && !this.isCommitting && !this.store.busy()) this.commit()
    if (this.failure !== undefined || this.waiting >= rowsMax || this.held + size > arenaMax) return 0
    if (this.isEnough) this.close()
    const { filling } = this
    const place = filling.keep(vector, size)
    this.held += size
    const seq = (filling.lastSeq = ++this.seq)
    const { alerts, checkpoint, details, facts, isApplied, nodeId, receivedAt } = row
    filling.facts += facts?.length ?? 0
    const bytes = filling.encode(vector, size)
    this.add(
      { kind: "row", seq, nodeId, receivedAt, vector: bytes, details, isApplied, checkpoint, facts, alerts },
      settle,
      place
    )
    return seq
  }

  push(write: Write | undefined, settle: Settle): void {
    if (this.isEnough) this.close()
    this.add(write, settle)
  }

  private add(write: Write | undefined, settle: SettleRow, place?: Float64Array): void {
    this.filling.push(write, settle, place)
    this.waiting++
    if (this.wake !== undefined && (this.waiting === 1 || this.waiting === rowsEager)) this.wake()
  }

  /** What comes now goes to another commit. */
  private close(): void {
    this.full.push(this.filling)
    this.filling = this.spares.pop() ?? new Batch()
  }

  /**
   * The oldest batch: one transaction, then every settle, whatever one of them throws. A failure closes the journal
   * until `repair` succeeds; what waited behind it is refused first. Not for use inside a settle.
   */
  commit(): void {
    if (this.waiting === 0) return
    if (this.full.length === 0) this.close()
    const batch = this.full.shift() as Batch
    this.waiting -= batch.settles.length
    this.held -= batch.used
    this.isCommitting = true
    const committed = this.failure === undefined && this.write(batch)
    for (let i = 0; i < batch.settles.length; i++) {
      const settle = batch.settles[i] as SettleRow
      try {
        settle(committed, batch.places[i] as Float64Array)
      } catch (cause) {
        this.defect ??= { cause }
      }
    }
    this.isCommitting = false
    batch.clear()
    if (this.spares.length < sparesMax) this.spares.push(batch)
  }

  /** Whether it is on disk. */
  private write({ lastSeq, writes }: Batch): boolean {
    const startedAt = performance.now()
    try {
      if (writes.length > 0) this.store.write(writes)
    } catch (cause) {
      this.figures.failures++
      this.failure = cause instanceof Error ? cause.message : String(cause)
      this.failureCode = codeOf(cause)
      // Reports in it stand on others that are not on disk.
      if (this.filling.settles.length > 0) this.close()
      return false
    } finally {
      this.committedAt = performance.now()
    }
    this.committedSeq = Math.max(this.committedSeq, lastSeq)
    this.figures.commits++
    this.figures.rows += writes.length
    this.figures.commitMsLast = this.committedAt - startedAt
    this.figures.commitMsMax = Math.max(this.figures.commitMsMax, this.figures.commitMsLast)
    return true
  }

  /** Everything that waits now, at once: for the end, when nobody else needs the event loop. */
  commitAll(): void {
    for (let left = this.full.length + 1; left > 0; left--) this.commit()
  }

  /** Throws what a settle threw, once. */
  rethrow(): void {
    const { defect } = this
    this.defect = undefined
    if (defect !== undefined) throw defect.cause
  }

  /** Suspends until a commit is due: something waits, and it waited long enough or is much. */
  readonly due = Effect.async<void>((resume) => {
    let timer: NodeJS.Timeout | undefined
    let immediate: NodeJS.Immediate | undefined
    const fire = () => {
      // Both may be set by now; the one that is left would take away the wake of the next wait.
      clearTimeout(timer)
      clearImmediate(immediate)
      this.wake = undefined
      resume(Effect.void)
    }
    const arm = () => {
      const { waiting } = this
      if (waiting === 0) return
      clearTimeout(timer)
      const rest = lingerMs - (performance.now() - this.committedAt)
      // After the poll phase: all requests that were ready at once share the commit.
      if (waiting >= rowsEager || rest <= 0) immediate ??= setImmediate(fire)
      else timer = setTimeout(fire, rest)
    }
    this.wake = arm
    arm()
    return Effect.sync(() => {
      this.wake = undefined
      clearTimeout(timer)
      clearImmediate(immediate)
    })
  })
}

const make = Effect.gen(function* () {
  const store = yield* JournalStore
  const writer = new Writer(store)
  const register = yield* FiberRegister
  const watch = register.register("Journal", () => writer.waiting, rowsMax)

  const turn = Effect.gen(function* () {
    while (writer.isRefusing) {
      writer.commit()
      yield* pause
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
    figures: writer.figures,
    lastSeq: () => writer.committedSeq
  })
})

export const layer = Layer.scoped(Journal, make)
