// What agents meet at /api/node/*: the order of checks, the exact answers, who is let in, and what a refusal leaves behind.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { SystemStatus } from "../../schema/System.ts"
import { exchange, head } from "../support/Raw.ts"
import {
  addNode,
  agentOf,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"

let service: Service
let admin: Headers
let node: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
})
afterAll(() => service.stop())
beforeEach(async () => {
  node = await addNode(service, admin)
})

const rows = async (): Promise<number> => Number(await service.value("SELECT count(*) FROM journal"))
const status = async (): Promise<SystemStatus> =>
  (await service.call("GET", "/api/admin/system/status", admin)).json as SystemStatus

const routes = ["identity", "metrics", "static"] as const
const long = " ".repeat(1_048_577)
/** From an address of its own, so that no test uses up the failures of another. */
let lastNetwork = 0
const fresh = (): Headers => ({ "x-forwarded-for": `198.18.${(lastNetwork = (lastNetwork + 1) % 250)}.1` })

describe("the order of checks", () => {
  const wrongType = { "content-type": "text/plain" }
  for (const route of routes) {
    it(`is secret, type, size on ${route}, whatever else is wrong`, async () => {
      const path = `/api/node/${route}`
      const secret = { "x-node-secret": node.secret }
      const table: ReadonlyArray<readonly [Headers, string, string]> = [
        [{ ...wrongType }, long, "401 unauthorized"],
        [{ ...json }, "{", "401 unauthorized"],
        [{ ...json, "x-node-secret": "" }, "{}", "401 unauthorized"],
        [{ ...json, "x-node-secret": "wrong" }, long, "401 unauthorized"],
        [{ ...json, "x-node-secret": `${node.secret}x` }, "{}", "401 unauthorized"],
        [{ ...json, "x-node-secret": node.secret.slice(1) }, "{}", "401 unauthorized"],
        [{ ...json, "x-node-secret": "x".repeat(4000) }, "{}", "401 unauthorized"],
        [{ ...json, authorization: String(admin["authorization"]) }, "{}", "401 unauthorized"],
        [{ ...wrongType, ...secret }, long, "415 unsupported_media_type"],
        [{ ...secret }, "{}", "415 unsupported_media_type"],
        [{ ...json, "content-encoding": "gzip", ...secret }, "{}", "415 unsupported_media_type"],
        [{ ...json, ...secret }, long, "413 body_too_large"]
      ]
      for (const spelling of [path, `${path}/`]) {
        for (const [headers, body, expected] of table) {
          const answer = await service.call("POST", spelling, { ...fresh(), ...headers }, body)
          expect([spelling, headers, codeOf(answer)]).toEqual([spelling, headers, expected])
          expect(answer.headers.location).toBeUndefined()
          expect(Object.keys(answer.json as object)).toEqual(["code", "message"])
        }
      }
    })
  }

  it("is then the JSON and the types, 400, and the meaning, 422", async () => {
    const metrics = (change: object) => JSON.stringify({ ...reportOf(), ...change })
    const static_ = (change: object) => JSON.stringify({ ...staticOf(), ...change })
    const table: ReadonlyArray<readonly ["metrics" | "static", string, string]> = [
      ["metrics", "", "400 invalid_request"],
      ["metrics", "{", "400 invalid_request"],
      ["metrics", "[]", "400 invalid_request"],
      ["metrics", "null", "400 invalid_request"],
      ["metrics", `${metrics({})} {}`, "400 invalid_request"],
      ["metrics", metrics({ hostname: 5 }), "400 invalid_request"],
      ["metrics", metrics({ timestamp: "yesterday" }), "400 invalid_request"],
      ["metrics", metrics({ metrics: 5 }), "400 invalid_request"],
      ["metrics", metrics({ hostname: " " }), "422 invalid_metrics"],
      ["metrics", metrics({ version: "v1.2.3" }), "422 invalid_metrics"],
      ["metrics", metrics({ timestamp: "0001-01-01T00:00:00Z" }), "422 invalid_metrics"],
      ["metrics", metrics({ metrics: {} }), "422 invalid_metrics"],
      ["metrics", metrics({ hostname: "x".repeat(257) }), "422 invalid_metrics"],
      ["static", "", "400 invalid_request"],
      ["static", "[", "400 invalid_request"],
      ["static", static_({ report_interval_seconds: "3" }), "400 invalid_request"],
      ["static", static_({ report_interval_seconds: 0 }), "422 invalid_static_payload"],
      ["static", static_({ version: "" }), "422 invalid_static_payload"],
      ["static", static_({ system: {} }), "422 invalid_static_payload"]
    ]
    const before = await rows()
    for (const [route, body, expected] of table) {
      const answer = await service.call("POST", `/api/node/${route}`, agentOf(node.secret), body)
      expect([route, body.slice(0, 60), codeOf(answer)]).toEqual([route, body.slice(0, 60), expected])
    }
    expect(await rows()).toBe(before)
    expect(await service.value(`SELECT count(*) FROM node_statics WHERE node_id = ${node.id}`)).toBe(0)
  })

  it("counts every refusal, so that the account is exact", async () => {
    const before = (await status()).intake
    await service.call("POST", "/api/node/metrics", { ...fresh(), ...json }, "{}")
    await service.call("POST", "/api/node/metrics", { "x-node-secret": node.secret }, "{}")
    await service.call("POST", "/api/node/metrics", agentOf(node.secret), long)
    await service.call("POST", "/api/node/metrics", agentOf(node.secret), "{")
    await service.call("POST", "/api/node/static", agentOf(node.secret), "")
    await push(service, "metrics", node.secret, reportOf())
    const after = (await status()).intake

    expect(after.received - before.received).toBe(6)
    expect(after.rejected - before.rejected).toBe(5)
    expect(after.acknowledged - before.acknowledged).toBe(1)
    expect(after.received).toBe(after.acknowledged + after.refused + after.rejected + after.in_flight)
  })
})

