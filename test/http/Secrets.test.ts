// Canaries: a password, node secrets and tokens are used in every way, and then looked for in logs, answers and on disk.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Option, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { killAll, makeHome, removeHomes, start } from "../support/Program.ts"
import {
  agentOf,
  type Answer,
  type Headers,
  json,
  member,
  reportOf,
  type Service,
  startService
} from "../support/Service.ts"

const password = "canary-password-Qz81kVw3"
const chosenSecret = "canary-secret-0Xy77TtBq9"

/** A text in the forms in which it could stand somewhere by mistake. */
const formsOf = (text: string): ReadonlyArray<Buffer> => {
  const bytes = Buffer.from(text)
  // Three alignments of base64; the first and last letters depend on what stands beside.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(4, -4)
  )
  const texts = [text, bytes.toString("hex"), bytes.toString("hex").toUpperCase(), ...base64]
  return [...texts.map((one) => Buffer.from(one)), Buffer.from(text, "utf16le"), Buffer.from(JSON.stringify(text))]
}
const standsIn = (haystack: Buffer, needle: string): boolean => formsOf(needle).some((form) => haystack.includes(form))

interface Heard {
  readonly where: string
  readonly bytes: Buffer
}

let service: Service
const heard: Array<Heard> = []
const secrets = new Map<string, string>()

/** Calls and keeps what came back, headers too. */
const ask = async (method: string, path: string, headers: Headers = {}, body?: string): Promise<Answer> => {
  const answer = await service.call(method, path, headers, body)
  const bytes = Buffer.concat([Buffer.from(answer.rawHeaders.join("\n")), answer.bytes])
  heard.push({ where: `${method} ${path.split("?")[0]} ${answer.status}`, bytes })
  return answer
}
const signIn = async (persistence = "persistent") => {
  const answer = await ask("POST", "/api/auth/login", json, JSON.stringify({ password, persistence }))
  return pageOf(answer)
}
const pageOf = (answer: Answer) => {
  const cookies = (answer.headers["set-cookie"] ?? []).map((line) => String(line.split(";")[0]))
  const of = (name: string) => String(cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1))
  const access = member(answer.json, "access_token")
  secrets.set(`access token ${secrets.size}`, access)
  secrets.set(`refresh token ${secrets.size}`, of("refresh"))
  return {
    admin: { ...json, authorization: `Bearer ${access}` },
    page: { cookie: cookies.join("; "), "x-csrf-token": of("csrf") }
  }
}

/** Everything a session is used for, rightly and wrongly. */
const useSessions = async (): Promise<void> => {
  const { page } = await signIn()
  const refreshed = pageOf(await ask("POST", "/api/auth/refresh", page))
  await ask("POST", "/api/auth/refresh", page)
  service.advance(20_000)
  // Shown again after its grace: this ends the family and is logged.
  await ask("POST", "/api/auth/refresh", page)
  await ask("POST", "/api/auth/refresh", { ...refreshed.page, "x-csrf-token": "wrong" })
  await ask("POST", "/api/auth/logout", (await signIn("session")).page)
  for (const wrong of [`${password}x`, password.slice(1), ` ${password}`]) {
    await ask("POST", "/api/auth/login", json, JSON.stringify({ password: wrong, persistence: "session" }))
    service.advance(60_000)
  }
  await ask("POST", "/api/auth/login", json, `{"password":"${password}","persistence":`)
  await ask("POST", "/api/auth/login", json, JSON.stringify({ password, persistence: password }))
  await ask("POST", "/api/auth/login", json, JSON.stringify({ password: [password], persistence: "session" }))
  await ask("POST", "/api/auth/login", { "content-type": "text/plain" }, password)
}

