// The whole API over a real socket: every endpoint in both spellings, and who may call it.
import { HttpApi } from "@effect/platform"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../schema/api/Api.ts"
import { AdminOnly } from "../../schema/api/Security.ts"
import {
  addNode,
  adminPassword,
  agentOf,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  member,
  proper,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"
import { alertEndpoints, type Call, type Row } from "./AlertEndpoints.ts"

let service: Service
let admin: Headers
let node: MadeNode
let groupId: number

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  node = await addNode(service, admin, { name: "edge-a", is_guest_visible: true })
  groupId = await newGroup()
  await push(service, "metrics", node.secret, reportOf())
})
afterAll(() => service.stop())

const ask = async (method: string, path: string, headers?: Headers, body?: string | Buffer): Promise<Answer> =>
  proper(await service.call(method, path, headers, body))
const send = (method: string, path: string, body: unknown): Promise<Answer> =>
  ask(method, path, { ...admin, ...json }, typeof body === "string" ? body : JSON.stringify(body))

const newGroup = async (): Promise<number> => {
  const created = await send("POST", "/api/admin/groups", { name: "lab" })
  return Number(created.headers.location?.split("/").at(-1))
}
const newSession = async () => {
  const body = JSON.stringify({ password: adminPassword, persistence: "persistent" })
  const answer = await service.call("POST", "/api/auth/login", json, body)
  const [refresh, csrf] = (answer.headers["set-cookie"] ?? []).map((line) => line.split(";")[0])
  const token = String(csrf?.split("=")[1])
  const bearer = { authorization: `Bearer ${member(answer.json, "access_token")}` }
  return { page: { cookie: `${refresh}; ${csrf}`, "x-csrf-token": token }, bearer }
}

const jsonType = "application/json; charset=utf-8"
const plain: Row = { status: 200, type: jsonType, call: () => ({}) }
const asAdmin: Row = { status: 200, type: jsonType, call: () => ({ headers: admin }) }
const written = (call: () => Call | Promise<Call>): Row => ({ status: 204, call })
const login = { password: adminPassword, persistence: "session" }
/** A read of the traffic of the node, by the administrator. */
const traffic = (what: string, more = ""): Call => ({
  headers: admin,
  path: `/api/statistics/traffic/${what}?server_id=${node.id}&iface=eth0${more}`
})

