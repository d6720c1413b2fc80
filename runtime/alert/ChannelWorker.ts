// One channel's notifications, one after the other: delivered under a deadline, settled on disk, and only then the next.
import { Clock, type Context, Effect, Either, Random, Schema } from "effect"
import type { Channel } from "../../src/core/alert/Channel.ts"
import type { SettledRow, SettleWrite } from "../../src/store/alert/AlertWrites.ts"
import type { DueRow } from "../../src/store/alert/Outbox.ts"
import { noteTrouble, type Watch } from "../FiberStatus.ts"
import type { Journal } from "../Journal.ts"
import type { AlertBook } from "./AlertBook.ts"
import { Breaker, isDue, limitDelayMs, retryDelayMs, tickMs } from "./Breaker.ts"
import { Doorbell } from "./Doorbell.ts"
import { groupJob, type GroupTools, type Job } from "./Grouping.ts"
import { SinkError, type Sinks } from "./Sink.ts"
import { onDisk, written } from "../Written.ts"

/** Decision 32. */
const deliverMsMax = 15_000
export const ageMsMax = 86_400_000
/** How often rows too old are looked for: the look reads all that is pending. */
const agedEveryMs = 60_000
/** Rows settled in one commit: some 5 ms of a blocked loop. */
const settleMax = 1000
/** Looks without being woken, because clocks jump. */
const idleMs = 60_000

export interface DispatchFigures {
  sent: number
  retried: number
  failed: number
}

export interface WorkerTools extends GroupTools {
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly book: Context.Tag.Service<typeof AlertBook>
  readonly sinks: Context.Tag.Service<typeof Sinks>
  readonly figures: DispatchFigures
}

/** What a channel's fiber owns; it outlives a restart of the fiber. */
export class ChannelWorker {
  readonly channelId: number
  readonly watch: Watch
  readonly bell = new Doorbell()
  readonly breaker = new Breaker()
  revision = 0
  agedAt = 0

  constructor(channelId: number, depth: () => number, depthMax: number) {
    this.channelId = channelId
    this.watch = {
      name: `AlertChannel ${channelId}`,
      state: "running",
      restarts: 0,
      lastError: null,
      lastErrorAt: null,
      depth,
      depthMax
    }
  }
}

/** Commits a write however long the disk takes: what was delivered must not be delivered again for its sake. */
export const committed = (journal: WorkerTools["journal"], write: SettleWrite): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!(yield* written(journal, write))) yield* Effect.sleep(tickMs)
  })

/** Settles in slices; all of them stand for the one attempt, if any. */
const settle = ({ figures, journal }: WorkerTools, write: Omit<SettleWrite, "leadId">) =>
  Effect.gen(function* () {
    const lead = write.rows[0]?.id ?? null
    for (let from = 0; from < write.rows.length; from += settleMax) {
      const rows = write.rows.slice(from, from + settleMax)
      yield* committed(journal, { ...write, rows, leadId: from === 0 ? null : lead })
      for (const { state } of rows) figures[state === "pending" ? "retried" : state]++
    }
  })

const failedRow =
  (reason: string, now: number) =>
  (id: number): SettledRow => ({ id, state: "failed", nextAt: now, reason })

/** Fails rows without an attempt; gives whether there were any. */
const giveUp = (tools: WorkerTools, ids: ReadonlyArray<number>, reason: string, now: number) =>
  Effect.as(
    settle(tools, { kind: "settle", atMs: now, rows: ids.map(failedRow(reason, now)), attempt: null }),
    ids.length > 0
  )

/** The channel, or why nothing can be told through it. */
const usable = (channel: Channel | null | undefined): Either.Either<Channel, string> => {
  if (channel === undefined) return Either.left("channel_gone")
  if (channel === null) return Either.left("config")
  return channel.enabled ? Either.right(channel) : Either.left("channel_disabled")
}

const rowAfter = ({ createdAt, id }: Job["rows"][number], nextAt: number, reason: string): SettledRow =>
  nextAt - createdAt >= ageMsMax
    ? { id, state: "failed", nextAt, reason: "expired" }
    : { id, state: "pending", nextAt, reason }

const settleSent = (tools: WorkerTools, { rows }: Job, startedAt: number, now: number) =>
  settle(tools, {
    kind: "settle",
    atMs: now,
    rows: rows.map(({ id }) => ({ id, state: "sent", nextAt: now, reason: null })),
    attempt: {
      atMs: startedAt,
      latencyMs: now - startedAt,
      outcome: "sent",
      reason: null,
      message: null,
      rowCount: rows.length
    }
  })

