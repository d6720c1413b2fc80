// The traffic reads over a real socket: who may ask what, every field of the answers, and figures that can be checked.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bucketMs } from "../../src/core/Bucket.ts"
import { bytesAt, commit, fact, facts, store } from "../support/Facts.ts"
import {
  addNode,
  codeOf,
  type Headers,
  type MadeNode,
  push,
  reportOf,
  type Service,
  startService
} from "../support/Service.ts"
import {
  ask,
  dailyAt,
  explainAt,
  ifacesAt,
  monthlyAt,
  moveTo,
  type Params,
  patchNode,
  type Read,
  rebuiltOf,
  settingsTo,
  summaryAt,
  sumsOf
} from "./TrafficNode.ts"

const at = (text: string): number => Date.parse(`${text}Z`)
const created = at("2031-03-20T00:02:00")
const now = at("2031-05-11T06:13:00")
const first = at("2031-03-20T00:07:42")
const begin = at("2031-03-20T00:05:00")
const april = at("2031-04-01T00:00:00")
const may = at("2031-05-01T00:00:00")
const end = at("2031-05-11T06:10:00")
const reads: ReadonlyArray<Read> = ["ifaces", "summary", "daily", "monthly", "explain", "export"]

let service: Service
let admin: Headers
let seen: MadeNode
let hidden: MadeNode
let gone: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await moveTo(service, created)
  seen = await addNode(service, admin, { name: " edge-a ", is_guest_visible: true, traffic_p95_enabled: true })
  hidden = await addNode(service, admin, { name: "edge-b" })
  gone = await addNode(service, admin, { name: "edge-c", is_guest_visible: true })
  await service.call("DELETE", `/api/admin/nodes/${gone.id}`, admin)
  const list = facts(begin, (end - begin) / bucketMs, (i) => bytesAt(1 + (i % 100), 50)).map((one) => {
    if (one.start === begin) return { ...one, coveredMs: 138_000, validMs: 138_000 }
    return one.start === may + 5 * bucketMs ? { ...one, gaps: 1, validMs: 0, validIn: 0, validOut: 0 } : one
  })
  admin = await moveTo(service, now)
  await service.inside(commit(seen.id, "eth0", list, first))
  await settingsTo(service, admin, { usage_mode: "billing", guest_access_mode: "by_node" })
}, 60_000)
afterAll(() => service.stop())

const of = (params: Params = {}): Params => ({ server_id: seen.id, iface: "eth0", kind: "facts", ...params })
const codes = async (what: Read, headers: Headers, params: Params): Promise<string> => {
  const answer = await ask(service, what, headers, params)
  return answer.status === 200 ? "200" : codeOf(answer)
}

