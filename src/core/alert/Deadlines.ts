// A timer wheel over ids: who is due, told to the second, at a cost per tick that does not grow with the number of ids.

const slotMs = 1000
/** Offline thresholds are seconds to minutes, so that nearly all entries come due in their first turn of 17 minutes. */
const slots = 1024

/**
 * Deadlines by id, one each. Lazy by design: a deadline that moved into the future need not be armed again, its owner
 * is asked when the old one comes due and arms the new one then, so that a report costs nothing.
 *
 * The clock may be any that counts milliseconds. Set forward, all deadlines it passed are due at once; set back, they
 * wait for their time, at the latest until they are armed anew.
 */
export class Deadlines {
  private readonly times = new Map<number, number>()
  private readonly wheel: ReadonlyArray<Set<number>> = Array.from({ length: slots }, () => new Set<number>())
  /** Deadlines that had passed when they were armed. After the clock was set back they may lie ahead, so each is asked. */
  private readonly overdue = new Set<number>()
  /** Every second up to this one has been looked at. */
  private doneSec: number

  constructor(nowMs: number) {
    this.doneSec = Math.floor(nowMs / slotMs)
  }

  /** Ids with a deadline. */
  get size(): number {
    return this.times.size
  }

  /** Sets the id's deadline in place of the one it had; one that has passed is due with the next second. */
  arm(id: number, atMs: number): void {
    this.disarm(id)
    this.times.set(id, atMs)
    this.slotOf(atMs).add(id)
  }

  disarm(id: number): void {
    const atMs = this.times.get(id)
    if (atMs === undefined) return
    this.times.delete(id)
    // It lies where its time says, or where a deadline that had passed already was put.
    for (const slot of [this.slotAt(secOf(atMs)), this.overdue]) slot.delete(id)
  }

  /**
   * The ids whose deadline is at or before `nowMs`, each once: they are disarmed. An id comes due within a second after
   * its time and never before it, provided that this is called.
   */
  due(nowMs: number): ReadonlyArray<number> {
    const nowSec = Math.floor(nowMs / slotMs)
    const found: Array<number> = []
    this.collect(this.overdue, nowSec, found)
    // A jump past a whole turn looks at each slot once.
    for (let sec = Math.max(this.doneSec, nowSec - slots) + 1; sec <= nowSec; sec++) {
      this.collect(this.slotAt(sec), nowSec, found)
    }
    this.doneSec = nowSec
    return found
  }

  private slotAt(sec: number): Set<number> {
    return this.wheel[((sec % slots) + slots) % slots] as Set<number>
  }

  private slotOf(atMs: number): Set<number> {
    const sec = secOf(atMs)
    return sec <= this.doneSec ? this.overdue : this.slotAt(sec)
  }

  private collect(slot: Set<number>, nowSec: number, found: Array<number>): void {
    for (const id of slot) {
      // Entries of later turns lie in the same slot.
      if (secOf(this.times.get(id) as number) > nowSec) continue
      slot.delete(id)
      this.times.delete(id)
      found.push(id)
    }
  }
}

/** The first whole second at or after a time. */
const secOf = (atMs: number): number => Math.ceil(atMs / slotMs)
