// Alerts on their way from a report to the disk: what opens, closes and survives, and what a failing disk must not do.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { NodeId } from "../../../schema/Ids.ts"
import { AlertRules } from "../../../src/store/alert/Rules.ts"
import { AlertSilences } from "../../../src/store/alert/Silences.ts"
import { Nodes } from "../../../src/store/Nodes.ts"
import { full } from "../../support/Disk.ts"
import { changed as registryChanged, killedCopy, makeFaults, onDisk } from "../../support/Engine.ts"
import {
  addChannel,
  changed,
  Clocks,
  events,
  high,
  inAlerting,
  low,
  makeClocks,
  mount,
  passing,
  prepared,
  setRule,
  statesOf,
  tell,
  telling,
  told
} from "./Alerting.ts"
import { makeSink, telegram } from "./Dispatching.ts"

const minute = 60_000
describe("a disk that fails", { timeout: 30_000 }, () => {
  it.live(
    "keeps neither state, event nor notification of a report that is refused; after it, the alert opens once",
    () => {
      const faults = makeFaults()
      const sink = makeSink()
      return inAlerting(
        Effect.gen(function* () {
          yield* prepared()
          yield* tell(1, low)
          yield* passing(3000)
          faults.fault = full()
          expect(yield* tell(1, high)).toBe("Refused")
          expect([yield* events, yield* told, yield* statesOf(1)]).toEqual([[], [], []])
          faults.fault = undefined
          yield* passing(2000)
          expect(yield* tell(1, high)).toBe("Acknowledged")
          yield* passing(3000)
          yield* tell(1, high)
          expect((yield* events).map(({ rule, to }) => [rule, to])).toEqual([[1, null]])
          expect(yield* told).toHaveLength(1)
          expect((yield* statesOf(1)).map(({ _tag }) => _tag)).toEqual(["Firing"])
          expect(sink.arrived.map(({ note }) => note.title)).toEqual(["Alert: cpu_usage_high @ node-1"])
        }),
        { ...faults, sink }
      )
    }
  )

  it.live("does not lose the close of a consideration, nor tells it twice", () => {
    const faults = makeFaults()
    return inAlerting(
      Effect.gen(function* () {
        yield* prepared()
        yield* tell(1, high)
        yield* (yield* AlertRules).remove(1)
        faults.fault = full()
        yield* changed
        yield* passing(1000)
        expect((yield* events)[0]?.to).toBe(null)
        faults.fault = undefined
        yield* telling(1, 10_000, high, 2000)
        expect((yield* events).map(({ reason }) => reason)).toEqual(["rule_deleted"])
        expect((yield* told).filter((line) => line.includes("closed"))).toHaveLength(1)
      }),
      faults
    )
  })

  it.live("a kill between a commit and the next leaves an open alert that goes on under its number", () =>
    onDisk((file) =>
      Effect.gen(function* () {
        const clocks = makeClocks()
        const copy = yield* inAlerting(
          Effect.gen(function* () {
            yield* prepared()
            yield* tell(1, high)
            return killedCopy(file)
          }),
          { filename: file, clocks }
        )
        yield* inAlerting(
          Effect.gen(function* () {
            yield* telling(1, 2 * minute, high)
            yield* passing(1000)
            yield* tell(1, low)
            yield* passing(1000)
            yield* tell(1, high)
            expect((yield* events).map(({ id, rule, to }) => [id, rule, to !== null])).toEqual([
              [1, 1, true],
              [2, 1, false]
            ])
            expect(yield* told).toEqual(["1 opened to 1", "1 closed to 1", "2 opened to 1"])
          }),
          { filename: copy, clocks }
        )
      })
    )
  )
})

describe("the timeline of the contract", () => {
  it.live("opens, closes, cools down, opens again, falls silent and comes back at the times it says", () => {
    const start = Date.UTC(2027, 1, 1, 12, 0, 0)
    const at = (text: string) => Date.parse(`2027-02-01T${text}Z`)
    return inAlerting(
      Effect.gen(function* () {
        yield* addChannel()
        yield* setRule({ cooldownMin: 5, updatedAt: start })
        yield* mount()
        const { wall } = yield* Clocks
        const until = (text: string, cpu: number) => telling(1, at(text) - wall.now, { cpu }, 5000)
        yield* passing(at("12:09:50") - wall.now, 1000)
        yield* tell(1, low)
        yield* until("12:09:55", 0.1)
        yield* until("12:10:55", 0.95)
        expect(yield* statesOf(1)).toMatchObject([{ _tag: "Pending", sinceMs: at("12:10:00") }])
        expect(yield* events).toEqual([])
        yield* until("12:11:25", 0.95)
        expect(yield* events).toMatchObject([{ id: 1, rule: 1, from: at("12:11:00"), to: null }])
        yield* until("12:11:30", 0.5)
        expect(yield* events).toMatchObject([{ to: at("12:11:30"), reason: "condition_cleared" }])
        yield* until("12:11:55", 0.5)
        yield* until("12:16:25", 0.99)
        expect(yield* statesOf(1)).toMatchObject([{ _tag: "Cooldown", untilMs: at("12:16:30") }])
        yield* until("12:16:30", 0.99)
        expect(yield* statesOf(1)).toMatchObject([{ _tag: "Pending", sinceMs: at("12:16:30") }])
        yield* until("12:17:30", 0.99)
        expect((yield* events)[1]).toMatchObject({ id: 2, rule: 1, from: at("12:17:30"), to: null })

        yield* passing(14_000)
        expect(yield* events).toHaveLength(2)
        yield* passing(1000)
        const [, second, third] = yield* events
        expect(second).toMatchObject({ reason: "snapshot_stale" })
        expect(third).toMatchObject({ id: 3, rule: -1, to: null })
        expect((third?.from ?? 0) - at("12:17:44")).toBeLessThanOrEqual(1000)
        yield* passing(at("12:18:10") - wall.now)
        yield* tell(1, { cpu: 0.99 })
        expect((yield* events)[2]).toMatchObject({ to: at("12:18:10"), reason: "condition_cleared" })
        expect(yield* statesOf(1)).toMatchObject([{ _tag: "Pending", ruleId: 1, sinceMs: at("12:18:10") }])
        const ends = [
          "1 opened to 1",
          "1 closed to 1",
          "2 opened to 1",
          "3 opened to 1",
          "2 closed to 1",
          "3 closed to 1"
        ]
        expect(yield* told).toEqual(ends)
      }),
      { clocks: makeClocks(start) }
    )
  })
})