describe("a report", () => {
  it("is answered with exactly these bytes, after it is on disk", async () => {
    const before = await rows()
    const answer = await push(service, "metrics", node.secret, reportOf())

    expect(answer.status).toBe(200)
    expect(answer.text).toBe('{"ok":true,"update":null}\n')
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8")
    expect(answer.headers["cache-control"]).toBe("no-store")
    expect(await rows()).toBe(before + 1)
  })

  it("keeps its connection, so that agents need not reconnect", async () => {
    const answer = await push(service, "metrics", node.secret, reportOf())
    expect(answer.headers.connection).toBe("keep-alive")
    expect(answer.headers["keep-alive"]).toBe("timeout=75")
    const refused = await service.call("POST", "/api/node/metrics", agentOf(node.secret), "{")
    expect([refused.status, refused.headers["keep-alive"]]).toEqual([400, "timeout=75"])
  })

  it("is acknowledged again when it is repeated, and stored once", async () => {
    const report = reportOf()
    await push(service, "metrics", node.secret, report)
    const before = await rows()
    const again = await push(service, "metrics", node.secret, report)

    expect([again.status, again.text]).toEqual([200, '{"ok":true,"update":null}\n'])
    expect(await rows()).toBe(before)
  })

  it("is taken with unknown members at every level", async () => {
    const report = { ...reportOf({ server_id: 5, sent_at: "x", display_order: -1, extra: { a: [1] } }) }
    expect((await push(service, "metrics", node.secret, report)).status).toBe(200)
  })

  it("may come with spaces around the secret and with a type that has parameters", async () => {
    const headers = { "content-type": "application/json; charset=utf-8", "x-node-secret": `  ${node.secret}\t ` }
    const answer = await service.call("POST", "/api/node/metrics", headers, JSON.stringify(reportOf()))
    expect(answer.status).toBe(200)
  })
})

