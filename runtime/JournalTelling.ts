// Tells those who wait for the disk what became of what they wait for, a portion in each turn of the event loop.
import { portionMs } from "./LoopTurn.ts"

/** Called once, with true when what was committed before is on the disk, with false when nobody knows. */
export type OnDisk = (isOnDisk: boolean) => void

/** For so long a turn of the event loop answers, some 60 µs each; and at least, because answers come before new work. */
const tellMs = 6
const tellLeastMs = 3

/** Those who wait for the same sync, and how many of them were told already. */
interface Group {
  readonly waiting: Array<OnDisk>
  readonly isOnDisk: boolean
  told: number
}

const nothing = (): void => undefined

export class Telling {
  private readonly onDefect: () => void
  /** Oldest first. */
  private readonly groups: Array<Group> = []
  private isUnderWay = false
  private next: NodeJS.Immediate | undefined
  private defect: { readonly cause: unknown } | undefined
  /** How many are still to be told. */
  count = 0

  /** `onDefect` is called when somebody who was told threw. */
  constructor(onDefect: () => void) {
    this.onDefect = onDefect
  }

  get isDefective(): boolean {
    return this.defect !== undefined
  }

  /** Takes note of what somebody who was told threw; the first one counts. */
  blame(cause: unknown): void {
    this.defect ??= { cause }
    this.onDefect()
  }

  /** Throws it, once. */
  rethrow(): void {
    const { defect } = this
    this.defect = undefined
    if (defect !== undefined) throw defect.cause
  }

  /** Behind everybody who is still to be told; at once where nobody is. The list is the teller's from now on. */
  add(waiting: Array<OnDisk>, isOnDisk: boolean): void {
    this.groups.push({ waiting, isOnDisk, told: 0 })
    this.count += waiting.length
    if (!this.isUnderWay && this.next === undefined) this.some()
  }

  /** As many as there is time for, in order; the others when the turn's sockets are done, and in the turns after it. */
  private readonly some = (): void => {
    this.next = undefined
    this.until(performance.now() + portionMs(tellMs, tellLeastMs))
    if (this.groups.length > 0) this.next = setImmediate(this.some)
  }

  /** Everybody, now. */
  all(): void {
    this.until(Number.POSITIVE_INFINITY)
    clearImmediate(this.next)
    this.next = undefined
  }

  private until(endMs: number): void {
    this.isUnderWay = true
    for (let first = this.groups[0]; first !== undefined; first = this.groups[0]) {
      const isInTime = this.tell(first, endMs)
      if (first.told === first.waiting.length) this.groups.shift()
      if (!isInTime) break
    }
    this.isUnderWay = false
  }

  /** Everybody in the group, whatever one of them throws; false when the time is over, be it with the last of them. */
  private tell(group: Group, endMs: number): boolean {
    const { isOnDisk, waiting } = group
    while (group.told < waiting.length) {
      const i = group.told++
      const tell = waiting[i] as OnDisk
      // Who was answered shall not grow old with those who wait.
      waiting[i] = nothing
      this.count--
      try {
        tell(isOnDisk)
      } catch (cause) {
        this.blame(cause)
      }
      if (performance.now() >= endMs) return false
    }
    return true
  }
}
