// Recovery: whatever happened, what a killed engine leaves on the disk is rebuilt to what it had published.
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock, TestContext } from "effect"
import fc from "fast-check"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { Intake } from "../../runtime/Intake.ts"
import { checkpointEvery } from "../../runtime/NodeActor.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { Host } from "../../src/core/Layout.ts"
import { decode, encoded } from "../../src/core/VectorCode.ts"
import { Window } from "../../src/core/Window.ts"
import { Database } from "../../src/store/Sql.ts"
import { full } from "../support/Disk.ts"
import {
  actorOf,
  type Answer,
  epoch,
  inEngine,
  journalRows,
  killedCopy,
  makeFaults,
  onDisk,
  pass,
  post,
  postStatic,
  reportOf,
  send,
  sendStatic,
  staticOf,
  type Store,
  turns,
  until,
  viewOf
} from "../support/Engine.ts"

const ok: Answer = { _tag: "Acknowledged", update: null }
const at = (seconds: number) => epoch + seconds * 1000
const ids = [1, 2, 3]
const poison = 0.666

const id = fc.constantFrom(...ids)
const second = fc.integer({ min: 1, max: 60 })
const message = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("next" as const), id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("any" as const), id, second }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rival" as const), id, second }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reboot" as const), id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("change" as const), id, n: fc.nat({ max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("static" as const), id, n: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lost" as const), id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("rest" as const), ms: fc.constantFrom(0, 500, 70_000) }) }
)
type Message = typeof message extends fc.Arbitrary<infer A> ? A : never

/** What an agent of a node would say next; kept by the test, so that two engines can be told the same. */
const makeAgents = () => {
  const agents = new Map(ids.map((one) => [one, { at: epoch, bootAt: epoch - 86_400_000, change: 0 }]))
  const agentOf = (one: number) => agents.get(one) as { at: number; bootAt: number; change: number }
  const reportBy = (one: number, time: number, cpu = 0.25) => {
    const { bootAt, change } = agentOf(one)
    const nics = ["eth0", "eth1", "wlan0"].slice(0, 1 + (change % 3))
    const serial = change % 2 === 0 ? {} : { serial: `s-${change}` }
    return reportOf({ at: time, bootAt, nics, version: `1.${change}.0`, hostname: `h${one}`, cpu, ...serial })
  }
  return { agentOf, reportBy, copy: () => new Map([...agents].map(([one, agent]) => [one, { ...agent }])), agents }
}
type Agents = ReturnType<typeof makeAgents>

/** Tells the engine one message and waits for what becomes of it. */
const tell = ({ agentOf, reportBy }: Agents, faults: ReturnType<typeof makeFaults>, one: Message) =>
  Effect.gen(function* () {
    const intake = yield* Intake
    if (one.kind === "rest") {
      yield* TestClock.adjust(one.ms)
      return [] as Array<Answer>
    }
    const agent = agentOf(one.id)
    const next = () => (agent.at += 1000)
    if (one.kind === "lost") faults.fault = full()
    if (one.kind === "reboot") agent.bootAt = agent.at + 1000
    if (one.kind === "change") agent.change = one.n
    const answers =
      one.kind === "static"
        ? postStatic(intake, one.id, staticOf({ hostname: `h${one.id}`, kernel: `6.${one.n}` }))
        : one.kind === "rival"
          ? post(intake, one.id, reportOf({ at: at(one.second), hostname: "rival", bootAt: epoch - 5e8 }))
          : post(intake, one.id, reportBy(one.id, one.kind === "any" ? at(one.second) : next(), cpuOf(one)))
    yield* until("an answer", () => answers.length > 0)
    faults.fault = undefined
    if (one.kind === "crash" || one.kind === "lost") yield* pass(400, 200)
    return answers
  })
const cpuOf = (one: Message) => (one.kind === "crash" ? poison : 0.25)

const views = Effect.forEach(ids, viewOf)

/** Says it all to one engine, kills it in the middle, and says the second half to the killed one's successor as well. */
const recovers = (first: ReadonlyArray<Message>, second: ReadonlyArray<Message>) =>
  onDisk((filename) => {
    const faults = makeFaults()
    faults.poison = poison
    const options = { nodes: ids.length, ...faults }
    const agents = makeAgents()
    return Effect.gen(function* () {
      const live = yield* inEngine(
        Effect.gen(function* () {
          for (const one of first) yield* tell(agents, faults, one)
          killedCopy(filename)
          const kept = agents.copy()
          const killedAt = yield* TestClock.currentTimeMillis
          const middle = yield* views
          const answers = yield* Effect.forEach(second, (one) => tell(agents, faults, one))
          return { middle, answers, end: yield* views, killedAt, kept }
        }),
        { ...options, filename }
      )
      for (const [one, agent] of live.kept) Object.assign(agents.agentOf(one), agent)
      yield* TestClock.setTime(live.killedAt)
      yield* inEngine(
        Effect.gen(function* () {
          yield* turns(3)
          expect(yield* views).toEqual(live.middle)
          expect(yield* Effect.forEach(second, (one) => tell(agents, faults, one))).toEqual(live.answers)
          expect(yield* views).toEqual(live.end)
        }),
        { ...options, filename: `${filename}.killed` }
      )
    })
  })

describe("Invariant 4: recovery is replay", { timeout: 30_000 }, () => {
  it.live(
    "a killed engine's successor shows the same views, and answers and shows the same from then on",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            fc.array(message, { minLength: 1, maxLength: 70 }),
            fc.array(message, { maxLength: 15 }),
            (first, second) =>
              Effect.runPromise(Effect.provide(Effect.scoped(recovers(first, second)), TestContext.TestContext))
          ),
          { numRuns: 20, endOnFailure: true }
        )
      ),
    120_000
  )

  it.effect("also from a checkpoint with nothing behind it, and from one with a full row of reports behind it", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        const live = yield* inEngine(
          Effect.gen(function* () {
            for (let n = 1; n <= checkpointEvery; n++) yield* send(1, { at: at(n), serial: "s" })
            for (let n = 1; n < 2 * checkpointEvery; n++) yield* send(2, { at: at(n), nics: ["a", "b"] })
            yield* sendStatic(3, staticOf({ hostname: "only" }))
            killedCopy(filename)
            return yield* views
          }),
          { filename, nodes: 3 }
        )
        yield* inEngine(
          Effect.gen(function* () {
            expect(yield* views).toEqual(live)
            expect((yield* actorOf(1)).window?.length).toBe(1)
            const { window } = yield* actorOf(2)
            expect(window?.length).toBe(Math.min(checkpointEvery, Window.samples(window?.size ?? 0)))
          }),
          { filename: `${filename}.killed` }
        )
      })
    )
  )

  it.effect("folds tails longer than one slice, in order", () =>
    onDisk((filename) =>
      Effect.gen(function* () {
        yield* inEngine(
          Effect.gen(function* () {
            for (let n = 1; n <= 3; n++) for (const one of ids) yield* send(one, { at: at(n) })
            const store = yield* JournalStore
            const rows = store.tail(0, 1e9, 10)
            const first = store.lastSeq() + 1
            // The same nine rows again and again, each time three seconds later in the agents' clocks.
            const later = Array.from({ length: 4500 }, (_, i) => {
              const { nodeId, vector: before } = rows[i % 9] as (typeof rows)[number]
              const values = decode(before)
              const gone = 3 * (1 + Math.floor(i / 9))
              values[Host.reportedAt] = (values[Host.reportedAt] ?? 0) + gone * 1000
              values[Host.uptimeSec] = (values[Host.uptimeSec] ?? 0) + gone
              const row = {
                kind: "row",
                details: null,
                isApplied: true,
                checkpoint: null,
                facts: null,
                alerts: null
              } as const
              return { ...row, seq: first + i, nodeId, receivedAt: epoch + i, vector: encoded(values) }
            })
            store.write(later)
          }),
          { filename, nodes: 3 }
        )
        yield* inEngine(
          Effect.gen(function* () {
            for (const one of ids) {
              const [view, actor] = [yield* viewOf(one), yield* actorOf(one)]
              expect([view?.vector[0], view?.receivedAt]).toEqual([at(1503), epoch + 4496 + one])
              expect(actor.lastSeq).toBe(4506 + one)
            }
            expect((yield* journalRows).length).toBe(4509)
          }),
          { filename }
        )
      })
    )
  )
})

