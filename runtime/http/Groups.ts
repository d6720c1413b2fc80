// /api/admin/groups: reads from the roster, writes to the store, and the rest follows.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { groupChanges, newGroup } from "../../src/core/GroupWrite.ts"
import { Groups } from "../../src/store/Groups.ts"
import { NodeRoster } from "../NodeRoster.ts"
import * as Registry from "./Registry.ts"

export const layer = HttpApiBuilder.group(Api, "groups", (handlers) =>
  Effect.gen(function* () {
    const groups = yield* Groups
    const roster = yield* NodeRoster
    const { caughtUp, written } = yield* Registry.make

    return handlers
      .handle("list", () =>
        Effect.map(caughtUp, () =>
          roster.groups().map(({ id, name, nodeCount, remark }) => ({ id, name, remark, server_count: nodeCount }))
        )
      )
      .handle("map", () =>
        Effect.map(caughtUp, () => Object.fromEntries(roster.groups().map(({ id, name }) => [String(id), name])))
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const id = yield* written(groups.create(yield* newGroup(payload)))
          return HttpServerResponse.empty({ status: 204, headers: { location: `/api/admin/groups/${id}` } })
        })
      )
      .handle("patch", ({ path, payload }) =>
        Effect.flatMap(groupChanges(payload), (changes) => written(groups.patch(path.id, changes)))
      )
      .handle("remove", ({ path }) => written(groups.remove(path.id)))
  })
)
