// /api/admin/nodes over HTTP: every refusal with its code, then what the calls do.
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import { NodeId } from "../../schema/Ids.ts"
import { fill, run } from "../store/Support.ts"
import { bodyOf, codeOf, created, newEngine, type Row, send, test } from "./RegistryServer.ts"

const long = (n: number) => "x".repeat(n)

describe("a call to nodes is refused", () => {
  test(
    "with 401 unauthorized without the administrator's token, whatever else is wrong",
    Effect.gen(function* () {
      yield* created("/nodes")
      const calls: ReadonlyArray<readonly [string, string, string?]> = [
        ["GET", "/nodes"],
        ["POST", "/nodes"],
        ["PUT", "/nodes/display-order", "{"],
        ["PATCH", "/nodes/x", "{"],
        ["PATCH", "/nodes/traffic-p95", "{"],
        ["DELETE", "/nodes/1"]
      ]

      for (const [method, path, body] of calls) {
        expect([method, path, codeOf(yield* send(method, path, body, "stranger"))]).toEqual([
          method,
          path,
          "401 unauthorized"
        ])
      }
      expect(yield* bodyOf("/nodes")).toMatchObject([{ id: 1 }])
    })
  )

  // Node 1 and 2 exist, node 3 was deleted; node 2 has the secret "used-secret".
  const rows: ReadonlyArray<Row> = [
    ["400 invalid_id", "PATCH", "/nodes/0", { name: "" }],
    ["400 invalid_id", "PATCH", "/nodes/one", "{"],
    ["400 invalid_id", "PATCH", "/nodes/1.5", { name: "a" }],
    ["400 invalid_id", "PATCH", "/nodes/-1", { name: "a" }],
    ["400 invalid_request", "PATCH", "/nodes/1", "{"],
    ["400 invalid_request", "PATCH", "/nodes/1", "[]"],
    ["400 invalid_request", "PATCH", "/nodes/1", "null"],
    ["400 invalid_request", "PATCH", "/nodes/1", { is_guest_visible: "yes" }],
    ["400 invalid_request", "PATCH", "/nodes/1", { name: "", group_ids: "all" }],
    ["400 invalid_name", "PATCH", "/nodes/1", { name: " " }],
    ["400 invalid_name", "PATCH", "/nodes/1", { name: long(65) }],
    ["400 invalid_name", "PATCH", "/nodes/1", { name: "a\r\nb" }],
    ["400 invalid_display_order", "PATCH", "/nodes/1", { display_order: 0 }],
    ["400 invalid_traffic_cycle_mode", "PATCH", "/nodes/1", { traffic_cycle_mode: "weekly" }],
    ["400 invalid_traffic_billing_start_day", "PATCH", "/nodes/1", { traffic_billing_start_day: 32 }],
    ["400 invalid_traffic_billing_anchor_date", "PATCH", "/nodes/1", { traffic_billing_anchor_date: "2026-02-30" }],
    ["400 invalid_traffic_billing_timezone", "PATCH", "/nodes/1", { traffic_billing_timezone: "Mars/Olympus" }],
    ["400 invalid_traffic_direction_mode", "PATCH", "/nodes/1", { traffic_direction_mode: "in" }],
    ["400 invalid_tags", "PATCH", "/nodes/1", { tags: null }],
    ["400 invalid_tags", "PATCH", "/nodes/1", { tags: "a" }],
    ["400 invalid_tags", "PATCH", "/nodes/1", { tags: ["a", 1] }],
    ["400 invalid_group_ids", "PATCH", "/nodes/1", { group_ids: [0] }],
    ["400 invalid_group_ids", "PATCH", "/nodes/1", { group_ids: [1, 99] }],
    ["400 no_fields", "PATCH", "/nodes/1", {}],
    ["400 no_fields", "PATCH", "/nodes/99", { hostname: "a" }],
    ["404 not_found", "PATCH", "/nodes/99", { secret: "short", group_ids: [99] }],
    ["404 not_found", "PATCH", "/nodes/3", { name: "a" }],
    ["400 invalid_secret", "PATCH", "/nodes/1", { secret: " short " }],
    ["400 invalid_secret", "PATCH", "/nodes/1", { secret: "" }],
    ["400 invalid_secret", "PATCH", "/nodes/1", { secret: long(129) }],
    ["400 invalid_secret", "PATCH", "/nodes/1", { secret: "with\ttab-inside" }],
    ["409 duplicate_secret", "PATCH", "/nodes/1", { secret: " used-secret ", name: "a", group_ids: [99] }],
    ["400 invalid_request", "PUT", "/nodes/display-order", "{"],
    ["400 invalid_ids", "PUT", "/nodes/display-order", {}],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: [] }],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: "1,2" }],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: [1, 0] }],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: [1, 1] }],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: [2] }],
    ["400 invalid_ids", "PUT", "/nodes/display-order", { ids: Array.from({ length: 10_001 }, (_, i) => i + 1) }],
    ["404 not_found", "PUT", "/nodes/display-order", { ids: [2, 99] }],
    ["404 not_found", "PUT", "/nodes/display-order", { ids: [2, 1, 3] }],
    ["400 invalid_request", "PATCH", "/nodes/traffic-p95", "{"],
    ["400 invalid_request", "PATCH", "/nodes/traffic-p95", "[]"],
    ["400 invalid_request", "PATCH", "/nodes/traffic-p95", { ids: [], enabled: "yes" }],
    ["400 invalid_request", "PATCH", "/nodes/traffic-p95", { ids: [1], enabled: 1 }],
    ["400 invalid_fields", "PATCH", "/nodes/traffic-p95", { ids: [] }],
    ["400 invalid_fields", "PATCH", "/nodes/traffic-p95", { ids: [1], enabled: null }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: null, enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: [], enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: { 0: 1 }, enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: [1, 0], enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: [1, "2"], enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: [1, 1.5], enabled: true }],
    ["400 invalid_ids", "PATCH", "/nodes/traffic-p95", { ids: [1, 2, 1], enabled: true }],
    [
      "400 invalid_ids",
      "PATCH",
      "/nodes/traffic-p95",
      { ids: Array.from({ length: 10_001 }, (_, i) => i + 1), enabled: true }
    ],
    ["404 not_found", "PATCH", "/nodes/traffic-p95", { ids: [1, 2, 99], enabled: true }],
    ["404 not_found", "PATCH", "/nodes/traffic-p95", { ids: [3, 1], enabled: true }],
    ["404 not_found", "PATCH", "/nodes/traffic-p95", { ids: [1, 2 ** 53 - 1], enabled: true }],
    ["400 invalid_id", "DELETE", "/nodes/x"],
    ["404 not_found", "DELETE", "/nodes/99"],
    ["404 not_found", "DELETE", "/nodes/3"]
  ]

  test(
    "with the code of the contract, and nothing is changed",
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) yield* created("/nodes")
      yield* send("PATCH", "/nodes/2", { secret: "used-secret" })
      yield* send("DELETE", "/nodes/3")
      const before = yield* bodyOf("/nodes")

      for (const [code, method, path, body] of rows) {
        expect([method, path, body, codeOf(yield* send(method, path, body))]).toEqual([method, path, body, code])
      }
      expect(yield* bodyOf("/nodes")).toEqual(before)
    })
  )

  test(
    "with 500 secret_collision_exhausted when five secrets in a row are in use",
    Effect.gen(function* () {
      yield* created("/nodes")

      expect(codeOf(yield* send("POST", "/nodes"))).toBe("500 secret_collision_exhausted")
    }),
    { generate: Effect.succeed("always-the-same") }
  )

  test(
    "with 503 db_error while the database fails",
    Effect.gen(function* () {
      yield* created("/nodes")
      yield* run("ALTER TABLE nodes RENAME TO elsewhere")

      expect(codeOf(yield* send("POST", "/nodes"))).toBe("503 db_error")
      expect(codeOf(yield* send("PATCH", "/nodes/1", { name: "a" }))).toBe("503 db_error")
      expect(codeOf(yield* send("PUT", "/nodes/display-order", { ids: [1] }))).toBe("503 db_error")
      expect(codeOf(yield* send("PATCH", "/nodes/traffic-p95", { ids: [1], enabled: true }))).toBe("503 db_error")
      expect(codeOf(yield* send("DELETE", "/nodes/1"))).toBe("503 db_error")
    })
  )
})