describe("a report in chunks", () => {
  it("is taken like one that says its length", async () => {
    const body = JSON.stringify(reportOf())
    const chunks = [body.slice(0, 100), body.slice(100)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    const lines = ["Host: x", "Content-Type: application/json", `X-Node-Secret: ${node.secret}`]
    const request = head("POST /api/node/metrics HTTP/1.1", ...lines, "Transfer-Encoding: chunked")
    const answer = await exchange(service.port, `${request}${chunks.join("")}0\r\n\r\n`)

    expect([answer?.status, answer?.body]).toEqual([200, '{"ok":true,"update":null}\n'])
  })
})

describe("the address of a node", () => {
  const addressIn = async (on: Service, id: number): Promise<unknown> => {
    const list = (await on.call("GET", "/api/admin/nodes", await signIn(on))).json
    return (list as ReadonlyArray<{ readonly id: number; readonly ip?: string }>).find((one) => one.id === id)?.ip
  }
  const claim = { "x-forwarded-for": "203.0.113.7, 198.51.100.9" }

  it("is the last hop that no trusted proxy vouched for, and the socket's where none is trusted", async () => {
    const open = await startService({ trustedProxies: [] })
    const other = await addNode(open, await signIn(open))
    for (const [on, { secret }] of [
      [service, node],
      [open, other]
    ] as const) {
      await on.call("POST", "/api/node/metrics", { ...agentOf(secret), ...claim }, JSON.stringify(reportOf()))
    }

    expect(await addressIn(service, node.id)).toBe("198.51.100.9")
    expect(await addressIn(open, other.id)).toBe("127.0.0.1")
    await open.stop()
  })

  it("cannot be chosen anew for every guess where no proxy is trusted", async () => {
    const open = await startService({ trustedProxies: [] })
    const codes: Array<string> = []
    for (let i = 0; i < 61; i++) {
      const headers = { ...agentOf("guess"), "x-forwarded-for": `203.0.${i}.1` }
      codes.push(codeOf(await open.call("POST", "/api/node/metrics", headers, "{}")))
    }
    expect(codes.at(-1)).toBe("429 rate_limited")
    await open.stop()
  })
})

describe("a Static", () => {
  it("is answered with the two bytes ok", async () => {
    const answer = await push(service, "static", node.secret, staticOf())

    expect(answer.status).toBe(200)
    expect([...answer.bytes]).toEqual([0x6f, 0x6b])
    expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8")
    expect(answer.headers["content-length"]).toBe("2")
  })
})

describe("the identity", () => {
  it("is made by exactly one of many calls at once and stays the same for every node", async () => {
    const other = await addNode(service, admin)
    const bodies = ["{}", "", "not json", '{"a":1}', "{}", "{}"]
    const answers = await Promise.all(
      bodies.map((body, i) =>
        service.call("POST", "/api/node/identity", agentOf((i % 2 === 0 ? node : other).secret), body)
      )
    )
    const told = answers.map(({ json }) => json as { readonly install_id: string; readonly created: boolean })

    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200))
    expect(told[0]?.install_id).toMatch(/^server_[0-9a-f]{32}$/)
    expect(new Set(told.map(({ install_id }) => install_id)).size).toBe(1)
    expect(told.filter(({ created }) => created).length).toBe(1)
    expect(Object.keys(told[0] as object)).toEqual(["install_id", "created"])
  })

  it("is 503 while its file cannot be read, and the file stays as it is", async () => {
    const broken = await startService()
    writeFileSync(join(broken.home, "install_id"), "nonsense\n")
    const { secret } = await addNode(broken, await signIn(broken))
    const answer = await broken.call("POST", "/api/node/identity", agentOf(secret), "{}")

    expect(codeOf(answer)).toBe("503 service_unavailable")
    expect(answer.headers["retry-after"]).toBe("2")
    await broken.stop()
  })
})

