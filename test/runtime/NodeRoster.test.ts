// The in-memory copy: it follows the database, shares readings, survives failures and never holds a secret.
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber, Layer } from "effect"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { GroupId, NodeId } from "../../schema/Ids.ts"
import { Vault } from "../../src/auth/Vault.ts"
import { Groups } from "../../src/store/Groups.ts"
import type { StoredNode } from "../../src/store/NodeRows.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { fill, quiet, run, stores, vault } from "../store/Support.ts"

const live = NodeRoster.layer.pipe(Layer.provideMerge(stores()))
const test = <A, E>(name: string, body: Effect.Effect<A, E, Layer.Layer.Success<typeof live>>) =>
  it.effect(name, () => body.pipe(Effect.provide([live, quiet])))

const node = (id: number, change: Partial<StoredNode["record"]> = {}): StoredNode => ({
  record: {
    id: NodeId.make(id),
    name: "Untitled",
    tags: [],
    displayOrder: id,
    guestVisible: false,
    groupIds: [],
    trafficP95Enabled: false,
    trafficCycleMode: "default",
    trafficBillingStartDay: 1,
    trafficBillingAnchorDate: "",
    trafficBillingTimezone: "",
    trafficDirectionMode: "default",
    createdAt: 0,
    ...change
  },
  secretDigest: vault.digest(`secret-of-${id}`),
  secretSealed: vault.seal(`secret-of-${id}`, `nodes/${id}`)
})

/** A roster over a store whose readings the test answers. */
const withPages = <A, E>(page: Nodes["Type"]["page"], body: Effect.Effect<A, E, NodeRoster>) => {
  const nodes = Layer.mock(Nodes, { page })
  const groups = Layer.mock(Groups, { list: Effect.succeed([]) })
  const fakes = Layer.mergeAll(nodes, groups, Layer.succeed(Vault, vault))
  return body.pipe(Effect.provide(NodeRoster.layer.pipe(Layer.provide(fakes))))
}

describe("a roster whose database fails", () => {
  test(
    "keeps what it had, says so, and makes up for it when asked",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* roster.refresh
      yield* nodes.remove(id)
      yield* run("ALTER TABLE nodes RENAME TO elsewhere")
      const before = roster.revision()

      expect((yield* Effect.flip(roster.refresh)).code).toBe("db_error")
      expect((yield* Effect.flip(roster.catchUp)).code).toBe("db_error")
      expect([roster.records().size, roster.revision()]).toEqual([1, before])

      yield* run("ALTER TABLE elsewhere RENAME TO nodes")
      expect(yield* roster.catchUp).toBe(true)
      expect(roster.records().size).toBe(0)
      expect(yield* roster.catchUp).toBe(false)
    })
  )

  it.effect("does not start without a first reading", () => {
    const fails = Effect.fail(new StorageUnavailable({ message: "gone" }))

    return Effect.map(Effect.flip(withPages(() => fails, NodeRoster)), ({ code }) => expect(code).toBe("db_error"))
  })

  it.effect("makes up for a reading that was broken off", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      let readings = 0
      const page = () =>
        ++readings === 2 ? Effect.zipRight(Deferred.succeed(began, undefined), Effect.never) : Effect.succeed([])

      yield* withPages(
        page,
        Effect.gen(function* () {
          const roster = yield* NodeRoster
          const reading = yield* Effect.fork(roster.refresh)
          yield* Deferred.await(began)
          yield* Fiber.interrupt(reading)

          expect(yield* roster.catchUp).toBe(true)
          expect(readings).toBe(3)
        })
      )
    })
  )
})

describe("a look-up by secret", () => {
  const refused = [
    "",
    " ",
    "secret-of-3",
    "secret-of",
    "SECRET-OF-1",
    "\0",
    "x".repeat(100_000),
    vault.digest("secret-of-1")
  ]

  test(
    "finds nothing for a secret that no active node has",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* fill(3)
      yield* (yield* Nodes).remove(NodeId.make(3))
      yield* roster.refresh

      expect(refused.map(roster.bySecret)).toEqual(refused.map(() => undefined))
    })
  )

  test(
    "finds the node, spaces or not, and no longer once the secret was changed",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* fill(2)
      yield* roster.refresh

      expect(roster.bySecret("secret-of-2")?.id).toBe(2)
      expect(roster.bySecret("\t secret-of-1 ")).toBe(roster.records().get(NodeId.make(1)))

      yield* (yield* Nodes).patch(NodeId.make(2), { secret: Either.right("changed-secret") })
      yield* roster.refresh
      expect([roster.bySecret("secret-of-2"), roster.bySecret("changed-secret")?.id]).toEqual([undefined, 2])
    })
  )

  test(
    "is never answered from a record that holds the secret, which is opened only on demand",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* fill(1)
      yield* roster.refresh

      expect(JSON.stringify([...roster.records().values()])).not.toMatch(/secret/)
      expect(roster.secret(NodeId.make(1))).toBe("secret-of-1")
      expect(roster.secret(NodeId.make(2))).toBeUndefined()
      yield* run("UPDATE nodes SET secret_sealed = ?", [vault.seal("secret-of-1", "nodes/2")])
      yield* roster.refresh
      expect(roster.secret(NodeId.make(1))).toBeUndefined()
    })
  )
})

