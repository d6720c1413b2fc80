// Alert events and deliveries as they are read: life of an event, pages, filters, summaries.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { AlertDeliveries } from "../../../src/store/alert/Deliveries.ts"
import { AlertEvents, type EventCursor, type EventQuery } from "../../../src/store/alert/Events.ts"
import { run } from "../Support.ts"
import { changeOf, inAlerts, outboxOf, settleOf, start, stepOf, write } from "./Support.ts"

const listed = (query: Partial<EventQuery> = {}) =>
  Effect.flatMap(AlertEvents, (events) => events.list({ status: "all", limit: 100, ...query }))
const idsOf = (query: Partial<EventQuery> = {}) => Effect.map(listed(query), ({ items }) => items.map(({ id }) => id))

describe("events", () => {
  it.effect("fail as unavailable storage when the table is gone", () =>
    inAlerts(
      Effect.gen(function* () {
        const events = yield* AlertEvents
        yield* run("DROP TABLE alert_events")
        const failures = yield* Effect.all([
          Effect.flip(listed()),
          Effect.flip(events.summary),
          Effect.flip(events.servers),
          Effect.flip(Effect.flatMap(AlertDeliveries, (deliveries) => deliveries.list({ limit: 1 })))
        ])

        expect(failures.map(({ code }) => code)).toEqual(["db_error", "db_error", "db_error", "db_error"])
      })
    )
  )

  it.effect("open, beat and close once; a close of what is closed, or an open of what was, changes nothing", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* write(stepOf([changeOf(7, "opened")]))
        const opened = {
          id: 7,
          ruleId: 1,
          ruleGeneration: 3,
          ruleName: "cpu",
          nodeId: 1,
          serverName: "node-1",
          serverHostname: "host-1",
          serverIp: "192.0.2.1",
          metric: "cpu.usage_ratio",
          firstAt: start,
          lastAt: start,
          closedAt: null,
          closeReason: null,
          value: 0.95,
          threshold: 0.9,
          isMuted: false,
          title: "opened 7",
          message: "message of 7"
        }
        expect((yield* listed()).items).toEqual([opened])
        yield* write(stepOf([changeOf(7, "beat", { atMs: start + 60_000, value: 0.99 })]))
        const beaten = { ...opened, lastAt: start + 60_000, value: 0.99 }
        expect((yield* listed()).items).toEqual([beaten])
        const close = changeOf(7, "closed", { atMs: start + 90_000, value: null, threshold: null })
        yield* write(stepOf([close]))
        const late = changeOf(7, "closed", { atMs: start + 99_000, reason: "server_deleted" })
        yield* write(stepOf([late, changeOf(7, "opened", { atMs: start + 99_000 }), changeOf(7, "beat")]))

        expect((yield* listed()).items).toEqual([
          { ...beaten, closedAt: start + 90_000, closeReason: "condition_cleared", title: "closed 7" }
        ])
      })
    )
  )

  it.effect("that opened under a silence are muted until it ends", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* write(stepOf([{ ...changeOf(1, "opened", { isMuted: true }), title: null, message: null }]))
        expect((yield* listed()).items[0]).toMatchObject({ isMuted: true, title: null, message: null })
        yield* write(stepOf([changeOf(1, "unmuted", { atMs: start + 5 })]))

        expect((yield* listed()).items[0]).toMatchObject({
          isMuted: false,
          title: "unmuted 1",
          firstAt: start,
          lastAt: start
        })
      })
    )
  )

  it.effect("are found by node, status, metric and time of their beginning", () =>
    inAlerts(
      Effect.gen(function* () {
        const memory = { ...changeOf(2, "opened").transition.rule, metric: "mem.used" as const, name: "memory" }
        yield* write(
          stepOf([changeOf(1, "opened"), changeOf(2, "opened", { atMs: start + 10, rule: memory })]),
          stepOf([changeOf(3, "opened", { atMs: start + 20 })], [], 2),
          stepOf([changeOf(1, "closed", { atMs: start + 30 })])
        )

        expect(yield* idsOf()).toEqual([3, 2, 1])
        expect(yield* idsOf({ status: "open" })).toEqual([3, 2])
        expect(yield* idsOf({ status: "closed" })).toEqual([1])
        expect(yield* idsOf({ nodeId: 1 })).toEqual([2, 1])
        expect(yield* idsOf({ metric: "mem.used" })).toEqual([2])
        expect(yield* idsOf({ fromMs: start + 10 })).toEqual([3, 2])
        expect(yield* idsOf({ fromMs: start + 11, toMs: start + 20 })).toEqual([3])
        expect(yield* idsOf({ toMs: start + 10, status: "open", nodeId: 1 })).toEqual([2])
        const events = yield* AlertEvents
        expect(yield* events.servers).toEqual([
          { id: 1, name: "node-1" },
          { id: 2, name: "node-2" }
        ])
        expect(yield* events.summary).toEqual([
          {
            nodeId: 1,
            openCount: 1,
            lastAt: start + 10,
            metric: "mem.used",
            ruleName: "memory",
            metrics: ["mem.used"]
          },
          expect.objectContaining({ nodeId: 2, openCount: 1, metrics: ["cpu.usage_ratio"] })
        ])
      })
    )
  )

  it.effect("are summed up by the one that was true last", () =>
    inAlerts(
      Effect.gen(function* () {
        const { rule } = changeOf(1, "opened").transition
        const hot = { ...rule, metric: "thermal.max_temp_c" as const, name: "hot" }
        yield* write(stepOf([changeOf(1, "opened", { rule: hot }), changeOf(2, "opened"), changeOf(3, "opened")]))
        yield* write(stepOf([changeOf(1, "beat", { atMs: start + 60_000, rule: hot })]))
        const [summary] = yield* Effect.flatMap(AlertEvents, (events) => events.summary)

        expect(summary).toMatchObject({
          openCount: 3,
          lastAt: start + 60_000,
          ruleName: "hot",
          metric: "thermal.max_temp_c"
        })
        expect(summary?.metrics.toSorted()).toEqual(["cpu.usage_ratio", "thermal.max_temp_c"])
      })
    )
  )

  it.effect("come page by page, each exactly once, whatever times they share and whatever happens in between", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 20 }),
          fc.integer({ min: 1, max: 6 }),
          (times, limit) =>
            Effect.runPromise(
              inAlerts(
                Effect.gen(function* () {
                  yield* write(stepOf(times.map((ms, i) => changeOf(i + 1, "opened", { atMs: start + ms }))))
                  const seen: Array<number> = []
                  let after: EventCursor | null = null
                  do {
                    const page: { readonly items: ReadonlyArray<{ id: number }>; readonly next: EventCursor | null } =
                      yield* listed({ limit, ...(after === null ? {} : { after }) })
                    seen.push(...page.items.map(({ id }) => id))
                    after = page.next
                    // What opens meanwhile is newer than every page to come, and a beat moves nothing.
                    const beat = changeOf(1, "beat", { atMs: start + 99 })
                    yield* write(stepOf([changeOf(100 + seen.length, "opened", { atMs: start + 50 }), beat]))
                  } while (after !== null)
                  const expected = times
                    .map((ms, i) => ({ ms, id: i + 1 }))
                    .toSorted((a, b) => b.ms - a.ms || b.id - a.id)
                  expect(seen).toEqual(expected.map(({ id }) => id))
                })
              )
            )
        ),
        { numRuns: 15 }
      )
    )
  )
})

