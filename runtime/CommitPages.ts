// Keeps in memory what commits write over, so that none of them waits for the disk to read it first.
import { Clock, Effect, Layer, Schedule } from "effect"
import { bucketMs } from "../src/core/Bucket.ts"
import { commitAhead, factsEndAhead } from "../src/store/ReadAhead.ts"
import { logBytesKept } from "../src/store/Sql.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ReadAhead } from "./ReadAhead.ts"

/**
 * A backup pushes 100 MB a second through the system's cache, and some systems give away what nobody looked at for half a
 * minute. A look at the checkpoints and marks of 10,000 nodes and at the log takes the thread some 30 ms.
 */
const everyMs = 10_000
/**
 * The log's beginning goes round within seconds, and a commit that lands on a page which was given away waits for it. A look
 * takes the thread 4 ms where everything is in memory.
 */
const logEveryMs = 1000
/** More than the log of 10,000 nodes goes round in, unless a backup keeps it from beginning anew. */
const logBytesSoon = 33_554_432
/** Nodes looked at at once: others wait for the thread so long. */
const nodesAtOnce = 1000
/** Of the list of free pages: room for half a gigabyte, more than is written while a backup keeps the file as it is. */
const freePages = 128
/** Before a bucket of traffic ends: then every interface gets a fact within seconds, each on another page. */
const bucketEndMs = 2 * everyMs

const make = Effect.gen(function* () {
  const supervisor = yield* NodeSupervisor
  const ahead = yield* ReadAhead
  const watch = (yield* FiberRegister).register("CommitPages", () => 0, 0)
  const round = Effect.gen(function* () {
    yield* ahead.bring([{ freePages }, { logBytes: logBytesKept }])
    const isBucketEnding = bucketMs - ((yield* Clock.currentTimeMillis) % bucketMs) <= bucketEndMs
    const ids = Array.from(supervisor.all(), ({ id }) => id).sort((a, b) => a - b)
    for (let at = 0; at < ids.length; at += nodesAtOnce) {
      const few = ids.slice(at, at + nodesAtOnce)
      const [first, last] = [few[0], few[few.length - 1]]
      if (first === undefined || last === undefined) return
      yield* ahead.bring(commitAhead(first, last))
      if (isBucketEnding) yield* ahead.bring([factsEndAhead(first, last)])
    }
  })
  const rounds = Effect.repeat(round, Schedule.spaced(everyMs))
  const logRounds = Effect.repeat(ahead.bring([{ logBytes: logBytesSoon }]), Schedule.spaced(logEveryMs))
  const both = Effect.all([rounds, logRounds], { concurrency: 2, discard: true })
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(both, Effect.never)))
})

export const layer = Layer.scopedDiscard(make)
