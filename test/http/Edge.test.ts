// The edge of the service: bodies and ids, spellings of paths, malformed HTTP, sizes, security headers and health.
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { exchange, head, open, type RawAnswer } from "../support/Raw.ts"
import { contentsOf } from "../support/Contents.ts"
import {
  addNode,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  proper,
  push,
  reportOf,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"

let service: Service
let admin: Headers
let node: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  node = await addNode(service, admin, { name: "edge-a", is_guest_visible: true })
  await push(service, "metrics", node.secret, reportOf())
})
afterAll(() => service.stop())

const ask = async (method: string, path: string, headers?: Headers, body?: string | Buffer): Promise<Answer> =>
  proper(await service.call(method, path, headers, body))
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const rawCode = (answer: RawAnswer | undefined): string =>
  answer === undefined ? "no answer" : `${answer.status} ${(JSON.parse(answer.body) as { code: string }).code}`

const limit = 1_048_576

describe("a body", () => {
  const taking = (): ReadonlyArray<readonly [string, string]> => [
    ["POST", "/api/admin/groups"],
    ["PATCH", "/api/admin/groups/1"],
    ["PATCH", `/api/admin/nodes/${node.id}`],
    ["PUT", "/api/admin/nodes/display-order"]
  ]
  const table: ReadonlyArray<readonly [Headers, string, string]> = [
    [{ "content-type": "text/plain" }, "{}", "415 unsupported_media_type"],
    [{}, "{}", "415 unsupported_media_type"],
    [{ "content-type": "application/jsonx" }, " ".repeat(limit + 1), "415 unsupported_media_type"],
    [{ ...json, "content-encoding": "gzip" }, "{}", "415 unsupported_media_type"],
    [json, " ".repeat(limit + 1), "413 body_too_large"],
    [json, "{", "400 invalid_request"],
    [json, "", "400 invalid_request"],
    [{}, "", "400 invalid_request"],
    [json, "[]", "400 invalid_request"],
    [json, "null", "400 invalid_request"],
    [json, '{"a":1} {}', "400 invalid_request"]
  ]

  it("must be JSON by its type: 415 before 413 before 400, and an empty one is no JSON either", async () => {
    for (const [method, path] of taking()) {
      for (const [headers, body, expected] of table) {
        const answer = await ask(method, path, { ...admin, ...headers }, body)
        const shown = [method, path, headers, body.slice(0, 20)]
        expect([...shown, codeOf(answer)]).toEqual([...shown, expected])
      }
    }
  })

  it("may say its type with parameters and in any case", async () => {
    for (const type of ["application/json;charset=UTF-8", "Application/JSON ; charset=utf-8"]) {
      const headers = { ...admin, "content-type": type }
      expect((await ask("PATCH", `/api/admin/nodes/${node.id}`, headers, '{"tags":["eu"]}')).status).toBe(204)
    }
  })

  it("is not looked at where none is taken", async () => {
    const headers = { ...admin, "content-type": "text/plain" }
    expect((await ask("POST", "/api/admin/nodes", headers, "anything")).status).toBe(204)
  })

  it("of a wrong type is told in few words, however long it is", async () => {
    const body = JSON.stringify({ name: { a: "x".repeat(500_000) } })
    const answer = await ask("POST", "/api/admin/groups", { ...admin, ...json }, body)

    expect(codeOf(answer)).toBe("400 invalid_request")
    expect(answer.text.length).toBeLessThan(500)
  })
})

describe("a path id", () => {
  const ids = ["0", "-1", "1.5", "abc", "1e3x", "9007199254740993", "99999999999999999999", "%31x", ":id", "NaN"]

  it("must be a positive integer, and must exist", async () => {
    for (const kind of ["nodes", "groups"]) {
      for (const method of ["PATCH", "DELETE"]) {
        for (const id of ids) {
          const answer = await ask(method, `/api/admin/${kind}/${id}`, { ...admin, ...json }, '{"name":"x"}')
          expect([method, kind, id, codeOf(answer)]).toEqual([method, kind, id, "400 invalid_id"])
        }
        const stranger = await ask(method, `/api/admin/${kind}/999999`, { ...admin, ...json }, '{"name":"x"}')
        expect(codeOf(stranger)).toBe("404 not_found")
      }
    }
  })
})

