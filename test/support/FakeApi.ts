// A stand-in for the service: serves the built page under its real policy and answers the reads and writes it makes.
import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { extname, join, normalize } from "node:path"
import type { AddressInfo } from "node:net"
import { FakeAlerts } from "../web/FakeAlerts.ts"
import { FakeFleet, recentOf, snapshotOf, type FakeNode } from "../web/FakeFleet.ts"
import { historyOf, onlineOf, withTemperatures } from "../web/FakeHistory.ts"
import { FakeTraffic } from "../web/FakeTraffic.ts"
import { defaultSettings, nodeOf, patch, Refused, settingsAfter, statusOf } from "../web/FakeRecords.ts"

export const password = "correct horse"
export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json"
}

interface Call {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  readonly isAdmin: boolean
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface FakeOptions {
  readonly dist: string
  readonly nodes: number
  readonly pollMs?: number
  readonly accessTtlMs?: number
}

export class FakeApi {
  fleet: FakeFleet
  settings = defaultSettings
  traffic = new FakeTraffic()
  alerts = new FakeAlerts()
  origin = ""
  /** Every API call as `METHOD path?query`. */
  readonly calls: Array<string> = []
  /** Answers nothing under /api and drops the connection. */
  isDown = false
  /** Keeps answers of the live read back until it is set to false. */
  isHeld = false
  /** No node reports; the clock runs on. */
  isQuiet = false
  /** Guests may read history. */
  isHistoryOpen = true
  /** History and online reads are answered with 503. */
  isHistoryDown = false
  /** History reads that were answered at the same time, at most. */
  historyPeak = 0
  #historyReads = 0
  /** Moves the service's clock. */
  offsetMs = 0
  accessTtlMs: number
  readonly pollMs: number
  readonly #dist: string
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  #access = new Map<string, string>()
  #refresh = new Map<string, { readonly sid: string; readonly csrf: string }>()
  #sessions: Array<{ id: string; session_only: boolean }> = []
  #lastTickMs = 0

  constructor(options: FakeOptions) {
    this.#dist = options.dist
    this.pollMs = options.pollMs ?? 250
    this.accessTtlMs = options.accessTtlMs ?? 900_000
    this.fleet = new FakeFleet(options.nodes, Date.now())
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done))
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  reset(nodes: number): void {
    this.fleet = new FakeFleet(nodes, this.now())
    this.settings = defaultSettings
    this.traffic = new FakeTraffic()
    this.alerts = new FakeAlerts()
    this.isDown = this.isHeld = this.isQuiet = this.isHistoryDown = false
    this.isHistoryOpen = true
    this.historyPeak = 0
    this.calls.length = 0
  }

  now(): number {
    return Date.now() + this.offsetMs
  }