describe("a traffic read is refused", () => {
  it.each<readonly [string, Params, ReadonlyArray<Read>]>([
    ["no node", { server_id: undefined }, reads],
    ["node 0", { server_id: 0 }, reads],
    ["a word as node", { server_id: "seven" }, reads],
    ["no interface", { iface: undefined }, reads.slice(1)],
    ["a blank interface", { iface: "  " }, reads.slice(1)],
    ["the sum of all interfaces", { iface: "ALL" }, reads.slice(1)],
    ["an unknown period", { period: "next" }, reads.slice(1)],
    ["no month", { months: 0 }, reads.slice(1)],
    ["months before", { months: -1 }, reads.slice(1)],
    ["half a month", { months: "1.5" }, reads.slice(1)],
    ["an unknown kind", { kind: "years" }, ["export"]]
  ])("for %s, before anybody looks who asks", async (_, params, those) => {
    for (const what of those) {
      for (const headers of [admin, {}]) {
        for (const server_id of [seen.id, hidden.id, 987_654]) {
          expect([what, await codes(what, headers, of({ server_id, ...params }))]).toEqual([
            what,
            "400 invalid_request"
          ])
        }
      }
    }
  })

  it("to guests for hidden, deleted and unknown nodes alike, byte for byte", async () => {
    for (const what of reads) {
      const answers = await Promise.all(
        [hidden.id, gone.id, 987_654].map((server_id) => ask(service, what, {}, of({ server_id })))
      )
      expect(new Set(answers.map(codeOf))).toEqual(new Set(["403 forbidden"]))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    }
  })

  it("to guests for every node while the guests' access is disabled", async () => {
    await settingsTo(service, admin, { guest_access_mode: "disabled" })
    for (const what of reads) expect(await codes(what, {}, of())).toBe("403 forbidden")
    await settingsTo(service, admin, { guest_access_mode: "by_node" })
    for (const what of reads) expect(await codes(what, {}, of())).toBe("200")
  })

  it("to administrators as not found for deleted and unknown nodes", async () => {
    for (const what of reads) {
      for (const server_id of [gone.id, 987_654])
        expect(await codes(what, admin, of({ server_id }))).toBe("404 not_found")
      expect(await codes(what, admin, of({ server_id: hidden.id }))).toBe("200")
    }
  })

  it("for days in lite, after the node was found to be readable", async () => {
    await settingsTo(service, admin, { usage_mode: "lite" })
    const days = { kind: "days" }
    for (const what of ["daily", "export"] as const) {
      expect(await codes(what, {}, of(days))).toBe("409 traffic_daily_requires_billing")
      expect(await codes(what, {}, of({ ...days, server_id: hidden.id }))).toBe("403 forbidden")
      expect(await codes(what, admin, of({ ...days, server_id: 987_654 }))).toBe("404 not_found")
      expect(await codes(what, admin, of({ ...days, months: 0 }))).toBe("400 invalid_request")
    }
    await settingsTo(service, admin, { usage_mode: "billing" })
  })
})

