// Recently read chunks: a page's charts read the same ones, each for a series of its own.
import { type Tier, tierNames } from "../core/Tier.ts"

/** A page of a node over a month takes 0.7 MB; this is for a dozen of administrators. */
const bytesMax = 8_388_608
/** Chunks remembered without their bytes: those of the same dozen pages, some 60 each, and as many again. */
const seenMax = 1536

interface Kept {
  readonly checksum: number
  readonly bytes: Uint8Array | undefined
}

/**
 * Forgets what was not asked for the longest. A chunk that others were joined to keeps its id, but not its checksum.
 * Kept is what is read for the second time: what is read once would outlive the young objects, and be left to full
 * collections.
 */
export class ChunkCache<Row extends Kept> {
  private readonly rows = new Map<number, Row>()
  private size = 0
  /** Checksums of what was read once, oldest first. */
  private readonly seen = new Map<number, number>()

  private keyOf(tier: Tier, id: number): number {
    return id * tierNames.length + tierNames.indexOf(tier)
  }

  /** The chunk, when it is here as it is now. */
  get(tier: Tier, id: number, checksum: number): Row | undefined {
    const key = this.keyOf(tier, id)
    const row = this.rows.get(key)
    if (row === undefined) return undefined
    this.forget(key, row)
    if (row.checksum !== checksum) return undefined
    this.keep(key, row)
    return row
  }

  /** To be told of every chunk that `get` did not have. */
  put(tier: Tier, id: number, row: Row): void {
    const key = this.keyOf(tier, id)
    const before = this.rows.get(key)
    if (before !== undefined) this.forget(key, before)
    if (!this.isSecond(key, row.checksum)) return
    this.keep(key, row)
    for (const [oldest, other] of this.rows) {
      if (this.size <= bytesMax) return
      this.forget(oldest, other)
    }
  }

  private isSecond(key: number, checksum: number): boolean {
    const known = this.seen.get(key)
    this.seen.delete(key)
    if (known === checksum) return true
    if (this.seen.size >= seenMax) this.seen.delete(this.seen.keys().next().value as number)
    this.seen.set(key, checksum)
    return false
  }

  private keep(key: number, row: Row): void {
    this.rows.set(key, row)
    this.size += row.bytes?.length ?? 0
  }

  private forget(key: number, row: Row): void {
    this.rows.delete(key)
    this.size -= row.bytes?.length ?? 0
  }
}
