// Rules, mounts, settings and silences over a real socket: every code, every member, and what a change does to the rest.
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AlertBook } from "../../runtime/alert/AlertBook.ts"
import { AlertSettings, Mounts, Rule, Silence } from "../../schema/Alerts.ts"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { NodeId } from "../../schema/Ids.ts"
import {
  addNode,
  codeOf,
  type Headers,
  type MadeNode,
  push,
  reportOf,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"
import { type Calls, callsOf, told } from "./AlertCalls.ts"

let service: Service
let admin: Headers
let calls: Calls
let node: MadeNode
let other: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  calls = callsOf(service, () => admin)
  node = await addNode(service, admin, { name: "edge-a", group_ids: [1] })
  other = await addNode(service, admin, { name: "edge-b" })
  await push(service, "metrics", node.secret, reportOf({ hostname: "host-a" }))
})
afterAll(() => service.stop())

const cpu = { name: " cpu ", metric: "cpu.usage_ratio", operator: ">=", threshold: 0.9 }
const rules = () => calls.read(Schema.Array(Rule), "/rules")
const ruleOf = async (id: number) => (await rules()).find((rule) => rule.id === id)
const isoNow = (aheadMs = 0) => new Date(Date.now() + aheadMs).toISOString()
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

describe("rules", () => {
  it.each<readonly [what: string, body: unknown, expected: string]>([
    ["no JSON", "{", "400 invalid_request: the body must be one JSON value"],
    ["a list", [], "400 invalid_request"],
    ["a threshold that is text", { ...cpu, threshold: "1" }, "400 invalid_request: threshold"],
    ["no name", { ...cpu, name: undefined }, "400 invalid_fields: name is required"],
    ["a blank name", { ...cpu, name: " " }, "400 invalid_fields: name must not be blank"],
    ["a long name", { ...cpu, name: "x".repeat(129) }, "400 invalid_fields: name must be at most 128 characters"],
    ["no metric", { ...cpu, metric: null }, "400 invalid_fields: metric is required"],
    ["an unknown metric", { ...cpu, metric: "cpu.magic" }, "400 invalid_fields: metric must be one of"],
    ["the metric of silence", { ...cpu, metric: "node.offline" }, "400 invalid_fields: metric must be one of"],
    ["an unknown operator", { ...cpu, operator: "~" }, "400 invalid_fields: operator must be one of"],
    ["no threshold", { ...cpu, threshold: null }, "400 invalid_fields: threshold is required"],
    ["half a second", { ...cpu, duration_sec: 0.5 }, "400 invalid_fields: duration_sec"],
    ["two days", { ...cpu, duration_sec: 172_800 }, "400 invalid_fields: duration_sec"],
    ["a negative cooldown", { ...cpu, cooldown_min: -1 }, "400 invalid_fields: cooldown_min"],
    ["cores of no load", { ...cpu, threshold_mode: "core_plus" }, "400 invalid_fields: threshold_mode"],
    ["an offset of none", { ...cpu, threshold_offset: 1 }, "400 invalid_fields: threshold_offset"],
    ["a clear threshold beyond", { ...cpu, clear_threshold: 0.95 }, "400 invalid_fields: clear_threshold"],
    ["less than no damping", { ...cpu, keep_firing_sec: -1 }, "400 invalid_fields: keep_firing_sec"]
  ])("are refused with %s", async (_, body, expected) => {
    const before = await rules()
    expect(told(await calls.call("POST", "/rules", body))).toContain(expected)
    expect(await rules()).toEqual(before)
  })

  it.each<readonly [method: string, path: string, body: unknown, expected: string]>([
    ["PATCH", "/rules/0", { name: "x" }, "400 invalid_id"],
    ["PATCH", "/rules/-1", { name: "x" }, "400 invalid_id"],
    ["PATCH", "/rules/x", { name: "x" }, "400 invalid_id"],
    ["PATCH", "/rules/1", {}, "400 no_fields"],
    ["PATCH", "/rules/1", { name: null }, "400 no_fields"],
    ["PATCH", "/rules/1", { name: " " }, "400 invalid_fields: name"],
    ["PATCH", "/rules/1", { metric: "" }, "400 invalid_fields: metric"],
    // Right alone, wrong with what the rule has.
    ["PATCH", "/rules/2", { metric: "mem.used" }, "400 invalid_fields: threshold_mode"],
    ["PATCH", "/rules/1", "{", "400 invalid_request"],
    ["PATCH", "/rules/999", { name: "x" }, "404 not_found"],
    ["DELETE", "/rules/0", undefined, "400 invalid_id"],
    ["DELETE", "/rules/-2", undefined, "400 invalid_id"],
    ["DELETE", "/rules/999", undefined, "404 not_found"]
  ])("answer %s %s with what is wrong", async (method, path, body, expected) => {
    expect(told(await calls.call(method, path, body))).toContain(expected)
  })

  it("are the four of a first start, the newest first", async () => {
    const found = await rules()
    expect(found.map(({ id }) => id)).toEqual([4, 3, 2, 1])
    expect(found[2]).toEqual({
      id: 2,
      name: "cpu_load1_high",
      enabled: true,
      metric: "cpu.load1",
      operator: ">=",
      threshold: 1,
      duration_sec: 60,
      cooldown_min: 0,
      threshold_mode: "core_plus",
      threshold_offset: 0,
      clear_threshold: null,
      keep_firing_sec: 0,
      created_at: expect.stringMatching(instant),
      updated_at: expect.stringMatching(instant)
    })
  })

  it("are made with their defaults, changed in part, followed by the running alerts and deleted with their mounts", async () => {
    const id = await calls.create("/rules", cpu)
    const made = await ruleOf(id)
    expect(made).toMatchObject({ ...cpu, name: "cpu", enabled: true, duration_sec: 60, cooldown_min: 0 })
    const change = { threshold: 0.8, duration_sec: 1, cooldown_min: 7, clear_threshold: 0.7, keep_firing_sec: 9 }
    expect((await calls.call("PATCH", `/rules/${id}`, change)).status).toBe(204)
    expect(await ruleOf(id)).toEqual({ ...made, ...change, updated_at: expect.stringMatching(instant) })
    expect((await calls.call("PATCH", `/rules/${id}`, { clear_threshold: null })).status).toBe(204)
    expect((await ruleOf(id))?.clear_threshold).toBeNull()

    await calls.call("PUT", "/mounts", { rule_ids: [id], server_ids: [node.id], mounted: true })
    const book = await service.inside(AlertBook)
    const onNode = () =>
      book
        .page()
        .mountedOn(NodeId.make(node.id))
        .find((rule) => rule.id === id)
    expect(onNode()).toMatchObject({ threshold: 0.8, generation: 3 })
    expect((await calls.call("PATCH", `/rules/${id}`, { name: "renamed" })).status).toBe(204)
    expect(onNode()).toMatchObject({ name: "renamed", generation: 3 })
    expect((await calls.call("DELETE", `/rules/${id}`)).status).toBe(204)
    expect([await ruleOf(id), onNode()]).toEqual([undefined, undefined])
    expect(await service.value(`SELECT count(*) FROM alert_mounts WHERE rule_id = ${id}`)).toBe(0)
    expect(codeOf(await calls.call("DELETE", `/rules/${id}`))).toBe("404 not_found")
  })
})

