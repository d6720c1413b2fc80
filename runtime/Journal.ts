// The one writer of hot tables: gathers what is offered, commits it in one transaction, then settles each offer.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"
import { encode, encodedBytesMax } from "../src/core/VectorCode.ts"
import type { AlertStep } from "../src/store/alert/AlertWrites.ts"
import { JournalStore, type Write } from "../src/store/Journal.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { codeOf, idle, repair } from "./JournalRepair.ts"

/** Rows waiting for one commit. A commit of this many takes about 20 ms; past it the disk is not keeping up. */
export const rowsMax = 4096
/** Vectors waiting for one commit, in doubles: 32 MB. */
const arenaMax = 4_194_304
const arenaFirst = 65_536
/** With this many rows waiting there is nothing to gain by waiting longer: 3.3 µs per row, 3.2 with eight times more. */
const rowsEager = 128
/** The same for facts, of which a report has hundreds after a silence of a day: some 10 ms. */
const factsEager = 2048
/** At the latest after this a waiting row is committed; fewer commits cost less, and nobody notices 5 ms. */
const lingerMs = 5

/** Called once per offer, after the commit that holds it (true) or that failed (false). */
export type Settle = (committed: boolean) => void
/** The same for a row, with its vector: valid only during the call. */
export type SettleRow = (committed: boolean, vector: Float64Array) => void

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
    readonly lastSeq: () => number
  }
>() {}

interface Batch {
  readonly writes: Array<Write>
  readonly settles: Array<SettleRow>
  /** Vector of each settle's row; the settles of other writes look at none. */
  readonly places: Array<Float64Array>
  /** Doubles and encoded bytes taken of the two arenas. */
  used: number
  bytesUsed: number
  facts: number
}
const emptyBatch = (): Batch => ({ writes: [], settles: [], places: [], used: 0, bytesUsed: 0, facts: 0 })
const noPlace = new Float64Array(0)