describe("what cannot be rebuilt", { timeout: 30_000 }, () => {
  /** Three nodes with checkpoints, rows and Statics; then the statement; then a start that must not care. */
  const damaged = (statement: string, told: string) =>
    onDisk((filename) =>
      Effect.gen(function* () {
        yield* inEngine(
          Effect.gen(function* () {
            for (let n = 1; n <= checkpointEvery + 2; n++) for (const one of ids) yield* send(one, { at: at(n) })
            for (const one of ids) yield* sendStatic(one, staticOf())
            ;(yield* Database).handle().exec(statement)
          }),
          { filename, nodes: 3 }
        )
        yield* inEngine(
          Effect.gen(function* () {
            yield* turns(3)
            const supervisor = yield* NodeSupervisor
            expect(supervisor.counts()).toMatchObject({ total: 3, running: 2, restarting: 1 })
            expect((yield* actorOf(2)).lastError).toContain(told)
            for (const one of [1, 3]) {
              expect(yield* send(one, { at: at(99) })).toEqual(ok)
              expect((yield* viewOf(one))?.statics?.body.system.hostname).toBe("host")
            }
            yield* pass(3000, 100)
            expect(supervisor.counts()).toMatchObject({ total: 3, running: 2, parked: 1 })
          }),
          { filename }
        )
      })
    )

  it.effect("keeps to itself: a checkpoint that is no JSON", () =>
    damaged("UPDATE checkpoints SET details = '{' WHERE node_id = 2", "the checkpoint of node 2 cannot be read")
  )
  it.effect("keeps to itself: a checkpoint whose vector is cut", () =>
    damaged("UPDATE checkpoints SET vector = x'010203' WHERE node_id = 2", "the checkpoint of node 2 cannot be read")
  )
  it.effect("keeps to itself: a row whose details are no JSON", () =>
    damaged(
      "UPDATE journal SET details = 'x' WHERE seq = (SELECT max(seq) FROM journal WHERE node_id = 2)",
      "cannot be replayed"
    )
  )
  it.effect("keeps to itself: a Static that is no JSON", () =>
    damaged("UPDATE node_statics SET body = '' WHERE node_id = 2", "the Static of node 2 cannot be read")
  )
})

