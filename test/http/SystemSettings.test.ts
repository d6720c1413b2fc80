// /api/admin/system/settings over a real socket: every refusal with its code, then what reads and writes do.
import { afterAll, beforeEach, describe, expect, it, beforeAll } from "vitest"
import {
  type Answer,
  codeOf,
  type Headers,
  json,
  member,
  proper,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"

const path = "/api/admin/system/settings"
const mode = "history_guest_access_mode"
const defaults = {
  history_guest_access_mode: "disabled",
  logo_url: "/brandlogo.svg",
  page_title: "Monitor Dashboard",
  topbar_text: "Monitor Control"
}
const pixel = "data:image/png;base64,iVBORw0KGgo="
const ours = { history_guest_access_mode: "by_node", logo_url: pixel, page_title: "Ours", topbar_text: "Top" }

let service: Service
let admin: Headers

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
})
beforeEach(() => service.exec("DELETE FROM settings WHERE name IN ('brand', 'history_guest_access_mode')"))
afterAll(() => service.stop())

const send = async (method: string, body: unknown, at = path): Promise<Answer> =>
  proper(await service.call(method, at, { ...admin, ...json }, typeof body === "string" ? body : JSON.stringify(body)))
const read = async (at = path): Promise<unknown> => (await service.call("GET", at, admin)).json
const brand = async (): Promise<unknown> => (await service.call("GET", "/api/front/brand")).json

describe("a change of the settings is refused", () => {
  it("to strangers, for reading too", async () => {
    for (const method of ["GET", "PUT", "PATCH"]) {
      for (const at of [path, `${path}/`]) {
        const answer = await service.call(method, at, method === "GET" ? {} : json, method === "GET" ? undefined : "{")
        expect([method, at, codeOf(proper(answer))]).toEqual([method, at, "401 unauthorized"])
      }
    }
  })

  const rows: ReadonlyArray<readonly [code: string, method: string, body: unknown]> = [
    ["400 invalid_request", "PUT", ""],
    ["400 invalid_request", "PUT", "{"],
    ["400 invalid_request", "PUT", "[]"],
    ["400 invalid_request", "PUT", { [mode]: 1 }],
    ["400 invalid_request", "PUT", { ...ours, page_title: {} }],
    ["400 invalid_fields", "PUT", {}],
    ["400 invalid_fields", "PUT", { other: 1 }],
    ["400 invalid_fields", "PUT", { ...ours, [mode]: null }],
    ["400 invalid_fields", "PUT", { page_title: "Ours" }],
    ["400 invalid_fields", "PUT", { ...ours, [mode]: "open" }],
    ["400 invalid_fields", "PUT", { ...ours, [mode]: "" }],
    ["400 invalid_fields", "PUT", { ...ours, logo_url: "javascript:alert(1)" }],
    ["400 invalid_request", "PATCH", ""],
    ["400 invalid_request", "PATCH", '{"page_title":"a"} {}'],
    ["400 invalid_request", "PATCH", { logo_url: ["/a"] }],
    ["400 invalid_request", "PATCH", { page_title: 5, [mode]: "open" }],
    ["400 no_fields", "PATCH", {}],
    ["400 no_fields", "PATCH", { other: 1, page_title: null }],
    ["400 invalid_fields", "PATCH", { [mode]: "open" }],
    ["400 invalid_fields", "PATCH", { ...ours, page_title: "x".repeat(121) }],
    ["400 invalid_fields", "PATCH", { ...ours, topbar_text: "x".repeat(65) }],
    ["400 invalid_fields", "PATCH", { ...ours, topbar_text: "a\nb" }],
    ["400 invalid_fields", "PATCH", { ...ours, logo_url: "//host/x.png" }],
    ["400 invalid_fields", "PATCH", { logo_url: `/${"x".repeat(786_432)}` }]
  ]

  it("with the code of the contract, a short message, and without any part of it done", async () => {
    for (const [code, method, body] of rows) {
      const answer = await send(method, body)
      expect([method, body, codeOf(answer)]).toEqual([method, body, code])
      expect(answer.text.length).toBeLessThan(500)
    }
    expect(await read()).toEqual(defaults)
  })

  it("by the name of the member that is wrong", async () => {
    for (const [name, value] of Object.entries({ [mode]: "x", logo_url: "x", page_title: "\0.", topbar_text: "\0." })) {
      expect(member((await send("PATCH", { [name]: value })).json, "message").split(" ")[0]).toBe(name)
    }
  })

  it("with 415 for another type and 413 past a body of 1 MiB", async () => {
    const text = await service.call("PATCH", path, { ...admin, "content-type": "text/plain" }, "{}")

    expect(codeOf(proper(text))).toBe("415 unsupported_media_type")
    expect(codeOf(await send("PATCH", " ".repeat(1_048_577)))).toBe("413 body_too_large")
  })

  it("with 503 while the database fails, and the mode is taken back when the brand cannot be written", async () => {
    await service.exec(`CREATE TRIGGER no_brand BEFORE INSERT ON settings WHEN NEW.name = 'brand'
      BEGIN SELECT RAISE(ABORT, 'no'); END`)
    const halves = [codeOf(await send("PUT", ours)), codeOf(await send("PATCH", ours))]
    await service.exec("DROP TRIGGER no_brand")

    expect(halves).toEqual(["503 db_error", "503 db_error"])
    expect(await read()).toEqual(defaults)
    await service.exec("ALTER TABLE settings RENAME TO settings_away")
    const all = [await service.call("GET", path, admin), await send("PUT", ours), await send("PATCH", ours)]
    await service.exec("ALTER TABLE settings_away RENAME TO settings")
    expect(all.map(codeOf)).toEqual(Array(3).fill("503 db_error"))
  })
})