describe("the summary", () => {
  const buckets = (end - may) / bucketMs

  it("has every field of the contract in billing", async () => {
    const summary = await summaryAt(service, {}, of({ iface: " eth0 " }))
    const rates = Array.from({ length: buckets }, (_, i) => 1 + ((i + (may - begin) / bucketMs) % 100))
    const ins = rates.reduce((sum, rate) => sum + rate * 300, 0)
    const p95 = rates.toSpliced(5, 1).sort((a, b) => b - a)[Math.floor((buckets - 1) * 0.05)]
    expect(summary).toEqual({
      server_id: seen.id,
      server_name: "edge-a",
      iface: "eth0",
      usage_mode: "billing",
      direction_mode: "out",
      cycle: {
        mode: "calendar_month",
        billing_start_day: 1,
        timezone: "UTC",
        start: "2031-05-01T00:00:00Z",
        end: "2031-06-01T00:00:00Z"
      },
      stats: {
        in_bytes: ins,
        out_bytes: buckets * 15_000,
        p95_enabled: true,
        p95_status: "available",
        in_p95_bytes_per_sec: p95,
        out_p95_bytes_per_sec: 50,
        in_peak_bytes_per_sec: 100,
        out_peak_bytes_per_sec: 50,
        selected_bytes: buckets * 15_000,
        selected_p95_bytes_per_sec: 50,
        selected_peak_bytes_per_sec: 50,
        selected_bytes_direction: "out",
        selected_p95_direction: "out",
        selected_peak_direction: "out",
        sample_count: buckets - 1,
        expected_sample_count: buckets,
        effective_start: "2031-05-01T00:00:00Z",
        effective_end: "2031-05-11T06:10:00Z",
        coverage_ratio: (buckets - 1) / buckets,
        covered_until: "2031-05-11T06:10:00Z",
        gap_count: 1,
        reset_count: 0,
        cycle_complete: false,
        data_complete: false,
        status: "provisional",
        partial: true
      }
    })
  })

  it("is without percentile in lite, with the best rate of two reports as its peak", async () => {
    await settingsTo(service, admin, { usage_mode: "lite" })
    const { stats, usage_mode } = await summaryAt(service, admin, of())
    await settingsTo(service, admin, { usage_mode: "billing" })
    expect([usage_mode, stats.out_bytes, stats.out_peak_bytes_per_sec]).toEqual(["lite", buckets * 15_000, 100])
    expect(stats).toMatchObject({ p95_enabled: false, p95_status: "lite_mode", p95_unavailable_reason: "lite_mode" })
    expect(stats).toMatchObject({ expected_sample_count: 0, coverage_ratio: 0, selected_p95_bytes_per_sec: null })
  })

  it("follows the node's own direction and switch at once", async () => {
    await patchNode(service, admin, seen.id, { traffic_direction_mode: "both", traffic_p95_enabled: false })
    const both = await summaryAt(service, admin, of())
    expect([both.direction_mode, both.stats.selected_bytes_direction]).toEqual(["both", "total"])
    expect([both.stats.selected_bytes, both.stats.p95_status]).toEqual([
      both.stats.in_bytes + both.stats.out_bytes,
      "disabled"
    ])
    await patchNode(service, admin, seen.id, { traffic_direction_mode: "default", traffic_p95_enabled: true })
    expect((await summaryAt(service, admin, of())).stats.p95_status).toBe("available")
  })

  it("of an interface that nobody heard of is zeros without directions", async () => {
    const { stats } = await summaryAt(service, admin, of({ iface: "eth9" }))
    expect(stats).toMatchObject({ in_bytes: 0, selected_bytes_direction: "", p95_status: "insufficient_samples" })
  })

  it("is cut anew from the same facts when the cycle settings change, those of all or of the node", async () => {
    const cut = async () => {
      const { cycle, stats } = await summaryAt(service, admin, of())
      return [cycle.mode, cycle.billing_start_day, cycle.start, stats.out_bytes / 15_000]
    }
    const since = (text: string) => (end - at(text)) / bucketMs
    await settingsTo(service, admin, { cycle_mode: "clamp_to_month_end", billing_start_day: 20 })
    expect(await cut()).toEqual(["clamp_to_month_end", 20, "2031-04-20T00:00:00Z", since("2031-04-20T00:00:00")])
    await patchNode(service, admin, seen.id, {
      traffic_cycle_mode: "vendor_compatible",
      traffic_billing_anchor_date: "2031-05-02",
      traffic_billing_timezone: "Asia/Tokyo"
    })
    expect(await cut()).toEqual(["vendor_compatible", 2, "2031-05-01T15:00:00Z", since("2031-05-01T15:00:00")])
    expect((await summaryAt(service, admin, of())).cycle.billing_anchor_date).toBe("2031-05-02")
    await patchNode(service, admin, seen.id, { traffic_cycle_mode: "default" })
    await settingsTo(service, admin, { cycle_mode: "calendar_month" })
    expect(await cut()).toEqual(["calendar_month", 1, "2031-05-01T00:00:00Z", buckets])
  })
})

describe("days", () => {
  it("are one row per local day of the effective window and sum to the cycle", async () => {
    for (const period of ["current", "previous"]) {
      const { items } = await dailyAt(service, admin, of({ period }))
      const months = await monthlyAt(service, admin, of({ period, months: 1 }))
      expect(sumsOf(items.map(({ stats }) => stats))).toEqual(sumsOf(months.items.map(({ stats }) => stats)))
      expect(items.length).toBe(period === "current" ? 11 : 30)
    }
    const { items } = await dailyAt(service, admin, of())
    expect(items.map(({ stats }) => stats.cycle_complete)).toEqual([...Array.from({ length: 10 }, () => true), false])
    expect(items[10]).toMatchObject({ start: "2031-05-11T00:00:00Z", end: "2031-05-11T06:10:00Z", iface: "eth0" })
    expect(items[1]?.stats).toMatchObject({
      expected_sample_count: 288,
      out_p95_bytes_per_sec: 50,
      status: "provisional"
    })
  })

  it("are none for an interface without facts", async () => {
    expect(await dailyAt(service, admin, of({ iface: "eth9" }))).toEqual({ items: [] })
  })
})