/** Everything the writer owns. Only the journal's fiber commits; offers come from any synchronous caller. */
class Writer {
  batch: Batch = emptyBatch()
  arena = new Float64Array(arenaFirst)
  /** The memory of the batch being settled: an offer made by a settle must not overwrite what others still read. */
  private spare = new Float64Array(arenaFirst)
  /** Encoded vectors of the batch. Nothing reads them after the write, so one suffices. */
  private bytes = new DataView(new ArrayBuffer(arenaFirst))
  seq: number
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
    this.seq = store.lastSeq()
  }

  /** A place in the arena for `size` doubles, or -1 when it is full. Grown only while nothing refers to it. */
  private reserve(size: number): number {
    const { batch } = this
    if (batch.used + size > this.arena.length) {
      if (batch.used + size > arenaMax) return -1
      // Rows already offered keep views of the old memory, which stays alive and unchanged until they are settled.
      this.arena = new Float64Array(Math.min(arenaMax, Math.max(this.arena.length * 2, batch.used + size)))
    }
    const at = batch.used
    batch.used += size
    return at
  }

  /** The encoded form of a vector, in memory that stays as it is until the batch is written. */
  private encode(vector: Float64Array, size: number): Buffer {
    const { batch } = this
    const most = encodedBytesMax(size)
    if (batch.bytesUsed + most > this.bytes.byteLength) {
      // Rows already offered keep their views of the old memory.
      this.bytes = new DataView(new ArrayBuffer(Math.max(this.bytes.byteLength * 2, most)))
      batch.bytesUsed = 0
    }
    const from = batch.bytesUsed
    batch.bytesUsed = encode(vector, size, this.bytes, from)
    return Buffer.from(this.bytes.buffer, from, batch.bytesUsed - from)
  }

  offerRow(row: RowOffer, vector: Float64Array, size: number, settle: SettleRow): number {
    // Enough for one commit: done here, so that its requests are answered while they are young. Batches of hundreds
    // save nothing per row and make the collector copy every waiting request.
    const isEnough = this.batch.settles.length >= rowsEager || this.batch.facts >= factsEager
    if (isEnough && !this.isCommitting && !this.store.busy()) this.commit()
    if (this.failure !== undefined || this.batch.settles.length >= rowsMax) return 0
    const at = this.reserve(size)
    if (at < 0) return 0
    const place = this.arena.subarray(at, at + size)
    place.set(size === vector.length ? vector : vector.subarray(0, size))
    const seq = ++this.seq
    const { alerts, checkpoint, details, facts, isApplied, nodeId, receivedAt } = row
    this.batch.facts += facts?.length ?? 0
    const bytes = this.encode(vector, size)
    this.push(
      { kind: "row", seq, nodeId, receivedAt, vector: bytes, details, isApplied, checkpoint, facts, alerts },
      settle,
      place
    )
    return seq
  }

  push(write: Write | undefined, settle: SettleRow, place: Float64Array = noPlace): void {
    if (write !== undefined) this.batch.writes.push(write)
    this.batch.settles.push(settle)
    this.batch.places.push(place)
    if (this.wake !== undefined && (this.batch.settles.length === 1 || this.batch.settles.length === rowsEager)) {
      this.wake()
    }
  }

  /**
   * One transaction, then every settle, whatever one of them throws. A failure closes the journal until `repair`
   * succeeds. Not for use inside a settle.
   */
  commit(): void {
    const { batch } = this
    if (batch.settles.length === 0) return
    this.isCommitting = true
    this.batch = emptyBatch()
    const settled = this.arena
    this.arena = this.spare
    this.spare = settled
    const startedAt = performance.now()
    let committed = true
    try {
      if (batch.writes.length > 0) this.store.write(batch.writes)
    } catch (cause) {
      committed = false
      this.figures.failures++
      this.failure = cause instanceof Error ? cause.message : String(cause)
      this.failureCode = codeOf(cause)
    }
    this.committedAt = performance.now()
    if (committed) {
      this.figures.commits++
      this.figures.rows += batch.writes.length
      this.figures.commitMsLast = performance.now() - startedAt
      this.figures.commitMsMax = Math.max(this.figures.commitMsMax, this.figures.commitMsLast)
    }
    for (let i = 0; i < batch.settles.length; i++) {
      const settle = batch.settles[i] as SettleRow
      try {
        settle(committed, batch.places[i] as Float64Array)
      } catch (cause) {
        this.defect ??= { cause }
      }
    }
    this.isCommitting = false
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
      const waiting = this.batch.settles.length
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
  const watch = register.register("Journal", () => writer.batch.settles.length, rowsMax)

  const turn = Effect.gen(function* () {
    // First, so that a repair that died of a defect is taken up again.
    if (writer.failure !== undefined) yield* repair(writer, store, watch, () => store.probe())
    yield* writer.due
    yield* idle(store)
    writer.commit()
    writer.rethrow()
  })
  yield* Effect.forkScoped(supervised(watch, Effect.forever(turn)))
  // What is still waiting when the scope closes is committed, so that every offer is settled.
  yield* Effect.addFinalizer(() => Effect.sync(() => writer.commit()))

  return Journal.of({
    closed: () => writer.failure,
    room: () =>
      writer.failure === undefined && writer.batch.settles.length < rowsMax && writer.batch.used < arenaMax / 2,
    offerRow: (row, vector, size, settle) => writer.offerRow(row, vector, size, settle),
    offer: (write, settle) => {
      if (writer.failure !== undefined || writer.batch.settles.length >= rowsMax) return false
      writer.push(write, settle)
      return true
    },
    afterCommit: (settle) => {
      if (writer.batch.settles.length === 0) settle(true)
      else if (writer.batch.settles.length >= rowsMax) return false
      else writer.push(undefined, settle)
      return true
    },
    flushed: Effect.async<void>((resume) => {
      if (writer.batch.settles.length === 0) resume(Effect.void)
      else writer.push(undefined, () => resume(Effect.void))
    }),
    figures: writer.figures,
    lastSeq: () => writer.seq
  })
})

export const layer = Layer.scoped(Journal, make)
