// The dispatcher: one channel's trouble is its own, what failed is tried again for a day, what cannot be told fails.
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Either, TestClock } from "effect"
import { AlertBook } from "../../../runtime/alert/AlertBook.ts"
import { Dispatcher } from "../../../runtime/alert/Dispatcher.ts"
import { AlertChannels } from "../../../src/store/alert/Channels.ts"
import { AlertDeliveries } from "../../../src/store/alert/Deliveries.ts"
import { run } from "../../store/Support.ts"
import { until } from "../../support/Engine.ts"
import {
  addChannel,
  dispatching,
  enqueue,
  epoch,
  limited,
  makeSink,
  pass,
  permanent,
  refresh,
  rows,
  settled,
  telegram,
  transient
} from "./Dispatching.ts"

const statusOf = (channelId: number) =>
  Effect.gen(function* () {
    const status = (yield* Dispatcher).status(yield* Clock.currentTimeMillis)
    return status.channels.find((one) => one.channel_id === channelId)
  })
const outcomes = Effect.map(rows, (all) => all.map(({ reason, state }) => `${state} ${reason ?? ""}`.trim()))

describe("a channel that hangs", () => {
  it.effect("holds up nobody else, is cut off after 15 seconds and tried again", () => {
    const sink = makeSink((channel) => (channel.id === 1 ? Effect.never : Effect.void))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* addChannel()
        for (let n = 1; n <= 5; n++) yield* enqueue({ eventId: n, channelId: 1 }, { eventId: n, channelId: 2 })
        yield* until("the healthy channel", () => sink.arrived.length === 5)
        expect(yield* TestClock.currentTimeMillis).toBe(epoch)
        expect(sink.attempts.filter(({ channelId }) => channelId === 1).length).toBe(1)
        yield* pass(sink, 15_000, 5000)

        const hanging = sink.attempts.filter(({ channelId }) => channelId === 1)
        expect(hanging.map(({ atMs }) => atMs - epoch)).toEqual([0, 15_000])
        expect((yield* rows)[0]).toMatchObject({ state: "pending", reason: "timeout", attempts: 1 })
        expect(yield* statusOf(1)).toMatchObject({ pending: 5, last_error: "timeout: no answer in 15 seconds" })
        expect(yield* statusOf(2)).toMatchObject({ pending: 0, state: "ready", last_error: null })
      })
    )
  })
})