describe("the copy", () => {
  test(
    "is what was committed, in the order shown, with a larger revision after every refresh",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      const nodes = yield* Nodes
      const names = ["b", "a", "a", "c"]
      const lab = yield* (yield* Groups).create({ name: "lab", remark: "" })
      for (const [i, name] of names.entries()) {
        yield* nodes.patch(yield* nodes.create, { name, displayOrder: i === 3 ? 9 : 5, groupIds: [lab] })
      }
      const before = roster.revision()
      yield* roster.refresh

      expect(roster.ordered().map(({ id }) => id)).toEqual([4, 2, 3, 1])
      expect(roster.groups().map(({ id, nodeCount }) => [id, nodeCount])).toEqual([
        [1, 0],
        [GroupId.make(2), 4]
      ])
      expect(roster.revision()).toBeGreaterThan(before)
      expect(roster.records().get(NodeId.make(4))).toMatchObject({ name: "c", displayOrder: 9, groupIds: [lab] })
    })
  )

  it.effect("is read once for all who ask while a reading is under way, and again because it had begun before", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let readings = 0
      const page = () =>
        Effect.suspend(() => (++readings === 2 ? Effect.as(Deferred.await(gate), []) : Effect.succeed([])))

      yield* withPages(
        page,
        Effect.gen(function* () {
          const roster = yield* NodeRoster
          const first = yield* Effect.fork(roster.refresh)
          yield* Effect.yieldNow()
          const others = yield* Effect.forkAll(Array.from({ length: 50 }, () => roster.refresh))
          yield* Effect.yieldNow()
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(Fiber.zip(first, others))

          // At the start, the one under way, and one for the fifty.
          expect(readings).toBe(3)
        })
      )
    })
  )

  test(
    "of ten thousand nodes is whole and gives the event loop its turns while it is read",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* fill(10_000)
      let turns = 0
      let isWatching = true
      const watch = () => {
        turns++
        if (isWatching) setImmediate(watch)
      }
      watch()
      yield* roster.refresh
      isWatching = false

      expect(turns).toBeGreaterThan(15)
      expect(roster.ordered().map(({ id }) => id)).toEqual(Array.from({ length: 10_000 }, (_, i) => 10_000 - i))
      expect(roster.bySecret("secret-of-10000")?.groupIds).toEqual([1])
    })
  )
})

describe("a first hostname", () => {
  const untitled = [node(1), node(2, { name: " " }), node(3, { name: "kept" })]
  const page = (after: number) => Effect.succeed(after === 0 ? untitled : [])

  it.effect("takes the place of a blank or default name only", () =>
    withPages(
      page,
      Effect.gen(function* () {
        const roster = yield* NodeRoster
        const before = roster.revision()
        roster.renamed(NodeId.make(3), "other")
        roster.renamed(NodeId.make(9), "unknown")
        roster.renamed(NodeId.make(1), " ")
        expect(roster.revision()).toBe(before)
        expect(roster.ordered()[2]?.name).toBe("Untitled")

        roster.renamed(NodeId.make(1), "edge-a")
        roster.renamed(NodeId.make(2), "edge-b")
        roster.renamed(NodeId.make(1), "edge-c")

        expect(roster.revision()).toBe(before + 2)
        expect(roster.ordered().map(({ name }) => name)).toEqual(["kept", "edge-b", "edge-a"])
        expect(roster.bySecret("secret-of-1")?.name).toBe("edge-a")
        expect(roster.records().size).toBe(3)
      })
    )
  )

  it.effect("is not lost when it was committed behind a reading under way", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let readings = 0
      const slow = (after: number) =>
        Effect.suspend(() => (++readings === 2 ? Effect.zipRight(Deferred.await(gate), page(after)) : page(after)))

      yield* withPages(
        slow,
        Effect.gen(function* () {
          const roster = yield* NodeRoster
          const reading = yield* Effect.fork(roster.refresh)
          yield* Effect.yieldNow()
          roster.renamed(NodeId.make(1), "edge-a")
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(reading)

          expect(roster.records().get(NodeId.make(1))?.name).toBe("edge-a")
        })
      )
    })
  )
})