describe("deliveries", () => {
  it.effect("come newest first, by channel, event, node and status, with what is known of each", () =>
    inAlerts(
      Effect.gen(function* () {
        const deliveries = yield* AlertDeliveries
        yield* write(
          stepOf([changeOf(1, "opened")], [outboxOf(1), outboxOf(1, { channelId: 2 })]),
          stepOf([changeOf(2, "opened")], [outboxOf(2)], 2),
          settleOf([1], "sent"),
          settleOf([3], "pending")
        )
        const ids = (query: object) =>
          Effect.map(deliveries.list({ limit: 10, ...query }), ({ items }) => items.map(({ id }) => id))

        expect(yield* ids({})).toEqual([3, 2, 1])
        expect(yield* ids({ channelId: 2 })).toEqual([2])
        expect(yield* ids({ eventId: 1 })).toEqual([2, 1])
        expect(yield* ids({ nodeId: 2 })).toEqual([3])
        expect(yield* ids({ status: "pending" })).toEqual([3, 2])
        expect(yield* ids({ beforeId: 3, limit: 1 })).toEqual([2])
        expect((yield* deliveries.list({ limit: 2 })).beforeId).toBe(2)
        expect((yield* deliveries.list({ limit: 3 })).beforeId).toBeNull()
        const { items } = yield* deliveries.list({ limit: 10 })
        expect(items[0]).toMatchObject({
          status: "pending",
          attempts: 1,
          lastAt: start,
          nextAt: start + 2000,
          reason: "connect",
          settledAt: null,
          nodeId: 2,
          channelName: ""
        })
        expect(items[2]).toMatchObject({ status: "sent", nextAt: null, reason: null, settledAt: start + 50 })
        expect(yield* deliveries.attempts(3)).toEqual([
          { at: start, latencyMs: 50, outcome: "retry", reason: "connect", message: "no connection", rowCount: 1 }
        ])
        expect(yield* deliveries.attempts(2)).toEqual([])
      })
    )
  )
})
