// Rows that wait to be sealed, read again and again: never twice from the disk, and never more than there are.
import { describe, expect, it } from "vitest"
import { TailRows } from "../../runtime/TailRows.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { TailRow } from "../../src/store/JournalStatements.ts"

const one = NodeId.make(1)

/** Rows of a journal that has every seq below 1000; what was read of it is written down. */
const journal = () => {
  const reads: Array<ReadonlyArray<number>> = []
  const rows = (seqs: ReadonlyArray<number>): ReadonlyArray<TailRow> => {
    reads.push(seqs)
    const there = seqs.filter((seq) => seq < 1000)
    return there.map((seq) => ({ seq, nodeId: one, receivedAt: seq, vector: Buffer.alloc(1), details: null }))
  }
  return { tails: new TailRows(rows), reads }
}

const seqsOf = (rows: Iterable<TailRow>) => [...rows].map(({ seq }) => seq)

describe("rows that wait to be sealed", () => {
  it("are read once, the new ones when they have come, in order", () => {
    const { reads, tails } = journal()
    expect(seqsOf(tails.of(one, [3, 5]))).toEqual([3, 5])
    expect(seqsOf(tails.of(one, [3, 5, 9]))).toEqual([3, 5, 9])
    expect(seqsOf(tails.of(one, [3, 5, 9]))).toEqual([3, 5, 9])
    expect(reads).toEqual([[3, 5], [9]])
  })

  it("are forgotten once they are sealed", () => {
    const { reads, tails } = journal()
    tails.of(one, [3, 5])
    expect(seqsOf(tails.of(one, [9]))).toEqual([9])
    expect(seqsOf(tails.of(one, [5, 9]))).toEqual([5, 9])
    expect(reads).toEqual([[3, 5], [9], [5]])
  })

  it("that are not on disk are left out, and looked for again", () => {
    const { reads, tails } = journal()
    expect(seqsOf(tails.of(one, [3, 2000]))).toEqual([3])
    tails.of(one, [3, 2000])
    expect(reads).toEqual([[3, 2000], [2000]])
  })

  it("are kept of eight nodes, those that were asked for last", () => {
    const { reads, tails } = journal()
    for (let id = 1; id <= 8; id++) tails.of(NodeId.make(id), [id])
    tails.of(one, [1])
    tails.of(NodeId.make(9), [9])
    reads.length = 0
    tails.of(one, [1])
    tails.of(NodeId.make(2), [2])
    expect(reads).toEqual([[2]])
  })
})
