// Every error code of the catalogue has a way to a client; the table of ways is complete.
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { SinkError, Sinks } from "../../runtime/alert/Sink.ts"
import { LoginError, TelegramLogin } from "../../runtime/alert/TelegramLogin.ts"
import { FrontBoard } from "../../runtime/FrontBoard.ts"
import { Journal } from "../../runtime/Journal.ts"
import { TrafficMonths } from "../../runtime/TrafficMonths.ts"
import { catalogue, SecretCollision } from "../../schema/Errors.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import {
  addNode,
  adminPassword,
  agentOf,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  proper,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"
import { account, bodyOf, hook } from "./AlertCalls.ts"

let service: Service
let admin: Headers
let node: MadeNode
let groupId: number

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  node = await addNode(service, admin, { name: "edge-a", is_guest_visible: true })
  const created = await send("POST", "/api/admin/groups", { name: "lab" })
  groupId = Number(created.headers.location?.split("/").at(-1))
})
afterAll(() => service.stop())

const ask = async (method: string, path: string, headers?: Headers, body?: string | Buffer): Promise<Answer> =>
  proper(await service.call(method, path, headers, body))
const send = (method: string, path: string, body: unknown): Promise<Answer> =>
  ask(method, path, { ...admin, ...json }, typeof body === "string" ? body : JSON.stringify(body))
const login = { password: adminPassword, persistence: "session" }

