// Nodes in the database: defaults, patches, secrets, order and deletion, each whole or not at all.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, type Layer, TestClock } from "effect"
import { InvalidSecret } from "../../schema/Errors.ts"
import { GroupId, NodeId } from "../../schema/Ids.ts"
import type { Changes } from "../../src/core/NodePatch.ts"
import { Groups } from "../../src/store/Groups.ts"
import { Nodes, randomSecret } from "../../src/store/Nodes.ts"
import { Database } from "../../src/store/Sql.ts"
import { allNodes, fill, quiet, run, stores, vault } from "./Support.ts"

type Stores = Layer.Layer.Success<ReturnType<typeof stores>>
const test = <A, E>(name: string, body: Effect.Effect<A, E, Stores>, generate = randomSecret) =>
  it.effect(name, () => body.pipe(Effect.provide([stores({ generate }), quiet])))

const records = Effect.map(allNodes, (all) => all.map(({ record }) => record))
const codeOf = <A, E extends { readonly code: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ code }) => code)
const secretOf = (id: NodeId) =>
  Effect.map(allNodes, (all) => {
    const stored = all.find(({ record }) => record.id === id)
    return stored === undefined ? undefined : vault.open(stored.secretSealed, `nodes/${id}`)
  })
const secret = (text: string): Changes => ({ secret: Either.right(text) })
const stranger = NodeId.make(99)

describe("a failing database", () => {
  test(
    "is unavailable storage to every call",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* run("ALTER TABLE nodes RENAME TO elsewhere")

      const codes = yield* Effect.all([
        codeOf(nodes.create),
        codeOf(nodes.patch(id, { name: "a" })),
        codeOf(nodes.order([id])),
        codeOf(nodes.switchP95([id], true)),
        codeOf(nodes.remove(id)),
        codeOf(nodes.page(0, 10))
      ])

      expect(codes).toEqual(Array.from({ length: 6 }, () => "db_error"))
    })
  )

  test(
    "in the middle of a patch leaves the node as it was, and the connection free",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const id = yield* nodes.create
      const before = yield* allNodes
      yield* run("CREATE TRIGGER stop BEFORE DELETE ON node_group_members BEGIN SELECT raise(ABORT, 'stop'); END")

      const patch = nodes.patch(id, { name: "new", groupIds: [], ...secret("new-secret") })

      expect(yield* codeOf(patch)).toBe("db_error")
      expect(yield* codeOf(nodes.remove(id))).toBe("db_error")
      expect(yield* allNodes).toEqual(before)
      expect((yield* Database).busy()).toBe(false)
    })
  )

  test(
    "with a row that cannot be read tells its place and not its content",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      yield* nodes.create
      yield* run("UPDATE nodes SET traffic_cycle_mode = 'hush'")

      const failure = yield* Effect.flip(nodes.page(0, 10))

      expect(failure.code).toBe("db_error")
      expect(failure.message).not.toContain("hush")
    })
  )
})

describe("a created node", () => {
  test(
    "is refused after five secrets that are all in use, and leaves nothing behind",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      yield* nodes.create

      expect(yield* codeOf(nodes.create)).toBe("secret_collision_exhausted")
      expect(yield* records).toHaveLength(1)
    }),
    Effect.succeed("always-the-same")
  )

  let drawn = 0
  test(
    "gets the first secret that is free",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const first = yield* nodes.create
      const second = yield* nodes.create

      expect([yield* secretOf(first), yield* secretOf(second)]).toEqual(["draw-0", "draw-1"])
      expect(drawn).toBe(6)
    }),
    // The second node draws the used secret four times before the fifth draw is a new one.
    Effect.sync(() => `draw-${drawn++ < 5 ? 0 : 1}`)
  )

  test(
    "has the defaults of the contract",
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_123)
      const id = yield* (yield* Nodes).create

      expect(yield* records).toEqual([
        {
          id,
          name: "Untitled",
          tags: [],
          displayOrder: 1,
          guestVisible: false,
          groupIds: [1],
          trafficP95Enabled: false,
          trafficCycleMode: "default",
          trafficBillingStartDay: 1,
          trafficBillingAnchorDate: "",
          trafficBillingTimezone: "",
          trafficDirectionMode: "default",
          createdAt: 1_700_000_000_123
        }
      ])
      expect(yield* secretOf(id)).toMatch(/^[A-Za-z0-9]{32}$/)
    })
  )

  test(
    "stands above all others, also at the end of the range",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* nodes.patch(id, { displayOrder: 41 })
      yield* nodes.create
      yield* nodes.patch(id, { displayOrder: 2_147_483_647 })
      yield* nodes.create

      expect((yield* records).map(({ displayOrder }) => displayOrder)).toEqual([2_147_483_647, 42, 2_147_483_647])
    })
  )

  test(
    "keeps its secret only sealed to its own row and as a digest",
    Effect.gen(function* () {
      const id = yield* (yield* Nodes).create
      const plain = (yield* secretOf(id)) ?? ""
      const [stored] = yield* allNodes

      expect(JSON.stringify(yield* run("SELECT * FROM nodes"))).not.toContain(plain)
      expect(stored?.secretDigest).toBe(vault.digest(plain))
      expect(vault.open(stored?.secretSealed ?? "", "nodes/2")).toBeUndefined()
    })
  )
})

