// Everything the journal owns: batches that are filled, committed and settled, and who waits for the sync behind that.
import { type Context, Effect } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"
import type { AlertStep } from "../src/store/alert/AlertWrites.ts"
import type { JournalStore, Write } from "../src/store/Journal.ts"
import { Batch, type Settle, type SettleRow } from "./JournalBatch.ts"
import { codeOf } from "./JournalRepair.ts"
import { type OnDisk, Telling } from "./JournalTelling.ts"

/** Rows waiting to be committed, or for the disk: more than a second of a fleet of 10,000. Past it the disk is too slow. */
export const rowsMax = 4096
/** Their vectors, in doubles: 32 MB. */
const arenaMax = 4_194_304
/** Rows of a batch. With this many waiting there is nothing to gain by waiting longer: 3.3 µs per row, 3.2 with 1024. */
const rowsEager = 128
/** The same for facts, of which a report has hundreds after a silence of a day: some 10 ms. */
const factsEager = 2048
/** Rows of one transaction, some 2 ms: what gathered in several batches during a sync. */
const rowsAtOnce = 512
/** Batches that are kept to be filled again: one is filled while one is settled, and a hold makes more. */
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
  /** From the beginning of a transaction until it is on the disk. */
  commitMsLast: number
  commitMsMax: number
}

/**
 * Only the journal's fiber and offers commit, one transaction at a time: the next is written when the last is synced.
 * A settle is called with the commit, so that what the service knows and what its reads find in the database never
 * differ; whoever promises something to the outside also waits for the disk.
 */
export class Writer {
  /** What is offered goes here. */
  private filling = new Batch()
  /** Full ones that are to be written, oldest first. */
  private readonly full: Array<Batch> = []
  private isSettling = false
  /** Settled ones: an offer made by a settle must not overwrite what others still read. */
  private readonly spares: Array<Batch> = []
  /** Who waits for the sync that is under way. */
  private syncing: Array<OnDisk> | undefined
  readonly telling = new Telling(() => this.wake?.())
  /** Offers that are not committed yet, and the doubles of their vectors. */
  waiting = 0
  private held = 0
  /** Of the last row offered, and of the last one committed. */
  seq: number
  committedSeq: number
  /** Why writes are refused, or undefined when they are taken. */
  failure: string | undefined
  /** SQLite's or the system's error code of the failure. */
  failureCode = ""
  /** A sync failed: what was committed stands in the database, and nobody knows whether it is on the disk. */
  isLost = false
  /** On the monotonic clock: setting the machine's clock back must not hold up a commit. */
  private committedAt = 0
  private wake: (() => void) | undefined
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

  /** Offers that are not committed, and everybody who waits for the disk. */
  get depth(): number {
    return this.waiting + this.telling.count + (this.syncing?.length ?? 0)
  }

  /** Whether something else than a row would be taken. */
  get isOpen(): boolean {
    return this.failure === undefined && this.depth < rowsMax
  }

  /** Whether another row would be taken, even one whose vector is wide. */
  room(): boolean {
    return this.isOpen && this.held < arenaMax / 2
  }

  offerRow(row: RowOffer, vector: Float64Array, size: number, settle: SettleRow): number {
    // Enough for one commit: begun here, so that it is synced while the rest of this turn's reports are read.
    if (this.isEnough && this.full.length === 0 && !this.isSettling && !this.store.busy()) this.commit()
    if (!this.isOpen || this.held + size > arenaMax) return 0
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
    if (this.waiting === 1 || this.waiting === rowsEager) this.wake?.()
  }

  /** What comes now goes to another batch. */
  private close(): void {
    this.full.push(this.filling)
    this.filling = this.spares.pop() ?? new Batch()
  }

  /** The oldest batches: one, and more as long as they have no more than so many rows together. */
  private taken(rows: number): ReadonlyArray<Batch> {
    if (this.full.length === 0) this.close()
    const batches: Array<Batch> = []
    let [offers, facts] = [0, 0]
    for (const batch of this.full) {
      offers += batch.settles.length
      facts += batch.facts
      if (batches.length > 0 && (offers > rows || facts > factsEager)) break
      batches.push(batch)
      this.waiting -= batch.settles.length
      this.held -= batch.used
    }
    this.full.splice(0, batches.length)
    return batches
  }