describe("a path that two readers could read differently", () => {
  const strange = [
    "/api//version",
    "//api/version",
    "/api/./version",
    "/api/../api/version",
    "/x/../api/version",
    "/./api/version",
    "/api/version/..",
    "/api/version/.",
    "/api/%2e%2e/version",
    "/api%2fversion",
    "/api%2Fversion",
    "/api/version%00",
    "/api\\version",
    "/api%5cversion",
    "/api/version;x=1",
    "/api/admin/nodes/..;/1",
    "/api/admin//nodes",
    "/api/admin/nodes//",
    "/api/node//metrics",
    "/../../etc/passwd",
    "/assets/../../etc/passwd",
    "/assets/%2e%2e/%2e%2e/etc/passwd",
    "http://example.test/api/version"
  ]

  it("is 400 on every method, before anything is routed, with and without a token", async () => {
    for (const path of strange) {
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        for (const token of ["", `Authorization: ${admin["authorization"]}`]) {
          const lines = [
            "Host: example.test",
            ...(token === "" ? [] : [token]),
            "Content-Length: 0",
            "Connection: close"
          ]
          const answer = await exchange(service.port, head(`${method} ${path} HTTP/1.1`, ...lines))
          expect([method, path, rawCode(answer)]).toEqual([method, path, "400 invalid_path"])
          expect(answer?.headers["location"]).toBeUndefined()
        }
      }
    }
  })

  it("never reaches a handler by an encoded letter", async () => {
    expect(codeOf(await ask("GET", "/api/ver%73ion"))).toBe("404 not_found")
    expect(codeOf(await ask("GET", "/api/admin/n%6fdes", admin))).toBe("404 not_found")
    expect(codeOf(await ask("GET", "/api/%zz"))).toBe("404 not_found")
  })
})

describe("HTTP that is none", () => {
  const broken: ReadonlyArray<string> = [
    "GARBAGE\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    head("GET /api/version HTTP/9.9", "Host: x"),
    head("GET /api/ver sion HTTP/1.1", "Host: x"),
    head("GET /api/version HTTP/1.1"),
    head("GET /api/version HTTP/1.1", "Host: x", "Bad Header: 1"),
    head("GET /api/version HTTP/1.1", "Host: x", "X: a\x00b"),
    head("POST /api/version HTTP/1.1", "Host: x", "Content-Length: 5, 6"),
    head("POST /api/version HTTP/1.1", "Host: x", "Content-Length: 5", "Content-Length: 6"),
    head("POST /api/version HTTP/1.1", "Host: x", "Content-Length: -1"),
    head("POST /api/version HTTP/1.1", "Host: x", "Content-Length: 5", "Transfer-Encoding: chunked"),
    head("POST /api/version HTTP/1.1", "Host: x", "Transfer-Encoding: chunked, identity"),
    `${head("POST /api/version HTTP/1.1", "Host: x", "Transfer-Encoding: chunked")}zz\r\n`
  ]

  it("is 400 or closed, never more, and the connection ends", async () => {
    for (const bytes of broken) {
      const connection = open(service.port)
      connection.send(bytes)
      await connection.closed
      const statuses = connection.answers.map(({ status }) => status)
      expect([bytes.slice(0, 60), statuses.filter((status) => ![400, 405].includes(status))]).toEqual([
        bytes.slice(0, 60),
        []
      ])
    }
    expect((await ask("GET", "/api/version")).status).toBe(200)
  })

  it("is told so as JSON", async () => {
    const answer = await exchange(service.port, "GARBAGE\r\n\r\n")
    expect(rawCode(answer)).toBe("400 invalid_request")
    expect(answer?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      connection: "close"
    })
  })

  it("does not keep its connection by keeping its own side open and saying no more", async () => {
    const sockets: Array<Socket> = []
    const note = (message: unknown) => sockets.push((message as { readonly socket: Socket }).socket)
    subscribe("net.server.socket", note)
    const connection = open(service.port, { halfOpen: true })
    connection.send("GARBAGE\r\n\r\n")
    await connection.answered()
    unsubscribe("net.server.socket", note)

    expect(sockets.length).toBe(1)
    await expect.poll(() => sockets[0]?.destroyed).toBe(true)
    connection.destroy()
  })

  it("is what headers of more than 16 KiB are, in one or in many lines", async () => {
    const one = head("GET /api/version HTTP/1.1", "Host: x", `X: ${"x".repeat(20_000)}`)
    const many = head("GET /api/version HTTP/1.1", "Host: x", ...Array(2000).fill("X: 1234567890"))
    const url = head(`GET /api/version?${"x".repeat(20_000)} HTTP/1.1`, "Host: x")
    for (const bytes of [one, many, url])
      expect(rawCode(await exchange(service.port, bytes))).toBe("400 invalid_request")
    const below = head("GET /api/version HTTP/1.1", "Host: x", `X: ${"x".repeat(15_000)}`)
    expect((await exchange(service.port, below))?.status).toBe(200)
  })

  it("does not hide a second request inside the first one", async () => {
    const inner = head("GET /api/admin/nodes HTTP/1.1", "Host: x")
    const connection = open(service.port)
    connection.send(head("POST /api/version HTTP/1.1", "Host: x", `Content-Length: ${inner.length}`) + inner)
    connection.send(head("GET /api/version HTTP/1.1", "Host: x"))
    const answers = await connection.answered(2)
    connection.destroy()

    expect(answers.map(({ status }) => status)).toEqual([405, 200])
  })
})