describe("a write that was committed", () => {
  // The reading after a delete fails here, because the trigger hides the table's column from it.
  const breaks =
    "CREATE TRIGGER breaks AFTER UPDATE OF deleted_at ON nodes BEGIN UPDATE nodes SET tags = 'no JSON'; END"

  const stale = newEngine()
  test(
    "but could not be followed is followed by the next request, once the database answers again",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      const [gone] = [yield* created("/nodes"), yield* created("/nodes")]
      yield* send("PATCH", `/nodes/${gone}`, { secret: "gone-secret" })
      yield* run(breaks)

      expect(codeOf(yield* send("DELETE", `/nodes/${gone}`))).toBe("503 db_error")
      expect(codeOf(yield* send("GET", "/nodes"))).toBe("503 db_error")
      expect(roster.bySecret("gone-secret")?.id).toBe(gone)

      yield* run("UPDATE nodes SET tags = '[]'")
      const told = stale.reconciled
      expect(codeOf(yield* send("DELETE", `/nodes/${gone}`))).toBe("404 not_found")
      expect(roster.bySecret("gone-secret")).toBeUndefined()
      expect(stale.reconciled).toBe(told + 1)
    }),
    { engine: stale }
  )

  const engine = newEngine()
  test(
    "is followed although its client has left",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* fill(10_000)
      yield* roster.refresh
      const leaving = new AbortController()
      const before = roster.revision()
      const left = send("DELETE", "/nodes/7", undefined, "admin", leaving.signal).pipe(Effect.sandbox, Effect.flip)
      const deleted = run("SELECT id FROM nodes WHERE id = 7 AND deleted_at IS NOT NULL")
      const leave = Effect.zipRight(Effect.sleep(1), deleted).pipe(
        Effect.repeat({ until: (rows) => rows.length === 1 }),
        Effect.tap(() => leaving.abort())
      )
      yield* Effect.zip(left, leave, { concurrent: true })
      yield* Effect.repeat(Effect.sleep(1), { until: () => engine.reconciled === 1 })

      expect(roster.revision()).toBe(before + 1)
      expect(roster.bySecret("secret-of-7")).toBeUndefined()
    }),
    { engine }
  )
})

