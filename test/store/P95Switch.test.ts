// The percentile of many nodes in the database: all of them are switched, or none.
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { allNodes, fill, quiet, stores } from "./Support.ts"

const test = <A, E>(name: string, body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof stores>>>) =>
  it.effect(name, () => body.pipe(Effect.provide([stores(), quiet])))

const records = Effect.map(allNodes, (all) => all.map(({ record }) => record))

describe("the percentile of many nodes", () => {
  const switched = Effect.map(records, (all) => all.filter((one) => one.trafficP95Enabled).map(({ id }) => id))

  test(
    "is switched for all of them, or for none when one is unknown or deleted, which is told by its id",
    Effect.gen(function* () {
      const nodes = yield* Nodes
      yield* fill(5)
      yield* nodes.remove(NodeId.make(4))
      yield* nodes.switchP95(
        [1, 2].map((id) => NodeId.make(id)),
        true
      )
      for (const [ids, gone] of [
        [[1, 3, 99, 4], 99],
        [[3, 4], 4],
        [[2 ** 53 - 1], 2 ** 53 - 1]
      ] as const) {
        for (const enabled of [true, false]) {
          const refused = yield* Effect.flip(
            nodes.switchP95(
              ids.map((id) => NodeId.make(id)),
              enabled
            )
          )
          expect([refused.code, refused.message]).toEqual(["not_found", `there is no node ${gone}`])
        }
      }
      expect(yield* switched).toEqual([1, 2])

      yield* nodes.switchP95([NodeId.make(2)], false)
      expect(yield* switched).toEqual([1])
    })
  )
})
