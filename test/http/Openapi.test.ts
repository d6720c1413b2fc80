// The API in words: the document is the one on record, the page of it needs nothing from elsewhere.
import { HttpApi } from "@effect/platform"
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { document } from "../../runtime/http/Docs.ts"
import { Api } from "../../schema/api/Api.ts"
import { catalogue } from "../../schema/Errors.ts"
import { type Answer, type Service, startService } from "../support/Service.ts"

let service: Service
let page: Answer

beforeAll(async () => {
  service = await startService()
  page = await service.call("GET", "/api/docs")
})
afterAll(() => service.stop())

describe("the document", () => {
  // After a wanted change: npx vitest run test/http/Openapi.test.ts -u
  it("is byte for byte the one on record", async () => {
    expect(existsSync(new URL("./openapi.json", import.meta.url))).toBe(true)
    await expect(`${JSON.stringify(document(), null, 2)}\n`).toMatchFileSnapshot("./openapi.json")
  })

  it("is what the service serves", async () => {
    for (const path of ["/api/openapi.json", "/api/openapi.json/"]) {
      const answer = await service.call("GET", path)
      expect(answer.json).toEqual(JSON.parse(JSON.stringify(document())))
    }
  })

  it("has every method of every declared path, the reporting ones too, and no other", () => {
    const expected: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        expected.push(`${endpoint.method} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`)
      }
    })
    const found = Object.entries(document().paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    )

    expect(found.toSorted()).toEqual(expected.toSorted())
    expect(found).toEqual(expect.arrayContaining(["POST /api/node/metrics", "POST /api/node/static"]))
  })

  it("knows errors only as code and message, never in the shape of the framework", () => {
    const text = JSON.stringify(document())

    expect(text).not.toContain("HttpApiDecodeError")
    expect(text).not.toContain('"_tag"')
    for (const [path, methods] of Object.entries(document().paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        for (const [status, response] of Object.entries(responses)) {
          if (Number(status) < 400) continue
          const shown = JSON.stringify(response.content ?? null)
          expect([path, method, status, /"code"/.test(shown) || shown.includes("$ref")]).toEqual([
            path,
            method,
            status,
            true
          ])
        }
      }
    }
  })

  it("refers only to what it holds", () => {
    const made = document()
    const references = JSON.stringify(made).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)
    const schemas = (made.components as { readonly schemas: object }).schemas
    const names = [...references].map(([, name]) => name)

    expect(names.length).toBeGreaterThan(5)
    for (const name of names) expect(Object.keys(schemas)).toContain(name)
  })
})

describe("the page", () => {
  it("shows every operation and every error code", () => {
    expect(page.status).toBe(200)
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8")
    for (const [path, methods] of Object.entries(document().paths)) {
      expect(page.text).toContain(`<code>${path}</code>`)
      expect(page.text.split(`<code>${path}</code>`).length - 1).toBeGreaterThanOrEqual(Object.keys(methods).length)
    }
    for (const { code } of catalogue) expect(page.text).toContain(`<code>${code}</code>`)
  })

  it("loads nothing from anywhere and runs nothing", () => {
    const targets = [...page.text.matchAll(/\b(?:src|href|action|data|poster|srcset)\s*=\s*["']?([^"'\s>]*)/gi)]

    expect(targets.map(([, target]) => target)).toEqual(["/api/openapi.json"])
    expect(page.text).not.toMatch(/<(?:script|link|iframe|img|object|embed|base|meta http-equiv)\b/i)
    expect(page.text).not.toMatch(/@import|url\(|\son\w+=/i)
  })

  it("may be styled by its own style and by no other", () => {
    const styles = [...page.text.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style]) => style ?? "")
    const policy = String(page.headers["content-security-policy"])
    const hash = createHash("sha256").update(String(styles[0])).digest("base64")

    expect(styles.length).toBe(1)
    expect(page.text).not.toMatch(/\sstyle=/)
    expect(policy).toContain(`style-src 'sha256-${hash}'`)
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain("unsafe")
  })

  it("has its text escaped", () => {
    const markup = page.text.replace(/<style>[\s\S]*?<\/style>/g, "")
    const tags = new Set([...markup.matchAll(/<\/?([a-z][a-z0-9]*)/g)].map(([, tag]) => tag))
    const ours = "html meta title style h1 h2 h3 h4 p a article span code small ul li b details summary pre table tr td"

    expect([...tags].filter((tag) => !ours.split(" ").includes(tag ?? ""))).toEqual([])
  })
})
