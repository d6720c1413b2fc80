// How long one turn of the event loop may go on taking reports: what is left over is taken in the turns after it.
import { leastMs, loopTurn, type LoopTurn } from "../LoopTurn.ts"

/** A turn that has worked so long, some hundred reports, takes no more of them: timers and other requests come first. */
const shareMs = 6
/** Reports put off, and their characters; past either bound they are taken at once, as they come. */
const waitingMax = 16_384
const charactersMax = 33_554_432

/** What the machine gives: how long the turn works already, and a call after the sockets had their turn. */
export interface Loop extends LoopTurn {
  readonly afterSockets: (run: () => void) => void
}

const real: Loop = { ...loopTurn, afterSockets: (run) => void setImmediate(run) }

interface Report {
  readonly size: number
  readonly take: () => void
}

/**
 * Without it a loop that was held up for 50 ms would be held up again by the hundreds of reports that came meanwhile,
 * all of which are read in one turn. They stay in the order in which they came.
 */
export class TurnShare {
  private readonly loop: Loop
  private isArmed = false
  /** Those whose turn it is, first of them at `next`, and those that came after them. */
  private due: Array<Report | undefined> = []
  private next = 0
  private later: Array<Report> = []
  private characters = 0

  constructor(loop: Loop = real) {
    this.loop = loop
  }

  /** How many are put off. */
  get depth(): number {
    return this.due.length - this.next + this.later.length
  }

  /** Whether a report of this size must be put off by `putOff`, instead of being taken at once. */
  isSpent(size: number): boolean {
    const { depth } = this
    if (depth >= waitingMax || this.characters + size > charactersMax) return false
    return depth > 0 || this.loop.spentMs() >= shareMs
  }

  putOff(size: number, take: () => void): void {
    this.characters += size
    this.later.push({ size, take })
    this.arm()
  }

  private arm(): void {
    if (this.isArmed) return
    this.isArmed = true
    this.loop.afterSockets(this.turn)
  }

  private readonly turn = (): void => {
    this.isArmed = false
    // What is put off is taken in order here and nowhere else, so a turn that is long already takes a little of it, too.
    const untilMs = Math.max(shareMs, this.loop.spentMs() + leastMs)
    try {
      do this.shift()
      while (this.depth > 0 && this.loop.spentMs() < untilMs)
    } finally {
      // A defect in one of them does not strand the others.
      if (this.depth > 0) this.arm()
    }
  }

  private shift(): void {
    if (this.next === this.due.length) {
      this.due = this.later
      this.later = []
      this.next = 0
    }
    const { size, take } = this.due[this.next] as Report
    // Whoever is answered must not be kept until the last of them is: the collector would move them all to old age.
    this.due[this.next++] = undefined
    this.characters -= size
    take()
  }
}