/** Everything a node's secret is used for, rightly and wrongly. */
const useNodes = async (admin: Headers): Promise<void> => {
  const made = await ask("POST", "/api/admin/nodes", admin)
  const path = String(made.headers.location)
  const listed = (await ask("GET", "/api/admin/nodes", admin)).json as ReadonlyArray<{ readonly secret: string }>
  const given = String(listed[0]?.secret)
  secrets.set("given secret", given)
  const report = JSON.stringify(reportOf())
  await ask("POST", "/api/node/metrics", agentOf(given), report)
  await ask("POST", "/api/node/identity", agentOf(given), "{}")
  await ask("POST", "/api/node/metrics", agentOf(`${given}x`), report)
  await ask("POST", `/api/node/metrics?secret=${given}`, json, report)
  await ask("POST", "/api/node/metrics", agentOf(given), `{"secret":"${given}"`)
  await ask("PATCH", path, admin, JSON.stringify({ secret: chosenSecret }))
  await ask("PATCH", path, admin, JSON.stringify({ secret: [chosenSecret] }))
  await ask("PATCH", path, admin, `{"secret":"${chosenSecret}`)
  await ask("PATCH", path, admin, JSON.stringify({ secret: `${chosenSecret}\u0007` }))
  await ask("PATCH", path, admin, JSON.stringify({ secret: chosenSecret.repeat(20) }))
  const other = String((await ask("POST", "/api/admin/nodes", admin)).headers.location)
  await ask("PATCH", other, admin, JSON.stringify({ secret: chosenSecret }))
  await ask("DELETE", other, admin)
  await ask("POST", "/api/node/metrics", agentOf(chosenSecret), report)
  await ask("PATCH", "/api/admin/system/settings", admin, JSON.stringify({ history_guest_access_mode: chosenSecret }))
  const settings = { usage_mode: chosenSecret, billing_timezone: password }
  await ask("PATCH", "/api/statistics/traffic/settings", admin, JSON.stringify(settings))
  await ask("PATCH", "/api/admin/nodes/traffic-p95", admin, JSON.stringify({ ids: [chosenSecret], enabled: true }))
  await ask("GET", `/api/front/metrics?token=${String(admin["authorization"])}`.replace(" ", "%20"))
}

/** Every place of a channel that holds a secret, rightly and wrongly filled. */
const useChannels = async (admin: Headers): Promise<void> => {
  const alerts = "/api/admin/alerts"
  const email = { smtp_host: "127.0.0.1", smtp_port: 25, from: "a@example.org", to: "a@example.org", use_tls: false }
  const configs = [
    ["webhook", { url: "http://127.0.0.1:1/", headers: { "x-key": chosenSecret }, secret: password }],
    ["email", { ...email, username: "watch", password }],
    ["telegram", { mode: "bot", bot_token: `7:${chosenSecret}`, chat_id: 1 }],
    ["telegram", { mode: "mtproto", api_id: 7, api_hash: chosenSecret, phone: "+49 30 1", chat_id: "self" }]
  ] as const
  for (const [type, config] of configs) {
    const body = { name: type, type, config, enabled: true }
    const made = await ask("POST", `${alerts}/channels`, admin, JSON.stringify(body))
    const path = String(made.headers.location)
    await ask("PUT", path, admin, JSON.stringify(body))
    await ask("GET", path, admin)
    // Nothing leaves this machine: its own addresses are refused, and the account is not logged in.
    if (type === "webhook" || type === "email" || "api_id" in config) await ask("POST", `${path}/test`, admin, "{}")
    for (const name of Object.keys(config)) {
      for (const wrong of [[chosenSecret], { [chosenSecret]: password }, `${chosenSecret}\u0007`]) {
        const broken = { ...body, config: { ...config, [name]: wrong } }
        await ask("PUT", path, admin, JSON.stringify(broken))
      }
    }
    await ask("PUT", path, admin, JSON.stringify({ ...body, type: chosenSecret, name: [chosenSecret] }))
    await ask("POST", `${path}/test`, admin, JSON.stringify({ title: [chosenSecret] }))
  }
  const mtproto = `${alerts}/channels/telegram/mtproto`
  for (const [step, body] of [
    ["verify", { login_id: chosenSecret, code: password }],
    ["verify", { login_id: "x", code: [password] }],
    ["password", { login_id: chosenSecret, password }],
    ["password", { login_id: "x", password: [password] }],
    ["password", { login_id: [chosenSecret], password: { password } }]
  ] as const) {
    await ask("POST", `${mtproto}/${step}`, admin, JSON.stringify(body))
  }
  await service.exec("ALTER TABLE alert_channels RENAME TO alert_channels_away")
  const [type, config] = configs[0]
  await ask("POST", `${alerts}/channels`, admin, JSON.stringify({ name: "x", type, config, enabled: true }))
  await service.exec("ALTER TABLE alert_channels_away RENAME TO alert_channels")
}

