// The rows that wait to be sealed, for those who read them again and again: a page's charts, one after the other.
import type { NodeId } from "../schema/Ids.ts"
import type { Changes, Details } from "../src/core/Details.ts"
import type { Sealing } from "../src/core/Sealing.ts"
import { decode } from "../src/core/VectorCode.ts"
import type { TailRow } from "../src/store/JournalStatements.ts"

/** Nodes whose rows are kept, each at most as many as one chunk takes: some 4 MB with their values. */
const nodesMax = 8

/** Details as a node's mark has them, JSON; undefined before the first sealed row. */
export const detailsOf = (text: string | undefined): Details | undefined =>
  text === undefined ? undefined : ((JSON.parse(text) as Details | null) ?? undefined)

/** Adds a journal row; false when it cannot be read: it is lost to history, not to the node. */
export const addRow = (sealing: Sealing, row: TailRow, read: (vector: Buffer) => Float64Array = decode): boolean => {
  try {
    const changes = row.details === null ? undefined : (JSON.parse(row.details) as Changes)
    return sealing.add({ receivedAt: row.receivedAt, vector: read(row.vector), changes })
  } catch {
    return false
  }
}

/** Reads of the journal only what was not there the last time. Rows never change. */
export class TailRows {
  private readonly kept = new Map<NodeId, ReadonlyMap<number, TailRow>>()
  private readonly rows: (seqs: ReadonlyArray<number>) => ReadonlyArray<TailRow>
  /** Values of the vectors that are kept. */
  private readonly values = new WeakMap<Buffer, Float64Array>()

  /** `rows` reads them of the journal. */
  constructor(rows: (seqs: ReadonlyArray<number>) => ReadonlyArray<TailRow>) {
    this.rows = rows
  }

  /** What a row's vector says; not to be written to. Throws a RangeError for bytes that are no vector. */
  readonly valuesOf = (vector: Buffer): Float64Array => {
    const known = this.values.get(vector)
    if (known !== undefined) return known
    const values = decode(vector)
    this.values.set(vector, values)
    return values
  }

  /** The rows of a node with these seqs, ascending, as far as they are there. Throws what SQLite throws. */
  of(id: NodeId, seqs: ReadonlyArray<number>): Iterable<TailRow> {
    const before = this.kept.get(id)
    const unknown = before === undefined ? seqs : seqs.filter((seq) => !before.has(seq))
    const read = new Map(unknown.length === 0 ? [] : this.rows(unknown).map((row) => [row.seq, row]))
    const rows = new Map<number, TailRow>()
    for (const seq of seqs) {
      const row = before?.get(seq) ?? read.get(seq)
      if (row !== undefined) rows.set(seq, row)
    }
    this.kept.delete(id)
    this.kept.set(id, rows)
    const oldest = this.kept.keys().next()
    if (this.kept.size > nodesMax && oldest.done !== true) this.kept.delete(oldest.value)
    return rows.values()
  }
}
