// Events and deliveries over a real socket: filters, pages to the last row, every member, attempts and telling again.
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  AlertAttempts,
  AlertDeliveryPage,
  AlertEventPage,
  AlertEventServers,
  AlertEventSummary
} from "../../schema/AlertEvents.ts"
import type { AlertMetric } from "../../src/core/alert/Rule.ts"
import type { Write } from "../../src/store/Journal.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { changeOf, outboxOf, settleOf, start, stepOf } from "../store/alert/Support.ts"
import { type Receiver, replyWith, startReceiver } from "../support/Receiver.ts"
import {
  addNode,
  codeOf,
  type Headers,
  type MadeNode,
  member,
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
let receiver: Receiver
let channelId: number

const commit = (...writes: ReadonlyArray<Write>) =>
  service.inside(Effect.map(JournalStore, (store) => store.write(writes)))
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** Ten events half a second apart: by turns of two nodes and two metrics, the even ones closed. */
const eventsMade = 10
const metricOf = (id: number): AlertMetric => (id % 3 === 0 ? "mem.used_ratio" : "cpu.usage_ratio")
const firstAt = (id: number) => start + id * 500

const fillEvents = async (): Promise<void> => {
  for (let id = 1; id <= eventsMade; id++) {
    const rule = {
      id: -1,
      generation: 2,
      name: `rule ${id}`,
      metric: metricOf(id),
      operator: ">=",
      durationSec: 0
    } as const
    const nodeId = id <= 5 ? node.id : other.id
    const opened = changeOf(id, "opened", { rule, atMs: firstAt(id), isMuted: id === 1, value: id === 3 ? null : 0.95 })
    const closed = changeOf(id, "closed", { rule, atMs: firstAt(id) + 60_000, value: null, threshold: null })
    await commit(stepOf([opened], id <= 3 ? [outboxOf(id, { channelId })] : [], nodeId))
    if (id % 2 === 0) await commit(stepOf([{ ...closed, serverIp: null }], [], nodeId))
  }
  // Sent at the second try; failed; still pending.
  await commit(settleOf([1], "pending"))
  await commit(settleOf([1], "sent", { atMs: start + 3000 }))
  await commit(settleOf([2], "failed"))
}

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  calls = callsOf(service, () => admin)
  node = await addNode(service, admin, { name: "edge-a" })
  other = await addNode(service, admin, { name: "edge-b" })
  receiver = await startReceiver(replyWith(200))
  const config = { url: receiver.url }
  // Nobody is told by the running service until the tests want it.
  channelId = await calls.create("/channels", { name: "hook", type: "webhook", config, enabled: true })
  await fillEvents()
})
afterAll(async () => {
  await service.stop()
  await receiver.close()
})

const events = (query = "") => calls.read(AlertEventPage, `/events${query}`)
const idsOf = async (query: string) => (await events(query)).items.map(({ id }) => Number(id))
const deliveries = (query = "") => calls.read(AlertDeliveryPage, `/deliveries${query}`)

describe("a bad parameter", () => {
  it.each(
    Object.entries({
      events: {
        server_id: ["0", "-1", "x", "1.5", "9".repeat(17)],
        status: ["opened", "OPEN"],
        metric: ["cpu.magic"],
        from: ["soon", "1800000000", "2027-02-30T00:00:00Z"],
        to: ["x", "2027-01-01"],
        cursor: ["x", "1", ",1", "2027-01-01T00:00:00Z,0", "2027-01-01T00:00:00Z,x", "2027-01-01T00:00:00Z"],
        limit: ["0", "-1", "x", "1.5"]
      },
      deliveries: {
        channel_id: ["0", "x"],
        event_id: ["0", "x"],
        server_id: ["0", "x"],
        status: ["retry"],
        cursor: ["0", "x", "2027-01-01T00:00:00Z,1"],
        limit: ["0", "x"]
      }
    }).flatMap(([list, names]) =>
      Object.entries(names).flatMap(([name, values]) => values.map((value) => [list, name, value] as const))
    )
  )("of %s is 400 and named: %s=%s", async (list, name, value) => {
    const answer = await calls.call("GET", `/${list}?${name}=${encodeURIComponent(value)}`)
    expect(codeOf(answer)).toBe("400 invalid_request")
    expect(member(answer.json, "message")).toMatch(new RegExp(`^${name} must `))
  })

  it("is also an end before its beginning", async () => {
    const answer = await calls.call("GET", `/events?from=${iso(start + 1000)}&to=${iso(start)}`)
    expect(told(answer)).toBe("400 invalid_request: from must not be after to")
  })
})