/** One good call of every endpoint that the declaration knows, and of the two documents. */
const endpoints: Readonly<Record<string, Row>> = {
  "POST /api/auth/login": { status: 200, type: jsonType, call: () => ({ headers: json, body: login }) },
  "POST /api/auth/refresh": {
    status: 200,
    type: jsonType,
    call: async () => ({ headers: (await newSession()).page })
  },
  "POST /api/auth/logout": written(async () => ({ headers: (await newSession()).page })),
  "GET /api/auth/sessions": asAdmin,
  "DELETE /api/auth/sessions/current": written(async () => ({ headers: (await newSession()).bearer })),
  "DELETE /api/auth/sessions": written(() => ({ headers: admin })),
  "DELETE /api/auth/sessions/:sid": written(() => ({ headers: admin, path: "/api/auth/sessions/unknown" })),
  "GET /api/version": plain,
  "GET /api/front/brand": plain,
  "GET /api/front/metrics": plain,
  "GET /api/front/groups": plain,
  "GET /api/front/live": plain,
  "GET /api/front/recent": { ...plain, call: () => ({ path: `/api/front/recent?server_id=${node.id}` }) },
  "GET /api/metrics/history": {
    ...plain,
    call: () => ({ headers: admin, path: `/api/metrics/history?server_id=${node.id}&metric=mem.used&range=30m` })
  },
  "GET /api/metrics/online": {
    ...plain,
    call: () => ({ path: `/api/metrics/online?server_id=${node.id}&range=24h` })
  },
  "GET /api/statistics/access": plain,
  "GET /api/statistics/traffic/settings": plain,
  "PATCH /api/statistics/traffic/settings": written(() => ({
    headers: { ...admin, ...json },
    body: { usage_mode: "billing" }
  })),
  "GET /api/statistics/traffic/calendar": plain,
  "GET /api/statistics/traffic/ifaces": { ...asAdmin, call: () => traffic("ifaces") },
  "GET /api/statistics/traffic/summary": { ...asAdmin, call: () => traffic("summary") },
  "GET /api/statistics/traffic/daily": { ...asAdmin, call: () => traffic("daily") },
  "GET /api/statistics/traffic/monthly": { ...asAdmin, call: () => traffic("monthly") },
  "GET /api/statistics/traffic/explain": { ...asAdmin, call: () => traffic("explain") },
  "GET /api/statistics/traffic/export": {
    status: 200,
    type: "text/csv; charset=utf-8",
    call: () => traffic("export", "&kind=facts")
  },
  "GET /api/admin/nodes/traffic/rebuild": asAdmin,
  "POST /api/admin/nodes/:id/traffic/rebuild": {
    status: 202,
    type: jsonType,
    // One at a time: the other spelling comes when this one is through.
    call: async () => {
      while ((await ask("GET", "/api/admin/nodes/traffic/rebuild", admin)).text.includes(`"running":true`)) continue
      return { headers: admin, path: `/api/admin/nodes/${node.id}/traffic/rebuild` }
    }
  },
  "GET /api/admin/groups": asAdmin,
  "GET /api/admin/groups/map": asAdmin,
  "POST /api/admin/groups": written(() => ({ headers: { ...admin, ...json }, body: { name: "lab" } })),
  "PATCH /api/admin/groups/:id": written(() => ({
    path: `/api/admin/groups/${groupId}`,
    headers: { ...admin, ...json },
    body: { remark: "a remark" }
  })),
  "DELETE /api/admin/groups/:id": written(async () => ({
    path: `/api/admin/groups/${await newGroup()}`,
    headers: admin
  })),
  "GET /api/admin/nodes": asAdmin,
  "POST /api/admin/nodes": written(() => ({ headers: admin })),
  "PUT /api/admin/nodes/display-order": written(async () => {
    const list = (await ask("GET", "/api/admin/nodes", admin)).json as ReadonlyArray<{ readonly id: number }>
    return { headers: { ...admin, ...json }, body: { ids: list.map(({ id }) => id) } }
  }),
  "PATCH /api/admin/nodes/traffic-p95": written(() => ({
    headers: { ...admin, ...json },
    body: { ids: [node.id], enabled: true }
  })),
  "PATCH /api/admin/nodes/:id": written(() => ({
    path: `/api/admin/nodes/${node.id}`,
    headers: { ...admin, ...json },
    body: { tags: ["eu"] }
  })),
  "DELETE /api/admin/nodes/:id": written(async () => ({
    path: `/api/admin/nodes/${(await addNode(service, admin)).id}`,
    headers: admin
  })),
  "GET /api/admin/system/status": asAdmin,
  "GET /api/admin/system/settings": asAdmin,
  "PUT /api/admin/system/settings": written(() => ({
    headers: { ...admin, ...json },
    body: { history_guest_access_mode: "disabled" }
  })),
  "PATCH /api/admin/system/settings": written(() => ({ headers: { ...admin, ...json }, body: { page_title: "Ours" } })),
  ...alertEndpoints({ service: () => service, admin: () => admin, nodeId: () => node.id }, jsonType),
  "POST /api/node/identity": { ...plain, call: () => ({ headers: agentOf(node.secret), body: {} }) },
  "POST /api/node/metrics": { ...plain, call: () => ({ headers: agentOf(node.secret), body: reportOf() }) },
  "POST /api/node/static": {
    status: 200,
    type: "text/plain; charset=utf-8",
    call: () => ({ headers: agentOf(node.secret), body: staticOf() })
  },
  "GET /api/openapi.json": plain,
  "GET /api/docs": { ...plain, type: "text/html; charset=utf-8" }
}

interface Declared {
  readonly method: string
  readonly path: string
  readonly needsAdmin: boolean
  readonly takesBody: boolean
}
const declared: ReadonlyArray<Declared> = (() => {
  const found: Array<Declared> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, middleware }) => {
      found.push({
        method: endpoint.method,
        path: endpoint.path.replace(/\/$/, ""),
        needsAdmin: [...middleware].some((tag) => tag.key === AdminOnly.key),
        takesBody: endpoint.payloadSchema._tag === "Some"
      })
    }
  })
  return found
})()
const documents = ["GET /api/openapi.json", "GET /api/docs"]

const otherSpelling = (path: string): string => {
  const [before = "", query] = path.split("?")
  return `${before}/${query === undefined ? "" : `?${query}`}`
}