describe("an administrator", { timeout: 30_000 }, () => {
  const rules = AlertRules
  it.each<
    readonly [
      string,
      () => Effect.Effect<
        unknown,
        unknown,
        Parameters<typeof inAlerting>[0] extends Effect.Effect<unknown, unknown, infer R> ? R : never
      >
    ]
  >([
    ["rule_updated", () => setRule({ generation: 2, threshold: 0.94 })],
    ["rule_disabled", () => setRule({ generation: 2, enabled: false })],
    [
      "rule_deleted",
      () =>
        Effect.zipRight(
          Effect.flatMap(rules, (store) => store.remove(1)),
          changed
        )
    ],
    ["rule_unmounted", () => mount(false)]
  ])("closes an open alert as %s, without a report, and whoever was told of it is told", (reason, act) =>
    Effect.runPromise(
      inAlerting(
        Effect.gen(function* () {
          yield* prepared()
          yield* tell(1, high)
          yield* passing(2000)
          yield* act()
          expect((yield* events)[0]).toMatchObject({ reason })
          expect((yield* told).slice(0, 2)).toEqual(["1 opened to 1", "1 closed to 1"])
        })
      )
    )
  )

  it.live("who renames a rule closes nothing", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* prepared()
        yield* tell(1, high)
        yield* setRule({ name: "hot" })
        yield* passing(1000)
        yield* tell(1, high)
        expect(yield* events).toMatchObject([{ id: 1, to: null }])
      })
    )
  )

  it.live("who silences a node hears of a new alert when the silence is over, and of an old one all the time", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* prepared()
        yield* tell(1, high)
        const { wall } = yield* Clocks
        const untilMs = wall.now + 2 * minute
        yield* (yield* AlertSilences).create({ scope: "node", targetId: 1, untilMs, comment: "" })
        yield* changed
        yield* tell(1, low)
        yield* passing(1000)
        yield* tell(1, high)
        expect(yield* told).toEqual(["1 opened to 1", "1 closed to 1"])
        expect((yield* events)[1]).toMatchObject({ id: 2, muted: 1, to: null })
        yield* telling(1, untilMs - wall.now - 1000, high)
        expect(yield* told).toHaveLength(2)
        // No report in the meantime: the end of the silence is enough.
        yield* passing(2000)
        expect(yield* told).toEqual(["1 opened to 1", "1 closed to 1", "2 opened to 1"])
        expect((yield* events)[1]).toMatchObject({ muted: 0, to: null })
      })
    )
  )

  it.live("who changes whom to tell changes it for alerts to come; a close goes where the opening went", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* prepared()
        yield* tell(1, high)
        yield* addChannel(telegram)
        yield* passing(1000)
        yield* tell(1, low)
        yield* passing(1000)
        yield* tell(1, high)
        expect(yield* told).toEqual(["1 opened to 1", "1 closed to 1", "2 opened to 1", "2 opened to 2"])
      })
    )
  )

  it.live("who deletes a node closes its alerts, tells it and leaves no state behind", () => {
    const sink = makeSink()
    return inAlerting(
      Effect.gen(function* () {
        yield* prepared()
        yield* tell(1, high)
        yield* registryChanged((yield* Nodes).remove(NodeId.make(1)))
        yield* passing(1000)
        expect(yield* events).toMatchObject([{ id: 1, reason: "server_deleted" }])
        expect(yield* statesOf(1)).toEqual([])
        yield* passing(30_000, 1000)
        expect(yield* events).toHaveLength(1)
        expect(sink.arrived[1]?.note).toMatchObject({
          title: "Closed: cpu_usage_high @ node-1",
          meta: { close_reason: "server_deleted", dedupe_key: "alert:1:closed:1", server_id: "1", rule_id: "1" }
        })
      }),
      { sink }
    )
  })

  it.live("who deletes a node while the disk refuses finds its alerts closed after the next start", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const faults = makeFaults()
        const clocks = makeClocks()
        yield* inAlerting(
          Effect.gen(function* () {
            yield* prepared()
            yield* tell(1, high)
            faults.fault = full()
            yield* registryChanged((yield* Nodes).remove(NodeId.make(1)))
            yield* passing(1000)
            expect((yield* events)[0]?.to).toBe(null)
          }),
          { filename, clocks, ...faults }
        )
        yield* inAlerting(
          Effect.gen(function* () {
            yield* passing(1000)
            expect(yield* events).toMatchObject([{ id: 1, reason: "server_deleted" }])
            expect(yield* statesOf(1)).toEqual([])
          }),
          { filename, clocks }
        )
      })
    )
  )
})
