// How long one turn of the event loop may go on taking reports: what is left over is taken in the turns after it.

/** After this long, some fifty reports, timers and other requests have their turn before the next report is read. */
const shareMs = 5
/** Reports put off, and their characters; past either bound they are taken at once, as they come. */
const waitingMax = 16_384
const charactersMax = 33_554_432

/** What the machine gives: a monotonic clock in milliseconds, and a call after the sockets had their turn. */
export interface Loop {
  readonly now: () => number
  readonly afterSockets: (run: () => void) => void
}

const real: Loop = { now: () => performance.now(), afterSockets: (run) => void setImmediate(run) }

/**
 * Without it a loop that was held up for 50 ms would be held up again by the hundreds of reports that came meanwhile,
 * all of which are read in one turn. They stay in the order in which they came.
 */
export class TurnShare {
  private readonly loop: Loop
  /** When the first report of this turn was taken; undefined before it. */
  private startedAt: number | undefined
  private waiting: Array<{ readonly size: number; readonly take: () => void }> = []
  /** Of those in `waiting`, the first that is not taken yet. */
  private next = 0
  private characters = 0

  constructor(loop: Loop = real) {
    this.loop = loop
  }

  /** How many are put off. */
  get depth(): number {
    return this.waiting.length - this.next
  }

  /** Whether a report of this size must be put off by `putOff`, instead of being taken at once. */
  isSpent(size: number): boolean {
    if (this.startedAt === undefined) {
      this.startedAt = this.loop.now()
      this.loop.afterSockets(this.turn)
      return false
    }
    if (this.depth >= waitingMax || this.characters + size > charactersMax) return false
    return this.depth > 0 || this.loop.now() - this.startedAt >= shareMs
  }

  putOff(size: number, take: () => void): void {
    this.characters += size
    this.waiting.push({ size, take })
  }

  private readonly turn = (): void => {
    if (this.depth === 0) {
      this.startedAt = undefined
      return
    }
    this.startedAt = this.loop.now()
    // First, so that a defect in one of them does not strand the others.
    this.loop.afterSockets(this.turn)
    do {
      const { size, take } = this.waiting[this.next++] as (typeof this.waiting)[number]
      this.characters -= size
      if (this.depth === 0) this.forget()
      take()
    } while (this.depth > 0 && this.loop.now() - this.startedAt < shareMs)
  }

  private forget(): void {
    this.waiting = []
    this.next = 0
  }
}