describe("mounts", () => {
  const mountsOf = async (id: number) => (await calls.read(Mounts, "/mounts")).nodes.find((one) => one.id === id)

  it.each<readonly [body: unknown, expected: string]>([
    [{ rule_ids: [1], server_ids: [1] }, "400 invalid_fields: mounted is required"],
    [{ server_ids: [1], mounted: true }, "400 invalid_fields: rule_ids is required"],
    [{ rule_ids: [1], server_ids: null, mounted: true }, "400 invalid_fields: server_ids is required"],
    [{ rule_ids: [], server_ids: [1], mounted: true }, "400 invalid_fields: rule_ids must not be empty"],
    [{ rule_ids: [1], server_ids: [], mounted: true }, "400 invalid_fields: server_ids must not be empty"],
    [{ rule_ids: [0], server_ids: [1], mounted: true }, "400 invalid_fields: rule_ids"],
    [{ rule_ids: [1.5], server_ids: [1], mounted: true }, "400 invalid_fields: rule_ids"],
    [{ rule_ids: [1], server_ids: [0], mounted: true }, "400 invalid_fields: server_ids"],
    [{ rule_ids: [1], server_ids: [-1], mounted: true }, "400 invalid_fields: server_ids"],
    [{ rule_ids: [999], server_ids: [1], mounted: true }, "400 invalid_fields: there is no rule 999"],
    [{ rule_ids: [-9], server_ids: [1], mounted: true }, "400 invalid_fields: there is no rule -9"],
    [{ rule_ids: [1], server_ids: [999], mounted: true }, "400 invalid_fields: there is no node 999"],
    [{ rule_ids: ["1"], server_ids: [1], mounted: true }, "400 invalid_request: rule_ids"],
    [{ rule_ids: [1], server_ids: [1], mounted: "yes" }, "400 invalid_request: mounted"],
    ["[", "400 invalid_request"]
  ])("refuse %j", async (body, expected) => {
    const before = await calls.read(Mounts, "/mounts")
    expect(told(await calls.call("PUT", "/mounts", body))).toContain(expected)
    expect(await calls.read(Mounts, "/mounts")).toEqual(before)
  })

  it("tell every rule for every node, built-in ones first, with what is known of the node", async () => {
    const { nodes, rules: all } = await calls.read(Mounts, "/mounts")
    expect(
      all.map(({ builtin, default_mounted, enabled, id, metric, name }) =>
        [id, name, metric, builtin, enabled, default_mounted].join(" ")
      )
    ).toEqual([
      "-1 node_offline node.offline true true true",
      "-2 raid_failed raid.failed true true true",
      "-3 smart_failed disk.smart.failed true true true",
      "-4 smart_nvme_critical_warning disk.smart.nvme.critical_warning true true true",
      "1 cpu_usage_high cpu.usage_ratio false true false",
      "2 cpu_load1_high cpu.load1 false true false",
      "3 cpu_load5_high cpu.load5 false true false",
      "4 mem_used_high mem.used_ratio false true false"
    ])
    const mounts = all.map(({ builtin, id }) => ({ rule_id: id, mounted: builtin }))
    const [first, second] = [node, other].map(({ id }) => nodes.find((one) => one.id === id))
    expect(first).toEqual({ id: node.id, name: "edge-a", hostname: "host-a", ip: "127.0.0.1", group_ids: [1], mounts })
    expect(second).toEqual({ id: other.id, name: "edge-b", hostname: "edge-b", group_ids: expect.any(Array), mounts })
  })

  it("set every rule on every node, twice the same, and take it back", async () => {
    const body = { rule_ids: [1, 2, 1], server_ids: [node.id, node.id, other.id], mounted: true }
    const answer = await calls.call("PUT", "/mounts", body)
    expect([answer.status, answer.headers["x-dash-warning"]]).toEqual([204, undefined])
    const on = async (id: number) => (await mountsOf(id))?.mounts.flatMap((one) => (one.mounted ? [one.rule_id] : []))
    expect([await on(node.id), await on(other.id)]).toEqual([
      [-1, -2, -3, -4, 1, 2],
      [-1, -2, -3, -4, 1, 2]
    ])
    await calls.call("PUT", "/mounts", { rule_ids: [-1, 1], server_ids: [node.id], mounted: false })
    expect([await on(node.id), await on(other.id)]).toEqual([
      [-2, -3, -4, 2],
      [-1, -2, -3, -4, 1, 2]
    ])
    await calls.call("PUT", "/mounts", { rule_ids: [-1], server_ids: [node.id], mounted: true })
    await calls.call("PUT", "/mounts", { rule_ids: [1, 2], server_ids: [node.id, other.id], mounted: false })
    expect([await on(node.id), await on(other.id)]).toEqual([
      [-1, -2, -3, -4],
      [-1, -2, -3, -4]
    ])
  })

  it("warn when the running alerts cannot follow yet, and are right again at the next read", async () => {
    const book = await service.inside(AlertBook)
    const { reload } = book
    Object.assign(book, { reload: Effect.fail(new StorageUnavailable({ message: "away" })) })
    const change = { rule_ids: [3], server_ids: [node.id], mounted: true }
    const answer = await calls.call("PUT", "/mounts", change)
    const isOn = async () => (await mountsOf(node.id))?.mounts.find((one) => one.rule_id === 3)?.mounted
    const meanwhile = await calls.call("GET", "/mounts")
    Object.assign(book, { reload })

    expect([answer.status, answer.headers["x-dash-warning"]]).toEqual([204, "alert_reconcile_delayed"])
    expect(codeOf(meanwhile)).toBe("503 db_error")
    expect(await isOn()).toBe(true)
  })
})