describe("a connection", () => {
  it("is kept after an answer, which tells for how long, unless the client wants it closed", async () => {
    for (const path of ["/api/version", "/healthz", "/"]) {
      const kept = await exchange(service.port, head(`GET ${path} HTTP/1.1`, "Host: x"))
      expect(kept?.headers).toMatchObject({ connection: "keep-alive", "keep-alive": "timeout=75" })
      const closed = await exchange(service.port, head(`GET ${path} HTTP/1.1`, "Host: x", "Connection: close"))
      expect([closed?.headers["connection"], closed?.headers["keep-alive"]]).toEqual(["close", undefined])
    }
  })
})

describe("a body beyond the limit", () => {
  interface Outcome {
    readonly answer: RawAnswer | undefined
    readonly bytesRead: number
    readonly tookMs: number
  }

  /** Sends without an end until the connection is closed; counts what the server's socket read. */
  const flood = async (request: string, piece: Buffer): Promise<Outcome> => {
    const sockets = new Set<Socket>()
    const note = (message: unknown) => sockets.add((message as { readonly socket: Socket }).socket)
    subscribe("http.server.request.start", note)
    const connection = open(service.port)
    const startedAt = performance.now()
    connection.send(request)
    while (!connection.isClosed && performance.now() - startedAt < 5000) {
      if (connection.socket.writableLength < limit) connection.send(piece)
      await sleep(1)
    }
    unsubscribe("http.server.request.start", note)
    connection.destroy()
    const bytesRead = [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0)
    return { answer: connection.answers[0], bytesRead, tookMs: performance.now() - startedAt }
  }

  const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, 32), Buffer.from("\r\n")])
  const rows = (): ReadonlyArray<readonly [string, string, string]> => [
    ["POST /api/node/metrics", `X-Node-Secret: ${node.secret}`, "413 body_too_large"],
    ["POST /api/node/static", `X-Node-Secret: ${node.secret}`, "413 body_too_large"],
    ["POST /api/node/metrics", "X-Node-Secret: wrong", "401 unauthorized"],
    ["POST /api/admin/groups", `Authorization: ${admin["authorization"]}`, "413 body_too_large"],
    ["POST /api/admin/groups", "X-A: b", "401 unauthorized"],
    ["POST /api/auth/login", "X-A: b", "413 body_too_large"],
    ["DELETE /api/auth/sessions/x", "X-A: b", "401 unauthorized"],
    ["POST /api/version", "X-A: b", "405 method_not_allowed"],
    ["POST /api/x", "X-A: b", "404 not_found"]
  ]

  for (const framing of ["Transfer-Encoding: chunked", `Content-Length: ${1024 ** 3}`]) {
    it(`is refused and its connection closed after the limit and little more (${framing})`, async () => {
      const piece = framing.startsWith("Content") ? Buffer.alloc(65_536, 32) : chunk
      for (const [line, header, expected] of rows()) {
        const request = head(`${line} HTTP/1.1`, "Host: x", "Content-Type: application/json", header, framing)
        const { answer, bytesRead, tookMs } = await flood(request, piece)
        expect([line, header, rawCode(answer)]).toEqual([line, header, expected])
        expect(answer?.headers["connection"]).toBe("close")
        expect(bytesRead).toBeLessThan(limit + 4 * 65_536)
        expect(tookMs).toBeLessThan(3000)
      }
    })
  }

  it("is not read where nobody wants a body at all", async () => {
    const secret = `X-Node-Secret: ${node.secret}`
    for (const [line, header] of [
      ["POST /api/node/identity", secret],
      ["POST /api/admin/nodes", `Authorization: ${admin["authorization"]}`],
      ["POST /", "X-A: b"]
    ] as const) {
      const request = head(`${line} HTTP/1.1`, "Host: x", "Content-Type: application/json", header)
      const { bytesRead, tookMs } = await flood(
        request.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n"),
        chunk
      )
      expect([line, bytesRead < 4 * limit, tookMs < 3000]).toEqual([line, true, true])
    }
  })

  it("of exactly the limit is read", async () => {
    const report = JSON.stringify(reportOf())
    const padded = report + " ".repeat(limit - report.length)
    const headers = { ...json, "x-node-secret": node.secret }
    expect((await service.call("POST", "/api/node/metrics", headers, padded)).status).toBe(200)
    expect(codeOf(await service.call("POST", "/api/node/metrics", headers, `${padded} `))).toBe("413 body_too_large")
  })
})

