// Silence: told within a second of its deadline, and never told when it is the service that could not hear.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { AlertDesk } from "../../../runtime/alert/AlertDesk.ts"
import { FiberRegister } from "../../../runtime/FiberStatus.ts"
import { Intake } from "../../../runtime/Intake.ts"
import { Journal } from "../../../runtime/Journal.ts"
import { NodeId } from "../../../schema/Ids.ts"
import { AlertSettingsStore } from "../../../src/store/alert/AlertSettings.ts"
import { run } from "../../store/Support.ts"
import { full } from "../../support/Disk.ts"
import { actorOf, makeFaults, onDisk, post, reportOf, sendStatic, staticOf, turns } from "../../support/Engine.ts"
import {
  addChannel,
  changed,
  Clocks,
  events,
  grace,
  inAlerting,
  makeClocks,
  mount,
  passing,
  statesOf,
  tell,
  telling,
  told
} from "./Alerting.ts"
import { makeSink, telegram } from "./Dispatching.ts"

const minute = 60_000
const afterMs = 14_000

const setOffline = (offlineAfterSec: number) =>
  Effect.gen(function* () {
    const settings = yield* AlertSettingsStore
    yield* settings.put({ enabled: true, channelIds: (yield* settings.get).channelIds, offlineAfterSec })
    yield* changed
  })

/** A channel, and a node that has reported for a while. */
const reporting = Effect.gen(function* () {
  yield* addChannel()
  yield* telling(1, 70_000)
})

/** Of the processor, which is shared with who knows whom, milliseconds. */
const spentMs = () => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

/** Stands still for so long: nothing runs, and then everything that became due in the meantime. */
const stall = (ms: number) => Effect.zipRight(passing(ms, ms), passing(500))

describe("a service that could not hear", { timeout: 30_000 }, () => {
  it.effect.each([5000, 30_000, 120_000])("opens nothing after it stood still for %i ms", (ms) =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        // Even a node whose deadline was near.
        yield* passing(afterMs - 1000)
        yield* stall(ms)
        yield* passing(afterMs - 2000)
        expect(yield* events).toEqual([])
        yield* tell(1)
        yield* telling(1, 20_000)
        expect(yield* events).toEqual([])
      })
    )
  )

  it.effect("still finds a node that stays silent, a full threshold after it stood still", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* stall(30_000)
        yield* passing(afterMs + 1000)
        expect(yield* events).toMatchObject([{ rule: -1, to: null }])
      })
    )
  )

  it.effect.each([3_600_000, -3_600_000])(
    "opens and closes nothing when the clock of the machine jumps by %i ms",
    (ms) =>
      inAlerting(
        Effect.gen(function* () {
          yield* reporting
          const { wall } = yield* Clocks
          wall.set(wall.now + ms)
          yield* passing(afterMs - 1000)
          expect(yield* events).toEqual([])
          yield* tell(1)
          yield* telling(1, 30_000)
          expect(yield* events).toEqual([])
          yield* passing(afterMs + 1000)
          expect(yield* events).toMatchObject([{ rule: -1, to: null }])
        })
      )
  )

  it.effect("opens nothing while the disk refuses, nor before a full threshold has passed since", () => {
    const faults = makeFaults()
    return inAlerting(
      Effect.gen(function* () {
        yield* reporting
        faults.fault = full()
        for (let i = 0; i < 20; i++) {
          yield* passing(3000)
          expect(yield* tell(1)).toBe("Refused")
        }
        faults.fault = undefined
        // Its disk is looked at every few seconds.
        for (let i = 0; i < 40 && (yield* Journal).closed() !== undefined; i++) yield* passing(250)
        expect([(yield* Journal).closed(), yield* events]).toEqual([undefined, []])
        yield* passing(afterMs - 1000)
        yield* tell(1)
        yield* telling(1, 20_000)
        expect(yield* events).toEqual([])
      }),
      faults
    )
  })

  it.effect("charges no node with the time in which it was down, and forgets no node that was gone before", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const clocks = makeClocks()
        yield* inAlerting(
          Effect.gen(function* () {
            yield* addChannel()
            yield* telling(2, 70_000)
            yield* telling(1, 20_000)
            expect(yield* events).toMatchObject([{ id: 1, node: 2, to: null }])
          }),
          { filename, clocks, nodes: 2 }
        )
        clocks.pass(600_000)
        yield* inAlerting(
          Effect.gen(function* () {
            yield* passing(3000)
            // Node 2 is considered before its deadline is known: it is still gone.
            yield* changed
            yield* telling(1, 65_000, {}, 5000)
            expect(yield* events).toMatchObject([{ id: 1, node: 2, to: null }])
            yield* tell(2)
            expect(yield* events).toMatchObject([{ id: 1, reason: "condition_cleared" }])
            expect(yield* told).toEqual(["1 opened to 1", "1 closed to 1"])
          }),
          { filename, clocks, nodes: 2 }
        )
      })
    )
  )

  it.effect("opens nothing for a node whose actor was away", () => {
    const faults = makeFaults()
    faults.poison = 0.666
    return inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* passing(afterMs - 1000)
        expect(yield* tell(1, { cpu: 0.666 })).toBe("Refused")
        yield* passing(5000)
        expect((yield* actorOf(1)).status).toBe("running")
        expect(yield* events).toEqual([])
        yield* tell(1)
        yield* telling(1, 20_000)
        expect(yield* events).toEqual([])
      }),
      faults
    )
  })
})