describe("the fiber that rebuilds", { timeout: 30_000 }, () => {
  it.effect("serves many nodes that ask at once with one pass over the tail", () => {
    const faults = makeFaults()
    const asked = { tails: 0 }
    const wrap = (store: Store): Store => ({
      ...faults.wrap(store),
      tail: (...range) => (asked.tails++, store.tail(...range))
    })
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const all = Array.from({ length: 50 }, (_, i) => i + 1)
        yield* Effect.forEach(all, (one) => send(one, { at: at(1) }), { concurrency: 50 })
        faults.fault = full()
        const answers = all.map((one) => post(intake, one, reportOf({ at: at(2) })))
        yield* until("the answers", () => answers.every(({ length }) => length > 0))
        faults.fault = undefined
        asked.tails = 0
        yield* pass(400, 100)

        expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 50 })
        expect(asked.tails).toBeLessThanOrEqual(4)
      }),
      { wrap, nodes: 50 }
    )
  })

  it.effect("folds no row again that a node's checkpoint holds, when another needs older ones", () => {
    const faults = makeFaults()
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        for (let n = 1; n <= 3; n++) yield* send(2, { at: at(n), hostname: "h2" })
        for (let n = 1; n <= checkpointEvery + 2; n++) {
          yield* send(1, { at: at(n) })
          yield* TestClock.adjust(1000)
        }
        const before = [yield* viewOf(1), yield* viewOf(2)]
        faults.fault = full()
        const answers = [1, 2].map((one) => post(intake, one, reportOf({ at: at(99), hostname: `h${one}` })))
        yield* until("the answers", () => answers.every(({ length }) => length > 0))
        faults.fault = undefined
        yield* pass(400, 100)

        expect([yield* viewOf(1), yield* viewOf(2)]).toEqual(before)
        expect([(yield* actorOf(1)).window?.length, (yield* actorOf(2)).window?.length]).toEqual([3, 3])
      }),
      { ...faults, nodes: 2 }
    )
  })

  it.effect("tries again when the disk does not answer, and then serves everybody who waits", () => {
    const faults = makeFaults()
    const fails = { left: 0 }
    const wrap = (store: Store): Store => ({
      ...faults.wrap(store),
      tail: (...range) => {
        if (fails.left-- > 0) throw new Error("disk I/O error")
        return store.tail(...range)
      }
    })
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        for (const one of ids) yield* send(one, { at: at(1) })
        faults.poison = poison
        fails.left = 3
        for (const one of ids) expect(post(intake, one, reportOf({ at: at(2), cpu: poison })).length).toBe(1)
        yield* pass(200, 50)
        expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 0, restarting: 3 })
        expect((yield* FiberRegister).list()).toContainEqual(
          expect.objectContaining({ name: "Replay", last_error: expect.stringContaining("disk I/O error") })
        )
        yield* pass(2000, 100)

        expect((yield* NodeSupervisor).counts()).toMatchObject({ running: 3, restarting: 0 })
        for (const one of ids) expect(yield* send(one, { at: at(3) })).toEqual(ok)
      }),
      { wrap, step: faults.step, nodes: 3 }
    )
  })
})
