// Many nodes: which crash reaches whom, how long a node rests, when it is parked, and how nodes come and go.
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Intake } from "../../runtime/Intake.ts"
import { parkAfter } from "../../runtime/NodeActor.ts"
import { NodeDirectory } from "../../runtime/NodeDirectory.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import {
  actorOf,
  type Answer,
  changed,
  engine,
  epoch,
  inEngine,
  journalRows,
  killedCopy,
  makeFaults,
  onDisk,
  pass,
  post,
  reportOf,
  send,
  type Store,
  turns,
  until,
  viewOf
} from "../support/Engine.ts"

const ok: Answer = { _tag: "Acknowledged", update: null }
const refused: Answer = { _tag: "Refused" }
const poison = 0.666
const at = (seconds: number) => epoch + seconds * 1000
const factsOf = (id: number) => Effect.map(NodeDirectory, (directory) => directory.facts(NodeId.make(id)))
const counts = Effect.map(NodeSupervisor, (supervisor) => supervisor.counts())

/** Lets node 1 crash for good: the row it has on the disk cannot be folded any more. */
const doom = (faults: ReturnType<typeof makeFaults>) =>
  Effect.gen(function* () {
    expect(yield* send(1, { at: at(1), cpu: poison })).toEqual(ok)
    faults.poison = poison
    expect(yield* send(1, { at: at(2), cpu: poison })).toEqual(refused)
    const actor = yield* actorOf(1)
    yield* until("the note of the crash", () => actor.restarts === 1)
    return actor
  })

