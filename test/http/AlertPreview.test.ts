// The preview of a rule over a real socket: run over reports that were really sent, and what it has to refuse.
import { Clock, Schema } from "effect"
import assert from "node:assert/strict"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RulePreview } from "../../schema/Alerts.ts"
import {
  addNode,
  type Headers,
  type MadeNode,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"
import { type Calls, callsOf, told } from "./AlertCalls.ts"

const begin = Date.parse("2031-03-04T05:00:00Z")
const everyMs = 9000
const reports = 60
/** The node says nothing for two minutes. */
const silentAt = 30
const silenceMs = 120_000
const timeOf = (i: number): number => begin + i * everyMs + (i > silentAt ? silenceMs : 0) + 500
const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
/** The three-second step that a report stands in. */
const step = (i: number): number => Math.floor(timeOf(i) / 3000) * 3000
const [from, to] = [iso(begin), iso(begin + 1_200_000)]

let service: Service
let admin: Headers
let calls: Calls
let node: MadeNode

const disk = (ratio: number, temp: number) => ({
  physical: [],
  logical: [],
  filesystems: [
    { path: "/data", total: 9e12, used: 1, free: 9e12, used_ratio: 0.01 },
    { path: "/", total: 1e9, used: 1, free: 1, used_ratio: ratio }
  ],
  base_io: [],
  smart: {
    status: "ok",
    devices: [
      { name: "sda", source: "smartctl", status: "ok", protocol: "ATA", temp_c: 30 },
      { name: "sdb", source: "smartctl", status: "ok", protocol: "ATA", temp_c: temp }
    ]
  }
})
const thermal = (temp: number) => ({
  status: "ok",
  sensors: [{ kind: "cpu", name: "core", sensor_key: "k", source: "hwmon", status: "ok", temp_c: temp }]
})
/** High from the tenth to the nineteenth report; the load is one beyond the eight cores, the disks are hot and full. */
const metricsAt = (i: number) => {
  const isHigh = i >= 10 && i < 20
  return {
    cpu: { usage_ratio: isHigh ? 0.95 : 0.25, load1: isHigh ? 9 : 1, load5: 1, load15: 1 },
    disk: disk(isHigh ? 0.95 : 0.5, isHigh ? 70 : 40),
    thermal: thermal(isHigh ? 90 : 50)
  }
}

beforeAll(async () => {
  service = await startService()
  const moveTo = async (ms: number) => service.advance(ms - (await service.inside(Clock.currentTimeMillis)))
  await moveTo(begin - 1000)
  admin = await signIn(service)
  calls = callsOf(service, () => admin)
  node = await addNode(service, admin, { name: "edge-a" })
  await push(service, "static", node.secret, staticOf())
  for (let i = 0; i < reports; i++) {
    await moveTo(timeOf(i))
    const answer = await push(service, "metrics", node.secret, reportOf({}, metricsAt(i)))
    assert.equal(answer.status, 200, answer.text)
  }
  await moveTo(begin + 1_300_000)
  admin = await signIn(service)
})
afterAll(() => service.stop())

const cpu = { metric: "cpu.usage_ratio", operator: ">=", threshold: 0.9, duration_sec: 30 }
const ask = (rule: object, change: object = {}) =>
  calls.call("POST", "/rules/preview", { rule, server_id: node.id, from, to, ...change })
const preview = async (rule: object, change: object = {}) => {
  const { json: answer, status, text } = await ask(rule, change)
  assert.equal(status, 200, text)
  return Schema.decodeUnknownSync(RulePreview)(answer, { onExcessProperty: "error" })
}
const episode = (openedMs: number, closedMs: number) => ({ opened_at: iso(openedMs), closed_at: iso(closedMs) })
/** Where a node without a report since counts as silent: its threshold, the step, and a moment. */
const silentFrom = (i: number) => step(i) + 14_000 + 3000 + 1

describe("a preview", () => {
  it.each<readonly [what: string, rule: object, change: object, expected: string]>([
    ["no threshold", { ...cpu, threshold: null }, {}, "400 invalid_fields: threshold is required"],
    ["a metric that is none", { ...cpu, metric: "x" }, {}, "400 invalid_fields: metric must be one of"],
    ["a wrong duration", { ...cpu, duration_sec: -1 }, {}, "400 invalid_fields: duration_sec"],
    ["a wrong duration of silence", { ...cpu, metric: "node.offline", duration_sec: -1 }, {}, "400 invalid_fields"],
    ["a state of arrays", { ...cpu, metric: "raid.failed" }, {}, "400 invalid_fields: rule.metric: history keeps"],
    ["a state of disks", { ...cpu, metric: "disk.smart.failed" }, {}, "400 invalid_fields: rule.metric"],
    ["warnings", { ...cpu, metric: "disk.smart.nvme.critical_warning" }, {}, "400 invalid_fields: rule.metric"],
    ["attributes", { ...cpu, metric: "disk.smart.attribute_failing" }, {}, "400 invalid_fields: rule.metric"],
    ["a beginning that is none", cpu, { from: "soon" }, "400 invalid_request: from must be"],
    ["an end that is none", cpu, { to: "late" }, "400 invalid_request: to must be"],
    ["an end without a beginning that is none", cpu, { from: null, to: "late" }, "400 invalid_request: to must be"],
    ["an end before its beginning", cpu, { from: to, to: from }, "400 invalid_request: from must be before to"],
    ["a stretch of years", cpu, { from: "2020-01-01T00:00:00Z" }, "400 invalid_request: from and to"],
    ["no node", cpu, { server_id: undefined }, "400 invalid_request: server_id"],
    ["a node that cannot be", cpu, { server_id: -1 }, "400 invalid_request: server_id"],
    ["a node that is not", cpu, { server_id: 999 }, "404 not_found"],
    ["no rule", { ...cpu, threshold: "1" }, {}, "400 invalid_request: rule.threshold"]
  ])("is refused with %s", async (_, rule, change, expected) => {
    expect(told(await ask(rule, change))).toContain(expected)
  })

  it("is 503 while history cannot be read", async () => {
    await service.exec("ALTER TABLE history_raw RENAME TO history_raw_away")
    const answer = await ask(cpu)
    await service.exec("ALTER TABLE history_raw_away RENAME TO history_raw")
    expect(told(answer)).toContain("503 service_unavailable")
    expect(service.logs.some((line) => line.includes("history cannot be read"))).toBe(true)
  })

  it("tells when the rule would have opened and closed, and stores nothing", async () => {
    const before = await service.value("SELECT count(*) FROM alert_rules")
    expect(await preview(cpu)).toEqual({
      server_id: node.id,
      from,
      to,
      step_sec: 3,
      // Due at 30 s; the fourth report in a row is the first one behind that.
      items: [episode(step(14), step(20))]
    })
    expect(await service.value("SELECT count(*) FROM alert_rules")).toBe(before)
    expect((await preview({ ...cpu, duration_sec: 0 })).items).toEqual([episode(step(10), step(20))])
    expect((await preview({ ...cpu, threshold: 0.96 })).items).toEqual([])
    expect((await preview({ ...cpu, keep_firing_sec: 27 })).items).toEqual([episode(step(14), step(23))])
  })

  it("closes what is open where the node fell silent, and tells what is still open as such", async () => {
    const low = { ...cpu, operator: "<", threshold: 0.5, duration_sec: 0 }
    expect((await preview(low)).items).toEqual([
      episode(step(0), step(10)),
      episode(step(20), silentFrom(silentAt)),
      episode(step(31), silentFrom(reports - 1))
    ])
    const { items } = await preview(low, { to: iso(timeOf(reports - 1) + 5000) })
    expect(items.at(-1)).toEqual({ opened_at: iso(step(31)), closed_at: null })
  })

  it("of silence goes by the gaps", async () => {
    const offline = { metric: "node.offline", operator: ">=", threshold: 1, duration_sec: 0 }
    expect((await preview(offline)).items).toEqual([
      episode(silentFrom(silentAt), step(31)),
      { opened_at: iso(silentFrom(reports - 1)), closed_at: null }
    ])
    await calls.call("PUT", "/settings", { enabled: true, channel_ids: [], offline_after_sec: 300 })
    expect((await preview(offline)).items.length).toBe(1)
    await calls.call("PUT", "/settings", { enabled: true, channel_ids: [], offline_after_sec: 14 })
  })

  it.each<readonly [metric: string, change: object]>([
    ["cpu.load1", { threshold: 0, threshold_mode: "core_plus", threshold_offset: 1 }],
    ["disk.usage.used_ratio", { threshold: 0.9 }],
    ["disk.smart.max_temp_c", { threshold: 60 }],
    ["thermal.max_temp_c", { threshold: 80 }]
  ])("knows the past of %s", async (metric, change) => {
    expect((await preview({ ...cpu, metric, ...change })).items).toEqual([episode(step(14), step(20))])
  })

  it.each(["mem.used", "mem.used_ratio", "net.recv_bps", "net.sent_bps", "conn.tcp", "cpu.load5", "cpu.load15"])(
    "knows the past of %s, which was always above nothing",
    async (metric) => {
      const { items } = await preview({ ...cpu, metric, operator: ">", threshold: 0, duration_sec: 0 })
      expect(items[0]).toEqual(episode(step(0), silentFrom(silentAt)))
    }
  )

  it("is about the last day when nothing is said", async () => {
    const answer = await preview(cpu, { from: null, to: undefined })
    expect(Date.parse(answer.to) - Date.parse(answer.from)).toBe(86_400_000)
    expect(answer.step_sec).toBe(60)
    const day = await preview(cpu, { from: null })
    expect([day.from, day.to]).toEqual([iso(begin + 1_200_000 - 86_400_000), to])
    expect(await preview(cpu, { from: iso(begin + 1_100_000), to })).toMatchObject({ items: [] })
  })
})