  /**
   * What waits longest: one transaction, whose sync begins, then every settle. A failure closes the journal until it is
   * repaired; what waited behind it is refused first. Not for use inside a settle.
   */
  commit(): void {
    if (this.syncing !== undefined || this.waiting === 0) return
    // What is refused is answered at once, some 60 µs each: one batch of it in a turn.
    const batches = this.taken(this.failure === undefined ? rowsAtOnce : 0)
    const isCommitted = this.failure === undefined && this.write(batches)
    this.isSettling = true
    for (const batch of batches) this.settle(batch, isCommitted)
    this.isSettling = false
  }

  private settle(batch: Batch, isCommitted: boolean): void {
    for (let i = 0; i < batch.settles.length; i++) {
      const settle = batch.settles[i] as SettleRow
      try {
        settle(isCommitted, batch.places[i] as Float64Array)
      } catch (cause) {
        this.telling.blame(cause)
      }
    }
    batch.clear()
    if (this.spares.length < sparesMax) this.spares.push(batch)
  }

  /** Whether it is committed. */
  private write(batches: ReadonlyArray<Batch>): boolean {
    const startedAt = performance.now()
    const writes = batches.length === 1 ? (batches[0] as Batch).writes : batches.flatMap(({ writes }) => writes)
    // Who only waits for others waits for what is synced by now.
    if (writes.length === 0) return true
    try {
      this.store.write(writes)
    } catch (cause) {
      this.fail(cause)
      return false
    }
    for (const { lastSeq } of batches) this.committedSeq = Math.max(this.committedSeq, lastSeq)
    this.figures.commits++
    this.figures.rows += writes.length
    this.sync(startedAt)
    return true
  }

  private sync(startedAt: number): void {
    const waiting: Array<OnDisk> = []
    this.syncing = waiting
    this.store.sync((cause) => {
      // The journal's end told them meanwhile.
      if (this.syncing === waiting) this.synced(startedAt, cause)
    })
  }

  private synced(startedAt: number, cause: unknown): void {
    const waiting = this.syncing ?? []
    const { figures } = this
    this.syncing = undefined
    this.committedAt = performance.now()
    figures.commitMsLast = this.committedAt - startedAt
    figures.commitMsMax = Math.max(figures.commitMsMax, figures.commitMsLast)
    if (cause !== undefined) {
      this.isLost = true
      this.fail(cause)
    }
    this.telling.add(waiting, cause === undefined)
    this.wake?.()
  }

  /** Calls back once everything committed so far is on the disk, behind whoever asked before. */
  onDisk(done: OnDisk): void {
    if (this.syncing !== undefined) this.syncing.push(done)
    else if (this.telling.count > 0) this.telling.add([done], !this.isLost)
    else done(!this.isLost)
  }

  private fail(cause: unknown): void {
    this.figures.failures++
    this.failure = cause instanceof Error ? cause.message : String(cause)
    this.failureCode = codeOf(cause)
    // Reports in it stand on others that are not committed.
    if (this.filling.settles.length > 0) this.close()
  }

  /** Everything that waits now, at once: for the end, when nobody else needs the event loop. */
  commitAll(): void {
    const startedAt = performance.now()
    for (let left = 2 * this.full.length + 3; left > 0; left--) {
      const { syncing } = this
      if (syncing === undefined) this.commit()
      else this.synced(startedAt, this.syncedNow())
    }
    this.telling.all()
  }

  private syncedNow(): unknown {
    try {
      this.store.syncNow()
      return undefined
    } catch (cause) {
      return cause
    }
  }

  /** Suspends until there is something to do: a failure, a defect, or a commit because enough waits, or long enough. */
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
      const isAsked = this.failure !== undefined || this.telling.isDefective
      if (!isAsked && (this.waiting === 0 || this.syncing !== undefined)) return
      clearTimeout(timer)
      const rest = lingerMs - (performance.now() - this.committedAt)
      // After the poll phase: all requests that were ready at once share the commit.
      if (isAsked || this.waiting >= rowsEager || rest <= 0) immediate ??= setImmediate(fire)
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