describe("a patch", () => {
  const bad = new InvalidSecret({ message: "secret must have 8 to 128 characters" })
  const wrong: Changes = { name: "new", secret: Either.left(bad), groupIds: [GroupId.make(99)] }

  test(
    "is refused for an unknown node, then a bad or used secret, then an unknown group, and changes nothing",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const groups = yield* Groups
      const [id, other] = [yield* nodes.create, yield* nodes.create]
      yield* nodes.patch(other, secret("used-secret"))
      const gone = yield* groups.create({ name: "gone", remark: "" })
      yield* groups.remove(gone)
      const before = yield* allNodes

      expect(yield* codeOf(nodes.patch(stranger, wrong))).toBe("not_found")
      expect(yield* codeOf(nodes.patch(id, wrong))).toBe("invalid_secret")
      expect(yield* codeOf(nodes.patch(id, { ...wrong, ...secret("used-secret") }))).toBe("duplicate_secret")
      expect(yield* codeOf(nodes.patch(id, { ...wrong, ...secret("free-secret") }))).toBe("invalid_group_ids")
      expect(yield* codeOf(nodes.patch(id, { groupIds: [GroupId.make(1), gone] }))).toBe("invalid_group_ids")
      expect(yield* allNodes).toEqual(before)
    })
  )

  test(
    "writes every field that was given",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const lab = yield* (yield* Groups).create({ name: "lab", remark: "" })
      const id = yield* nodes.create
      const changes = {
        name: "it's; DROP TABLE nodes",
        tags: ['"', "b"],
        displayOrder: 7,
        guestVisible: true,
        groupIds: [lab, GroupId.make(1)],
        trafficP95Enabled: true,
        trafficCycleMode: "vendor_compatible",
        trafficBillingStartDay: 30,
        trafficBillingAnchorDate: "2026-01-30",
        trafficBillingTimezone: "Asia/Tokyo",
        trafficDirectionMode: "max"
      } as const
      yield* nodes.patch(id, { ...changes, ...secret("new-secret") })

      expect(yield* records).toEqual([{ ...changes, groupIds: [1, lab], id, createdAt: 0 }])
      expect(yield* secretOf(id)).toBe("new-secret")
    })
  )

  test(
    "leaves every field that was not given, and other nodes",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const [id, other] = [yield* nodes.create, yield* nodes.create]
      const [before, untouched] = yield* allNodes
      yield* nodes.patch(id, { guestVisible: true })

      expect(yield* allNodes).toEqual([{ ...before, record: { ...before?.record, guestVisible: true } }, untouched])
      yield* nodes.patch(other, { groupIds: [] })
      expect((yield* records).map(({ groupIds }) => groupIds)).toEqual([[1], []])
    })
  )

  test(
    "may give a node the secret that it has, and one that another node had before",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const [id, other] = [yield* nodes.create, yield* nodes.create]
      yield* nodes.patch(id, secret("first-secret"))
      yield* nodes.patch(id, secret("first-secret"))
      yield* nodes.patch(id, secret("second-secret"))
      yield* nodes.patch(other, secret("first-secret"))

      expect([yield* secretOf(id), yield* secretOf(other)]).toEqual(["second-secret", "first-secret"])
    })
  )

  test(
    "takes as many groups as there can be ids",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* run(
        "INSERT INTO node_groups (name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) SELECT i FROM n"
      )
      const groupIds = Array.from({ length: 2000 }, (_, i) => GroupId.make(i + 1))
      yield* nodes.patch(id, { groupIds })

      expect((yield* records)[0]?.groupIds).toEqual(groupIds)
    })
  )
})