describe("a secret", () => {
  const tryWith = (secret: string) =>
    service.call("POST", "/api/node/metrics", { ...fresh(), ...agentOf(secret) }, JSON.stringify(reportOf()))

  it("stops working when it is replaced, and the new one works at once", async () => {
    const replacement = "a-secret-of-our-own"
    const body = JSON.stringify({ secret: replacement })
    await service.call("PATCH", `/api/admin/nodes/${node.id}`, { ...admin, ...json }, body)

    expect(codeOf(await tryWith(node.secret))).toBe("401 unauthorized")
    expect((await tryWith(replacement)).status).toBe(200)
  })

  it("stops working with the deletion of its node, on every route", async () => {
    expect((await tryWith(node.secret)).status).toBe(200)
    await service.call("DELETE", `/api/admin/nodes/${node.id}`, admin)
    for (const route of routes) {
      const answer = await service.call("POST", `/api/node/${route}`, { ...fresh(), ...agentOf(node.secret) }, "{}")
      expect(codeOf(answer)).toBe("401 unauthorized")
    }
  })

  it("names the node, whatever id the report itself claims", async () => {
    const other = await addNode(service, admin, { name: "other" })
    await push(service, "metrics", node.secret, {
      ...reportOf({ hostname: "mine" }),
      server_id: other.id,
      id: other.id
    })
    const list = (await service.call("GET", "/api/admin/nodes", admin)).json
    const of = (id: number) => (list as ReadonlyArray<{ id: number; hostname: string }>).find((one) => one.id === id)

    expect(of(node.id)?.hostname).toBe("mine")
    expect(of(other.id)?.hostname).toBe("other")
  })
})

describe("the limit of failures", () => {
  const from = (address: string, secret: string) =>
    service.call(
      "POST",
      "/api/node/metrics",
      { ...agentOf(secret), "x-forwarded-for": address },
      JSON.stringify(reportOf())
    )

  it("holds a network back after sixty wrong secrets a minute, lets known secrets and other networks pass", async () => {
    const answers: Array<string> = []
    for (let i = 0; i < 61; i++) answers.push(codeOf(await from(`203.0.113.${i}`, `guess-${i}`)))
    const limited = await from("203.0.113.200", "guess")

    expect(answers.slice(0, 60)).toEqual(Array(60).fill("401 unauthorized"))
    expect(answers[60]).toBe("429 rate_limited")
    expect(codeOf(limited)).toBe("429 rate_limited")
    expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0)
    expect(Number(limited.headers["retry-after"])).toBeLessThanOrEqual(120)
    expect((await from("203.0.113.200", node.secret)).status).toBe(200)
    expect(codeOf(await from("192.0.2.1", "guess"))).toBe("401 unauthorized")
  })

  it("is over when the minute and the one after it have passed", async () => {
    for (let i = 0; i < 61; i++) await from("100.64.0.1", "guess")
    expect(codeOf(await from("100.64.0.1", "guess"))).toBe("429 rate_limited")
    service.advance(121_000)
    expect(codeOf(await from("100.64.0.1", "guess"))).toBe("401 unauthorized")
  })
})

describe("a disk that does not take writes", () => {
  it("is 503 with Retry-After and red at /readyz, nothing is stored, and it mends by itself", async () => {
    const breakable = await startService()
    const boss = await signIn(breakable)
    const { secret } = await addNode(breakable, boss, { is_guest_visible: true })
    await push(breakable, "metrics", secret, reportOf())
    const shown = await breakable.call("GET", "/api/front/metrics")
    // Without the settings the journal's probe fails too, so it stays closed.
    await breakable.exec("ALTER TABLE journal RENAME TO journal_away; ALTER TABLE settings RENAME TO settings_away")

    const refused = [
      await push(breakable, "metrics", secret, reportOf({ hostname: "lost" })),
      await push(breakable, "metrics", secret, reportOf({ hostname: "lost" })),
      await push(breakable, "static", secret, staticOf())
    ]
    const red = await breakable.call("GET", "/readyz")
    const alive = await breakable.call("GET", "/healthz")
    expect(refused.map(codeOf)).toEqual(Array(3).fill("503 service_unavailable"))
    expect(refused.map(({ headers }) => headers["retry-after"])).toEqual(["2", "2", "2"])
    expect([red.status, alive.status]).toEqual([503, 200])
    expect(red.json).toMatchObject({ ready: false })
    expect((await breakable.call("GET", "/api/front/metrics")).text).toBe(shown.text)

    await breakable.exec("ALTER TABLE journal_away RENAME TO journal; ALTER TABLE settings_away RENAME TO settings")
    await expect.poll(async () => (await breakable.call("GET", "/readyz")).status, { timeout: 9000 }).toBe(200)
    await expect.poll(async () => (await push(breakable, "metrics", secret, reportOf())).status).toBe(200)
    expect(await breakable.value("SELECT count(*) FROM journal")).toBe(2)
    await breakable.stop()
  }, 20_000)
})