describe("a failure", () => {
  it.effect("that is permanent ends the delivery at once, and the next one has its turn", () => {
    const sink = makeSink(() => Effect.fail(permanent))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* enqueue({ eventId: 1 }, { eventId: 2 })
        yield* pass(sink, 5000)

        expect(sink.attempts.length).toBe(2)
        expect(yield* outcomes).toEqual(["failed rejected", "failed rejected"])
        const [attempt] = yield* Effect.flatMap(AlertDeliveries, (deliveries) => deliveries.attempts(1))
        expect(attempt).toMatchObject({ outcome: "failed", reason: "rejected", message: "it was refused", rowCount: 1 })
      })
    )
  })

  it.effect("that is a defect of a sink counts as one, and does not stop the channel", () => {
    const sink = makeSink((_, note) => (note.title.endsWith("1") ? Effect.die(new Error("secret")) : Effect.void))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* enqueue({ eventId: 1 }, { eventId: 2 })
        yield* settled(sink)

        expect(yield* outcomes).toEqual(["pending unknown", "sent"])
        expect(yield* statusOf(1)).toMatchObject({ restarts: 0, last_error: "unknown: the delivery failed within" })
      })
    )
  })

  it.effect("that asks for a pause gets it for the whole channel, and an hour at most", () => {
    const sink = makeSink(() => (sink.attempts.length === 1 ? Effect.fail(limited(90_000)) : Effect.void))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* enqueue({ eventId: 1 }, { eventId: 2 })
        yield* settled(sink)
        expect(yield* statusOf(1)).toMatchObject({ state: "limited", failures_in_row: 0, pending: 2 })
        yield* pass(sink, 89_000, 30_000)
        expect(sink.attempts.length).toBe(1)
        yield* pass(sink, 2000)
        expect(sink.arrived.map(({ atMs }) => atMs - epoch)).toEqual([90_000, 90_000])

        sink.answer = () => Effect.fail(limited(86_400_000))
        yield* enqueue({ eventId: 3 })
        yield* settled(sink)
        const from = yield* Clock.currentTimeMillis
        sink.answer = () => Effect.void
        yield* pass(sink, 3_601_000, 600_000)
        expect((sink.arrived.at(-1)?.atMs ?? 0) - from).toBe(3_600_000)
      })
    )
  })

  it.effect("five times in a row lets the channel rest, longer each time, until one attempt succeeds", () => {
    const sink = makeSink(() => Effect.fail(transient))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* enqueue(...Array.from({ length: 40 }, (_, i) => ({ eventId: i + 1 })))
        yield* settled(sink)
        expect(sink.attempts.length).toBe(5)
        expect(yield* statusOf(1)).toMatchObject({ state: "resting", failures_in_row: 5, pending: 40 })
        yield* pass(sink, 2000 + 4000 + 8000 + 16_000, 2000)
        // One probe after each rest.
        expect(sink.attempts.slice(5).map(({ atMs }) => atMs - epoch)).toEqual([2000, 6000, 14_000, 30_000])
        yield* pass(sink, 3_600_000, 60_000)
        const gaps = sink.attempts.slice(-5).map(({ atMs }, i, all) => atMs - (all[i - 1]?.atMs ?? atMs))
        expect(Math.max(...gaps)).toBeLessThanOrEqual(360_000)
        expect(sink.attempts.length).toBeLessThan(30)
        expect(yield* statusOf(1)).toMatchObject({ pending: 40 })

        // The receiver was down for an hour and comes back: everything arrives after the next probe.
        sink.answer = () => Effect.void
        yield* pass(sink, 330_000, 30_000)
        expect(new Set(sink.arrived.map(({ note }) => note.title)).size).toBe(40)
        expect(sink.arrived.length).toBe(40)
        expect(yield* statusOf(1)).toMatchObject({ state: "ready", failures_in_row: 0, rests_until: null, pending: 0 })
      })
    )
  })

  it.effect("for a day ends the delivery as expired", () => {
    const sink = makeSink(() => Effect.fail(transient))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        const dayMs = 86_400_000
        yield* enqueue(
          { eventId: 1, notBeforeAt: epoch - dayMs },
          { eventId: 2, notBeforeAt: epoch - dayMs + 100_000 },
          { eventId: 3, notBeforeAt: epoch - dayMs / 2 }
        )
        yield* settled(sink)
        expect(yield* outcomes).toEqual(["failed expired", "pending connect", "pending connect"])
        yield* pass(sink, 200_000, 20_000)

        expect(yield* outcomes).toEqual(["failed expired", "failed expired", "pending connect"])
        // The one that was too old already was not tried.
        expect(sink.attempts.map(({ note }) => note.meta["event_id"])).not.toContain("1")
        expect(sink.attempts.filter(({ note }) => note.meta["event_id"] === "2").length).toBeGreaterThan(1)
        expect((yield* Dispatcher).status(0)).toMatchObject({ failed: 2, pending: 1 })
      })
    )
  })
})

describe("a clock that is put back", () => {
  it.effect("makes nobody wait for it to come round again", () => {
    const sink = makeSink(() => Effect.fail(limited(60_000)))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        yield* addChannel(telegram)
        const group = { channelId: 2, channelType: "telegram", group: "offline" } as const
        yield* enqueue({ eventId: 1 }, { eventId: 1, ...group }, { eventId: 2, ...group })
        yield* settled(sink)
        sink.answer = () => Effect.void
        yield* TestClock.setTime(epoch - 86_400_000)
        yield* refresh
        yield* settled(sink)

        expect((yield* outcomes).slice(0, 3)).toEqual(["sent", "sent", "sent"])
      })
    )
  })
})