const settleFailed = (
  tools: WorkerTools,
  worker: ChannelWorker,
  job: Job,
  error: SinkError,
  startedAt: number,
  now: number
) =>
  Effect.gen(function* () {
    const { kind, message, reason } = error
    const tried = Math.max(...job.rows.slice(0, settleMax).map(({ attempts }) => attempts)) + 1
    const pauseMs =
      kind === "rate_limited" && error.retryAfterMs !== undefined
        ? limitDelayMs(error.retryAfterMs)
        : retryDelayMs(tried, yield* Random.next)
    if (kind === "transient") worker.breaker.failed(now)
    else if (kind === "rate_limited") worker.breaker.limited(now + pauseMs)
    else worker.breaker.answered()
    noteTrouble(worker.watch, `${reason}: ${message}`, now)
    const isFinal = kind === "permanent"
    const rows = isFinal
      ? job.rows.map(({ id }) => failedRow(reason, now)(id))
      : job.rows.map((row) => rowAfter(row, now + pauseMs, reason))
    const outcome = rows.every(({ state }) => state === "failed") ? "failed" : "retry"
    yield* settle(tools, {
      kind: "settle",
      atMs: now,
      rows,
      attempt: {
        atMs: startedAt,
        latencyMs: Math.max(0, now - startedAt),
        outcome,
        reason,
        message,
        rowCount: rows.length
      }
    })
  })

const run = (tools: WorkerTools, worker: ChannelWorker, channel: Channel, job: Job) =>
  Effect.gen(function* () {
    // Nobody is told of what a power cut could still take back. Where nobody knows, the service starts anew.
    if (!(yield* onDisk(tools.journal))) return yield* Effect.never
    const startedAt = yield* Clock.currentTimeMillis
    const result = yield* tools.sinks.deliver(channel, { ...job.note, sentAtMs: startedAt }).pipe(
      Effect.timeoutFail({
        duration: deliverMsMax,
        onTimeout: () => new SinkError({ kind: "transient", reason: "timeout", message: "no answer in 15 seconds" })
      }),
      // A mistake in a sink costs its own channel an attempt, and is counted like one.
      Effect.catchAllDefect(() =>
        Effect.fail(new SinkError({ kind: "transient", reason: "unknown", message: "the delivery failed within" }))
      ),
      Effect.either
    )
    const now = yield* Clock.currentTimeMillis
    if (Either.isLeft(result)) return yield* settleFailed(tools, worker, job, result.left, startedAt, now)
    worker.breaker.answered()
    yield* settleSent(tools, job, startedAt, now)
  })

const Meta = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))
const metaOf = Schema.decodeUnknownEither(Meta)

/** Delivers one row, or fails it when it can never be delivered. */
const runRow = (tools: WorkerTools, worker: ChannelWorker, channel: Channel, row: DueRow, now: number) => {
  const meta = metaOf(row.meta)
  if (row.channelType !== channel.config.type) return giveUp(tools, [row.id], "channel_type_changed", now)
  if (Either.isLeft(meta)) return giveUp(tools, [row.id], "unreadable", now)
  const { body, title, transition } = row
  return run(tools, worker, channel, { rows: [row], note: { title, body, transition, meta: meta.right } })
}

/** Milliseconds to wait for an instant, in which a ring is still heard. */
const waitFor = (untilMs: number, now: number): number => Math.min(idleMs, Math.max(tickMs, untilMs - now))

/** Rows of people's channels may wait for others to be told with; everything else goes in the order it is due. */
const work = (tools: WorkerTools, worker: ChannelWorker, channel: Channel, now: number) => {
  const { settings } = tools.book.page()
  const isGrouped = settings.groupOffline && channel.config.type !== "webhook"
  const group = isGrouped ? groupJob(tools, worker.channelId, settings, now) : undefined
  if (group?._tag === "Digest") return run(tools, worker, channel, group.job)
  const single = isGrouped ? tools.store.nextSingle(worker.channelId) : tools.store.next(worker.channelId)
  if (single !== undefined && isDue(single.nextAt, now)) return runRow(tools, worker, channel, single, now)
  if (group?._tag === "Row") return runRow(tools, worker, channel, group.row, now)
  const nextAt = Math.min(single?.nextAt ?? Infinity, group?.untilMs ?? Infinity)
  return worker.bell.wait(waitFor(nextAt, now))
}

/** What the channel's fiber does, over and over. */
export const turn = (tools: WorkerTools, worker: ChannelWorker): Effect.Effect<unknown> =>
  Effect.gen(function* () {
    const { breaker, channelId } = worker
    const now = yield* Clock.currentTimeMillis
    const found = usable(tools.book.page().channels.get(channelId))
    if (Either.isLeft(found)) {
      if (yield* giveUp(tools, tools.store.pendingIds(channelId, settleMax), found.left, now)) return
      return yield* worker.bell.wait(idleMs)
    }
    const channel = found.right
    // Whoever changed the channel may have put it right.
    if (worker.revision !== channel.revision) breaker.answered()
    worker.revision = channel.revision
    if (Math.abs(now - worker.agedAt) >= agedEveryMs) {
      if (yield* giveUp(tools, tools.store.agedIds(channelId, now - ageMsMax, settleMax), "expired", now)) return
      worker.agedAt = now
    }
    const restsUntilMs = breaker.restsUntilMs(now)
    if (restsUntilMs > 0) return yield* worker.bell.wait(waitFor(restsUntilMs, now))
    return yield* work(tools, worker, channel, now)
  })
