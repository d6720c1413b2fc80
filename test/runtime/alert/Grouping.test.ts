// Many nodes that fall silent together: people get one message, webhooks get them all.
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { AlertDeliveries } from "../../../src/store/alert/Deliveries.ts"
import {
  addChannel,
  dispatching,
  enqueue,
  epoch,
  makeSink,
  pass,
  rows,
  setGrouping,
  settled,
  telegram,
  transient
} from "./Dispatching.ts"

const silent = (count: number, channelId = 1, from = 1) =>
  Array.from({ length: count }, (_, i) => ({
    eventId: from + i,
    channelId,
    channelType: "telegram" as const,
    group: "offline" as const
  }))
const titles = (sink: ReturnType<typeof makeSink>) => sink.arrived.map(({ note }) => note.title)

describe("nodes that fall silent together", () => {
  it.effect("are told in one message that is tried again as one, and settled together", () => {
    const sink = makeSink(() => (sink.attempts.length < 3 ? Effect.fail(transient) : Effect.void))
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel(telegram)
        yield* enqueue(...silent(300))
        yield* pass(sink, 4000)
        expect(sink.attempts.length).toBe(0)
        yield* pass(sink, 30_000)

        expect(sink.attempts.map(({ note }) => note.title)).toEqual(Array.from({ length: 3 }, () => "300 opened"))
        expect(sink.attempts[0]?.atMs).toBe(epoch + 5000)
        expect(titles(sink)).toEqual(["300 opened"])
        expect((yield* rows).every(({ attempts, state }) => state === "sent" && attempts === 3)).toBe(true)
        const attempts = yield* Effect.flatMap(AlertDeliveries, (deliveries) => deliveries.attempts(299))
        expect(attempts.map(({ outcome, rowCount }) => [outcome, rowCount])).toEqual([
          ["sent", 300],
          ["retry", 300],
          ["retry", 300]
        ])
      })
    )
  })

  it.effect("are told one by one when they are few, or when grouping is off", () => {
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel(telegram)
        yield* setGrouping(20)
        yield* enqueue(...silent(20))
        yield* pass(sink, 6000)
        expect(sink.arrived.length).toBe(20)
        yield* setGrouping(20, false)
        yield* enqueue(...silent(30, 1, 100))
        yield* settled(sink)

        expect(sink.arrived.length).toBe(50)
        expect(titles(sink)).not.toContain("30 opened")
      })
    )
  })

  it.effect("wait for each other while they keep coming, but half a minute at most", () => {
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel(telegram)
        yield* setGrouping(3)
        for (let n = 0; n < 12; n++) {
          yield* enqueue(...silent(1, 1, n + 1))
          yield* pass(sink, 3000)
        }
        // Ten came within the 30 seconds; the last two begin a group of their own, which is a small one.
        expect(sink.arrived.map(({ atMs, note }) => [atMs - epoch, note.title])).toEqual([[30_000, "10 opened"]])
        yield* pass(sink, 6000)
        expect(titles(sink)).toEqual(["10 opened", "title of 11", "title of 12"])
      })
    )
  })

  it.effect("do not hold up other alerts, and are no group for a webhook", () => {
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel(telegram)
        yield* addChannel()
        yield* enqueue(...silent(30), { eventId: 99, channelType: "telegram" })
        yield* enqueue(...silent(30, 2).map((row) => ({ ...row, channelType: "webhook" as const })))
        yield* settled(sink)
        expect(yield* TestClock.currentTimeMillis).toBe(epoch)

        expect(sink.arrived.filter(({ channelId }) => channelId === 2).length).toBe(30)
        expect(sink.arrived.filter(({ channelId }) => channelId === 1).map(({ note }) => note.title)).toEqual([
          "title of 99"
        ])
      })
    )
  })

  it.effect("and come back together are told in two messages, the silence first", () => {
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel(telegram)
        yield* enqueue(...silent(40))
        yield* pass(sink, 1000)
        yield* enqueue(...silent(40).map((row) => ({ ...row, transition: "closed" as const })))
        yield* pass(sink, 12_000)

        expect(titles(sink)).toEqual(["40 opened", "40 closed"])
        expect(sink.arrived.map(({ note }) => [note.transition, note.meta])).toEqual([
          ["opened", { transition: "opened" }],
          ["closed", { transition: "closed" }]
        ])
      })
    )
  })
})
