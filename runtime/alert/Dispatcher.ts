// Who delivers notifications: one fiber per channel that has something to tell, started, woken, watched and ended here.
import { Context, Effect, FiberMap, Layer } from "effect"
import type { AlertDispatchStatus } from "../../schema/AlertEvents.ts"
import { NotFound, StorageUnavailable } from "../../schema/Errors.ts"
import { pendingMax } from "../../src/store/alert/AlertWrites.ts"
import { channelsMax } from "../../src/store/alert/Channels.ts"
import { OutboxStore } from "../../src/store/alert/Outbox.ts"
import { FiberRegister, supervised } from "../FiberStatus.ts"
import { Journal } from "../Journal.ts"
import { AlertBook } from "./AlertBook.ts"
import { tickMs } from "./Breaker.ts"
import { ChannelWorker, type DispatchFigures, turn, type WorkerTools } from "./ChannelWorker.ts"
import { Doorbell } from "./Doorbell.ts"
import type { Digest } from "./Grouping.ts"
import { Sinks } from "./Sink.ts"
import { written } from "../Written.ts"

/** Looks without being woken: a ring may be forgotten by whoever commits, and is then only late. */
const idleMs = 60_000
/** Channels that ever had something to tell, of which most are gone: looked at from the lowest id on. */
const backlogsMax = 10_000

export class Dispatcher extends Context.Tag("runtime/alert/Dispatcher")<
  Dispatcher,
  {
    /** Something was committed for these channels; without them, something about channels or settings changed. */
    readonly ring: (channelIds?: ReadonlyArray<number>) => void
    /** Makes a delivery that was sent or failed pending again. */
    readonly resend: (outboxId: number, nowMs: number) => Effect.Effect<void, NotFound | StorageUnavailable>
    readonly status: (nowMs: number) => AlertDispatchStatus
  }
>() {}

interface Tools extends WorkerTools {
  readonly workers: Map<number, ChannelWorker>
  readonly fibers: FiberMap.FiberMap<number>
  readonly startFiber: (id: number, life: Effect.Effect<never>) => unknown
}

const pendingOf = ({ store }: WorkerTools) =>
  new Map(store.backlogs(backlogsMax).map(({ channelId, pending }) => [channelId, pending]))

/** Starts workers where something waits, and ends those of channels that are gone and have nothing left. */
const attend = (tools: Tools): Effect.Effect<{ readonly isFull: boolean }> =>
  Effect.gen(function* () {
    const pending = pendingOf(tools)
    const { channels } = tools.book.page()
    for (const id of tools.workers.keys()) {
      if (channels.has(id) || (pending.get(id) ?? 0) > 0) continue
      tools.workers.delete(id)
      yield* FiberMap.remove(tools.fibers, id)
      yield* tools.sinks.forget(id)
    }
    let isFull = false
    for (const [id, rows] of pending) {
      if (rows <= 0 || tools.workers.has(id)) continue
      isFull = tools.workers.size >= channelsMax
      if (isFull) break
      const worker = new ChannelWorker(id, () => pendingOf(tools).get(id) ?? 0, pendingMax)
      tools.workers.set(id, worker)
      tools.startFiber(id, supervised(worker.watch, Effect.forever(turn(tools, worker))))
    }
    return { isFull }
  })

const resend = (tools: Tools, ring: () => void, outboxId: number, nowMs: number) =>
  Effect.gen(function* () {
    if (!tools.store.isKnown(outboxId)) return yield* new NotFound({ message: `there is no delivery ${outboxId}` })
    if (!(yield* written(tools.journal, { kind: "resend", outboxId, atMs: nowMs }))) {
      return yield* new StorageUnavailable({ message: "the database takes no writes right now" })
    }
    ring()
  })

const instantOf = (ms: number): string => new Date(ms).toISOString()

const statusOf = ({ figures, store, workers }: Tools, nowMs: number): AlertDispatchStatus => {
  const backlogs = store.backlogs(backlogsMax)
  const sum = (of: (backlog: (typeof backlogs)[number]) => number) => backlogs.reduce((all, one) => all + of(one), 0)
  const pending = new Map(backlogs.map((one) => [one.channelId, one.pending]))
  return {
    pending: sum((one) => one.pending),
    ...figures,
    overflowed: sum((one) => one.overflowed),
    channels: [...workers.values()].map(({ breaker, channelId, watch }) => {
      const restsUntilMs = breaker.restsUntilMs(nowMs)
      return {
        channel_id: channelId,
        pending: pending.get(channelId) ?? 0,
        state: breaker.state(nowMs),
        failures_in_row: breaker.failuresInRow,
        rests_until: restsUntilMs === 0 ? null : instantOf(restsUntilMs),
        last_error: watch.lastError,
        last_error_at: watch.lastErrorAt === null ? null : instantOf(watch.lastErrorAt),
        restarts: watch.restarts
      }
    })
  }
}

const make = (digest: Digest) =>
  Effect.gen(function* () {
    const fibers = yield* FiberMap.make<number>()
    const figures: DispatchFigures = { sent: 0, retried: 0, failed: 0 }
    const workers = new Map<number, ChannelWorker>()
    const tools: Tools = {
      store: yield* OutboxStore,
      journal: yield* Journal,
      book: yield* AlertBook,
      sinks: yield* Sinks,
      digest,
      figures,
      workers,
      fibers,
      startFiber: yield* FiberMap.runtime(fibers)()
    }
    const watch = (yield* FiberRegister).register("AlertDispatcher", () => workers.size, channelsMax)
    const bell = new Doorbell()
    const round = Effect.flatMap(attend(tools), ({ isFull }) => bell.wait(isFull ? tickMs : idleMs))
    yield* Effect.forkScoped(supervised(watch, Effect.forever(round)))
    const ring = (channelIds?: ReadonlyArray<number>): void => {
      for (const id of channelIds ?? workers.keys()) workers.get(id)?.bell.ring()
      if (channelIds === undefined || channelIds.some((id) => !workers.has(id))) bell.ring()
    }
    return Dispatcher.of({
      ring,
      resend: (outboxId, nowMs) => resend(tools, ring, outboxId, nowMs),
      status: (nowMs) => statusOf(tools, nowMs)
    })
  })

/** `digest` renders the one message that stands for many. */
export const layerWith = (digest: Digest) => Layer.scoped(Dispatcher, make(digest))