describe("settings", () => {
  const settings = () => calls.read(AlertSettings, "/settings")

  it.each<readonly [body: unknown, expected: string]>([
    [{ channel_ids: [] }, "400 invalid_fields: enabled is required"],
    [{ enabled: true }, "400 invalid_fields: channel_ids is required"],
    [{ enabled: true, channel_ids: [0] }, "400 invalid_fields: channel_ids"],
    [{ enabled: true, channel_ids: [-1] }, "400 invalid_fields: channel_ids"],
    [{ enabled: true, channel_ids: [999] }, "400 invalid_fields: there is no channel 999"],
    [{ enabled: true, channel_ids: [], group_offline_over: -1 }, "400 invalid_fields: group_offline_over"],
    [{ enabled: true, channel_ids: [], group_offline_window_sec: 4 }, "400 invalid_fields: group_offline_window_sec"],
    [{ enabled: true, channel_ids: [], offline_after_sec: 2 }, "400 invalid_fields: offline_after_sec"],
    [{ enabled: "yes", channel_ids: [] }, "400 invalid_request: enabled"],
    ["", "400 invalid_request"]
  ])("refuse %j", async (body, expected) => {
    expect(told(await calls.call("PUT", "/settings", body))).toContain(expected)
  })

  it("are enabled with no channel at first, and keep what a change leaves out", async () => {
    const first = await settings()
    expect(first).toEqual({
      enabled: true,
      channel_ids: [],
      group_offline: expect.any(Boolean),
      group_offline_over: expect.any(Number),
      group_offline_window_sec: expect.any(Number),
      offline_after_sec: 14,
      allow_private_targets: false,
      created_at: expect.stringMatching(instant),
      updated_at: expect.stringMatching(instant)
    })
    const hook = (name: string) => ({ name, type: "webhook", config: { url: "https://example.org/x" }, enabled: true })
    const [one, two] = [await calls.create("/channels", hook("a")), await calls.create("/channels", hook("b"))]
    const change = { enabled: false, channel_ids: [two, one, two], offline_after_sec: 30, group_offline_over: 5 }
    expect((await calls.call("PUT", "/settings", change)).status).toBe(204)
    expect(await settings()).toEqual({
      ...first,
      ...change,
      channel_ids: [two, one],
      updated_at: expect.stringMatching(instant)
    })
    expect((await calls.call("PUT", "/settings", { enabled: true, channel_ids: [one] })).status).toBe(204)
    expect(await settings()).toMatchObject({ enabled: true, channel_ids: [one], offline_after_sec: 30 })
    expect((await service.inside(AlertBook)).page().targets.map(({ id }) => id)).toEqual([one])
    for (const id of [one, two]) await calls.call("DELETE", `/channels/${id}`)
    expect((await settings()).channel_ids).toEqual([])
    expect((await service.inside(AlertBook)).page().targets).toEqual([])
  })
})