describe("events", () => {
  it("are the open ones, the latest first, unless others are asked for", async () => {
    expect(await idsOf("")).toEqual([9, 7, 5, 3, 1])
    expect(await idsOf("?status=open&limit=&metric=")).toEqual([9, 7, 5, 3, 1])
    expect(await idsOf("?status=closed")).toEqual([10, 8, 6, 4, 2])
    expect(await idsOf("?status=all")).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    expect(await idsOf(`?status=all&server_id=${node.id}`)).toEqual([5, 4, 3, 2, 1])
    expect(await idsOf("?status=all&metric=mem.used_ratio")).toEqual([9, 6, 3])
    expect(await idsOf("?status=all&server_id=999")).toEqual([])
    // Told in whole seconds: the second of the end counts as a whole.
    expect(await idsOf(`?status=all&from=${iso(start + 2000)}&to=${iso(start + 3000)}`)).toEqual([7, 6, 5, 4])
    const exact = encodeURIComponent(new Date(start + 2500).toISOString())
    expect(await idsOf(`?status=all&to=${exact}`)).toEqual([5, 4, 3, 2, 1])
    const zoned = encodeURIComponent(new Date(start + 4500 + 7_200_000).toISOString().replace("Z", "+02:00"))
    expect(await idsOf(`?status=all&from=${zoned}`)).toEqual([10, 9])
  })

  it("have every member of the contract, and none of what is not known", async () => {
    const { items } = await events("?status=all")
    const base = { rule_id: -1, rule_generation: 2, server_hostname: "host-1", server_name: "node-1" }
    expect(items.find(({ id }) => id === "3")).toEqual({
      ...base,
      id: "3",
      server_id: node.id,
      server_ip: "192.0.2.1",
      status: "open",
      metric: "mem.used_ratio",
      rule_name: "rule 3",
      first_trigger_at: iso(firstAt(3)),
      last_trigger_at: iso(firstAt(3)),
      effective_threshold: 0.9,
      title: "opened 3",
      message: "message of 3",
      muted: false
    })
    expect(items.find(({ id }) => id === "8")).toEqual({
      ...base,
      id: "8",
      server_id: other.id,
      server_ip: "192.0.2.1",
      status: "closed",
      metric: "cpu.usage_ratio",
      rule_name: "rule 8",
      first_trigger_at: iso(firstAt(8)),
      last_trigger_at: iso(firstAt(8)),
      closed_at: iso(firstAt(8) + 60_000),
      current_value: 0.95,
      effective_threshold: 0.9,
      close_reason: "condition_cleared",
      title: "closed 8",
      message: "message of 8",
      muted: false
    })
    expect(items.at(-1)).toMatchObject({ id: "1", muted: true })
  })

  it("come page by page, each once, in whatever size, two within one second too", async () => {
    for (const limit of [1, 2, 3, 9, 10, 11, 500, 10_000]) {
      const found: Array<string> = []
      let cursor: string | null = ""
      while (cursor !== null) {
        const page = await events(`?status=all&limit=${limit}&cursor=${encodeURIComponent(cursor)}`)
        found.push(...page.items.map(({ id }) => id))
        expect(page.items.length).toBeLessThanOrEqual(limit)
        expect(page.has_more).toBe(page.next_cursor !== null)
        if (page.next_cursor !== null) expect(page.next_cursor).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z,\d+$/)
        cursor = page.next_cursor
      }
      expect([limit, found]).toEqual([limit, ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1"]])
    }
    expect((await events(`?cursor=${iso(start + 1000)},2`)).items.map(({ id }) => id)).toEqual(["1"])
  })

  it("are summed up by node, and name the nodes that ever had one", async () => {
    const { items } = await calls.read(AlertEventSummary, "/events/summary")
    const sorted = items.map((one) => ({ ...one, metrics: one.metrics.toSorted() }))
    const metrics = ["cpu.usage_ratio", "mem.used_ratio"]
    const of = (last: number) => ({
      last_trigger_at: iso(firstAt(last)),
      metric: metricOf(last),
      rule_name: `rule ${last}`
    })
    expect(sorted).toEqual([
      { server_id: node.id, open_count: 3, ...of(5), metrics },
      { server_id: other.id, open_count: 2, ...of(9), metrics }
    ])
    expect((await calls.read(AlertEventServers, "/events/servers")).items).toEqual([
      { id: node.id, name: "edge-a" },
      { id: other.id, name: "edge-b" }
    ])
  })
})

describe("deliveries", () => {
  it("are told with where they stand, filtered and page by page", async () => {
    const { has_more, items, next_cursor } = await deliveries()
    expect([has_more, next_cursor, items.map(({ id }) => id)]).toEqual([false, null, [3, 2, 1]])
    const base = {
      transition: "opened",
      channel_id: channelId,
      channel_name: "hook",
      channel_type: "webhook",
      server_id: node.id,
      server_name: "node-1",
      created_at: iso(start)
    }
    const settled = { last_attempt_at: iso(start), attempts: 1 }
    expect(items).toEqual([
      {
        ...base,
        id: 3,
        event_id: "3",
        title: "title of 3",
        status: "pending",
        attempts: 0,
        next_attempt_at: iso(start)
      },
      {
        ...base,
        id: 2,
        event_id: "2",
        title: "title of 2",
        status: "failed",
        ...settled,
        settled_at: iso(start),
        reason: "connect"
      },
      {
        ...base,
        id: 1,
        event_id: "1",
        title: "title of 1",
        status: "sent",
        ...settled,
        attempts: 2,
        settled_at: iso(start + 3000)
      }
    ])
    const found = async (query: string) => (await deliveries(query)).items.map(({ id }) => id)
    expect(await found("?status=failed")).toEqual([2])
    expect(await found("?event_id=1")).toEqual([1])
    expect([await found(`?server_id=${node.id}`), await found(`?server_id=${other.id}`)]).toEqual([[3, 2, 1], []])
    expect([await found(`?channel_id=${channelId}`), await found("?channel_id=999")]).toEqual([[3, 2, 1], []])
    const page = await deliveries("?limit=2")
    expect([page.has_more, page.next_cursor]).toEqual([true, "2"])
    expect(await deliveries("?limit=2&cursor=2")).toMatchObject({
      items: [{ id: 1 }],
      next_cursor: null,
      has_more: false
    })
  })

  it("tell their attempts, the latest first, with why they failed", async () => {
    const attempts = (id: number) => calls.read(AlertAttempts, `/deliveries/${id}/attempts`)
    const tried = { at: iso(start), latency_ms: 50, notifications: 1 }
    const failed = { ...tried, reason: "connect", message: "no connection" }
    expect(await attempts(1)).toEqual({
      items: [
        { ...tried, outcome: "sent" },
        { ...failed, outcome: "retry" }
      ]
    })
    expect(await attempts(2)).toEqual({ items: [{ ...failed, outcome: "failed" }] })
    expect(await attempts(3)).toEqual({ items: [] })
  })

  it("are not found by a wrong id", async () => {
    for (const [method, tail] of [
      ["GET", "attempts"],
      ["POST", "resend"]
    ] as const) {
      expect(codeOf(await calls.call(method, `/deliveries/0/${tail}`))).toBe("400 invalid_id")
      expect(codeOf(await calls.call(method, `/deliveries/999/${tail}`))).toBe("404 not_found")
    }
  })

  it("are told again when that is asked for, at once, by the running service", async () => {
    await calls.call("PUT", "/settings", { enabled: true, channel_ids: [channelId], allow_private_targets: true })
    const moved = Date.now()
    expect((await calls.call("POST", "/deliveries/2/resend")).status).toBe(204)
    await expect.poll(() => receiver.received.some(({ body }) => body.includes("title of 2"))).toBe(true)
    await expect.poll(async () => (await deliveries("?event_id=2")).items[0]?.status).toBe("sent")
    const [again] = (await deliveries("?event_id=2")).items
    expect(again).toMatchObject({ id: 2, status: "sent", attempts: 1 })
    expect(Date.parse(again?.settled_at ?? "")).toBeGreaterThanOrEqual(Math.floor(moved / 1000) * 1000)
    expect((await calls.read(AlertAttempts, "/deliveries/2/attempts")).items.map(({ outcome }) => outcome)).toEqual([
      "sent",
      "failed"
    ])
  })

  it("are told when the journal takes no writes that they cannot be told again now", async () => {
    await service.exec("CREATE TRIGGER no_requeue BEFORE UPDATE ON alert_outbox BEGIN SELECT raise(ABORT, 'full'); END")
    const answer = await calls.call("POST", "/deliveries/1/resend")
    await service.exec("DROP TRIGGER no_requeue")
    expect(codeOf(answer)).toBe("503 db_error")
  })

  it("stay readable when their channel is gone", async () => {
    await calls.call("DELETE", `/channels/${channelId}`)
    expect((await deliveries("?event_id=1")).items).toMatchObject([{ channel_id: channelId, channel_type: "webhook" }])
  })
})
