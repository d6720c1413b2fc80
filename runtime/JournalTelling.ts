// Tells whoever offered something to the journal what became of it, a portion in each turn of the event loop.
import type { Batch, SettleRow } from "./JournalBatch.ts"
import { portionMs } from "./LoopTurn.ts"

/** For so long a turn of the event loop answers, some 60 µs each; and at least, because answers come before new work. */
const tellMs = 6
const tellLeastMs = 3

/** A batch whose fate is known, and how many of its offers were told already. */
interface Known {
  readonly batch: Batch
  readonly committed: boolean
  told: number
}

const nothing = (): void => undefined

/** What is called behind each offer that was told, and behind each batch. */
export interface Listener {
  readonly told: () => void
  readonly done: (batch: Batch) => void
  /** Something that was told threw: `rethrow` has it. */
  readonly defective: () => void
}

export class Telling {
  private readonly listener: Listener
  /** Oldest first. */
  private readonly known: Array<Known> = []
  private next: NodeJS.Immediate | undefined
  private defect: { readonly cause: unknown } | undefined
  /** Whether somebody is being told right now. */
  isUnderWay = false

  constructor(listener: Listener) {
    this.listener = listener
  }

  get isDone(): boolean {
    return this.known.length === 0
  }
  get isDefective(): boolean {
    return this.defect !== undefined
  }

  /** Throws what somebody who was told threw, once. */
  rethrow(): void {
    const { defect } = this
    this.defect = undefined
    if (defect !== undefined) throw defect.cause
  }

  /** Behind everybody who is still to be told; at once where nobody is. */
  add(batches: ReadonlyArray<Batch>, committed: boolean): void {
    for (const batch of batches) this.known.push({ batch, committed, told: 0 })
    if (!this.isUnderWay && this.next === undefined) this.some()
  }

  /** As many as a turn has time for, in order; the others in the next ones. */
  private readonly some = (): void => {
    this.next = undefined
    this.until(performance.now() + portionMs(tellMs, tellLeastMs))
    if (this.known.length > 0) this.next = setImmediate(this.some)
    if (this.defect !== undefined) this.listener.defective()
  }

  /** Everybody, now. */
  all(): void {
    this.until(Number.POSITIVE_INFINITY)
    clearImmediate(this.next)
    this.next = undefined
  }

  private until(endMs: number): void {
    this.isUnderWay = true
    for (let first = this.known[0]; first !== undefined; first = this.known[0]) {
      if (!this.tell(first, endMs)) break
      this.known.shift()
      this.listener.done(first.batch)
    }
    this.isUnderWay = false
  }

  /** Every settle, whatever one of them throws; false when the time was over before the last. */
  private tell(one: Known, endMs: number): boolean {
    const { places, settles } = one.batch
    while (one.told < settles.length) {
      const i = one.told++
      const settle = settles[i] as SettleRow
      // Who was answered shall not grow old with those who wait.
      settles[i] = nothing
      this.listener.told()
      try {
        settle(one.committed, places[i] as Float64Array)
      } catch (cause) {
        this.defect ??= { cause }
      }
      if (performance.now() >= endMs) return one.told === settles.length
    }
    return true
  }
}
