// PATCH /api/admin/nodes/traffic-p95 over HTTP: what it does to the nodes it names, and how fast to ten thousand.
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import { fill, run } from "../store/Support.ts"
import { bodyOf, codeOf, created, newEngine, send, test } from "./RegistryServer.ts"

const path = "/nodes/traffic-p95"
/** Ids of the nodes that the list shows as switched on. */
const switched = Effect.map(bodyOf("/nodes"), (list) =>
  (list as ReadonlyArray<{ readonly id: number; readonly traffic_p95_enabled: boolean }>)
    .filter((node) => node.traffic_p95_enabled)
    .map(({ id }) => id)
    .toSorted((a, b) => a - b)
)

describe("the percentile of nodes", () => {
  test(
    "stays as it was on every node when the last of them cannot be written",
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) yield* created("/nodes")
      yield* run(`CREATE TRIGGER breaks BEFORE UPDATE OF traffic_p95_enabled ON nodes WHEN NEW.id = 3
        BEGIN SELECT RAISE(ABORT, 'no'); END`)

      expect(codeOf(yield* send("PATCH", path, { ids: [1, 2, 3], enabled: true }))).toBe("503 db_error")
      expect(yield* switched).toEqual([])
    })
  )

  test(
    "is switched on and off for the nodes that are named, and for no other",
    Effect.gen(function* () {
      for (let i = 0; i < 4; i++) yield* created("/nodes")
      const { status, text } = yield* send("PATCH", path, { ids: [4, 1, 2], enabled: true })
      expect([status, text, yield* switched]).toEqual([204, "", [1, 2, 4]])

      expect((yield* send("PATCH", `${path}/`, { ids: [1, 3], enabled: false, other: 1 })).status).toBe(204)
      expect(yield* switched).toEqual([2, 4])
    })
  )

  const engine = newEngine()
  test(
    "of ten thousand nodes is switched within two seconds, and the roster is read once",
    Effect.gen(function* () {
      const count = 10_000
      const roster = yield* NodeRoster
      yield* fill(count)
      yield* roster.refresh
      const ids = Array.from({ length: count }, (_, i) => count - i)
      const before = roster.revision()
      const began = performance.now()
      const { status } = yield* send("PATCH", path, { ids, enabled: true })
      const tookMs = performance.now() - began

      expect(status).toBe(204)
      expect([roster.revision() - before, engine.reconciled]).toEqual([1, 1])
      expect(Array.from(roster.records().values()).every((node) => node.trafficP95Enabled)).toBe(true)
      expect(tookMs).toBeLessThan(2000)
    }),
    { engine }
  )
})