describe("months", () => {
  it("are the cycles with data, newest first, from the current or the previous one", async () => {
    const months = await monthlyAt(service, admin, of({ months: 99 }))
    expect([months.includes_current, months.items.map(({ cycle }) => cycle.start)]).toEqual([
      true,
      ["2031-05-01T00:00:00Z", "2031-04-01T00:00:00Z", "2031-03-01T00:00:00Z"]
    ])
    expect(months.items.map(({ stats }) => [stats.status, stats.data_complete, stats.effective_start])).toEqual([
      ["provisional", false, "2031-05-01T00:00:00Z"],
      ["sealed", true, "2031-04-01T00:00:00Z"],
      ["sealed", false, "2031-03-20T00:05:00Z"]
    ])
    expect(JSON.stringify(months)).not.toContain("server_name")
    const before = await monthlyAt(service, admin, of({ period: "previous", months: 1 }))
    expect([before.includes_current, before.items.map(({ cycle }) => cycle.start)]).toEqual([
      false,
      ["2031-04-01T00:00:00Z"]
    ])
    expect((await monthlyAt(service, admin, of({ iface: "eth9" }))).items).toEqual([])
  })
})

describe("the facts behind a figure", () => {
  it("name the rule, the discarded slots, the deciding one, gaps and resets", async () => {
    const { facts: list, gaps, p95, resets } = await explainAt(service, {}, of())
    const { stats } = await summaryAt(service, {}, of())
    expect(list.reduce((sum, one) => sum + one.in_bytes, 0)).toBe(stats.in_bytes)
    expect(list.filter(({ valid }) => valid).length).toBe(stats.sample_count)
    expect([p95.sample_count, p95.in.discarded]).toEqual([stats.sample_count, Math.floor(stats.sample_count / 20)])
    const deciding = list.find(({ start }) => start === p95.in.deciding?.start)
    expect(stats.in_p95_bytes_per_sec).toBeGreaterThan(90)
    expect([deciding?.in_rate, p95.in.deciding?.bytes_per_sec]).toEqual([
      stats.in_p95_bytes_per_sec,
      stats.in_p95_bytes_per_sec
    ])
    expect([gaps, resets]).toEqual([[{ start: "2031-05-01T00:25:00Z", count: 1 }], []])
    expect(p95.rule).toContain("floor(0.05 n)")
  })

  it.each([
    ["facts", 1 + (end - may) / bucketMs],
    ["days", 12],
    ["months", 4]
  ])("are written out as CSV: %s", async (kind, count) => {
    const { headers, text } = await ask(service, "export", {}, of({ kind }))
    const rows = text.trimEnd().split("\r\n")
    expect(rows.length).toBe(count)
    expect(new Set(rows.map((row) => row.split(",").length)).size).toBe(1)
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8")
    expect(headers["content-disposition"]).toMatch(
      new RegExp(`^attachment; filename="traffic-${seen.id}-eth0-${kind}-`)
    )
  })
})