describe("a node that crashes", { timeout: 30_000 }, () => {
  it.effect("takes no other with it and holds none up", () => {
    const faults = makeFaults()
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const actor = yield* doom(faults)
        for (let second = 2; second < 40; second++) {
          const answers = [2, 3, 4, 5].map((id) => post(intake, id, reportOf({ at: at(second) })))
          yield* until("the answers", () => answers.every(({ length }) => length > 0))
          expect(answers.flat()).toEqual([ok, ok, ok, ok])
          yield* pass(40, 40)
        }

        expect(actor.restarts).toBeGreaterThanOrEqual(4)
        expect(yield* counts).toMatchObject({ total: 5, running: 4 })
        for (const id of [2, 3, 4, 5]) {
          expect(yield* actorOf(id)).toMatchObject({ status: "running", restarts: 0, lastError: null })
        }
      }),
      { ...faults, nodes: 5 }
    )
  })

  it.effect(
    "rests 100 ms, then twice as long each time up to half a minute, shortened by up to a quarter",
    () => {
      const faults = makeFaults()
      return inEngine(
        Effect.gen(function* () {
          const actor = yield* doom(faults)
          let before = actor.lastErrorAt ?? 0
          for (const delayMs of [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
            const { restarts } = actor
            const stepMs = Math.max(10, delayMs / 20)
            yield* pass(delayMs * 0.75 - stepMs, stepMs)
            expect(actor.restarts, `too early for ${delayMs} ms`).toBe(restarts)
            for (let i = 0; actor.restarts === restarts; i++) {
              expect(i, `too late for ${delayMs} ms`).toBeLessThan(12)
              yield* pass(stepMs, stepMs)
            }
            const restedMs = (actor.lastErrorAt ?? 0) - before
            before = actor.lastErrorAt ?? 0
            expect(restedMs).toBeGreaterThanOrEqual(delayMs * 0.75)
            // The pass over the disk gathers for 5 ms, and the clock of this test moves in steps.
            expect(restedMs).toBeLessThanOrEqual(delayMs + 10 + 2 * stepMs)
          }
        }),
        faults
      )
    },
    30_000
  )

  it.effect(
    "is parked after five crashes in a row, shown as such, refused at once, and taken back when it can be",
    () => {
      const faults = makeFaults()
      return inEngine(
        Effect.gen(function* () {
          const intake = yield* Intake
          const supervisor = yield* NodeSupervisor
          const actor = yield* doom(faults)
          const waiting = post(intake, 1, reportOf({ at: at(3) }))
          for (let crash = actor.crashesInRow; crash < parkAfter; crash++) {
            expect([actor.status, waiting]).toEqual(["restarting", []])
            const { crashesInRow } = actor
            for (let i = 0; actor.crashesInRow === crashesInRow; i++) {
              expect(i).toBeLessThan(200)
              yield* pass(20)
            }
          }

          expect(actor).toMatchObject({ status: "parked", restarts: parkAfter, crashesInRow: parkAfter })
          expect(waiting).toEqual([refused])
          expect(post(intake, 1, reportOf({ at: at(4) }))).toEqual([refused])
          expect(yield* send(2, { at: at(4) })).toEqual(ok)
          expect(yield* counts).toEqual({ total: 3, running: 2, restarting: 0, parked: 1 })
          expect(supervisor.actors(1).map(({ id }) => id)).toEqual([1])
          expect((yield* factsOf(1))?.faults).toMatchObject([
            { kind: "crashing", message: expect.stringContaining("poison") }
          ])
          expect((yield* factsOf(2))?.faults).toEqual([])
          // What it said before stays to be seen.
          expect((yield* viewOf(1))?.vector[0]).toBe(at(1))

          faults.poison = undefined
          yield* pass(3000, 100)
          expect(yield* send(1, { at: at(5) })).toEqual(ok)
          expect((yield* factsOf(1))?.faults).toEqual([])
          expect(yield* counts).toMatchObject({ running: 3, parked: 0 })
          expect((yield* journalRows).filter(({ nodeId }) => nodeId === 1).map((row) => row.reportedAt)).toEqual([
            at(1),
            at(5)
          ])
        }),
        { ...faults, nodes: 3 }
      )
    }
  )

  it.effect("starts counting anew after two quiet minutes", () => {
    const faults = makeFaults()
    faults.poison = poison
    return inEngine(
      Effect.gen(function* () {
        const actor = yield* actorOf(1)
        for (const [second, crashesInRow] of [
          [1, 1],
          [2, 2],
          [3, 3]
        ] as const) {
          expect(yield* send(1, { at: at(second), cpu: poison })).toEqual(refused)
          yield* pass(600, 100)
          expect(actor.crashesInRow).toBe(crashesInRow)
          expect(actor.status).toBe("running")
        }
        yield* pass(121_000, 121_000)
        expect(yield* send(1, { at: at(4), cpu: poison })).toEqual(refused)
        yield* turns(2)

        expect(actor).toMatchObject({ crashesInRow: 1, restarts: 4 })
      }),
      faults
    )
  })

  it.effect("logs its own trouble and nothing of the request that once made it", () => {
    const faults = makeFaults()
    faults.poison = poison
    const logs: Array<string> = []
    return inEngine(
      Effect.gen(function* () {
        const id = yield* changed(Effect.flatMap(Nodes, (nodes) => nodes.create)).pipe(
          Effect.annotateLogs({ request: "of-an-administrator" }),
          Effect.withLogSpan("admin-span")
        )
        yield* turns(5)
        expect(yield* send(id, { at: at(1), cpu: poison })).toEqual(refused)
        yield* pass(200, 100)

        const about = logs.filter((line) => line.includes("actor failed"))
        expect(about).toEqual([expect.stringContaining("poison")])
        expect(about[0]).toContain(`node=${id}`)
        expect(about[0]).not.toContain("of-an-administrator")
        expect(about[0]).not.toContain("admin-span")
      }),
      { ...faults, logs, nodes: 0 }
    )
  })
})