  /** Access tokens stop working at once; with `isWhole` the sessions behind them end too. */
  revoke(isWhole: boolean): void {
    if (isWhole) this.#end(() => true)
    else this.#access.clear()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake")
    if (!url.pathname.startsWith("/api/")) return this.#file(url.pathname, response)
    response.setHeader("date", new Date(this.now()).toUTCString())
    const path = url.pathname.length > 5 ? url.pathname.replace(/\/$/, "") : url.pathname
    this.calls.push(`${request.method ?? ""} ${path}${url.search}`)
    if (this.isDown) return void request.socket.destroy()
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1]
    const call: Call = {
      method: request.method ?? "GET",
      path,
      query: url.searchParams,
      body: await readJson(request),
      isAdmin: token !== undefined && this.#access.has(token),
      request,
      response
    }
    try {
      await this.#answer(call)
    } catch (thrown) {
      const refused = thrown instanceof Refused ? thrown : new Refused(500, "internal_error")
      json(response, refused.status, { code: refused.code, message: refused.message })
    }
  }

  async #file(path: string, response: ServerResponse): Promise<void> {
    const wanted = join(this.#dist, normalize(path))
    const found = extname(path) === "" ? null : await readFile(wanted).catch(() => null)
    const body = found ?? (await readFile(join(this.#dist, "index.html")))
    response.writeHead(200, {
      "content-type": types[found === null ? ".html" : extname(path)] ?? "application/octet-stream",
      "content-security-policy": policy
    })
    response.end(body)
  }

  async #answer(call: Call): Promise<void> {
    const { method, path } = call
    if (path.startsWith("/api/auth/")) return this.#auth(call)
    if (path.startsWith("/api/admin/")) {
      if (!call.isAdmin) throw new Refused(401, "unauthorized")
      return this.#admin(call)
    }
    if (path.startsWith("/api/statistics/")) return this.#statistics(call)
    if (method !== "GET") throw new Refused(405, "method_not_allowed")
    if (path === "/api/front/brand") {
      const { history_guest_access_mode: _, ...brand } = this.settings
      return json(call.response, 200, brand)
    }
    if (path === "/api/front/live") return this.#live(call)
    const viewer = call.isAdmin ? "admin" : "guest"
    const visible = this.fleet.visible(viewer).filter((node) => node.receivedAtMs > 0)
    if (path === "/api/front/metrics") {
      const ids = new Set((call.query.get("ids") ?? "").split(",").map(Number))
      this.#tick()
      return json(
        call.response,
        200,
        visible.filter((node) => ids.has(node.id)).map((node) => withTemperatures(snapshotOf(node)))
      )
    }
    if (path.startsWith("/api/metrics/")) return this.#history(call, visible)
    if (path === "/api/front/recent") {
      const node = visible.find((one) => one.id === Number(call.query.get("server_id")))
      if (node === undefined) throw call.isAdmin ? new Refused(404, "not_found") : new Refused(403, "forbidden")
      return json(call.response, 200, recentOf(node, this.now()))
    }
    throw new Refused(404, "not_found")
  }

  #statistics(call: Call): void {
    const { isAdmin, method, query, response } = call
    const kind = call.path.slice("/api/statistics/".length).replace("traffic/", "")
    if (method === "PATCH") {
      if (!isAdmin) throw new Refused(401, "unauthorized")
      this.traffic.change(call.body)
      return none(response)
    }
    const { history_guest_access_mode } = this.settings
    if (kind === "access")
      return json(response, 200, { history_guest_access_mode, traffic_guest_access_mode: this.traffic.access() })
    if (kind === "settings") return json(response, 200, this.traffic.told())
    if (kind === "calendar") return json(response, 200, this.traffic.calendar(query, this.now()))
    const node = this.fleet
      .visible(isAdmin ? "admin" : "guest")
      .find((one) => one.id === Number(query.get("server_id")))
    if (!isAdmin && (node === undefined || this.traffic.access() === "disabled")) throw new Refused(403, "forbidden")
    if (node === undefined) throw new Refused(404, "not_found")
    if (kind !== "export") return json(response, 200, this.traffic.read(kind, node, query, this.now()))
    const text = this.traffic.csv(node, query, this.now())
    response.writeHead(200, { "content-type": "text/csv" }).end(text)
  }

  async #history(call: Call, visible: ReadonlyArray<FakeNode>): Promise<void> {
    const { path, query } = call
    const node = visible.find((one) => one.id === Number(query.get("server_id")))
    if (node === undefined) throw call.isAdmin ? new Refused(404, "not_found") : new Refused(403, "forbidden")
    if (this.isHistoryDown) throw new Refused(503, "service_unavailable")
    if (path === "/api/metrics/online") {
      return json(call.response, 200, onlineOf(node, query.get("range") === "7d" ? "7d" : "24h", this.now()))
    }
    if (!this.isHistoryOpen && !call.isAdmin) throw new Refused(403, "forbidden")
    this.historyPeak = Math.max(this.historyPeak, ++this.#historyReads)
    await new Promise((done) => setTimeout(done, 15))
    this.#historyReads--
    return json(call.response, 200, historyOf(node, query, this.now()))
  }

  #tick(): void {
    if (this.isQuiet || Date.now() - this.#lastTickMs < this.pollMs / 2) return
    this.#lastTickMs = Date.now()
    this.fleet.tick(this.now())
  }

  async #live(call: Call): Promise<void> {
    while (this.isHeld) await new Promise((done) => setTimeout(done, 20))
    this.#tick()
    const since = call.query.get("since")
    const viewer = call.isAdmin ? "admin" : "guest"
    const etag = `"${viewer}-${this.fleet.seq}"`
    if (call.request.headers["if-none-match"] === etag && since === String(this.fleet.seq)) {
      call.response.writeHead(304, { etag }).end()
      return
    }
    const frame = this.fleet.frame(viewer, since === null ? null : Number(since), this.now(), this.pollMs)
    json(call.response, 200, frame, { etag, "cache-control": "private, no-cache", vary: "Authorization" })
  }

  #grant(response: ServerResponse, sid: string): void {
    const [access, refresh, csrf] = [randomUUID(), randomUUID(), randomUUID()]
    this.#access.set(access, sid)
    this.#refresh.set(refresh, { sid, csrf })
    const body = {
      access_token: access,
      csrf_token: csrf,
      expires_at: new Date(Date.now() + this.accessTtlMs).toISOString()
    }
    json(response, 200, body, {
      "set-cookie": [
        `refresh=${refresh}; Path=/api/auth; HttpOnly; SameSite=Strict`,
        `csrf=${csrf}; Path=/; SameSite=Strict`
      ]
    })
  }

  #auth(call: Call): void {
    const { response } = call
    const cookies = new Map(
      (call.request.headers.cookie ?? "").split("; ").map((one) => one.split("=", 2) as [string, string])
    )
    const route = `${call.method} ${call.path.slice("/api/auth".length)}`
    if (route === "POST /login") {
      if (call.body["password"] !== password) throw new Refused(401, "unauthorized")
      const sid = randomUUID()
      this.#sessions.push({ id: sid, session_only: call.body["persistence"] === "session" })
      return this.#grant(response, sid)
    }
    const held = this.#refresh.get(cookies.get("refresh") ?? "")
    if (route === "POST /refresh" || route === "POST /logout") {
      if (cookies.get("csrf") === undefined || call.request.headers["x-csrf-token"] !== cookies.get("csrf"))
        throw new Refused(401, "unauthorized")
      if (route === "POST /logout") {
        this.#end((sid) => sid === held?.sid)
        return none(response)
      }
      if (held === undefined) throw new Refused(401, "unauthorized")
      this.#refresh.delete(cookies.get("refresh") ?? "")
      return this.#grant(response, held.sid)
    }
    if (!call.isAdmin) throw new Refused(401, "unauthorized")
    if (route === "GET /sessions") {
      const current = held?.sid
      const sessions = this.#sessions.map((one) => ({
        ...one,
        current: one.id === current,
        expires_at: "2031-03-04T05:06:07Z"
      }))
      return json(response, 200, { sessions })
    }
    const target = call.path.slice("/api/auth/sessions".length + 1)
    this.#end((sid) => target === "" || sid === target)
    none(response)
  }

  #end(isEnded: (sid: string) => boolean): void {
    this.#sessions = this.#sessions.filter((one) => !isEnded(one.id))
    for (const [token, sid] of this.#access) if (isEnded(sid)) this.#access.delete(token)
    for (const [token, { sid }] of this.#refresh) if (isEnded(sid)) this.#refresh.delete(token)
  }

  #admin(call: Call): void {
    const rest = call.path.slice("/api/admin/".length).split("/")
    if (rest[0] === "nodes") return this.#nodes(call, rest[1])
    if (rest[0] === "groups") return this.#groups(call, rest[1])
    if (rest[0] === "alerts") {
      const answer = this.alerts.answer({ ...call, rest: rest.slice(1), fleet: this.fleet, nowMs: this.now() })
      return answer === undefined ? none(call.response) : json(call.response, 200, answer)
    }
    if (call.path === "/api/admin/system/status") return json(call.response, 200, statusOf(this.fleet))
    if (call.path === "/api/admin/system/settings") {
      if (call.method === "GET") return json(call.response, 200, this.settings)
      this.settings = settingsAfter(this.settings, call.body)
      return none(call.response)
    }
    throw new Refused(404, "not_found")
  }

  #nodes(call: Call, id: string | undefined): void {
    const { fleet } = this
    if (id === undefined && call.method === "GET") return json(call.response, 200, fleet.nodes.map(nodeOf))
    if (id === undefined) {
      const node = fleet.add("Untitled")
      fleet.nodes.unshift(...fleet.nodes.splice(fleet.nodes.indexOf(node), 1))
      return none(call.response, { location: `/api/admin/nodes/${node.id}` })
    }
    if (id === "traffic-p95") {
      const ids = new Set(call.body["ids"] as Array<number>)
      for (const node of fleet.nodes) if (ids.has(node.id)) node.isP95On = call.body["enabled"] === true
    } else if (id === "display-order") {
      const ids = call.body["ids"] as Array<number>
      if (ids.length !== fleet.nodes.length) throw new Refused(400, "invalid_ids")
      fleet.nodes.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
    } else {
      const at = fleet.nodes.findIndex((node) => node.id === Number(id))
      const node = fleet.nodes[at]
      if (node === undefined) throw new Refused(404, "not_found")
      if (call.method === "DELETE") fleet.nodes.splice(at, 1)
      else patch(node, call.body, fleet)
    }
    fleet.touchRoster()
    none(call.response)
  }

  #groups(call: Call, id: string | undefined): void {
    const { groupNames, nodes } = this.fleet
    if (call.method === "GET") {
      const count = (group: number): number => nodes.filter((node) => node.groups.includes(group)).length
      return json(
        call.response,
        200,
        [...groupNames].map(([key, name]) => ({ id: key, name, remark: "", server_count: count(key) }))
      )
    }
    const key = id === undefined ? Math.max(...groupNames.keys()) + 1 : Number(id)
    if (call.method === "DELETE") {
      if (key === 1) throw new Refused(409, "default_group_not_deletable")
      groupNames.delete(key)
    } else {
      const name = String(call.body["name"] ?? "").trim()
      if (name === "") throw new Refused(400, "invalid_name")
      groupNames.set(key, name)
    }
    this.fleet.touchRoster()
    none(call.response, { location: `/api/admin/groups/${key}` })
  }
}

const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string | Array<string>> = {}
): void => {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    ...headers
  })
  response.end(`${JSON.stringify(body)}\n`)
}

const none = (response: ServerResponse, headers: Record<string, string> = {}): void => {
  response.writeHead(204, headers).end()
}

const readJson = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  let text = ""
  for await (const piece of request) text += String(piece)
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>)
}
