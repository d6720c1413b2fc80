// What is read ahead: every statement fits the tables, and finds its rows without looking at others.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import { tierNames } from "../../src/core/Tier.ts"
import {
  commitAhead,
  dropAhead,
  factsAhead,
  factsEndAhead,
  ifacesAhead,
  type Look,
  oldestAhead,
  placesAhead,
  trimAhead
} from "../../src/store/ReadAhead.ts"
import { Database } from "../../src/store/Sql.ts"
import { database, quiet } from "./Support.ts"

const [one, two] = [NodeId.make(1), NodeId.make(2)]

const everyLook: ReadonlyArray<Look> = [
  ...tierNames.flatMap((tier) => [placesAhead(tier, one), oldestAhead(tier, 64), dropAhead(tier, [1, 2])]),
  trimAhead({ upTo: 9, limit: 100, keep: [two] }),
  ...commitAhead(one, two),
  factsEndAhead(one, two),
  ifacesAhead(0, 50),
  factsAhead(1, 0, 86_400_000)
]

const tables = Layer.provide(database(), quiet)
const statements = everyLook.flatMap((look) => ("sql" in look ? [look] : []))

describe("what is read ahead", () => {
  it.effect("fits the tables of this version", () =>
    Effect.gen(function* () {
      const { handle } = yield* Database
      for (const { sql, values } of statements) expect(handle().prepare(sql).raw().all(values)).toHaveLength(1)
      expect(statements.length).toBe(everyLook.length)
    }).pipe(Effect.provide(tables))
  )

  it.effect("is found by keys: no statement walks through a table from its beginning", () =>
    Effect.gen(function* () {
      const { handle } = yield* Database
      const walks = statements.flatMap(({ sql, values }) => {
        const plan = handle().prepare(`EXPLAIN QUERY PLAN ${sql}`).all(values) as Array<{ detail: string }>
        const scans = plan.filter(({ detail }) => /^SCAN (?!json_each|\(subquery|CONSTANT)/.test(detail))
        return scans.map(({ detail }) => `${detail}: ${sql}`)
      })
      // The oldest are the first rows, and no more of them than asked for.
      expect(walks.filter((walk) => !walk.includes("ORDER BY id LIMIT ?"))).toEqual([])
    }).pipe(Effect.provide(tables))
  )
})