describe("nodes that come and go", { timeout: 30_000 }, () => {
  it.effect("a deleted one ends with what waits for it; its id is nobody's", () => {
    const faults = makeFaults()
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const actor = yield* doom(faults)
        const waiting = post(intake, 1, reportOf({ at: at(3) }))
        yield* changed(Effect.flatMap(Nodes, (nodes) => nodes.remove(NodeId.make(1))))

        expect([actor.status, waiting]).toEqual(["stopped", [refused]])
        expect([yield* viewOf(1), yield* factsOf(1)]).toEqual([undefined, undefined])
        expect(post(intake, 1, reportOf({ at: at(4) }))).toEqual([refused])
        expect(intake.identify("secret-of-1")).toBe(undefined)
        const { restarts } = actor
        yield* pass(2000, 200)
        expect(actor).toMatchObject({ status: "stopped", restarts })
        expect(yield* counts).toEqual({ total: 1, running: 1, restarting: 0, parked: 0 })
      }),
      { ...faults, nodes: 2 }
    )
  })

  it.effect("a new one takes reports as soon as the registry answers", () =>
    inEngine(
      Effect.gen(function* () {
        const id = yield* changed(Effect.flatMap(Nodes, (nodes) => nodes.create))
        const answers = post(yield* Intake, id, reportOf({ at: at(1) }))
        yield* until("the answer", () => answers.length > 0)

        expect(answers).toEqual([ok])
        expect(yield* counts).toEqual({ total: 2, running: 2, restarting: 0, parked: 0 })
      })
    )
  )

  it.effect("an upgrade of an unknown one is not found", () =>
    inEngine(
      Effect.gen(function* () {
        const manifest = { id: "u", version: "2.0.0", url: "/x", sha256: "0".repeat(64), size: 1 }
        const request = Effect.flatMap(NodeDirectory, (directory) => directory.requestUpgrade(NodeId.make(9), manifest))
        expect((yield* Effect.flip(request))._tag).toBe("NotFound")
      })
    )
  )

  it.effect("at the end everybody who waits is answered", () =>
    Effect.gen(function* () {
      const faults = makeFaults()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(engine({ ...faults, nodes: 2 }), scope)
      const intake = Context.get(context, Intake)
      faults.poison = poison
      yield* turns(3)
      const crash = post(intake, 1, reportOf({ at: at(1), cpu: poison }))
      const waiting = post(intake, 1, reportOf({ at: at(2) }))
      const inFlight = post(intake, 2, reportOf({ at: at(1) }))
      expect([waiting, inFlight]).toEqual([[], []])
      yield* Scope.close(scope, Exit.void)

      expect([crash, waiting, inFlight]).toEqual([[refused], [refused], [ok]])
      expect(intake.figures()).toMatchObject({ received: 3, acknowledged: 1, refused: 2, in_flight: 0 })
    })
  )
})

describe("a start", { timeout: 30_000 }, () => {
  it.effect(
    "restores a thousand nodes in one pass, and every one runs with the view it had",
    () =>
      onDisk((filename) => {
        const asked = { one: 0, slices: 0 }
        const counting = (store: Store): Store => ({
          ...store,
          checkpoint: (id) => (asked.one++, store.checkpoint(id)),
          static: (id) => (asked.one++, store.static(id)),
          checkpoints: (after, limit) => (asked.slices++, store.checkpoints(after, limit))
        })
        const nodes = 1000
        const ids = Array.from({ length: nodes }, (_, i) => i + 1)
        return Effect.gen(function* () {
          const before = yield* inEngine(
            Effect.gen(function* () {
              for (let second = 1; second <= 3; second++) {
                yield* Effect.forEach(ids, (id) => send(id, { at: at(second), hostname: `h${id}` }), {
                  concurrency: 500
                })
              }
              killedCopy(filename)
              return yield* Effect.forEach(ids, viewOf)
            }),
            { filename, nodes }
          )
          const startedAt = performance.now()
          yield* inEngine(
            Effect.gen(function* () {
              expect(yield* counts).toEqual({ total: nodes, running: nodes, restarting: 0, parked: 0 })
              expect(asked).toEqual({ one: 0, slices: expect.any(Number) })
              expect(asked.slices).toBeLessThan(5)
              expect(yield* Effect.forEach(ids, viewOf)).toEqual(before)
              expect(yield* send(1000, { at: at(4), hostname: "h1000" })).toEqual(ok)
            }),
            { filename: `${filename}.killed`, nodes, wrap: counting }
          )
          expect(performance.now() - startedAt).toBeLessThan(10_000)
        })
      }),
    30_000
  )
})