describe("the settings", () => {
  it("have their defaults before anything was set, and are never cached", async () => {
    for (const at of [path, `${path}/`]) {
      const answer = proper(await service.call("GET", at, admin))
      expect([answer.status, answer.headers["cache-control"], answer.json]).toEqual([200, "no-store", defaults])
    }
  })

  it("are replaced by PUT, in which a brand that is left out stays, and changed by PATCH in any subset", async () => {
    const done = await send("PUT", ours, `${path}/`)
    expect([done.status, done.text, done.headers["cache-control"]]).toEqual([204, "", "no-store"])
    expect(await read()).toEqual(ours)
    expect((await send("PUT", { [mode]: "disabled", page_title: " New " })).status).toBe(204)
    expect(await read()).toEqual({ ...ours, [mode]: "disabled", page_title: "New" })

    const one = await send("PATCH", { topbar_text: "Only", logo_url: null, other: 5 }, `${path}/`)
    expect([one.status, one.text, one.headers["cache-control"]]).toEqual([204, "", "no-store"])
    expect((await send("PATCH", { [mode]: "by_node" })).status).toBe(204)
    expect(await read(`${path}/`)).toEqual({ ...ours, page_title: "New", topbar_text: "Only" })
  })

  it("go back to their defaults where a member of the brand is blank, and the front page follows at once", async () => {
    await send("PUT", ours)
    expect(await brand()).toEqual({ logo_url: pixel, page_title: "Ours", topbar_text: "Top" })
    await send("PATCH", { logo_url: "", page_title: " " })

    expect(await read()).toEqual({ ...defaults, [mode]: "by_node", topbar_text: "Top" })
    expect(await brand()).toEqual({ logo_url: "/brandlogo.svg", page_title: "Monitor Dashboard", topbar_text: "Top" })
  })

  it("take a logo of 768 KiB and give it back whole", async () => {
    const logo_url = pixel.padEnd(786_432, "A")

    expect((await send("PUT", { ...ours, logo_url })).status).toBe(204)
    expect(await brand()).toEqual({ logo_url, page_title: "Ours", topbar_text: "Top" })
  })

  it("hold hostile text as text", async () => {
    const text = '</title><script>alert("1")</script>'
    await send("PATCH", { page_title: text, topbar_text: text, logo_url: '/x" onerror="alert(1)' })

    expect(await read()).toEqual({
      ...defaults,
      page_title: text,
      topbar_text: text,
      logo_url: '/x" onerror="alert(1)'
    })
  })
})