describe("health", () => {
  it("is told on both paths to GET and HEAD, and to nobody else", async () => {
    const alive = proper(await service.call("GET", "/healthz"))
    const ready = proper(await service.call("GET", "/readyz"))

    expect([alive.status, alive.text]).toEqual([200, "ok\n"])
    expect([ready.status, ready.json]).toEqual([200, { ready: true, reason: null }])
    for (const [path, answer] of [
      ["/healthz", alive],
      ["/readyz", ready]
    ] as const) {
      const bare = await service.call("HEAD", path)
      expect([bare.status, bare.bytes.length]).toEqual([200, 0])
      expect(bare.headers["content-type"]).toBe(answer.headers["content-type"])
      expect((await service.call("POST", path)).status).toBe(405)
    }
  })
})

describe("a read", () => {
  it("changes nothing, whatever it asks for", async () => {
    const before = await contentsOf(service)
    const reads = ["version", "front/brand", "front/metrics", "front/groups", "front/live", "openapi.json", "docs"]
    for (const path of [
      ...reads,
      "auth/sessions",
      "admin/nodes",
      "admin/groups",
      "admin/groups/map",
      "admin/system/status",
      "admin/system/settings",
      "metrics/history",
      "metrics/online"
    ]) {
      for (const query of ["", "?method=DELETE&_method=DELETE&action=delete"]) {
        await ask("GET", `/api/${path}${query}`, { ...admin, "x-http-method-override": "DELETE" })
      }
    }
    expect(await contentsOf(service)).toEqual(before)
  })

  it("from another site gets no leave to be read there", async () => {
    const headers = { origin: "https://evil.test", "access-control-request-method": "DELETE" }
    for (const method of ["GET", "OPTIONS"]) await ask(method, "/api/front/metrics", headers)
    expect((await ask("OPTIONS", "/api/admin/nodes", headers)).status).toBe(405)
  })
})