describe("a rebuild", () => {
  it("is refused to guests and for nodes that are not there", async () => {
    const path = (id: number) => `/api/admin/nodes/${id}/traffic/rebuild`
    expect(codeOf(await service.call("POST", path(seen.id)))).toBe("401 unauthorized")
    expect(codeOf(await service.call("GET", "/api/admin/nodes/traffic/rebuild"))).toBe("401 unauthorized")
    for (const id of [gone.id, 987_654])
      expect(codeOf(await service.call("POST", path(id), admin))).toBe("404 not_found")
    expect(codeOf(await service.call("POST", path(0), admin))).toBe("400 invalid_id")
  })

  it("finds the tables as the ledger has them, and one at a time runs", async () => {
    const path = `/api/admin/nodes/${seen.id}/traffic/rebuild`
    const before = await summaryAt(service, admin, of())
    const [one, other] = await Promise.all([service.call("POST", path, admin), service.call("POST", path, admin)])
    expect([one.status, codeOf(other)]).toEqual([202, "409 traffic_rebuild_running"])
    const done = await (async () => {
      for (;;) {
        const { json } = await service.call("GET", "/api/admin/nodes/traffic/rebuild", admin)
        const status = json as { readonly running: boolean }
        if (!status.running) return status
      }
    })()
    const buckets = (end - may) / bucketMs
    expect(done).toMatchObject({ status: "completed", server_id: seen.id, identical: true })
    expect(done).toMatchObject({ facts_read: buckets, facts_total: buckets })
    expect(await summaryAt(service, admin, of())).toEqual(before)
  })

  it("says so when the tables were not what the ledger says, and puts them right", async () => {
    const before = await summaryAt(service, admin, of())
    await service.inside(store(seen.id, "eth0", [fact(may, 7, 9)]))
    expect(await summaryAt(service, admin, of())).toEqual(before)
    expect(await rebuiltOf(service, admin, seen.id)).toMatchObject({ status: "completed", identical: false })
    expect((await summaryAt(service, admin, of())).stats.out_bytes).toBe(before.stats.out_bytes - 15_000 + 9)
    expect(await rebuiltOf(service, admin, seen.id)).toMatchObject({ identical: true })
  })
})

describe("real reports", () => {
  const told = (bytes: number, uptime: number) =>
    reportOf(
      { timestamp: new Date(april + uptime * 1000).toISOString() },
      {
        network: ["eth1", "eth0"].map((name) => ({
          name,
          bytes_recv: bytes,
          bytes_sent: bytes * 2,
          recv_rate_bytes_per_sec: 0,
          sent_rate_bytes_per_sec: 0
        })),
        system: { alive: true, uptime_seconds: uptime, uptime: "1h" }
      }
    )

  it("become figures: the name at once, the bucket when it has ended, whether another report comes or not", async () => {
    const node = await addNode(service, admin, { name: "edge-d" })
    const mine = { server_id: node.id, iface: "eth0" }
    const startMs = at("2031-05-11T07:00:00")
    admin = await moveTo(service, startMs)
    let covered: ReadonlyArray<number> = []
    for (let i = 0; i <= 21; i++) {
      const answer = await push(service, "metrics", node.secret, told(1000 * i, 3600 + i * 29))
      expect(answer.status, answer.text).toBe(200)
      if (i === 0)
        expect(await ifacesAt(service, admin, { server_id: node.id })).toEqual([{ name: "eth0" }, { name: "eth1" }])
      const { stats } = await summaryAt(service, admin, mine)
      covered = [...covered, stats.sample_count]
      expect(stats.coverage_ratio).toBe(stats.expected_sample_count === stats.sample_count ? 1 : -1)
      service.advance(29_000)
    }
    expect(new Set(covered)).toEqual(new Set([0, 1, 2]))
    const { stats } = await summaryAt(service, admin, mine)
    // Each side's bytes are split over the open bucket's border by themselves, to whole bytes.
    expect(Math.abs(stats.in_bytes * 2 - stats.out_bytes)).toBeLessThanOrEqual(1)
    expect([stats.reset_count, stats.gap_count]).toEqual([0, 0])
    // Silent from here on: what the actor knows of the bucket counts, although no fact of it is on disk.
    admin = await moveTo(service, startMs + 3_600_000)
    const silent = await summaryAt(service, admin, mine)
    expect([silent.stats.in_bytes, silent.stats.sample_count]).toEqual([21_000, 2])
    await service.call("DELETE", `/api/admin/nodes/${node.id}`, admin)
    expect(await codes("summary", admin, mine)).toBe("404 not_found")
  })
})