/** Failures that end in the log with their causes. */
const breakThings = async (admin: Headers, page: Headers): Promise<void> => {
  const without = async (table: string, call: () => Promise<unknown>) => {
    await service.exec(`ALTER TABLE ${table} RENAME TO ${table}_away`)
    await call()
    await service.exec(`ALTER TABLE ${table}_away RENAME TO ${table}`)
  }
  await without("nodes", () => ask("PATCH", "/api/admin/nodes/1", admin, JSON.stringify({ secret: "another-one-1" })))
  await without("sessions", async () => {
    await ask("POST", "/api/auth/login", json, JSON.stringify({ password, persistence: "session" }))
    await ask("POST", "/api/auth/refresh", page)
    await ask("DELETE", "/api/auth/sessions/some", admin)
  })
  await without("journal", () => ask("POST", "/api/node/metrics", agentOf(chosenSecret), JSON.stringify(reportOf())))
}

const readAll = async (admin: Headers): Promise<void> => {
  const paths = ["version", "front/brand", "front/metrics", "front/groups", "front/live", "openapi.json", "docs"]
  for (const path of [
    ...paths,
    "auth/sessions",
    "admin/groups",
    "admin/groups/map",
    "admin/system/status",
    "admin/system/settings",
    ...["rules", "mounts", "settings", "silences", "channels", "events", "events/summary", "deliveries"].map(
      (one) => `admin/alerts/${one}`
    ),
    `admin/alerts/events?status=${chosenSecret}`,
    `admin/alerts/events?cursor=${chosenSecret}&metric=${password}`,
    `admin/alerts/deliveries?channel_id=${chosenSecret}`,
    `admin/alerts/channels/${chosenSecret}`,
    "metrics/history?server_id=1&metric=cpu.usage_ratio&range=30m",
    "metrics/history?server_id=2&metric=cpu.usage_ratio&range=30d",
    "metrics/online?server_id=1&range=24h",
    "metrics/online?server_id=2&range=7d",
    // A secret that strayed into an address is not told back.
    `metrics/history?server_id=${chosenSecret}&metric=mem.used&range=1h`,
    `metrics/history?server_id=1&metric=mem.used&range=${chosenSecret}`,
    `metrics/history?server_id=1&metric=${chosenSecret}&range=1h&device=${password}`,
    `metrics/history?server_id=1&metric=mem.used&range=1h&device=${password}`,
    `metrics/history?server_id=1&metric=mem.used&from=${chosenSecret}`,
    `metrics/history?server_id=1&metric=mem.used&range=1h&agg=${chosenSecret}`,
    `metrics/online?server_id=${chosenSecret}&range=${password}`,
    `metrics/online?server_id=1&range=${password}`,
    "statistics/access",
    "statistics/traffic/settings",
    "statistics/traffic/calendar",
    `statistics/traffic/calendar?mode=${chosenSecret}&timezone=${password}`,
    `statistics/traffic/calendar?at=${chosenSecret}`,
    "statistics/traffic/ifaces?server_id=1",
    "statistics/traffic/summary?server_id=1&iface=eth0",
    `statistics/traffic/summary?server_id=${chosenSecret}&iface=${password}`,
    `statistics/traffic/monthly?server_id=1&iface=eth0&months=${chosenSecret}`,
    "statistics/traffic/explain?server_id=2&iface=eth0"
  ]) {
    await ask("GET", `/api/${path}`, admin)
    await ask("GET", `/api/${path}`)
  }
  for (const path of ["/", "/healthz", "/readyz"]) await ask("GET", path, admin)
}

beforeAll(async () => {
  secrets.set("admin password", password)
  secrets.set("chosen secret", chosenSecret)
  service = await startService({ adminPassword: Option.some(Redacted.make(password)) })
  await useSessions()
  service.advance(120_000)
  const { admin, page } = await signIn()
  await useNodes(admin)
  await useChannels(admin)
  await breakThings(admin, page)
  await readAll(admin)
}, 60_000)
afterAll(async () => {
  await service.stop()
  await killAll()
  removeHomes()
})

