// Hostile text from agents and administrators: it comes back as text, in valid JSON, and breaks out of nothing.
import { Schema } from "effect"
import { existsSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { HistoryAnswer } from "../../schema/History.ts"
import { LiveFrame } from "../../schema/Live.ts"
import { Snapshot } from "../../schema/Snapshot.ts"
import { killAll, makeHome, removeHomes, start } from "../support/Program.ts"
import { exchange, head } from "../support/Raw.ts"
import {
  addNode,
  adminPassword,
  agentOf,
  type Answer,
  codeOf,
  type Headers,
  json,
  member,
  proper,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"

/** Text that means something to a browser, a shell, a terminal, a template, a database or a header. */
const printable = [
  '<img src=x onerror="alert(1)">',
  "</script><script>alert(1)</script>",
  "<!--",
  "&lt;b&gt;",
  "$(reboot)",
  "`id`; rm -rf / | tee &",
  "'; DROP TABLE nodes; --",
  '","admin":true,"x":"',
  "${jndi:ldap://x/a}{{7*7}}<%= 1 %>",
  "%s%n%d%00%0d%0a",
  "../../etc/passwd",
  "javascript:alert(1)",
  "=cmd|' /C calc'!A0",
  "__proto__",
  "constructor",
  "\u202egnp.exe",
  "\u2066a\u2069",
  "a\u200bb\ufeffc",
  "🜲é"
]
/** Text that moves a terminal's cursor or begins another header or line. */
const controls = [
  "a\r\nSet-Cookie: evil=1",
  "a\nb",
  "\u001b[31mred\u001b[0m",
  "\u001b]0;title\u0007",
  "\u009b31m",
  "a\u0000b",
  "\u007f",
  "a\u2028b",
  "a\u2029b",
  "\b\b\b"
]

let service: Service
let admin: Headers

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
})
afterAll(async () => {
  await service.stop()
  await killAll()
  removeHomes()
})

const ask = async (method: string, path: string, headers: Headers = admin, body?: unknown): Promise<Answer> => {
  const all = body === undefined ? headers : { ...headers, ...json }
  return proper(await service.call(method, path, all, body === undefined ? undefined : JSON.stringify(body)))
}

const deviceOf = (text: string) => ({ name: text, ref: `ref ${text}`, device_path: text, source: text, status: text })
/** A report and a Static with the text in every place where an agent may write one. */
const reportWith = (text: string) =>
  reportOf(
    { hostname: text },
    {
      network: [{ name: text, bytes_recv: 1, bytes_sent: 2, recv_rate_bytes_per_sec: 3 }],
      disk: {
        physical: [deviceOf(text)],
        logical: [{ ...deviceOf(text), kind: text, mountpoint: text, level: text, health: text, used: 5 }],
        filesystems: [{ path: text, mountpoint: text, device: text, fs_type: text }],
        base_io: [{ ...deviceOf(text), kind: text, role: text, iops: 4 }],
        smart: { status: text, devices: [{ ...deviceOf(text), model: text, serial: text, protocol: "ata", temp_c: 9 }] }
      },
      system: { alive: true, uptime_seconds: 1, uptime: text },
      raid: { arrays: [{ name: text, status: text, health: text, members: [{ name: text, state: text }] }] },
      thermal: {
        status: text,
        sensors: [{ kind: text, name: text, sensor_key: text, source: text, status: text, temp_c: 9 }]
      }
    }
  )
const staticWith = (text: string) =>
  staticOf(
    { cpu: { info: { model_name: text, vendor_id: text } } },
    { hostname: text, os: text, platform: text, platform_version: text, kernel_version: text, arch: text }
  )

const historyOf = (id: number, metric: string, device: string): string =>
  `/api/metrics/history?server_id=${id}&metric=${metric}&range=30m&device=${encodeURIComponent(device)}`

const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)])
      : []

const headerNames = (answer: Answer): ReadonlyArray<string> =>
  answer.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())

