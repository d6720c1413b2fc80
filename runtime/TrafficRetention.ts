// Lets traffic facts go that are older than the retention, in slices, and never before their month is written.
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { bucketMs } from "../src/core/Bucket.ts"
import { ifacesAhead } from "../src/store/ReadAhead.ts"
import { type NodeIfaceRow, type TrafficWrite, TrafficStore } from "../src/store/Traffic.ts"
import { AppConfig } from "./Config.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { pause } from "./Pause.ts"
import { type Ahead, ReadAhead } from "./ReadAhead.ts"
import { TrafficMonths } from "./TrafficMonths.ts"
import { TrafficPlans } from "./TrafficPlans.ts"
import { written } from "./Written.ts"

const every = Schedule.spaced("1 hour")
/** Facts per transaction: some 3 ms of a blocked loop. */
const sliceFacts = 2000
/** Slices per round: 10,000 interfaces make some 120,000 facts an hour, and a full disk must be worked off. */
const slicesMax = 500
const pauseMs = 10
/** Interfaces looked through at once: some 0.6 ms. */
const pageIfaces = 100
/** Months are kept so long, which is more than any answer walks back; 10,000 interfaces take some 200 MB. */
const monthsKeptMs = 3 * 366 * 86_400_000

type JournalService = Context.Tag.Service<typeof Journal>
interface Tools {
  readonly journal: JournalService
  readonly store: Context.Tag.Service<typeof TrafficStore>
  readonly ahead: Ahead
}

/** Fails when it is refused: so would be whatever the round writes after it, and the next round tries again. */
const put = (journal: JournalService, write: TrafficWrite) =>
  Effect.filterOrFail(
    written(journal, write),
    (isWritten) => isWritten,
    () => "refused" as const
  )

/** Repeats a slice while there is something of it left and time in this round. */
const slices = (journal: JournalService, isLeft: () => boolean, write: TrafficWrite) =>
  Effect.gen(function* () {
    for (let slice = 0; slice < slicesMax && isLeft(); slice++) {
      yield* put(journal, write)
      yield* Effect.sleep(pauseMs)
    }
  })

/** Interfaces in the order of their ids, some at a time; `use` is given each page and the id before it. */
const eachPage = <E>(
  { ahead, store }: Tools,
  use: (page: ReadonlyArray<NodeIfaceRow>, after: number) => Effect.Effect<void, E>
) =>
  Effect.gen(function* () {
    for (let after = 0; ;) {
      yield* ahead.bring([ifacesAhead(after, pageIfaces)])
      const page = store.allIfaces(after, pageIfaces)
      yield* use(page, after)
      if (page.length < pageIfaces) return
      after = page[page.length - 1]?.id ?? after
      yield* pause
    }
  })

/** Lets the facts go that began before a bucket, as far as this round's slices reach. */
const dropped = (tools: Tools, beforeBucket: number, isCurrent: () => boolean) => {
  let slice = 0
  const isOlder = ({ firstBucket }: NodeIfaceRow) => firstBucket !== null && firstBucket < beforeBucket
  return eachPage(tools, (found, afterIface) =>
    Effect.gen(function* () {
      const write = { kind: "dropFacts", beforeBucket, afterIface, limit: sliceFacts } as const
      for (let page = found; page.some(isOlder); page = tools.store.allIfaces(afterIface, pageIfaces)) {
        if (++slice > slicesMax || !isCurrent()) return
        yield* put(tools.journal, write)
        yield* Effect.sleep(pauseMs)
      }
    })
  )
}

/** Interfaces come and go with containers: names of which nothing is left go too, the oldest ids first. */
const forgotten = (tools: Tools) =>
  Effect.gen(function* () {
    const ifaceIds: Array<number> = []
    yield* eachPage(tools, (page) =>
      Effect.sync(() => {
        for (const { firstBucket, id } of page) {
          if (firstBucket === null && ifaceIds.length < sliceFacts) ifaceIds.push(id)
        }
      })
    )
    if (ifaceIds.length > 0) yield* put(tools.journal, { kind: "dropIfaces", ifaceIds })
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
  const tools: Tools = { journal, store, ahead: yield* ReadAhead }
  const watch = (yield* FiberRegister).register("TrafficRetention", () => 0, 0)

  const round = Effect.gen(function* () {
    if (journal.closed() !== undefined) return
    const keepFromMs = yield* months.write()
    const revision = plans.revision()
    const now = yield* Clock.currentTimeMillis
    const beforeBucket = Math.floor(Math.min(keepFromMs, now - trafficKeepMs) / bucketMs)
    if (keepFromMs > 0) yield* dropped(tools, beforeBucket, () => plans.revision() === revision)
    yield* slices(journal, () => store.deletedIfaces() > 0, { kind: "dropDeleted", limit: sliceFacts })
    yield* forgotten(tools)
    const endedBefore = now - Math.max(monthsKeptMs, trafficKeepMs)
    yield* put(journal, { kind: "dropMonths", endedBefore, limit: sliceFacts })
  })
  const turn = yield* Effect.makeSemaphore(1)
  const sweep = turn.withPermits(1)(Effect.ignore(round))
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(sweep, every), Effect.never)))
  return { sweep }
})

export const layer = Layer.scoped(TrafficRetention, make)