describe("an administrator", () => {
  it.effect("who deletes or disables a channel, or changes its type, ends its deliveries without an attempt", () => {
    const sink = makeSink(() => Effect.fail(limited(60_000)))
    return dispatching(
      sink,
      Effect.gen(function* () {
        const channels = yield* AlertChannels
        const [gone, disabled, changed, garbled] = [
          yield* addChannel(),
          yield* addChannel(),
          yield* addChannel(),
          yield* addChannel()
        ]
        yield* enqueue(...[gone, disabled, changed, garbled].map((channelId) => ({ eventId: 1, channelId })))
        yield* enqueue({ eventId: 2, channelId: gone })
        yield* enqueue({ eventId: 2, channelId: 99 })
        yield* settled(sink)
        expect(sink.attempts.length).toBe(4)
        yield* channels.remove(gone)
        yield* channels.change(disabled, (row) => Either.right({ ...row, enabled: false }))
        yield* run("UPDATE alert_channels SET sealed = 'v1.nonsense' WHERE id = ?", [garbled])
        yield* run("UPDATE alert_outbox SET channel_type = 'email' WHERE channel_id = ?", [changed])
        yield* refresh
        yield* pass(sink, 61_000, 20_000)

        expect(sink.attempts.length).toBe(4)
        expect(yield* outcomes).toEqual([
          "failed channel_gone",
          "failed channel_disabled",
          "failed channel_type_changed",
          "failed config",
          "failed channel_gone",
          "failed channel_gone"
        ])
        // Nobody works for channels that are gone.
        expect((yield* Dispatcher).status(0).channels.map((one) => one.channel_id)).toEqual([
          disabled,
          changed,
          garbled
        ])
        expect(sink.forgotten.toSorted()).toEqual([gone, 99])
      })
    )
  })

  it.effect("who changes a channel ends its rest", () => {
    const sink = makeSink(() => Effect.fail(transient))
    return dispatching(
      sink,
      Effect.gen(function* () {
        const id = yield* addChannel()
        yield* enqueue(...Array.from({ length: 9 }, (_, i) => ({ eventId: i + 1 })))
        yield* pass(sink, 60_000, 5000)
        expect(yield* statusOf(id)).toMatchObject({ state: "resting" })
        sink.answer = () => Effect.void
        const channels = yield* AlertChannels
        yield* channels.change(id, (row) => Either.right(row))
        const before = sink.attempts.length
        yield* refresh
        yield* settled(sink)

        expect(sink.attempts.length).toBeGreaterThan(before)
        expect(yield* statusOf(id)).toMatchObject({ state: "ready", failures_in_row: 0 })
      })
    )
  })

  it.effect("can have a delivery sent again, once it is settled", () => {
    const sink = makeSink(() => Effect.fail(permanent))
    return dispatching(
      sink,
      Effect.gen(function* () {
        const dispatcher = yield* Dispatcher
        yield* addChannel()
        yield* enqueue({ eventId: 1 })
        yield* settled(sink)
        sink.answer = () => Effect.void
        expect((yield* Effect.flip(dispatcher.resend(99, epoch))).code).toBe("not_found")
        yield* dispatcher.resend(1, yield* Clock.currentTimeMillis)
        yield* settled(sink)
        expect(yield* outcomes).toEqual(["sent"])
        yield* dispatcher.resend(1, yield* Clock.currentTimeMillis)
        yield* settled(sink)

        expect(sink.arrived.length).toBe(2)
        expect(sink.arrived.map(({ note }) => note.meta["event_id"])).toEqual(["1", "1"])
      })
    )
  })

  it.effect("reads whom to tell, and what is in force where, as it was last loaded", () => {
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        const book = yield* AlertBook
        const [a, b, off] = [yield* addChannel(), yield* addChannel(telegram), yield* addChannel(telegram, false)]
        yield* run("UPDATE alert_settings SET channel_ids = ?", [JSON.stringify([b, off, 77, a])])
        yield* run(
          "INSERT INTO alert_mounts (rule_id, node_id, mounted) VALUES (1, 2, 1), (-1, 2, 0), (1, 3, 1), (-1, 3, 0)"
        )
        expect(book.page().targets).toEqual([])
        yield* book.reload
        const { channels, mountedOn, rules, targets } = book.page()

        expect(targets.map(({ config, id }) => [id, config.type])).toEqual([
          [b, "telegram"],
          [a, "webhook"]
        ])
        expect([...channels.keys()].toSorted()).toEqual([a, b, off])
        expect(rules.map(({ id }) => id)).toEqual([-1, -2, -3, -4, 1, 2, 3, 4])
        const ids = (nodeId: 1 | 2 | 3) => mountedOn(nodeId as never).map(({ id }) => id)
        expect([ids(1), ids(2)]).toEqual([
          [-1, -2, -3, -4],
          [-2, -3, -4, 1]
        ])
        expect(mountedOn(3 as never)).toBe(mountedOn(2 as never))
        yield* run("UPDATE alert_settings SET enabled = 0")
        yield* book.reload
        expect(book.page().targets).toEqual([])
      })
    )
  })
})