describe("every endpoint", () => {
  it("stands in the table of this file", () => {
    const names = declared.map(({ method, path }) => `${method} ${path}`)
    expect(Object.keys(endpoints).toSorted()).toEqual([...names, ...documents].toSorted())
  })

  for (const [name, row] of Object.entries(endpoints)) {
    it(`answers ${name} with ${row.status}, with and without its trailing slash`, async () => {
      for (const spelling of [(path: string) => path, otherSpelling]) {
        const [method = "", template = ""] = name.split(" ")
        const { body, headers, path = template } = await row.call()
        const answer = await ask(method, spelling(path), headers, body === undefined ? undefined : JSON.stringify(body))
        expect(answer.status, answer.text).toBe(row.status)
        if (row.type !== undefined) expect(answer.headers["content-type"]).toBe(row.type)
        if (row.type === jsonType) expect(answer.text.endsWith("\n")).toBe(true)
        // Ending every session ends the one of this file too.
        if (name === "DELETE /api/auth/sessions") admin = await signIn(service)
      }
    })
  }

  it("names what it created in a Location header that can be used", async () => {
    const made = await ask("POST", "/api/admin/nodes", admin)
    const group = await send("POST", "/api/admin/groups", { name: "rack" })
    const rule = await send("POST", "/api/admin/alerts/rules", {
      name: "cpu",
      metric: "cpu.usage_ratio",
      operator: ">=",
      threshold: 0.9
    })

    expect(made.headers.location).toMatch(/^\/api\/admin\/nodes\/\d+$/)
    expect(group.headers.location).toMatch(/^\/api\/admin\/groups\/\d+$/)
    expect(rule.headers.location).toMatch(/^\/api\/admin\/alerts\/rules\/\d+$/)
    expect((await ask("DELETE", String(made.headers.location), admin)).status).toBe(204)
    expect((await ask("DELETE", String(rule.headers.location), admin)).status).toBe(204)
    expect((await ask("DELETE", String(group.headers.location), admin)).status).toBe(204)
  })

  it("refuses every other method with 405 and names the ones there are, HEAD and OPTIONS included", async () => {
    const methods = new Map<string, Array<string>>([
      ["/api/openapi.json", ["GET"]],
      ["/api/docs", ["GET"]]
    ])
    for (const { method, path } of declared) methods.set(path, [...(methods.get(path) ?? []), method])

    for (const [template, allowed] of methods) {
      const path = template.replace(":id", "1").replace(":sid", "some")
      // A pattern also covers a literal neighbour, which has methods of its own.
      for (const method of ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]) {
        if (allowed.includes(method)) continue
        for (const spelling of [path, `${path}/`]) {
          const answer = await service.call(method, spelling, admin)
          expect([method, spelling, answer.status]).toEqual([method, spelling, 405])
          expect(answer.headers.allow).toBe(allowed.toSorted().join(", "))
          if (method === "HEAD") expect(answer.bytes.length).toBe(0)
          else expect(codeOf(proper(answer))).toBe("405 method_not_allowed")
        }
      }
    }
  })

  it("knows no other path under /api", async () => {
    const paths = ["/api", "/api/", "/api?x=1", "/api/x", "/api/versions", "/api/version/x", "/api/admin"]
    for (const path of [...paths, "/api/admin/x", "/api/node", "/api/node/x", "/api/front", "/api/index.html"]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        expect([path, codeOf(await ask(method, path))]).toEqual([path, "404 not_found"])
      }
    }
  })
})

describe("an admin endpoint", () => {
  const protectedOnes = declared.filter(({ needsAdmin }) => needsAdmin)

  it("is every one under /api/admin and /api/auth/sessions, a change of the traffic settings, and none besides", () => {
    const isAdmin = ({ method, path }: Declared) =>
      /^\/api\/(?:admin|auth\/sessions)(?:\/|$)/.test(path) ||
      `${method} ${path}` === "PATCH /api/statistics/traffic/settings"
    expect(declared.filter(isAdmin)).toEqual(protectedOnes)
    expect(protectedOnes.length).toBeGreaterThan(12)
  })

  for (const { method, path: template, takesBody } of protectedOnes) {
    it(`says 401 to strangers on ${method} ${template} before it looks at anything else`, async () => {
      const session = await newSession()
      await service.call("DELETE", "/api/auth/sessions/current", session.bearer)
      const good = String(admin["authorization"])
      const states: ReadonlyArray<Headers> = [
        {},
        { authorization: "" },
        { authorization: "Bearer" },
        { authorization: "Bearer nonsense" },
        { authorization: good.replace("Bearer", "Basic") },
        { authorization: good.replace("Bearer ", "Bearer") },
        { authorization: `${good} extra` },
        { authorization: `${good}x` },
        session.bearer
      ]
      const bodies: ReadonlyArray<readonly [Headers, string]> = takesBody
        ? [
            [json, "{}"],
            [{ "content-type": "text/plain" }, "x"],
            [json, "{"],
            [json, " ".repeat(1_048_577)]
          ]
        : [[{}, ""]]

      for (const path of [template.replace(/:s?id/, "1"), template.replace(/:s?id/, "0")]) {
        for (const headers of states) {
          for (const [typed, body] of bodies) {
            const answer = await ask(method, path, { ...headers, ...typed }, body)
            expect([path, headers, codeOf(answer)]).toEqual([path, headers, "401 unauthorized"])
          }
        }
      }
    })
  }

  it("takes the scheme in any case and more than one space", async () => {
    const token = String(admin["authorization"]).split(" ")[1]
    for (const authorization of [`bearer ${token}`, `BEARER  ${token}`, `Bearer\t${token}`]) {
      expect((await ask("GET", "/api/admin/nodes", { authorization })).status).toBe(200)
    }
  })
})