describe("silences", () => {
  const silences = () => calls.read(Schema.Array(Silence), "/silences")
  const good = () => ({ scope: "node", target_id: node.id, until: isoNow(3_600_000) })

  it.each<readonly [what: string, body: () => unknown, expected: string]>([
    ["a scope that is none", () => ({ ...good(), scope: "all" }), "400 invalid_request: scope"],
    ["no target", () => ({ ...good(), target_id: undefined }), "400 invalid_request: target_id"],
    ["half a target", () => ({ ...good(), target_id: 1.5 }), "400 invalid_request: target_id"],
    ["an unknown node", () => ({ ...good(), target_id: 999 }), "400 invalid_fields: there is no node 999"],
    ["an unknown group", () => ({ ...good(), scope: "group", target_id: 999 }), "400 invalid_fields"],
    ["an unknown rule", () => ({ ...good(), scope: "rule", target_id: -9 }), "400 invalid_fields"],
    ["an end that is no time", () => ({ ...good(), until: "soon" }), "400 invalid_fields: until must be an RFC 3339"],
    ["an end in seconds", () => ({ ...good(), until: "4102444800" }), "400 invalid_fields: until"],
    ["an end that has passed", () => ({ ...good(), until: isoNow(-1000) }), "400 invalid_fields: until must lie ahead"],
    ["an end in two years", () => ({ ...good(), until: isoNow(731 * 86_400_000) }), "400 invalid_fields: until"],
    ["a long comment", () => ({ ...good(), comment: "x".repeat(256) }), "400 invalid_fields: comment"],
    ["a comment that rings", () => ({ ...good(), comment: "a\u0007" }), "400 invalid_fields: comment"],
    ["no JSON", () => "x", "400 invalid_request"]
  ])("are refused with %s, new or in place of another", async (_, body, expected) => {
    const id = await calls.create("/silences", good())
    const before = await silences()
    expect(told(await calls.call("POST", "/silences", body()))).toContain(expected)
    expect(told(await calls.call("PUT", `/silences/${id}`, body()))).toContain(expected)
    expect(await silences()).toEqual(before)
    await calls.call("DELETE", `/silences/${id}`)
  })

  it("are not found by a wrong id", async () => {
    for (const [method, body] of [
      ["PUT", good()],
      ["DELETE", undefined]
    ] as const) {
      expect(codeOf(await calls.call(method, "/silences/0", body))).toBe("400 invalid_id")
      expect(codeOf(await calls.call(method, "/silences/999", body))).toBe("404 not_found")
    }
  })

  it("hold until their end, of a node, a group or a rule, and can be replaced and taken back", async () => {
    const until = `${isoNow(3_600_000).slice(0, 19)}Z`
    const first = await calls.create("/silences", { ...good(), until, comment: " a move\nof racks " })
    const second = await calls.create("/silences", { scope: "rule", target_id: -1, until: isoNow(60_000) })
    const third = await calls.create("/silences", { scope: "group", target_id: 1, until: isoNow(3_600_000) })
    const found = await silences()
    expect(found.map(({ id }) => id)).toEqual([third, second, first])
    expect(found[2]).toEqual({
      id: first,
      scope: "node",
      target_id: node.id,
      until,
      active: true,
      comment: "a move\nof racks",
      created_at: expect.stringMatching(instant)
    })
    expect((await service.inside(AlertBook)).page().silences.length).toBe(3)
    expect((await calls.call("PUT", `/silences/${first}`, { ...good(), target_id: other.id })).status).toBe(204)
    expect((await silences())[2]).toMatchObject({ id: first, target_id: other.id, comment: "" })
    service.advance(120_000)
    expect((await silences()).map(({ active }) => active)).toEqual([true, false, true])
    for (const id of [first, second, third]) expect((await calls.call("DELETE", `/silences/${id}`)).status).toBe(204)
    expect([await silences(), (await service.inside(AlertBook)).page().silences]).toEqual([[], []])
  })
})