describe("text from an agent", () => {
  for (const text of [...printable, ...controls]) {
    it(`comes back as it was, as text: ${JSON.stringify(text)}`, async () => {
      const node = await addNode(service, admin, { is_guest_visible: true })
      expect((await push(service, "static", node.secret, staticWith(text))).text).toBe("ok")
      expect((await push(service, "metrics", node.secret, reportWith(text))).text).toBe('{"ok":true,"update":null}\n')

      const list = await ask("GET", `/api/front/metrics?ids=${node.id}`)
      const [snapshot] = Schema.decodeUnknownSync(Schema.Array(Snapshot))(list.json)
      const live = Schema.decodeUnknownSync(LiveFrame)((await ask("GET", "/api/front/live")).json)
      expect(snapshot?.network.by_interface?.[0]?.name.trim()).toBe(text.trim())
      expect(textsIn(snapshot).filter((one) => one.trim() === text.trim()).length).toBeGreaterThan(8)
      expect(live.roster?.platform).toContain(text)
      for (const [metric, value] of [
        ["net.recv_bps", 3],
        ["disk.iops", 4],
        ["disk.used", 5],
        ["disk.temp_c", 9]
      ] as const) {
        const told = await ask("GET", historyOf(node.id, metric, text))
        const { device, points } = Schema.decodeUnknownSync(HistoryAnswer)(told.json)
        expect([metric, device, points.map((point) => point.value)]).toEqual([metric, text.trim(), [value]])
      }
      for (const path of [
        "/api/front/metrics",
        "/api/front/live",
        "/api/front/groups",
        "/api/admin/nodes",
        `/api/front/recent?server_id=${node.id}`,
        historyOf(node.id, "disk.used", text)
      ]) {
        const answer = await ask("GET", path)
        expect(answer.json).toBeDefined()
        // Escaped or a character of its own: what is below a space never stands in JSON as it is.
        // eslint-disable-next-line no-control-regex
        expect(answer.text.slice(0, -1)).not.toMatch(/[\u0000-\u001f]/)
        expect(headerNames(answer).filter((name) => /cookie|evil/.test(name))).toEqual([])
      }
      await ask("DELETE", `/api/admin/nodes/${node.id}`)
    })
  }

  it("in a parameter of history is text as well, and in a wrong one is not repeated", async () => {
    const node = await addNode(service, admin)
    for (const text of [...printable, ...controls]) {
      const found = await ask("GET", historyOf(node.id, "disk.used", text))
      expect(found.json).toMatchObject({ device: text.trim(), points: [] })
      for (const name of ["server_id", "metric", "range", "agg", "from", "to"]) {
        const path = `/api/metrics/history?${new URLSearchParams({
          server_id: String(node.id),
          metric: "cpu.load1",
          ...(name === "from" || name === "to" ? { from: "0" } : { range: "1h" }),
          [name]: text
        }).toString()}`
        const refused = await ask("GET", path)
        expect([path, codeOf(refused)]).toEqual([path, "400 invalid_request"])
        expect([path, member(refused.json, "message").includes(text)]).toEqual([path, false])
        expect(headerNames(refused).filter((one) => /cookie|evil/.test(one))).toEqual([])
      }
    }
  })

  it("in a parameter of the calendar or a traffic setting is refused by the name of it, and is not repeated", async () => {
    const anchored = { mode: "vendor_compatible", anchor_date: "2026-01-31" }
    const settings = ["guest_access_mode", "usage_mode", "cycle_mode", "billing_timezone", "direction_mode"]
    for (const text of [...printable, ...controls]) {
      const calls: Array<readonly [string, Answer]> = []
      for (const name of ["mode", "start_day", "anchor_date", "timezone", "at"]) {
        const query = new URLSearchParams({ ...anchored, [name]: text }).toString()
        calls.push([name, await ask("GET", `/api/statistics/traffic/calendar?${query}`, {})])
      }
      for (const name of settings) {
        calls.push([name, await ask("PATCH", "/api/statistics/traffic/settings", admin, { [name]: text })])
      }
      for (const [name, answer] of calls) {
        expect([name, text, codeOf(answer)]).toEqual([name, text, "400 invalid_fields"])
        const message = member(answer.json, "message")
        expect([name, message.split(" ")[0], message.includes(text)]).toEqual([name, name, false])
        expect(headerNames(answer).filter((one) => /cookie|evil/.test(one))).toEqual([])
      }
    }
  })

  it("in a parameter of the alerts is refused by the name of it, and is not repeated", async () => {
    for (const text of [...printable, ...controls]) {
      for (const [list, name] of [
        ...["server_id", "status", "metric", "from", "to", "cursor", "limit"].map((one) => ["events", one] as const),
        ...["channel_id", "event_id", "status", "cursor"].map((one) => ["deliveries", one] as const)
      ]) {
        const answer = await ask("GET", `/api/admin/alerts/${list}?${new URLSearchParams({ [name]: text }).toString()}`)
        expect([name, text, codeOf(answer)]).toEqual([name, text, "400 invalid_request"])
        const message = member(answer.json, "message")
        expect([name, message.split(" ")[0], message.includes(text)]).toEqual([name, name, false])
      }
    }
  })

  it("keeps exact counters numbers, whatever the interfaces are called, also after a restart", async () => {
    const home = makeHome()
    const exact = "18446744073709551615"
    const names = ["constructor", "__proto__", "toString", "\u0001exact:7", '","bytes_recv":"\u0001exact:7', "eth0"]
    const first = await startService({ home })
    const { secret } = await addNode(first, await signIn(first), { is_guest_visible: true })
    const network = names.map((name) => ({ name, bytes_recv: name === "eth0" ? "@@" : 5, bytes_sent: 6 }))
    const body = JSON.stringify(reportOf({}, { network })).replace('"@@"', exact)
    expect((await first.call("POST", "/api/node/metrics", agentOf(secret), body)).status).toBe(200)
    const before = await first.call("GET", "/api/front/metrics")
    await first.stop()
    const second = await startService({ home })
    const after = await second.call("GET", "/api/front/metrics")
    await second.stop()

    for (const { json: told, text } of [before, after]) {
      const [snapshot] = Schema.decodeUnknownSync(Schema.Array(Snapshot))(told)
      expect(snapshot?.network.by_interface?.map(({ name }) => name)).toEqual(names)
      expect(snapshot?.network.by_interface?.slice(0, 5).map(({ bytes_recv }) => bytes_recv)).toEqual([5, 5, 5, 5, 5])
      expect(text).toContain(`"bytes_recv":${exact}`)
    }
  })
})

