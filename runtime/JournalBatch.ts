// What one commit of the journal writes and settles, and the memory in which its vectors wait for it.
import { encode, encodedBytesMax } from "../src/core/VectorCode.ts"
import type { Write } from "../src/store/Journal.ts"

/** Called once per offer, after the commit that holds it (true) or that failed (false). */
export type Settle = (committed: boolean) => void
/** The same for a row, with its vector: valid only during the call. */
export type SettleRow = (committed: boolean, vector: Float64Array) => void

/** Doubles, and bytes, to begin with: enough for a batch of ordinary nodes, encoded in half of it. */
const arenaFirst = 32_768
const bytesFirst = 131_072
const noPlace = new Float64Array(0)

export class Batch {
  writes: Array<Write> = []
  settles: Array<SettleRow> = []
  /** Vector of each settle's row; the settles of other writes look at none. */
  places: Array<Float64Array> = []
  facts = 0
  /** Of the last row in it, 0 without one. */
  lastSeq = 0
  /** Doubles and encoded bytes taken of the two memories. */
  used = 0
  private bytesUsed = 0
  private arena = new Float64Array(arenaFirst)
  private bytes = new DataView(new ArrayBuffer(bytesFirst))

  /** Empty again, with the memory it has: nothing may look at its vectors any more. */
  clear(): void {
    this.writes = []
    this.settles = []
    this.places = []
    this.facts = 0
    this.lastSeq = 0
    this.used = 0
    this.bytesUsed = 0
  }

  push(write: Write | undefined, settle: SettleRow, place: Float64Array = noPlace): void {
    if (write !== undefined) this.writes.push(write)
    this.settles.push(settle)
    this.places.push(place)
  }

  /** A copy of the first `size` values that stays as it is until the batch is settled. */
  keep(vector: Float64Array, size: number): Float64Array {
    const { used } = this
    if (used + size > this.arena.length) {
      // Rows already offered keep views of the old memory, which stays alive and unchanged until they are settled.
      this.arena = new Float64Array(Math.max(this.arena.length * 2, used + size))
    }
    const place = this.arena.subarray(used, used + size)
    place.set(size === vector.length ? vector : vector.subarray(0, size))
    this.used = used + size
    return place
  }

  /** The encoded form of a vector, in memory that stays as it is until the batch is written. */
  encode(vector: Float64Array, size: number): Buffer {
    const most = encodedBytesMax(size)
    if (this.bytesUsed + most > this.bytes.byteLength) {
      // As above.
      this.bytes = new DataView(new ArrayBuffer(Math.max(this.bytes.byteLength * 2, most)))
      this.bytesUsed = 0
    }
    const from = this.bytesUsed
    this.bytesUsed = encode(vector, size, this.bytes, from)
    return Buffer.from(this.bytes.buffer, from, this.bytesUsed - from)
  }
}
