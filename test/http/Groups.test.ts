// /api/admin/groups over HTTP: every refusal with its code, then what the calls do.
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { run } from "../store/Support.ts"
import { bodyOf, codeOf, created, newEngine, type Row, send, test } from "./RegistryServer.ts"

const long = (n: number) => "x".repeat(n)
const first = { id: 1, name: "default", remark: "default", server_count: 0 }

describe("a call to groups is refused", () => {
  test(
    "with 401 unauthorized without the administrator's token, whatever else is wrong",
    Effect.gen(function* () {
      const calls: ReadonlyArray<readonly [string, string]> = [
        ["GET", "/groups"],
        ["GET", "/groups/map"],
        ["POST", "/groups"],
        ["PATCH", "/groups/x"],
        ["DELETE", "/groups/1"]
      ]

      for (const [method, path] of calls) {
        const body = method === "GET" || method === "DELETE" ? undefined : "{"
        expect([method, path, codeOf(yield* send(method, path, body, "stranger"))]).toEqual([
          method,
          path,
          "401 unauthorized"
        ])
      }
    })
  )

  const rows: ReadonlyArray<Row> = [
    ["400 invalid_request", "POST", "/groups", "{"],
    ["400 invalid_request", "POST", "/groups", "[]"],
    ["400 invalid_request", "POST", "/groups", { name: 7 }],
    ["400 invalid_request", "POST", "/groups", { name: "a", remark: 7 }],
    ["400 invalid_request", "POST", "/groups", { name: "a", remark: long(256) }],
    ["400 invalid_request", "POST", "/groups", { name: "a", remark: "nul\0" + "." }],
    ["400 invalid_name", "POST", "/groups", {}],
    ["400 invalid_name", "POST", "/groups", { name: null }],
    ["400 invalid_name", "POST", "/groups", { name: " \n" }],
    ["400 invalid_name", "POST", "/groups", { name: long(65) }],
    ["400 invalid_name", "POST", "/groups", { name: "a\nb" }],
    ["400 invalid_name", "POST", "/groups", { name: "", remark: long(256) }],
    ["400 invalid_id", "PATCH", "/groups/0", { name: "a" }],
    ["400 invalid_id", "PATCH", "/groups/-1", { name: "a" }],
    ["400 invalid_id", "PATCH", "/groups/one", { name: "" }],
    ["400 invalid_id", "PATCH", "/groups/1.5", "{"],
    ["400 invalid_request", "PATCH", "/groups/9", "{"],
    ["400 invalid_request", "PATCH", "/groups/9", { remark: [] }],
    ["400 invalid_fields", "PATCH", "/groups/9", { name: "" }],
    ["400 invalid_fields", "PATCH", "/groups/9", { name: long(65) }],
    ["400 invalid_fields", "PATCH", "/groups/9", { name: "a\0b" }],
    ["400 invalid_fields", "PATCH", "/groups/9", { name: "a", remark: long(256) }],
    ["400 no_fields", "PATCH", "/groups/9", {}],
    ["400 no_fields", "PATCH", "/groups/9", { name: null, server_count: 3 }],
    ["404 not_found", "PATCH", "/groups/9", { name: "a" }],
    ["400 invalid_id", "DELETE", "/groups/x"],
    ["409 default_group_not_deletable", "DELETE", "/groups/1"],
    ["404 not_found", "DELETE", "/groups/9"]
  ]

  test(
    "with the code of the contract, and nothing is changed",
    Effect.gen(function* () {
      for (const [code, method, path, body] of rows) {
        expect([method, path, body, codeOf(yield* send(method, path, body))]).toEqual([method, path, body, code])
      }
      expect(yield* bodyOf("/groups")).toEqual([first])
    })
  )

  test(
    "with 503 db_error while the database fails",
    Effect.gen(function* () {
      yield* run("ALTER TABLE node_groups RENAME TO elsewhere")

      expect(codeOf(yield* send("POST", "/groups", { name: "a" }))).toBe("503 db_error")
      expect(codeOf(yield* send("PATCH", "/groups/1", { name: "a" }))).toBe("503 db_error")
      expect(codeOf(yield* send("DELETE", "/groups/2"))).toBe("503 db_error")
      // Reading needs no database as long as the last write was followed.
      expect(yield* bodyOf("/groups")).toEqual([first])
    })
  )
})

describe("groups", () => {
  test(
    "are created trimmed, with a Location, listed by id and mapped by decimal id",
    Effect.gen(function* () {
      const answer = yield* send("POST", "/groups/", { name: " lab ", remark: " two\nlines ", extra: 1 })
      yield* send("POST", "/groups", { name: "🛰".repeat(64) })

      expect([answer.status, answer.headers.get("location"), answer.text]).toEqual([204, "/api/admin/groups/2", ""])
      expect(yield* bodyOf("/groups/")).toEqual([
        first,
        { id: 2, name: "lab", remark: "two\nlines", server_count: 0 },
        { id: 3, name: "🛰".repeat(64), remark: "", server_count: 0 }
      ])
      expect((yield* send("GET", "/groups/map")).text.trim()).toBe(
        JSON.stringify({ 1: "default", 2: "lab", 3: "🛰".repeat(64) })
      )
    })
  )

  test(
    "change only in what was given",
    Effect.gen(function* () {
      const id = yield* created("/groups", { name: "lab", remark: "one" })

      expect((yield* send("PATCH", `/groups/${id}`, { name: "new", remark: null })).status).toBe(204)
      expect((yield* send("PATCH", "/groups/1/", { remark: "" })).status).toBe(204)
      expect(yield* bodyOf("/groups")).toEqual([
        { ...first, remark: "" },
        { id, name: "new", remark: "one", server_count: 0 }
      ])
    })
  )

  const engine = newEngine()
  test(
    "count active members, and leave the nodes when they are deleted",
    Effect.gen(function* () {
      const id = yield* created("/groups", { name: "lab" })
      const node = yield* created("/nodes")
      yield* send("PATCH", `/nodes/${node}`, { group_ids: [1, id] })
      expect(yield* bodyOf("/groups")).toMatchObject([{ server_count: 1 }, { server_count: 1 }])

      const told = engine.reconciled
      expect((yield* send("DELETE", `/groups/${id}`)).status).toBe(204)
      expect(engine.reconciled).toBe(told + 1)
      expect(codeOf(yield* send("DELETE", `/groups/${id}`))).toBe("404 not_found")
      expect(yield* bodyOf("/groups")).toMatchObject([{ id: 1, server_count: 1 }])
      expect(yield* bodyOf("/nodes")).toMatchObject([{ id: node, group_ids: [1] }])
    }),
    { engine }
  )
})
