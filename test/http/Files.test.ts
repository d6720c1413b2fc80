// The built page as it is served: headers of every file, caching, and URLs that try to reach something else.
import { Layer, Logger, LogLevel, ManagedRuntime } from "effect"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Files, layer } from "../../runtime/http/Files.ts"
import { exchange, head, type RawAnswer } from "../support/Raw.ts"
import { type Service, startService } from "../support/Service.ts"

const folder = mkdtempSync(join(tmpdir(), "watchpost-files-"))
const secret = "what stands beside the folder"
const script = `export const text = "${"x".repeat(4000)}"\n`
const built: Readonly<Record<string, string>> = {
  "web/index.html": '<!doctype html><title>page</title><script type="module" src="/assets/app-1a2b.js"></script>\n',
  "web/assets/app-1a2b.js": script,
  "web/assets/app-1a2b.js.map": "{}",
  "web/assets/app-3c4d.css": "body{}",
  "web/favicon.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
  "web/manifest.webmanifest": "{}",
  secret
}

const runtimes: Array<{ readonly stop: () => Promise<void> }> = []

/** A server of nothing but these files. */
const serve = async (web: string): Promise<number> => {
  const runtime = ManagedRuntime.make(Layer.provide(layer(web), Logger.minimumLogLevel(LogLevel.None)))
  const { handle } = await runtime.runPromise(Files)
  const server: Server = createServer((request, response) =>
    handle((request.url ?? "").split("?", 1)[0] ?? "", request, response)
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  runtimes.push({
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await runtime.dispose()
    }
  })
  return (server.address() as AddressInfo).port
}

let port: number
let service: Service

beforeAll(async () => {
  for (const [name, text] of Object.entries(built)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  symlinkSync(join(folder, "secret"), join(folder, "web/assets/link.txt"))
  port = await serve(join(folder, "web"))
  service = await startService()
})
afterAll(async () => {
  await service.stop()
  for (const { stop } of runtimes) await stop()
  rmSync(folder, { recursive: true, force: true })
})

const get = async (path: string, ...lines: ReadonlyArray<string>): Promise<RawAnswer> => {
  const answer = await exchange(port, head(`GET ${path} HTTP/1.1`, "Host: x", ...lines))
  if (answer === undefined) throw new Error(`no answer to ${path}`)
  return answer
}

const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data: https:",
  "font-src": "'self'",
  "connect-src": "'self'",
  "manifest-src": "'self'",
  "frame-ancestors": "'none'",
  "base-uri": "'none'",
  "form-action": "'self'"
}

const expectGuarded = (answer: RawAnswer): void => {
  const directives = String(answer.headers["content-security-policy"]).split("; ")
  expect(Object.fromEntries(directives.map((one) => [one.split(" ")[0], one.slice(one.indexOf(" ") + 1)]))).toEqual(
    policy
  )
  expect(answer.headers).toMatchObject({
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin"
  })
  expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([])
}

describe("a file", () => {
  it("comes with its type, the security headers and the caching that its name allows", async () => {
    const rows = [
      ["/", "text/html; charset=utf-8", "no-cache"],
      ["/index.html", "text/html; charset=utf-8", "no-cache"],
      ["/favicon.svg", "image/svg+xml", "no-cache"],
      ["/manifest.webmanifest", "application/manifest+json", "no-cache"],
      ["/assets/app-1a2b.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
      ["/assets/app-3c4d.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"]
    ] as const
    for (const [path, type, caching] of rows) {
      const answer = await get(path)
      const { headers, status } = answer
      expect([path, status, headers["content-type"], headers["cache-control"]]).toEqual([path, 200, type, caching])
      expectGuarded(answer)
    }
  })

  it("is 304 without a body for whoever has it", async () => {
    const first = await get("/assets/app-1a2b.js")
    for (const value of [first.headers["etag"], `W/${first.headers["etag"]}`, `"other", ${first.headers["etag"]}`]) {
      const second = await get("/assets/app-1a2b.js", `If-None-Match: ${value}`)
      expect([value, second.status, second.body]).toEqual([value, 304, ""])
      expectGuarded(second)
    }
  })

  it("is compressed for clients that take it, and says that it depends on that", async () => {
    const path = "/assets/app-1a2b.js"
    const plain = await get(path)
    const [zipped, bytes] = await new Promise<readonly [IncomingMessage, Buffer]>((resolve, reject) => {
      const options = { port, path, headers: { "accept-encoding": "br, gzip" } }
      request(options, (response) => {
        const parts: Array<Buffer> = []
        response.on("data", (part: Buffer) => parts.push(part))
        response.on("end", () => resolve([response, Buffer.concat(parts)]))
      })
        .on("error", reject)
        .end()
    })

    expect(plain.headers["content-encoding"]).toBeUndefined()
    expect(zipped.headers["content-encoding"]).toBe("gzip")
    expect([plain.headers["vary"], zipped.headers.vary]).toEqual(["Accept-Encoding", "Accept-Encoding"])
    expect(bytes.length).toBeLessThan(script.length / 4)
    expect([plain.body, gunzipSync(bytes).toString()]).toEqual([script, script])
  })

  it("has its headers alone for HEAD, and no other method", async () => {
    const bare = await exchange(port, head("HEAD /assets/app-3c4d.css HTTP/1.1", "Host: x", "Connection: close"))
    expect(bare?.status).toBe(200)
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"]) {
      const answer = await exchange(port, head(`${method} / HTTP/1.1`, "Host: x", "Content-Length: 0"))
      expect([method, answer?.status, answer?.headers["allow"]]).toEqual([method, 405, "GET, HEAD"])
      if (answer !== undefined) expectGuarded(answer)
    }
  })
})

