// The traffic answers are those of the contract, member by member, and the ledger's endpoints are declared as it has them.
import { HttpApi, OpenApi } from "@effect/platform"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { TrafficApi } from "../../schema/api/Traffic.ts"
import { AdminOnly, OptionalBearer } from "../../schema/api/Security.ts"
import { TrafficDaily, TrafficIfaces, TrafficMonthly, TrafficSummary } from "../../schema/Traffic.ts"
import { TrafficExplain, TrafficRebuild } from "../../schema/TrafficProof.ts"

const cycle = {
  mode: "vendor_compatible",
  billing_start_day: 30,
  billing_anchor_date: "2026-01-30",
  timezone: "UTC",
  start: "2026-01-30T00:00:00Z",
  end: "2026-03-02T00:00:00Z"
}
const stats = {
  in_bytes: 910221331200,
  out_bytes: 880114400256,
  p95_enabled: true,
  p95_status: "available",
  in_p95_bytes_per_sec: 1210442.5,
  out_p95_bytes_per_sec: 1388012.25,
  in_peak_bytes_per_sec: 9022114.1,
  out_peak_bytes_per_sec: 7110230.4,
  selected_bytes: 910221331200,
  selected_p95_bytes_per_sec: 1388012.25,
  selected_peak_bytes_per_sec: 9022114.1,
  selected_bytes_direction: "in",
  selected_p95_direction: "out",
  selected_peak_direction: "in",
  sample_count: 4736,
  expected_sample_count: 4736,
  effective_start: "2026-01-30T00:00:00Z",
  effective_end: "2026-02-15T10:40:00Z",
  coverage_ratio: 1,
  covered_until: "2026-02-15T10:40:00Z",
  gap_count: 0,
  reset_count: 0,
  cycle_complete: false,
  data_complete: true,
  status: "provisional",
  partial: false
}
const of = { server_id: 12, iface: "eth0", usage_mode: "billing", direction_mode: "max" }
const item = { ...of, cycle, stats }
const summary = { ...item, server_name: "edge-07" }
const lite = {
  ...stats,
  p95_status: "lite_mode",
  p95_unavailable_reason: "lite_mode",
  in_p95_bytes_per_sec: null,
  out_p95_bytes_per_sec: null,
  selected_p95_bytes_per_sec: null,
  selected_bytes_direction: "",
  selected_peak_direction: "",
  effective_start: "",
  effective_end: "",
  covered_until: ""
}

const exact = { onExcessProperty: "error" } as const
const takes = <A, I>(schema: Schema.Schema<A, I>, value: unknown): boolean =>
  Either.isRight(Schema.decodeUnknownEither(schema)(value, exact)) &&
  Either.isRight(Schema.encodeUnknownEither(schema)(value, exact))
const without = (whole: object, name: string): object =>
  Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name))

describe("a traffic answer", () => {
  it("is not one with a member too many or, unless the contract lets it, too few", () => {
    expect(takes(TrafficSummary, { ...summary, other: 1 })).toBe(false)
    for (const name of Object.keys(summary)) {
      expect([name, takes(TrafficSummary, without(summary, name))]).toEqual([name, name === "server_name"])
    }
    for (const name of Object.keys(cycle)) {
      const isOptional = name === "billing_anchor_date"
      expect([name, takes(TrafficSummary, { ...item, cycle: without(cycle, name) })]).toEqual([name, isOptional])
    }
    for (const name of Object.keys(stats)) {
      const isOptional = name === "selected_p95_direction"
      expect([name, takes(TrafficSummary, { ...item, stats: without(stats, name) })]).toEqual([name, isOptional])
    }
  })

  it("has null only for a percentile that there is not", () => {
    for (const name of Object.keys(stats)) {
      const answer = { ...item, stats: { ...stats, [name]: null } }
      expect([name, takes(TrafficSummary, answer)]).toEqual([name, name.endsWith("_p95_bytes_per_sec")])
    }
  })

  it("is the contract's example, also without data or a percentile", () => {
    expect(takes(TrafficSummary, summary)).toBe(true)
    expect(takes(TrafficSummary, { ...item, stats: without(lite, "selected_p95_direction") })).toBe(true)
    expect(takes(TrafficMonthly, { includes_current: false, items: [item, item] })).toBe(true)
    expect(takes(TrafficMonthly, { includes_current: true, items: [summary] })).toBe(false)
    const day = { ...of, start: "2026-01-30T00:00:00Z", end: "2026-01-31T00:00:00Z", stats }
    expect(takes(TrafficDaily, { items: [day] })).toBe(true)
    expect(takes(TrafficIfaces, [{ name: "eth0" }])).toBe(true)
  })

  it("may have more bytes than a double tells apart", () => {
    expect(takes(TrafficSummary, { ...item, stats: { ...stats, in_bytes: 2 ** 60, selected_bytes: 2 ** 60 } })).toBe(
      true
    )
    expect(takes(TrafficSummary, { ...item, stats: { ...stats, in_bytes: 0.5 } })).toBe(false)
  })
})

