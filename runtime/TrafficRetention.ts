// Lets traffic facts go that are older than the retention, in slices, and never before their month is written.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { bucketMs } from "../src/core/Bucket.ts"
import { type TrafficWrite, TrafficStore } from "../src/store/Traffic.ts"
import { AppConfig } from "./Config.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { pause } from "./Pause.ts"
import { TrafficMonths } from "./TrafficMonths.ts"
import { TrafficPlans } from "./TrafficPlans.ts"
import { written } from "./Written.ts"

const every = Schedule.spaced("1 hour")
/** Facts per transaction: some 3 ms of a blocked loop. */
const sliceFacts = 2000
/** Slices per round: 10,000 interfaces make some 120,000 facts an hour, and a full disk must be worked off. */
const slicesMax = 500
const pauseMs = 10
const pageIfaces = 500
/** Months are kept so long, which is more than any answer walks back; 10,000 interfaces take some 200 MB. */
const monthsKeptMs = 3 * 366 * 86_400_000

type JournalService = Context.Tag.Service<typeof Journal>

/** Repeats a slice while there is something of it left and time in this round. */
const slices = (journal: JournalService, isLeft: () => boolean, write: TrafficWrite) =>
  Effect.gen(function* () {
    for (let slice = 0; slice < slicesMax && isLeft(); slice++) {
      if (!(yield* written(journal, write))) return
      yield* Effect.sleep(pauseMs)
    }
  })

/** Interfaces come and go with containers: names of which nothing is left go too, the oldest ids first. */
const forgotten = (journal: JournalService, store: Context.Tag.Service<typeof TrafficStore>) =>
  Effect.gen(function* () {
    const ifaceIds: Array<number> = []
    for (let after = 0; ifaceIds.length < sliceFacts;) {
      const page = store.allIfaces(after, pageIfaces)
      for (const { firstBucket, id } of page) if (firstBucket === null) ifaceIds.push(id)
      if (page.length < pageIfaces) break
      after = page[page.length - 1]?.id ?? after
      yield* pause
    }
    if (ifaceIds.length > 0) yield* written(journal, { kind: "dropIfaces", ifaceIds })
  })

export class TrafficRetention extends Context.Tag("runtime/TrafficRetention")<
  TrafficRetention,
  {
    /** Brings the ledger within its days now, as far as its months are written. */
    readonly sweep: Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const { trafficKeepMs } = yield* AppConfig
  const journal = yield* Journal
  const store = yield* TrafficStore
  const months = yield* TrafficMonths
  const plans = yield* TrafficPlans
  const watch = (yield* FiberRegister).register("TrafficRetention", () => 0, 0)

  const round = Effect.gen(function* () {
    if (journal.closed() !== undefined) return
    const keepFromMs = yield* months.write()
    const revision = plans.revision()
    const now = yield* Clock.currentTimeMillis
    const beforeBucket = Math.floor(Math.min(keepFromMs, now - trafficKeepMs) / bucketMs)
    const isOlder = () => plans.revision() === revision && (store.oldestBucket() ?? beforeBucket) < beforeBucket
    if (keepFromMs > 0) {
      yield* slices(journal, isOlder, { kind: "dropFacts", beforeBucket, afterIface: 0, limit: sliceFacts })
    }
    yield* slices(journal, () => store.deletedIfaces() > 0, { kind: "dropDeleted", limit: sliceFacts })
    yield* forgotten(journal, store)
    const endedBefore = now - Math.max(monthsKeptMs, trafficKeepMs)
    yield* written(journal, { kind: "dropMonths", endedBefore, limit: sliceFacts })
  })
  const turn = yield* Effect.makeSemaphore(1)
  const sweep = turn.withPermits(1)(round)
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(sweep, every), Effect.never)))
  return { sweep }
})

export const layer = Layer.scoped(TrafficRetention, make)