describe("text from an administrator", () => {
  it("comes back as it was, in every list", async () => {
    for (const text of printable) {
      const group = await ask("POST", "/api/admin/groups", admin, { name: text, remark: `${text}\n\t${text}` })
      const groupId = Number(group.headers.location?.split("/").at(-1))
      const node = await addNode(service, admin, {
        name: text,
        tags: [text],
        is_guest_visible: true,
        group_ids: [groupId]
      })
      await push(service, "metrics", node.secret, reportOf())

      const nodes = (await ask("GET", "/api/admin/nodes")).json as ReadonlyArray<Record<string, unknown>>
      const groups = (await ask("GET", "/api/admin/groups")).json as ReadonlyArray<Record<string, unknown>>
      const map = (await ask("GET", "/api/admin/groups/map")).json as Record<string, string>
      const front = (await ask("GET", "/api/front/groups", {})).json as ReadonlyArray<Record<string, unknown>>
      const [shown] = (await ask("GET", `/api/front/metrics?ids=${node.id}`, {})).json as ReadonlyArray<Snapshot>
      const trimmed = text.trim()
      expect(nodes.find(({ id }) => id === node.id)).toMatchObject({ name: trimmed, tags: [trimmed] })
      expect(groups.find(({ id }) => id === groupId)).toMatchObject({
        name: trimmed,
        remark: `${trimmed}\n\t${trimmed}`
      })
      expect([map[groupId], front.find(({ id }) => id === groupId)?.["name"]]).toEqual([trimmed, trimmed])
      expect([shown?.node.title, shown?.node.tags]).toEqual([trimmed, [trimmed]])
      await ask("PATCH", "/api/admin/system/settings", admin, { page_title: text, topbar_text: text })
      for (const path of ["/api/admin/system/settings", "/api/front/brand"]) {
        expect((await ask("GET", path)).json).toMatchObject({ page_title: trimmed, topbar_text: trimmed })
      }
      await ask("DELETE", `/api/admin/nodes/${node.id}`)
      await ask("DELETE", `/api/admin/groups/${groupId}`)
    }
  })

  it("comes back as it was in rules, channels and silences", async () => {
    const alerts = "/api/admin/alerts"
    const rule = { metric: "cpu.usage_ratio", operator: ">=", threshold: 1 }
    const hook = { type: "webhook", config: { url: "https://example.org/x" }, enabled: true }
    for (const text of printable) {
      const until = new Date(Date.now() + 60_000).toISOString()
      for (const [list, name, body] of [
        ["rules", "name", { ...rule, name: text }],
        ["channels", "name", { ...hook, name: text }],
        ["silences", "comment", { scope: "rule", target_id: -1, until, comment: text }]
      ] as const) {
        const path = String((await ask("POST", `${alerts}/${list}`, admin, body)).headers.location)
        const [newest] = (await ask("GET", `${alerts}/${list}`)).json as ReadonlyArray<Record<string, unknown>>
        expect([list, newest?.[name]]).toEqual([list, text.trim()])
        expect((await ask("DELETE", path)).status).toBe(204)
      }
    }
    for (const text of controls.map((one) => `x${one}x`)) {
      for (const [list, body] of [
        ["rules", { ...rule, name: text }],
        ["channels", { ...hook, name: text }]
      ] as const) {
        const answer = await ask("POST", `${alerts}/${list}`, admin, body)
        expect([list, text, codeOf(answer)]).toEqual([list, text, "400 invalid_fields"])
      }
    }
  })

  it("is refused in names and tags when it could move a cursor or break a line", async () => {
    const node = await addNode(service, admin, { name: "plain" })
    for (const text of controls.map((one) => `x${one}x`)) {
      const path = `/api/admin/nodes/${node.id}`
      expect([text, codeOf(await ask("PATCH", path, admin, { name: text }))]).toEqual([text, "400 invalid_name"])
      expect([text, codeOf(await ask("PATCH", path, admin, { tags: [text] }))]).toEqual([text, "400 invalid_tags"])
      expect([text, codeOf(await ask("POST", "/api/admin/groups", admin, { name: text }))]).toEqual([
        text,
        "400 invalid_name"
      ])
      for (const member of ["page_title", "topbar_text", "logo_url"]) {
        const body = { [member]: `/${text}` }
        const answer = await ask("PATCH", "/api/admin/system/settings", admin, body)
        expect([body, codeOf(answer)]).toEqual([body, "400 invalid_fields"])
      }
    }
    const secret = "a-good-secret\r\nX-Evil: 1"
    expect(codeOf(await ask("PATCH", `/api/admin/nodes/${node.id}`, admin, { secret }))).toBe("400 invalid_secret")
  })

  it("leaves the tables as they are", async () => {
    expect(await service.value("SELECT count(*) FROM sqlite_master WHERE name IN ('nodes', 'node_groups')")).toBe(2)
    expect(await service.value("PRAGMA integrity_check")).toBe("ok")
  })
})