describe("a proof of traffic", () => {
  it("has every fact of the cycle and the slots that decide, or none", () => {
    const fact = {
      start: "2026-01-30T00:00:00Z",
      in_bytes: 300,
      out_bytes: 600,
      covered_sec: 300,
      valid: true,
      in_rate: 1,
      out_rate: 2,
      gap_count: 0,
      reset_count: 0,
      flags: []
    }
    const side = { discarded: 1, deciding: { start: fact.start, bytes_per_sec: 1.5 } }
    const p95 = { rule: "words", sample_count: 20, in: side, out: side, total: { discarded: 0, deciding: null } }
    const broken = { ...fact, valid: false, in_rate: null, out_rate: null, flags: ["reset", "lower_bound"] }
    const explain = { server_id: 1, iface: "eth0", cycle, facts: [fact, broken], p95, gaps: [], resets: [] }

    expect(takes(TrafficExplain, explain)).toBe(true)
    expect(takes(TrafficExplain, { ...explain, resets: [{ start: fact.start, count: 1 }] })).toBe(true)
    expect(takes(TrafficExplain, { ...explain, facts: [{ ...fact, flags: ["odd"] }] })).toBe(false)
  })

  it("is a rebuild in each of its states", () => {
    const counts = { facts_read: 0, facts_total: 0, identical: null }
    const running = { status: "running", running: true, server_id: 7, started_at: "2031-03-04T05:06:07Z" }

    expect(takes(TrafficRebuild, { status: "idle", running: false, ...counts })).toBe(true)
    expect(takes(TrafficRebuild, { ...running, ...counts })).toBe(true)
    expect(takes(TrafficRebuild, { ...running, status: "done", ...counts })).toBe(false)
  })
})

describe("the ledger's endpoints", () => {
  class Declared extends HttpApi.make("declared").add(TrafficApi) {}

  it("are those of the contract, reads open to guests and rebuilds to administrators", () => {
    const found: Array<string> = []
    HttpApi.reflect(Declared, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, middleware }) => {
        const who = [...middleware].map(({ key }) =>
          key === AdminOnly.key ? "admin" : key === OptionalBearer.key ? "anyone" : key
        )
        found.push(`${who.join()} ${endpoint.method} ${endpoint.path}`)
      }
    })
    const reads = ["daily", "explain", "export", "ifaces", "monthly", "summary"]

    expect(found.toSorted()).toEqual([
      "admin GET /api/admin/nodes/traffic/rebuild",
      "admin POST /api/admin/nodes/:id/traffic/rebuild",
      ...reads.map((one) => `anyone GET /api/statistics/traffic/${one}`)
    ])
  })

  it("can be written down as a document", () => {
    const { paths } = OpenApi.fromApi(Declared)

    expect(paths["/api/statistics/traffic/daily"]?.get?.responses[409]).toBeDefined()
    expect(paths["/api/admin/nodes/{id}/traffic/rebuild"]?.post?.responses[202]).toBeDefined()
    expect(JSON.stringify(paths["/api/statistics/traffic/export"])).toContain("text/csv")
  })
})
