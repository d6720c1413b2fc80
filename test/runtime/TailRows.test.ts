// Rows that wait to be sealed, read again and again: never twice from the disk, and never more than there are.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TailRows } from "../../runtime/TailRows.ts"
import { NodeId } from "../../schema/Ids.ts"
import { JournalStore, type TailRow } from "../../src/store/Journal.ts"
import { makeDisk, storeOf } from "../support/Disk.ts"

const one = NodeId.make(1)

/** Reads of a store that has every seq below 1000, written down. */
const reading = <A>(body: (tails: TailRows, reads: Array<ReadonlyArray<number>>) => A) =>
  Effect.map(JournalStore, (store) => {
    const reads: Array<ReadonlyArray<number>> = []
    const rows = (seqs: ReadonlyArray<number>): ReadonlyArray<TailRow> => {
      reads.push(seqs)
      const there = seqs.filter((seq) => seq < 1000)
      return there.map((seq) => ({ seq, nodeId: one, receivedAt: seq, vector: Buffer.alloc(1), details: null }))
    }
    return body(new TailRows({ ...store, rows }), reads)
  }).pipe(Effect.provide(storeOf(makeDisk())))

const seqsOf = (rows: Iterable<TailRow>) => [...rows].map(({ seq }) => seq)

describe("rows that wait to be sealed", () => {
  it.effect("are read once, the new ones when they have come, in order", () =>
    reading((tails, reads) => {
      expect(seqsOf(tails.of(one, [3, 5]))).toEqual([3, 5])
      expect(seqsOf(tails.of(one, [3, 5, 9]))).toEqual([3, 5, 9])
      expect(seqsOf(tails.of(one, [3, 5, 9]))).toEqual([3, 5, 9])
      expect(reads).toEqual([[3, 5], [9]])
    })
  )

  it.effect("are forgotten once they are sealed", () =>
    reading((tails, reads) => {
      tails.of(one, [3, 5])
      expect(seqsOf(tails.of(one, [9]))).toEqual([9])
      expect(seqsOf(tails.of(one, [5, 9]))).toEqual([5, 9])
      expect(reads).toEqual([[3, 5], [9], [5]])
    })
  )

  it.effect("that are not on disk are left out, and looked for again", () =>
    reading((tails, reads) => {
      expect(seqsOf(tails.of(one, [3, 2000]))).toEqual([3])
      tails.of(one, [3, 2000])
      expect(reads).toEqual([[3, 2000], [2000]])
    })
  )

  it.effect("are kept of eight nodes, those that were asked for last", () =>
    reading((tails, reads) => {
      for (let id = 1; id <= 8; id++) tails.of(NodeId.make(id), [id])
      tails.of(one, [1])
      tails.of(NodeId.make(9), [9])
      reads.length = 0
      tails.of(one, [1])
      tails.of(NodeId.make(2), [2])
      expect(reads).toEqual([[2]])
    })
  )
})