describe("every read and write", () => {
  it("is 503 while its table is away", async () => {
    for (const [table, method, path, body] of [
      ["alert_rules", "GET", "/rules", undefined],
      ["alert_rules", "POST", "/rules", cpu],
      ["alert_rules", "DELETE", "/rules/1", undefined],
      ["alert_mounts", "PUT", "/mounts", { rule_ids: [1], server_ids: [node.id], mounted: true }],
      ["alert_settings", "GET", "/settings", undefined],
      ["alert_settings", "PUT", "/settings", { enabled: true, channel_ids: [] }],
      ["alert_silences", "GET", "/silences", undefined],
      ["alert_channels", "GET", "/channels", undefined],
      ["alert_channels", "GET", "/channels/1", undefined],
      ["alert_events", "GET", "/events", undefined],
      ["alert_events", "GET", "/events/summary", undefined],
      ["alert_events", "GET", "/events/servers", undefined],
      ["alert_outbox", "GET", "/deliveries", undefined],
      ["alert_outbox", "GET", "/deliveries/1/attempts", undefined]
    ] as const) {
      await service.exec(`ALTER TABLE ${table} RENAME TO ${table}_away`)
      const answer = await calls.call(method, path, body)
      await service.exec(`ALTER TABLE ${table}_away RENAME TO ${table}`)
      expect([method, path, codeOf(answer)]).toEqual([method, path, "503 db_error"])
    }
  })
})