describe("a node", { timeout: 30_000 }, () => {
  it.effect("that never reported is not offline", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* addChannel()
        yield* grace
        yield* passing(2 * minute, 1000)
        expect(yield* events).toEqual([])
      })
    )
  )

  it.effect("is offline within a second after its deadline and never before, and back with its next report", () => {
    const sink = makeSink()
    return inAlerting(
      Effect.gen(function* () {
        yield* reporting
        const { wall } = yield* Clocks
        const heardAt = wall.now
        yield* passing(afterMs)
        expect(yield* events).toEqual([])
        yield* passing(1000)
        const [event] = yield* events
        expect(event).toMatchObject({ rule: -1, to: null })
        expect((event?.from ?? 0) - heardAt).toBeGreaterThan(afterMs)
        expect((event?.from ?? 0) - heardAt).toBeLessThanOrEqual(afterMs + 1000)
        yield* passing(20_000)
        yield* tell(1)
        expect((yield* events).map(({ reason, to }) => [reason, to])).toEqual([["condition_cleared", wall.now]])
        yield* passing(1000)
        const text = (at: number) => `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`
        expect(sink.arrived.map(({ note }) => note.title)).toEqual(["Offline: node-1", "Back online: node-1"])
        for (const { note } of sink.arrived) expect(note.body).toContain(`Last report: ${text(heardAt)}`)
      }),
      { sink }
    )
  })

  it.effect("keeps its open alert alive while it is silent, and says so on disk at most once a minute", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* passing(15_000)
        const [opened] = yield* events
        yield* passing(3 * minute, 500)
        const [row] = (yield* run(
          "SELECT last_at AS lastAt, closed_at AS closedAt FROM alert_events"
        )) as ReadonlyArray<{
          lastAt: number
          closedAt: number | null
        }>
        expect(row?.closedAt).toBe(null)
        expect((row?.lastAt ?? 0) - (opened?.from ?? 0)).toBeGreaterThanOrEqual(2 * minute)
        expect(yield* told).toEqual(["1 opened to 1"])
      })
    )
  )

  it.effect("that reports once a minute has four of its intervals, from the moment it says so", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* sendStatic(1, { ...staticOf(), report_interval_seconds: 60 })
        yield* passing(4 * minute, 500)
        expect(yield* events).toEqual([])
        // Back to three seconds: its silence is over the deadline at once.
        yield* sendStatic(1, staticOf())
        yield* passing(1000)
        expect(yield* events).toMatchObject([{ rule: -1 }])
      })
    )
  )

  it.effect("has as long as the settings say, as soon as they say so", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* setOffline(60)
        yield* passing(50_000)
        expect(yield* events).toEqual([])
        yield* setOffline(20)
        yield* passing(1000)
        expect(yield* events).toMatchObject([{ rule: -1 }])
      })
    )
  )

  it.effect("without the rule is not watched; mounted again, its silence is told at once", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* reporting
        yield* mount(false, [-1])
        yield* passing(30_000)
        expect([yield* events, yield* statesOf(1)]).toEqual([[], []])
        yield* mount(true, [-1])
        expect(yield* events).toMatchObject([{ rule: -1, to: null }])
      })
    )
  )
})

describe("a fleet", { timeout: 60_000 }, () => {
  const nodes = 10_000

  it.effect("of ten thousand, of which half fall silent at once, is told within a second and holds nothing up", () =>
    inAlerting(
      Effect.gen(function* () {
        yield* addChannel()
        yield* addChannel(telegram)
        yield* grace
        const intake = yield* Intake
        const { agentMs, monoMs, pass } = yield* Clocks
        const tellAll = (ids: ReadonlyArray<number>) =>
          Effect.gen(function* () {
            for (const [i, id] of ids.entries()) {
              post(intake, id, reportOf({ at: agentMs() }))
              if (i % 1000 === 999) yield* (yield* Journal).flushed
            }
            yield* (yield* Journal).flushed
          })
        const all = Array.from({ length: nodes }, (_, i) => i + 1)
        yield* tellAll(all)
        const heardAt = monoMs()
        yield* passing(10_000, 1000)
        yield* tellAll(all.slice(nodes / 2))
        yield* passing(heardAt + afterMs - monoMs())
        expect(yield* events).toEqual([])

        // The clocks stand while the work is done: what it takes is real time.
        pass(500)
        const register = yield* FiberRegister
        const waiting = () => register.list().find(({ name }) => name === "AlertWatch")?.depth ?? 0
        const startedAt = spentMs()
        let [turnAt, most, longestMs] = [startedAt, 0, 0]
        while (most === 0 || waiting() > 0) {
          most = Math.max(most, waiting())
          yield* turns(0)
          longestMs = Math.max(longestMs, spentMs() - turnAt)
          turnAt = spentMs()
        }
        expect(spentMs() - startedAt).toBeLessThan(2000)
        // In one piece it would be half a second.
        expect(longestMs).toBeLessThan(50)
        yield* (yield* Journal).flushed
        const opened = yield* events
        expect(new Set(opened.map(({ node }) => node)).size).toBe(nodes / 2)
        expect(opened).toHaveLength(nodes / 2)
        expect(opened.every(({ node, rule }) => rule === -1 && node <= nodes / 2)).toBe(true)
        expect(yield* told).toHaveLength(nodes)
        // Only what people read can be told in one message.
        expect(yield* run("SELECT channel_type AS type, group_key AS shared FROM alert_outbox GROUP BY 1, 2")).toEqual([
          { type: "telegram", shared: "offline" },
          { type: "webhook", shared: null }
        ])
        expect((yield* AlertDesk).hearing.isSilent(NodeId.make(nodes), monoMs())).toBe(false)
      }),
      { nodes }
    )
  )
})