describe("a secret", () => {
  it("was there to be found: the right answers hold it, and disk and log hold what belongs there", async () => {
    const all = Buffer.concat(heard.map(({ bytes }) => bytes))
    for (const [what, secret] of secrets) {
      if (!["admin password", "chosen secret"].includes(what))
        expect([what, standsIn(all, secret)]).toEqual([what, true])
    }
    expect(secrets.size).toBeGreaterThanOrEqual(8)
    expect(heard.length).toBeGreaterThan(60)
    expect(await service.value("SELECT count(*) FROM alert_channels WHERE revision > 1")).toBe(4)
    const refused = heard.flatMap(({ where }) => (where.endsWith("/test 503") ? [where] : []))
    expect(refused.length).toBe(2)
    expect(service.logs.some((line) => line.includes("the database failed"))).toBe(true)
    expect(service.logs.some((line) => line.includes("a consumed refresh token"))).toBe(true)
    expect(service.logs.some((line) => line.includes("a login failed"))).toBe(true)
    const disk = readdirSync(service.home).map((name) => readFileSync(join(service.home, name)))
    expect(disk.some((bytes) => bytes.includes("edge-a"))).toBe(true)
  })

  it("stands in no answer but those that are there to tell it", () => {
    const telling = /^(?:POST \/api\/auth\/(?:login|refresh) 200|GET \/api\/admin\/nodes 200)$/
    for (const { bytes, where } of heard.filter((one) => !telling.test(one.where))) {
      for (const [what, secret] of secrets) expect([where, what, standsIn(bytes, secret)]).toEqual([where, what, false])
    }
  })

  it("stands in no log line", () => {
    const log = Buffer.from(service.logs.join("\n"))
    for (const [what, secret] of secrets) expect([what, standsIn(log, secret)]).toEqual([what, false])
  })

  it("stands in no byte of the database or any other file that is not the key", () => {
    const names = readdirSync(service.home).filter((name) => name !== "secret.key")
    expect(names).toEqual(expect.arrayContaining(["watchpost.db", "watchpost.db-wal", "install_id"]))
    for (const name of names) {
      const bytes = readFileSync(join(service.home, name))
      for (const [what, secret] of secrets) expect([name, what, standsIn(bytes, secret)]).toEqual([name, what, false])
    }
  })

  it("is kept from other users of the machine by the modes of its files", async () => {
    const parent = mkdtempSync(join(tmpdir(), "watchpost-modes-"))
    const fresh = await startService({ home: join(parent, "data") })
    const modeOf = (name: string) => (statSync(join(fresh.home, name)).mode & 0o777).toString(8)
    const modes = [modeOf("."), modeOf("secret.key")]
    await fresh.stop()
    rmSync(parent, { recursive: true })

    expect(modes).toEqual(["700", "600"])
  })
})

const built = existsSync(new URL("../../dist/watchpost.mjs", import.meta.url))

describe.runIf(built)("the program", () => {
  const post = (url: string, path: string, headers: Headers, body: unknown) =>
    fetch(url + path, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) })

  it("says no password, token or secret on its output", { timeout: 60_000 }, async () => {
    const home = makeHome()
    const program = start(home, { WATCHPOST_ADMIN_PASSWORD: password })
    const url = await program.url
    const login = await post(url, "/api/auth/login", {}, { password, persistence: "session" })
    const access = member(await login.json(), "access_token")
    const bearer = { authorization: `Bearer ${access}` }
    await post(url, "/api/auth/login", {}, { password: `${password}x`, persistence: "session" })
    await post(url, "/api/admin/nodes", bearer, {})
    const nodes = (await (await fetch(`${url}/api/admin/nodes`, { headers: bearer })).json()) as ReadonlyArray<Headers>
    const secret = String(nodes[0]?.["secret"])
    await post(url, "/api/node/metrics", agentOf(secret), reportOf())
    await post(url, "/api/node/metrics", agentOf(`${secret}x`), reportOf())
    program.kill("SIGTERM")
    const { stderr, stdout } = await program.ended

    const said = Buffer.from(stdout + stderr)
    expect(said.includes("a login failed")).toBe(true)
    for (const one of [password, access, secret]) expect(standsIn(said, one)).toBe(false)
  })

  it("says the password that it made up once, and keeps it nowhere", { timeout: 60_000 }, async () => {
    const home = makeHome()
    const first = start(home)
    const url = await first.url
    const found = () => /only this once: (\S+)\n/.exec(first.said().stdout)?.[1]
    await expect.poll(found).toBeDefined()
    const made = String(found())
    const login = await post(url, "/api/auth/login", {}, { password: made, persistence: "session" })
    first.kill("SIGTERM")
    const said = await first.ended
    const second = start(home)
    await second.url
    second.kill("SIGTERM")
    const again = await second.ended

    expect(made).toMatch(/^[0-9a-z]{4}(?:-[0-9a-z]{4}){5}$/)
    expect(login.status).toBe(200)
    expect((said.stdout + said.stderr).split(made).length - 1).toBe(1)
    expect(again.stdout + again.stderr).not.toMatch(/password/i)
    for (const name of readdirSync(home)) {
      expect([name, standsIn(readFileSync(join(home, name)), made)]).toEqual([name, false])
    }
  })
})