describe("the list", () => {
  const engine = newEngine()
  engine.facts.set(NodeId.make(1), {
    hostname: "edge-a.local",
    ip: "192.0.2.7",
    version: "0.2.0",
    faults: [{ kind: "two_agents", message: "two machines report", since: "2031-03-04T05:06:07Z" }]
  })
  engine.facts.set(NodeId.make(2), { hostname: "", ip: undefined, version: undefined, faults: [] })

  test(
    "is an empty array without nodes",
    Effect.gen(function* () {
      const { headers, status, text } = yield* send("GET", "/nodes")

      expect([status, text, headers.get("content-type")]).toEqual([200, "[]\n", "application/json; charset=utf-8"])
    })
  )

  test(
    "shows a created node with the defaults of the contract",
    Effect.gen(function* () {
      const { headers, status, text } = yield* send("POST", "/nodes/", "ignored")

      expect([status, headers.get("location"), text]).toEqual([204, "/api/admin/nodes/1", ""])
      expect(yield* bodyOf("/nodes/")).toEqual([
        {
          id: 1,
          name: "Untitled",
          hostname: "Untitled",
          is_guest_visible: false,
          traffic_p95_enabled: false,
          traffic_cycle_mode: "default",
          traffic_billing_start_day: 1,
          traffic_billing_anchor_date: "",
          traffic_billing_timezone: "",
          traffic_direction_mode: "default",
          secret: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
          tags: [],
          display_order: 1,
          group_ids: [1],
          version: { version: "", is_outdated: true, supports_auto_update: false },
          faults: []
        }
      ])
    })
  )

  test(
    "shows what the node reported, against the bundled version",
    Effect.gen(function* () {
      for (let i = 0; i < 2; i++) yield* created("/nodes")
      yield* send("PATCH", "/nodes/1", { name: "edge" })

      expect(yield* bodyOf("/nodes")).toMatchObject([
        { id: 2, hostname: "Untitled", version: { version: "", is_outdated: true } },
        {
          id: 1,
          name: "edge",
          hostname: "edge-a.local",
          ip: "192.0.2.7",
          version: { version: "0.2.0", is_outdated: true, supports_auto_update: false },
          faults: [{ kind: "two_agents" }]
        }
      ])
      expect((yield* send("GET", "/nodes")).text.match(/"ip"/g)).toHaveLength(1)
    }),
    { engine, bundled: "0.2.1" }
  )

  test(
    "of ten thousand nodes is whole and leaves the event loop its turns",
    Effect.gen(function* () {
      const count = 10_000
      yield* fill(count)
      yield* (yield* NodeRoster).refresh
      let turns = 0
      let isWatching = true
      const watch = () => {
        turns++
        if (isWatching) setImmediate(watch)
      }
      watch()
      const nodes = yield* bodyOf("/nodes")
      isWatching = false

      expect(turns).toBeGreaterThan(40)
      expect(nodes).toHaveLength(count)
      expect(nodes).toMatchObject(
        Array.from({ length: count }, (_, i) => ({ id: count - i, secret: `secret-of-${count - i}` }))
      )
    })
  )
})

