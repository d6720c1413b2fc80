// Groups in the database: the default group, counts, and what deleting does and does not.
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { GroupId } from "../../schema/Ids.ts"
import { Groups } from "../../src/store/Groups.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { allNodes, quiet, run, stores } from "./Support.ts"

const test = <A, E>(name: string, body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof stores>>>) =>
  it.effect(name, () => body.pipe(Effect.provide([stores(), quiet])))

const first = { id: 1, name: "default", remark: "default", nodeCount: 0 }

describe("groups", () => {
  test(
    "fail as unavailable storage when the table is gone",
    Effect.gen(function* () {
      const groups = yield* Groups
      const { id } = { id: GroupId.make(2) }
      yield* run("DROP TABLE node_group_members")
      yield* run("DROP TABLE node_groups")

      const failures = yield* Effect.all([
        Effect.flip(groups.list),
        Effect.flip(groups.create({ name: "a", remark: "" })),
        Effect.flip(groups.patch(id, { name: "a" })),
        Effect.flip(groups.remove(id))
      ])

      expect(failures.map(({ code }) => code)).toEqual(["db_error", "db_error", "db_error", "db_error"])
    })
  )

  test(
    "that are unknown or deleted cannot be changed or deleted",
    Effect.gen(function* () {
      const groups = yield* Groups
      const id = yield* groups.create({ name: "a", remark: "" })
      yield* groups.remove(id)

      for (const gone of [id, GroupId.make(99)]) {
        expect((yield* Effect.flip(groups.patch(gone, { name: "b" }))).code).toBe("not_found")
        expect((yield* Effect.flip(groups.remove(gone))).code).toBe("not_found")
      }
    })
  )

  test(
    "keep the default group from being deleted",
    Effect.gen(function* () {
      const groups = yield* Groups

      expect((yield* Effect.flip(groups.remove(GroupId.make(1)))).code).toBe("default_group_not_deletable")
      expect(yield* groups.list).toEqual([first])
    })
  )

  test(
    "are listed by id, may share a name, and change only in what was given",
    Effect.gen(function* () {
      const groups = yield* Groups
      const a = yield* groups.create({ name: "lab", remark: "one" })
      const b = yield* groups.create({ name: "lab", remark: "" })
      yield* groups.patch(a, { name: "it's" })
      yield* groups.patch(b, { remark: "two" })

      expect(yield* groups.list).toEqual([
        first,
        { id: a, name: "it's", remark: "one", nodeCount: 0 },
        { id: b, name: "lab", remark: "two", nodeCount: 0 }
      ])
    })
  )

  test(
    "count their active members",
    Effect.gen(function* () {
      const groups = yield* Groups
      const nodes = yield* Nodes
      const lab = yield* groups.create({ name: "lab", remark: "" })
      const [one, two] = [yield* nodes.create, yield* nodes.create]
      yield* nodes.patch(one, { groupIds: [lab, GroupId.make(1)] })
      yield* nodes.patch(two, { groupIds: [lab] })

      expect((yield* groups.list).map(({ nodeCount }) => nodeCount)).toEqual([1, 2])
      yield* nodes.remove(two)
      expect((yield* groups.list).map(({ nodeCount }) => nodeCount)).toEqual([1, 1])
    })
  )

  test(
    "leave their nodes when they are deleted, and never come back with them",
    Effect.gen(function* () {
      const groups = yield* Groups
      const nodes = yield* Nodes
      const lab = yield* groups.create({ name: "lab", remark: "" })
      const node = yield* nodes.create
      yield* nodes.patch(node, { groupIds: [lab] })
      yield* groups.remove(lab)

      expect((yield* groups.list).map(({ id }) => id)).toEqual([1])
      expect((yield* allNodes).map(({ record }) => record.groupIds)).toEqual([[]])
      expect(yield* groups.create({ name: "next", remark: "" })).not.toBe(lab)
    })
  )
})

describe("the default group", () => {
  it.effect("is there again at the next start after its row was marked deleted, under the name it had", () => {
    const folder = mkdtempSync(join(tmpdir(), "groups-"))
    const start = stores({ filename: join(folder, "watchpost.db") })
    const before = Effect.gen(function* () {
      yield* (yield* Groups).patch(GroupId.make(1), { name: "all" })
      yield* run("UPDATE node_groups SET deleted_at = 5")
      expect(yield* (yield* Groups).list).toEqual([])
    })
    const after = Effect.gen(function* () {
      expect(yield* (yield* Groups).list).toEqual([{ ...first, name: "all" }])
    })

    return before.pipe(
      Effect.provide(start),
      Effect.zipRight(Effect.provide(after, start)),
      Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true })))
    )
  })
})