/** Lines that a terminal or a reader of the log could take for something else. */
// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/

describe("the log", () => {
  it("holds hostile text of no kind, one line per event", () => {
    expect(service.logs.filter((line) => unsafe.test(line) || line.includes("\n"))).toEqual([])
    for (const text of printable.slice(0, 6)) expect(service.logs.join("\n")).not.toContain(text)
  })

  const built = existsSync(new URL("../../dist/watchpost.mjs", import.meta.url))

  it.runIf(built)("of the real program holds none either", { timeout: 60_000 }, async () => {
    const env = { WATCHPOST_ADMIN_PASSWORD: adminPassword, WATCHPOST_TRUSTED_PROXIES: "127.0.0.1" }
    const program = start(makeHome(), env)
    const url = await program.url
    const port = Number(new URL(url).port)
    const call = (method: string, path: string, headers: Headers, body?: unknown) =>
      fetch(url + path, {
        method,
        headers: { ...json, ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    const login = await call("POST", "/api/auth/login", {}, { password: adminPassword, persistence: "session" })
    const bearer = { authorization: `Bearer ${member(await login.json(), "access_token")}` }
    for (const text of [...printable, ...controls]) {
      const made = await call("POST", "/api/admin/nodes", bearer)
      const nodes = (await (await call("GET", "/api/admin/nodes", bearer)).json()) as ReadonlyArray<{
        readonly secret: string
      }>
      const { secret = "" } = nodes[0] ?? {}
      await call("PATCH", String(made.headers.get("location")), bearer, { name: text, tags: [text] })
      await call("POST", "/api/node/static", { "x-node-secret": secret }, staticWith(text))
      await call("POST", "/api/node/metrics", { "x-node-secret": secret }, reportWith(text))
      await call("POST", "/api/node/metrics", { "x-node-secret": secret }, { version: text })
    }
    for (const address of ["<script>", "\x9b31m", "::1%eth0", "unknown", "a".repeat(9000), '"; evil="1']) {
      const body = '{"password":"wrong","persistence":"session"}'
      const request = ["POST /api/auth/login HTTP/1.1", "Host: x", "Content-Type: application/json"]
      const claims = [`X-Forwarded-For: ${address}`, `User-Agent: ${address}`, `Content-Length: ${body.length}`]
      await exchange(port, head(...request, ...claims) + body)
      await call(
        "POST",
        "/api/auth/login",
        { "x-forwarded-for": "192.0.2.1" },
        { password: "no", persistence: "session" }
      )
    }
    await exchange(port, "\x1b[31mGARBAGE\x1b[0m\r\n\r\n")
    program.kill("SIGTERM")
    const { stderr, stdout } = await program.ended

    const lines = (stdout + stderr).split("\n")
    expect(lines.some((line) => line.includes("a login failed"))).toBe(true)
    expect(lines.filter((line) => unsafe.test(line))).toEqual([])
    for (const text of printable.slice(0, 6)) expect(stdout + stderr).not.toContain(text)
  })
})