describe("a node", () => {
  test(
    "becomes what its patch says and stays in all else as it was",
    Effect.gen(function* () {
      yield* created("/nodes")
      const lab = yield* created("/groups", { name: "lab" })
      const written = {
        name: "edge",
        is_guest_visible: true,
        traffic_p95_enabled: true,
        traffic_cycle_mode: "vendor_compatible",
        traffic_billing_start_day: 1,
        traffic_billing_anchor_date: "2026-01-30",
        traffic_billing_timezone: "Europe/Berlin",
        traffic_direction_mode: "both",
        secret: "a new secret",
        tags: ["eu"],
        display_order: 7,
        group_ids: [lab]
      }
      expect((yield* send("PATCH", "/nodes/1", written)).status).toBe(204)
      expect((yield* send("PATCH", "/nodes/1/", { tags: [] })).status).toBe(204)

      expect(yield* bodyOf("/nodes")).toMatchObject([{ ...written, traffic_billing_start_day: 30, tags: [] }])
    })
  )

  test(
    "has the date of an anchor in its own zone, or else in that of the service",
    Effect.gen(function* () {
      for (let i = 0; i < 2; i++) yield* created("/nodes")
      yield* send("PATCH", "/nodes/2", { traffic_billing_timezone: "America/New_York" })
      for (const id of [1, 2])
        yield* send("PATCH", `/nodes/${id}`, { traffic_billing_anchor_date: "2026-01-30T20:00:00Z" })

      expect(yield* bodyOf("/nodes")).toMatchObject([
        { id: 2, traffic_billing_anchor_date: "2026-01-30" },
        { id: 1, traffic_billing_anchor_date: "2026-01-31" }
      ])
    })
  )

  test(
    "stands where the display order puts it",
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) yield* created("/nodes")

      expect((yield* send("PUT", "/nodes/display-order", { ids: [2, 3, 1] })).status).toBe(204)
      expect(yield* bodyOf("/nodes")).toMatchObject([
        { id: 2, display_order: 3 },
        { id: 3, display_order: 2 },
        { id: 1, display_order: 1 }
      ])
    })
  )

  const engine = newEngine()
  test(
    "is known by its secret as soon as the answer is there, and by the old one no longer",
    Effect.gen(function* () {
      const roster = yield* NodeRoster
      yield* created("/nodes")
      yield* send("PATCH", "/nodes/1", { secret: "first-secret" })
      expect(roster.bySecret("first-secret")?.id).toBe(1)

      yield* send("PATCH", "/nodes/1", { secret: "second-secret" })
      expect([roster.bySecret("first-secret"), roster.bySecret("second-secret")?.id]).toEqual([undefined, 1])

      expect((yield* send("DELETE", "/nodes/1")).status).toBe(204)
      expect(roster.bySecret("second-secret")).toBeUndefined()
      expect(yield* bodyOf("/nodes")).toEqual([])
      // Created, patched twice and deleted: the engine was told each time.
      expect(engine.reconciled).toBe(4)
    }),
    { engine }
  )
})
