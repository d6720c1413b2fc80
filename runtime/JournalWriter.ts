// Everything the journal owns: batches that are filled, written, synced beside the event loop, and told to who offered.
import { type Context, Effect } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { ClosedFact } from "../src/core/Ledger.ts"
import type { AlertStep } from "../src/store/alert/AlertWrites.ts"
import type { JournalStore, Write } from "../src/store/Journal.ts"
import { Batch, type Settle, type SettleRow } from "./JournalBatch.ts"
import { codeOf } from "./JournalRepair.ts"
import { Telling } from "./JournalTelling.ts"

/** Rows waiting to be told: more than a second of a fleet of 10,000. Past it the disk is not keeping up. */
export const rowsMax = 4096
/** Their vectors, in doubles: 32 MB. */
const arenaMax = 4_194_304
/** Rows of a batch. With this many waiting there is nothing to gain by waiting longer: 3.3 µs per row, 3.2 with 1024. */
const rowsEager = 128
/** The same for facts, of which a report has hundreds after a silence of a day: some 10 ms. */
const factsEager = 2048
/** Rows of one transaction, some 2 ms: what gathered in several batches while another was synced. */
const rowsAtOnce = 512
/** Batches that are kept to be filled again: one is filled while one is synced and one is told, and a hold makes more. */
const sparesMax = 6
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

/** Only the journal's fiber and offers commit, one transaction at a time: the next is written when the last is synced. */
export class Writer {
  /** What is offered goes here. */
  private filling = new Batch()
  /** Full ones that are to be written, oldest first. */
  private readonly full: Array<Batch> = []
  /** Written, but not on the disk for sure. */
  private syncing: ReadonlyArray<Batch> | undefined
  private readonly telling: Telling
  /** Told ones: an offer made by a settle must not overwrite what others still read. */
  private readonly spares: Array<Batch> = []
  /** Offers that are not told yet, those of them that are not written either, and the doubles of all their vectors. */
  waiting = 0
  private unwritten = 0
  private held = 0
  /** Of the last row offered, and of the last one on disk. */
  seq: number
  committedSeq: number
  /** Why writes are refused, or undefined when they are taken. */
  failure: string | undefined
  /** SQLite's or the system's error code of the failure. */
  failureCode = ""
  /** A sync failed: what it was for stands in the database, and nobody knows whether it is on the disk. */
  isLost = false
  /** On the monotonic clock: setting the machine's clock back must not hold up a commit. */
  private committedAt = 0
  private wake: (() => void) | undefined
  readonly figures: JournalFigures = { rows: 0, commits: 0, failures: 0, commitMsLast: 0, commitMsMax: 0 }
  private readonly store: Context.Tag.Service<typeof JournalStore>

  constructor(store: Context.Tag.Service<typeof JournalStore>) {
    this.store = store
    this.committedSeq = this.seq = store.lastSeq()
    this.telling = new Telling({
      told: () => {
        this.waiting--
      },
      done: (batch) => this.release(batch),
      defective: () => this.wake?.()
    })
  }

  private get isEnough(): boolean {
    return this.filling.settles.length >= rowsEager || this.filling.facts >= factsEager
  }

  /** Whether whoever waits must be refused before the journal is repaired. */
  get isRefusing(): boolean {
    return this.failure !== undefined && (this.full.length > 0 || !this.telling.isDone)
  }

  /** Whether another row would be taken, even one whose vector is wide. */
  room(): boolean {
    return this.failure === undefined && this.waiting < rowsMax && this.held < arenaMax / 2
  }

  offerRow(row: RowOffer, vector: Float64Array, size: number, settle: SettleRow): number {
    // Enough for one commit: begun here, so that it is synced while the rest of this turn's reports are read.
    if (this.isEnough && this.full.length === 0 && !this.telling.isUnderWay && !this.store.busy()) this.commit()
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
    this.unwritten++
    if (this.unwritten === 1 || this.unwritten === rowsEager) this.wake?.()
  }

  /** What comes now goes to another batch. */
  private close(): void {
    this.full.push(this.filling)
    this.filling = this.spares.pop() ?? new Batch()
  }

  /** The oldest batches, as many as fit into one transaction. */
  private taken(): ReadonlyArray<Batch> {
    if (this.full.length === 0) this.close()
    const batches: Array<Batch> = []
    let [offers, facts] = [0, 0]
    for (const batch of this.full) {
      offers += batch.settles.length
      facts += batch.facts
      if (batches.length > 0 && (offers > rowsAtOnce || facts > factsEager)) break
      batches.push(batch)
      this.unwritten -= batch.settles.length
    }
    this.full.splice(0, batches.length)
    return batches
  }

  /**
   * Writes what waits longest; everybody is told once it is on the disk, and nothing is done before that. A failure
   * closes the journal until it is repaired; what waited behind it is refused first.
   */
  commit(): void {
    if (this.syncing !== undefined || this.unwritten === 0) return
    const batches = this.taken()
    if (this.failure !== undefined) return this.telling.add(batches, false)
    const startedAt = performance.now()
    const writes = batches.length === 1 ? (batches[0] as Batch).writes : batches.flatMap(({ writes }) => writes)
    // Who only waits for others waits for what is synced by now.
    if (writes.length === 0) return this.telling.add(batches, true)
    try {
      this.store.write(writes)
    } catch (cause) {
      this.fail(cause)
      return this.telling.add(batches, false)
    }
    this.syncing = batches
    this.store.sync((cause) => {
      // The journal's end told them meanwhile.
      if (this.syncing !== batches) return
      this.synced(batches, startedAt, cause)
      this.wake?.()
    })
  }

  private synced(batches: ReadonlyArray<Batch>, startedAt: number, cause: unknown): void {
    this.syncing = undefined
    this.committedAt = performance.now()
    if (cause !== undefined) {
      this.isLost = true
      this.fail(cause)
      return this.telling.add(batches, false)
    }
    const { figures } = this
    for (const { lastSeq, writes } of batches) {
      this.committedSeq = Math.max(this.committedSeq, lastSeq)
      figures.rows += writes.length
    }
    figures.commits++
    figures.commitMsLast = this.committedAt - startedAt
    figures.commitMsMax = Math.max(figures.commitMsMax, figures.commitMsLast)
    this.telling.add(batches, true)
  }

  private fail(cause: unknown): void {
    this.figures.failures++
    this.failure = cause instanceof Error ? cause.message : String(cause)
    this.failureCode = codeOf(cause)
    // Reports in it stand on others that are not on disk.
    if (this.filling.settles.length > 0) this.close()
  }

  private release(batch: Batch): void {
    this.held -= batch.used
    batch.clear()
    if (this.spares.length < sparesMax) this.spares.push(batch)
  }

  /** Everything that waits now, at once: for the end, when nobody else needs the event loop. */
  commitAll(): void {
    const startedAt = performance.now()
    for (let left = 2 * this.full.length + 3; left > 0; left--) {
      const { syncing } = this
      if (syncing === undefined) this.commit()
      else this.synced(syncing, startedAt, this.syncedNow())
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

  /** Throws what a settle threw, once: a defect of the journal's fiber, whoever's offer made the commit. */
  rethrow(): void {
    this.telling.rethrow()
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
      if (!isAsked && (this.unwritten === 0 || this.syncing !== undefined)) return
      clearTimeout(timer)
      const rest = lingerMs - (performance.now() - this.committedAt)
      // After the poll phase: all requests that were ready at once share the commit.
      if (isAsked || this.unwritten >= rowsEager || rest <= 0) immediate ??= setImmediate(fire)
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