describe("a path without a file", () => {
  it("is the page, which finds out by itself what to show", async () => {
    for (const path of ["/nodes/7", "/admin/nodes", "/login", "/x.html"]) {
      const answer = await get(path)
      expect([answer.status, answer.body]).toEqual([200, built["web/index.html"]])
      expectGuarded(answer)
    }
  })

  it("is 404 where only files stand, so that a missing script is no page", async () => {
    for (const path of ["/assets/gone.js", "/assets", "/theme/active.css", "/theme", "/deploy/linux/x", "/deploy/"]) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers["content-type"]]).toEqual([path, 404, "text/plain; charset=utf-8"])
      expectGuarded(answer)
    }
  })

  it("is told as not built yet while there is no page, and still guarded", async () => {
    const empty = await serve(join(folder, "nowhere"))
    const answer = await exchange(empty, head("GET / HTTP/1.1", "Host: x"))
    expect([answer?.status, answer?.body.includes("not built")]).toEqual([200, true])
    if (answer !== undefined) expectGuarded(answer)
  })
})

describe("a path that climbs", () => {
  const up = ["..", "%2e%2e", "%2E.", ".%2e", "..;", "%252e%252e", "..%00", "..%c0%af", "%uff0e%uff0e"]
  const separators = ["/", "%2f", "\\", "%5c", "//", "%252f"]
  const targets = ["secret", "etc/passwd", "watchpost.db", "secret.key"]
  const corpus = ["", "/assets", "/theme", "/deploy"].flatMap((start) =>
    up.flatMap((dots) =>
      separators.flatMap((separator) => targets.map((target) => `${start}/${[dots, dots, target].join(separator)}`))
    )
  )

  it("reaches nothing outside the folder, nor what a link or a map in it would give away", async () => {
    expect(corpus.length).toBeGreaterThan(500)
    for (const path of [...corpus, "/assets/link.txt", "/assets/app-1a2b.js.map", "/web/index.html", "/C:/secret"]) {
      const { body, status } = await get(path)
      expect([path, [200, 404].includes(status)]).toEqual([path, true])
      expect([path, body.includes(secret), body.includes("root:")]).toEqual([path, false, false])
      if (status === 200) expect(body).toBe(built["web/index.html"])
    }
  })

  it("is refused by the service as a whole when it is not in its plain form", async () => {
    const plain = /%252|%c0|%uff/
    for (const path of corpus.filter((one) => !plain.test(one))) {
      const answer = await exchange(service.port, head(`GET ${path} HTTP/1.1`, "Host: x"))
      expect([path, answer?.status]).toEqual([path, 400])
    }
  })
})

describe("the service", () => {
  it("hangs its pages on the same headers, and its name on none", async () => {
    for (const path of ["/", "/nodes/1", "/assets/gone.js"]) {
      const answer = await exchange(service.port, head(`GET ${path} HTTP/1.1`, "Host: x"))
      if (answer === undefined) throw new Error("no answer")
      expectGuarded(answer)
      expect([answer.headers["server"], answer.headers["x-powered-by"]]).toEqual([undefined, undefined])
    }
  })

  it("takes nothing from the Host header", async () => {
    for (const host of ["evil.test", "evil.test:80", "127.0.0.1", "[::1]", '"><script>']) {
      for (const path of ["/", "/api/version", "/api/front/brand", "/api/docs"]) {
        const answer = await exchange(
          service.port,
          head(`GET ${path} HTTP/1.1`, `Host: ${host}`, "X-Forwarded-Host: evil.test", "Forwarded: host=evil.test")
        )
        expect(`${answer?.headerLines.join("\n")}${answer?.body}`).not.toContain("evil.test")
        expect(answer?.status).toBe(200)
      }
    }
  })
})
