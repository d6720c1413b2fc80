// Five-minute facts as tests make them, and the ledger written past the actors as a commit of theirs would.
import { Effect } from "effect"
import { FactSink } from "../../runtime/FactSink.ts"
import { NodeId } from "../../schema/Ids.ts"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import { Database } from "../../src/store/Sql.ts"
import { trafficWriter } from "../../src/store/Traffic.ts"

/** A whole bucket of these bytes, a sample; its best pair was twice as fast as the rest. */
export const fact = (start: number, inBytes: number, outBytes: number, change: Partial<Fact> = {}): Fact => ({
  start,
  inBytes,
  outBytes,
  coveredMs: bucketMs,
  validMs: bucketMs,
  validIn: inBytes,
  validOut: outBytes,
  gaps: 0,
  resets: 0,
  quarantined: 0,
  flags: 0,
  bestIn: inBytes / 150,
  bestOut: outBytes / 150,
  bestBoth: (inBytes + outBytes) / 150,
  ...change
})

/** A bucket for each index from `fromMs` on. */
export const facts = (fromMs: number, count: number, of: (i: number) => readonly [number, number]): Array<Fact> =>
  Array.from({ length: count }, (_, i) => fact(fromMs + i * bucketMs, ...of(i)))

/** Bytes of a bucket for average rates in bytes per second. */
export const bytesAt = (inRate: number, outRate: number): readonly [number, number] => [inRate * 300, outRate * 300]

/** Puts facts into the ledger without telling anybody. */
export const store = (nodeId: number, iface: string, list: ReadonlyArray<Fact>, firstSeenAt = list[0]?.start ?? 0) =>
  Effect.map(Database, (database) => {
    const db = database.handle()
    const closed = list.map((one) => ({ iface, firstSeenAt, fact: one }))
    db.transaction(() => trafficWriter().facts(db, NodeId.make(nodeId), closed))()
    return closed
  })

/** The same as a commit does it: whoever listens hears of it. */
export const commit = (nodeId: number, iface: string, list: ReadonlyArray<Fact>, firstSeenAt?: number) =>
  Effect.gen(function* () {
    const closed = yield* store(nodeId, iface, list, firstSeenAt)
    const { take } = yield* FactSink
    take(NodeId.make(nodeId), closed)
  })