describe("every error code", () => {
  const patch = (body: unknown) => send("PATCH", `/api/admin/nodes/${node.id}`, body)
  const signing = (body: unknown, from = "198.51.100.1") =>
    ask("POST", "/api/auth/login", { ...json, "x-forwarded-for": from }, JSON.stringify(body))
  /** Runs while a table is out of the way. */
  const without = async (table: string, call: () => Promise<Answer>): Promise<Answer> => {
    await service.exec(`ALTER TABLE ${table} RENAME TO ${table}_away`)
    try {
      return await call()
    } finally {
      await service.exec(`ALTER TABLE ${table}_away RENAME TO ${table}`)
    }
  }

  const rebuild = () => ask("POST", `/api/admin/nodes/${node.id}/traffic/rebuild`, admin)

  const alerts = "/api/admin/alerts/channels"
  const channel = async (type: string, config: unknown): Promise<string> =>
    String((await send("POST", alerts, bodyOf(type, config))).headers.location)
  /** A login that Telegram ends for this reason. */
  const failedLogin = async (step: string, reason: LoginError["reason"], body: object): Promise<Answer> => {
    const logins = await service.inside(TelegramLogin)
    const { password, verify } = logins
    const fail = () => new LoginError({ reason, message: "it is wrong" })
    Object.assign(logins, { verify: fail, password: fail })
    const answer = await send("POST", `${alerts}/telegram/mtproto/${step}`, { login_id: "some", ...body })
    Object.assign(logins, { password, verify })
    return answer
  }

  /** How a client meets each of them. */
  const ways: Readonly<Record<string, () => Promise<Answer>>> = {
    invalid_request: () => send("POST", "/api/admin/groups", { name: 5 }),
    invalid_json: () => ask("POST", "/api/auth/login", json, "{"),
    invalid_id: () => send("PATCH", "/api/admin/nodes/0", { tags: [] }),
    invalid_path: () => ask("GET", "/api//version"),
    no_fields: () => patch({}),
    invalid_fields: () => send("PATCH", `/api/admin/groups/${groupId}`, { name: " " }),
    invalid_persistence: () => signing({ password: "x", persistence: "ever" }),
    invalid_session: () => ask("DELETE", "/api/auth/sessions/%20", admin),
    invalid_name: () => send("POST", "/api/admin/groups", {}),
    invalid_display_order: () => patch({ display_order: 0 }),
    invalid_ids: () => send("PUT", "/api/admin/nodes/display-order", { ids: [] }),
    invalid_tags: () => patch({ tags: null }),
    invalid_secret: () => patch({ secret: " " }),
    invalid_group_ids: () => patch({ group_ids: [999_999] }),
    invalid_traffic_cycle_mode: () => patch({ traffic_cycle_mode: "weekly" }),
    invalid_traffic_billing_start_day: () => patch({ traffic_billing_start_day: 32 }),
    invalid_traffic_billing_anchor_date: () => patch({ traffic_billing_anchor_date: "soon" }),
    invalid_traffic_billing_timezone: () => patch({ traffic_billing_timezone: "Mars/Olympus" }),
    invalid_traffic_direction_mode: () => patch({ traffic_direction_mode: "up" }),
    not_logged_in: async () => send("POST", `${await channel("telegram", account)}/test`, {}),
    invalid_code: () => failedLogin("verify", "invalid_code", { code: "1" }),
    invalid_password: () => failedLogin("password", "invalid_password", { password: "1" }),
    notify_error: async () => {
      const sinks = await service.inside(Sinks)
      const { deliver } = sinks
      const refused = new SinkError({ kind: "permanent", reason: "rejected", message: "it was refused" })
      Object.assign(sinks, { deliver: () => refused })
      const answer = await send("POST", `${await channel("webhook", hook)}/test`, {})
      Object.assign(sinks, { deliver })
      return answer
    },
    unauthorized: () => ask("GET", "/api/admin/nodes"),
    forbidden: () => ask("GET", "/api/front/recent?server_id=999999"),
    not_found: () => ask("GET", "/api/front/recent?server_id=999999", admin),
    method_not_allowed: () => ask("PUT", "/api/version"),
    duplicate_secret: async () => patch({ secret: (await addNode(service, admin)).secret }),
    traffic_daily_requires_billing: () =>
      ask("GET", `/api/statistics/traffic/daily?server_id=${node.id}&iface=eth0`, admin),
    traffic_rebuild_running: async () => {
      const months = await service.inside(TrafficMonths)
      const { write } = months
      let open = () => {}
      const gate = new Promise<number>((opened) => (open = () => opened(0)))
      Object.assign(months, { write: () => Effect.promise(() => gate) })
      await rebuild()
      const answer = await rebuild()
      Object.assign(months, { write })
      open()
      return answer
    },
    traffic_rebuild_unavailable: async () => {
      const journal = await service.inside(Journal)
      const { closed } = journal
      while ((await ask("GET", "/api/admin/nodes/traffic/rebuild", admin)).text.includes(`"running":true`)) continue
      Object.assign(journal, { closed: () => "the disk is full" })
      const answer = await rebuild()
      Object.assign(journal, { closed })
      return answer
    },
    default_group_not_deletable: () => ask("DELETE", "/api/admin/groups/1", admin),
    body_too_large: () => send("POST", "/api/admin/groups", " ".repeat(1_048_577)),
    unsupported_media_type: () => ask("POST", "/api/auth/login", { "content-type": "text/plain" }, "x"),
    invalid_metrics: () => service.call("POST", "/api/node/metrics", agentOf(node.secret), '{"version":"v1"}'),
    invalid_static_payload: () => service.call("POST", "/api/node/static", agentOf(node.secret), '{"version":"v1"}'),
    rate_limited: async () => {
      for (let i = 0; i < 5; i++) await signing({ ...login, password: "wrong" }, "203.0.113.1")
      return signing(login, "203.0.113.2")
    },
    db_error: () => without("nodes", () => ask("POST", "/api/admin/nodes", admin)),
    auth_unavailable: () => without("sessions", () => signing(login)),
    service_unavailable: () => without("settings", () => ask("GET", "/api/front/brand")),
    // Five drawn secrets of 190 bits will not collide, and no defect is known: both are put in by hand.
    secret_collision_exhausted: async () => {
      const nodes = await service.inside(Nodes)
      const { create } = nodes
      Object.assign(nodes, { create: Effect.fail(new SecretCollision({ message: "all in use" })) })
      const answer = await ask("POST", "/api/admin/nodes", admin)
      Object.assign(nodes, { create })
      return answer
    },
    internal_error: async () => {
      const board = await service.inside(FrontBoard)
      const { groups } = board
      Object.assign(board, { groups: () => Effect.die(new Error("a secret detail")) })
      const answer = await ask("GET", "/api/front/groups")
      Object.assign(board, { groups })
      expect(answer.text).not.toContain("secret detail")
      expect(service.logs.at(-1)).toContain("secret detail")
      return answer
    }
  }

  it("has a way in the table of this file", () => {
    expect(Object.keys(ways).toSorted()).toEqual(catalogue.map(({ code }) => code as string).toSorted())
  })

  for (const { code, status } of catalogue) {
    it(`reaches a client as ${status} ${code}`, async () => {
      const answer = await ways[code]?.()
      expect(answer === undefined ? "no way" : codeOf(proper(answer))).toBe(`${status} ${code}`)
    })
  }

  it("leaves the service whole", async () => {
    expect((await ask("GET", "/api/admin/nodes", admin)).status).toBe(200)
    expect((await ask("GET", "/api/front/brand")).status).toBe(200)
  })
})
