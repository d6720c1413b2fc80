// The dispatcher as tests run it: the real stores, journal and book on a database of their own, and sinks that obey.
import { Clock, type Context, Effect, Layer, Schema, TestClock } from "effect"
import * as AlertBook from "../../../runtime/alert/AlertBook.ts"
import { sealedConfig } from "../../../runtime/alert/ChannelSeal.ts"
import * as Dispatcher from "../../../runtime/alert/Dispatcher.ts"
import { type Note, SinkError, Sinks } from "../../../runtime/alert/Sink.ts"
import { FiberRegister } from "../../../runtime/FiberStatus.ts"
import * as Journal from "../../../runtime/Journal.ts"
import type { Channel, ChannelConfig } from "../../../src/core/alert/Channel.ts"
import type { OutboxRow } from "../../../src/store/alert/AlertWrites.ts"
import { AlertChannels } from "../../../src/store/alert/Channels.ts"
import { AlertSettingsStore } from "../../../src/store/alert/AlertSettings.ts"
import { JournalStore } from "../../../src/store/Journal.ts"
import { alertStores, changeOf, outboxOf, stepOf } from "../../store/alert/Support.ts"
import { fill, run, vault } from "../../store/Support.ts"
import { turns, until } from "../../support/Engine.ts"

/** Where the test clock stands at first: a whole second. */
export const epoch = 1_800_000_000_000

export interface Told {
  readonly channelId: number
  readonly atMs: number
  readonly note: Note
}

/** Answers an attempt; what it tells is noted before. */
export type Answer = (channel: Channel, note: Note) => Effect.Effect<void, SinkError>

export interface Sink {
  /** Every attempt, in order. */
  readonly attempts: Array<Told>
  /** What arrived. */
  readonly arrived: Array<Told>
  readonly forgotten: Array<number>
  answer: Answer
  readonly layer: Layer.Layer<Sinks>
}

export const makeSink = (answer: Answer = () => Effect.void): Sink => {
  const sink: Sink = {
    attempts: [],
    arrived: [],
    forgotten: [],
    answer,
    layer: Layer.succeed(Sinks, {
      deliver: (channel, note) =>
        Effect.gen(function* () {
          const told = { channelId: channel.id, atMs: yield* Clock.currentTimeMillis, note }
          sink.attempts.push(told)
          yield* sink.answer(channel, note)
          sink.arrived.push(told)
        }),
      forget: (id) => Effect.sync(() => void sink.forgotten.push(id))
    })
  }
  return sink
}

export const transient = new SinkError({ kind: "transient", reason: "connect", message: "no connection" })
export const permanent = new SinkError({ kind: "permanent", reason: "rejected", message: "it was refused" })
export const limited = (retryAfterMs: number) =>
  new SinkError({ kind: "rate_limited", reason: "rate_limited", message: "too many", retryAfterMs })

const webhook: ChannelConfig = { type: "webhook", url: "https://example.org/x", headers: {}, secret: "" }
export const telegram: ChannelConfig = { type: "telegram", mode: "bot", botToken: "1:a", chatId: "7" }

type Store = Context.Tag.Service<typeof JournalStore>

export interface Options {
  readonly filename?: string
  readonly wrap?: (store: Store) => Store
}

const layers = (sink: Sink, { filename, wrap = (store) => store }: Options) =>
  Dispatcher.layerWith((members, transition) => ({
    title: `${members.length} ${transition}`,
    body: members.map(({ serverName }) => serverName).join()
  })).pipe(
    Layer.provideMerge(Layer.mergeAll(AlertBook.layer, Journal.layer, sink.layer)),
    Layer.provideMerge(FiberRegister.layer),
    Layer.provideMerge(
      Layer.effect(
        JournalStore,
        Effect.map(JournalStore, (store) => JournalStore.of(wrap(store)))
      )
    ),
    Layer.provideMerge(alertStores(filename))
  )

/** Runs the body on the test clock with a dispatcher that tells this sink; three nodes at first. */
export const dispatching = <A, E>(
  sink: Sink,
  body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layers>>>,
  options: Options = {}
) =>
  Effect.gen(function* () {
    if ((yield* TestClock.currentTimeMillis) < epoch) yield* TestClock.setTime(epoch)
    const filled = Effect.gen(function* () {
      if ((yield* run("SELECT 1 FROM nodes LIMIT 1")).length === 0) yield* fill(3)
    })
    return yield* Effect.scoped(Effect.provide(Effect.zipRight(filled, body), layers(sink, options)))
  })

/** Makes a channel and tells the book and the dispatcher. */
export const addChannel = (config: ChannelConfig = webhook, enabled = true) =>
  Effect.gen(function* () {
    const channels = yield* AlertChannels
    const { type } = config
    const sealed = (id: number) => sealedConfig(vault, id, config).sealed
    const id = yield* channels.create({ name: type, type, config: "{}", enabled, sealed })
    yield* refresh
    return id
  })

export const refresh = Effect.gen(function* () {
  yield* (yield* AlertBook.AlertBook).reload
  ;(yield* Dispatcher.Dispatcher).ring()
})

export const setGrouping = (over: number, isOn = true) =>
  Effect.gen(function* () {
    const settings = yield* AlertSettingsStore
    yield* settings.put({ enabled: true, channelIds: [], groupOffline: isOn, groupOfflineOver: over })
    yield* refresh
  })

/** Offers rows with their events as an actor does, and rings after the commit; the row's time is now. */
export const enqueue = (...rows: ReadonlyArray<Partial<OutboxRow> & { readonly eventId: number }>) =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const dispatcher = yield* Dispatcher.Dispatcher
    const notBeforeAt = yield* Clock.currentTimeMillis
    const outbox = rows.map(({ eventId, ...over }) => outboxOf(eventId, { notBeforeAt, ...over }))
    const events = outbox.map(({ eventId, transition }) => changeOf(eventId, transition, { atMs: notBeforeAt }))
    let isDone = false
    journal.offer(stepOf(events, outbox), (committed) => {
      isDone = committed
      dispatcher.ring(outbox.map(({ channelId }) => channelId))
    })
    yield* until("the commit of a step", () => isDone)
  })

/** Lets everything happen that needs no time, commits of the journal included. */
export const settled = (sink: Sink) =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    for (let seen = -1; seen !== sink.attempts.length;) {
      seen = sink.attempts.length
      yield* turns(3)
      yield* journal.flushed
      yield* turns(3)
    }
  })

/** Moves the clock in steps, and lets everything happen in between. */
export const pass = (sink: Sink, ms: number, stepMs = 1000) =>
  Effect.gen(function* () {
    for (let gone = 0; gone < ms; gone += stepMs) {
      yield* TestClock.adjust(Math.min(stepMs, ms - gone))
      yield* settled(sink)
    }
  })

const Rows = Schema.Array(
  Schema.Struct({
    eventId: Schema.Int,
    transition: Schema.String,
    channelId: Schema.Int,
    state: Schema.String,
    reason: Schema.NullOr(Schema.String),
    attempts: Schema.Int
  })
)

/** What became of every row, by id. */
export const rows = run(
  `SELECT event_id AS eventId, transition, channel_id AS channelId, state, reason, attempts FROM alert_outbox ORDER BY id`
).pipe(Effect.flatMap(Schema.decodeUnknown(Rows)))