describe("a display order", () => {
  const ids = (...numbers: ReadonlyArray<number>) => numbers.map((id) => NodeId.make(id))

  test(
    "is refused with a stranger or a deleted node, incomplete or repeated, and changes nothing",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      yield* fill(4)
      yield* nodes.remove(NodeId.make(4))
      const before = yield* allNodes

      expect(yield* codeOf(nodes.order(ids(1, 2, 3, 99)))).toBe("not_found")
      expect(yield* codeOf(nodes.order(ids(99)))).toBe("not_found")
      expect(yield* codeOf(nodes.order(ids(4, 3, 2, 1)))).toBe("not_found")
      expect(yield* codeOf(nodes.order(ids(1, 2)))).toBe("invalid_ids")
      expect(yield* codeOf(nodes.order(ids(1, 2, 2)))).toBe("invalid_ids")
      expect(yield* codeOf(nodes.order([]))).toBe("invalid_ids")
      expect(yield* allNodes).toEqual(before)
    })
  )

  test(
    "gives n to the first and 1 to the last",
    Effect.gen(function* () {
      yield* fill(3)
      yield* (yield* Nodes).order(ids(2, 3, 1))

      expect((yield* records).map(({ displayOrder }) => displayOrder)).toEqual([1, 3, 2])
    })
  )

  test(
    "of ten thousand nodes is written whole and without holding the journal up for long",
    Effect.gen(function* () {
      const count = 10_000
      yield* fill(count)
      const shuffled = Array.from({ length: count }, (_, i) => NodeId.make(((i * 7919) % count) + 1))
      const startedAt = performance.now()
      yield* (yield* Nodes).order(shuffled)
      const tookMs = performance.now() - startedAt

      const shown = (yield* records).toSorted((a, b) => b.displayOrder - a.displayOrder).map(({ id }) => id)
      expect(shown).toEqual(shuffled)
      // A tenth of this when nothing else runs; one statement per node takes longer than this.
      expect(tookMs).toBeLessThan(500)
    })
  )
})

describe("a deleted node", () => {
  test(
    "is gone from every list, from its groups and for every later call",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* nodes.remove(id)

      expect(yield* allNodes).toEqual([])
      expect(yield* run("SELECT * FROM node_group_members")).toEqual([])
      expect(yield* codeOf(nodes.remove(id))).toBe("not_found")
      expect(yield* codeOf(nodes.patch(id, { name: "back" }))).toBe("not_found")
      expect(yield* codeOf(nodes.remove(stranger))).toBe("not_found")
    })
  )

  test(
    "leaves its row without a trace of the secret, which is free again, and its id unused",
    Effect.gen(function* () {
      yield* TestClock.setTime(77)
      const nodes = yield* Nodes
      const id = yield* nodes.create
      yield* nodes.patch(id, secret("used-secret"))
      yield* nodes.remove(id)
      const next = yield* nodes.create
      yield* nodes.patch(next, secret("used-secret"))

      expect(next).not.toBe(id)
      expect(yield* run("SELECT deleted_at, secret_digest, secret_sealed FROM nodes WHERE id = ?", [id])).toEqual([
        { deleted_at: 77, secret_digest: null, secret_sealed: null }
      ])
    })
  )
})

describe("pages of nodes", () => {
  test(
    "go on behind the last id and join each node with its own groups",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      yield* fill(5)
      yield* nodes.patch(NodeId.make(2), { groupIds: [] })
      yield* nodes.remove(NodeId.make(3))
      const pages = [
        yield* nodes.page(0, 2),
        yield* nodes.page(NodeId.make(2), 2),
        yield* nodes.page(NodeId.make(5), 2)
      ]

      expect(pages.map((page) => page.map(({ record }) => [record.id, record.groupIds]))).toEqual([
        [
          [1, [1]],
          [2, []]
        ],
        [
          [4, [1]],
          [5, [1]]
        ],
        []
      ])
    })
  )
})
