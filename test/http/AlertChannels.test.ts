// Channels over a real socket: every code, nothing secret in an answer, test messages that arrive.
import { Effect, Schema } from "effect"
import { createHmac } from "node:crypto"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { AlertBook } from "../../runtime/alert/AlertBook.ts"
import { type Note, SinkError, Sinks } from "../../runtime/alert/Sink.ts"
import { TelegramLogin } from "../../runtime/alert/TelegramLogin.ts"
import { Channel } from "../../schema/AlertChannels.ts"
import { type Receiver, replyWith, startReceiver } from "../support/Receiver.ts"
import { codeOf, type Headers, type Service, signIn, startService } from "../support/Service.ts"
import { account, bodyOf, bot, type Calls, callsOf, email, hook, told } from "./AlertCalls.ts"

let service: Service
let admin: Headers
let calls: Calls

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  calls = callsOf(service, () => admin)
  // Receivers of these tests stand on this very machine.
  await calls.call("PUT", "/settings", { enabled: true, channel_ids: [], allow_private_targets: true })
})
afterAll(() => service.stop())

const made = (type: string, config: unknown, change: object = {}) =>
  calls.create("/channels", bodyOf(type, config, change))
const read = (id: number) => calls.read(Channel, `/channels/${id}`)
const list = () => calls.read(Schema.Array(Channel), "/channels")
const kept = async (id: number) => (await service.inside(AlertBook)).page().channels.get(id)

describe("channels", () => {
  it.each<readonly [body: unknown, expected: string]>([
    ["{", "400 invalid_request"],
    [[], "400 invalid_request"],
    [{}, "400 invalid_fields: name"],
    [bodyOf("webhook", hook, { name: " " }), "400 invalid_fields: name must not be blank"],
    [bodyOf("webhook", hook, { name: 5 }), "400 invalid_fields: name"],
    [bodyOf("webhook", hook, { enabled: undefined }), "400 invalid_fields: enabled"],
    [bodyOf("pager", hook), "400 invalid_fields: type must be one of telegram, email, webhook"],
    [bodyOf("webhook", "x"), "400 invalid_fields: config must be an object"],
    [bodyOf("webhook", { url: "/x" }), "400 invalid_fields: config.url"],
    [bodyOf("webhook", { url: "ftp://x/" }), "400 invalid_fields: config.url"],
    [bodyOf("email", { ...email, smtp_port: 0 }), "400 invalid_fields: config.smtp_port"],
    [bodyOf("email", { ...email, to: [] }), "400 invalid_fields: config.to"],
    [bodyOf("email", { ...email, use_tls: undefined }), "400 invalid_fields: config.use_tls"],
    [bodyOf("telegram", { ...bot, bot_token: "" }), "400 invalid_fields: config.bot_token"],
    [bodyOf("telegram", { ...bot, chat_id: " " }), "400 invalid_fields: config.chat_id"],
    [bodyOf("telegram", { ...bot, mode: "fax" }), "400 invalid_fields: config.mode"],
    [bodyOf("telegram", { ...account, api_id: 0 }), "400 invalid_fields: config.api_id"]
  ])("refuse %j, new or in place of another", async (body, expected) => {
    const id = await made("webhook", hook)
    const before = await list()
    expect(told(await calls.call("POST", "/channels", body))).toContain(expected)
    if (!JSON.stringify(body).includes('"bot_token":""'))
      expect(told(await calls.call("PUT", `/channels/${id}`, body))).toContain(expected)
    expect(await list()).toEqual(before)
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("are not found by a wrong id", async () => {
    for (const [method, tail, body] of [
      ["GET", "", undefined],
      ["PUT", "", bodyOf("webhook", hook)],
      ["PUT", "/enabled", { enabled: true }],
      ["POST", "/test", {}],
      ["DELETE", "", undefined]
    ] as const) {
      for (const id of ["0", "-1", "x", "1.5"]) {
        expect(codeOf(await calls.call(method, `/channels/${id}${tail}`, body))).toBe("400 invalid_id")
      }
      expect(codeOf(await calls.call(method, `/channels/999${tail}`, body))).toBe("404 not_found")
    }
  })

  it.each<readonly [type: Channel["type"], given: object, shown: Channel["config"]]>([
    [
      "email",
      email,
      {
        smtp_host: "mail.example.org",
        smtp_port: 465,
        username: "watch",
        from: "watch@example.org",
        to: ["a@example.org"],
        use_tls: true
      }
    ],
    ["webhook", hook, { url: hook.url, header_names: ["x-key"], has_secret: true }],
    ["telegram", bot, { mode: "bot", chat_id: "-100123" }],
    ["telegram", account, { mode: "mtproto", api_id: 7, phone: "+49 30 1", chat_id: "self", logged_in: false }]
  ])("of type %s tell what they are, and no secret, %#", async (type, given, shown) => {
    const id = await made(type, given)
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const expected = { id, name: "told", type, config: shown, enabled: true, created_at: instant, updated_at: instant }
    expect(await read(id)).toEqual(expected)
    expect(await list()).toEqual([expected])
    const { text } = await calls.call("GET", `/channels/${id}`)
    expect(text + (await calls.call("GET", "/channels")).text).not.toContain("canary")
    expect((await kept(id))?.config).toMatchObject({ type })
    const stored = await service.value(`SELECT config || sealed FROM alert_channels WHERE id = ${id}`)
    expect(stored).not.toContain("canary")
    expect((await calls.call("DELETE", `/channels/${id}`)).status).toBe(204)
    expect(codeOf(await calls.call("GET", `/channels/${id}`))).toBe("404 not_found")
    expect([await list(), await kept(id)]).toEqual([[], undefined])
  })

  it("keep the secrets that a replacement leaves blank while the type stays", async () => {
    const id = await made("webhook", hook)
    const blank = { url: "https://example.org/other", secret: " " }
    expect((await calls.call("PUT", `/channels/${id}`, bodyOf("webhook", blank, { name: "b" }))).status).toBe(204)
    expect(await read(id)).toMatchObject({
      name: "b",
      config: { url: blank.url, header_names: ["x-key"], has_secret: true }
    })
    expect((await kept(id))?.config).toMatchObject({ headers: { "x-key": "canary-value" }, secret: "canary-secret" })
    const replaced = await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", { ...bot, bot_token: undefined }))
    expect(told(replaced)).toContain("400 invalid_fields: config.bot_token")
    expect((await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", bot))).status).toBe(204)
    expect(await read(id)).toMatchObject({ type: "telegram", config: { mode: "bot" } })
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("are switched without touching the rest", async () => {
    const id = await made("webhook", hook)
    for (const body of [{}, { enabled: null }, { enabled: "no" }]) {
      expect(codeOf(await calls.call("PUT", `/channels/${id}/enabled`, body))).toBe("400 invalid_fields")
    }
    const before = await read(id)
    expect((await calls.call("PUT", `/channels/${id}/enabled`, { enabled: false })).status).toBe(204)
    expect(await read(id)).toEqual({ ...before, enabled: false, updated_at: expect.any(String) })
    expect(await kept(id)).toMatchObject({ enabled: false, revision: 2, config: { secret: "canary-secret" } })
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("drop whatever is open for them with every change", async () => {
    const sinks = await service.inside(Sinks)
    const logins = await service.inside(TelegramLogin)
    const before = { sinks: sinks.forget, logins: logins.forget }
    const forgotten: Array<string> = []
    Object.assign(sinks, { forget: (id: number) => Effect.sync(() => forgotten.push(`sink ${id}`)) })
    Object.assign(logins, { forget: (id: number) => Effect.sync(() => forgotten.push(`login ${id}`)) })
    const id = await made("telegram", account)
    await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", account))
    await calls.call("PUT", `/channels/${id}/enabled`, { enabled: false })
    await calls.call("DELETE", `/channels/${id}`)
    Object.assign(sinks, { forget: before.sinks })
    Object.assign(logins, { forget: before.logins })
    expect(forgotten.filter((one) => one === `login ${id}`).length).toBe(3)
    expect(forgotten.filter((one) => one === `sink ${id}`).length).toBeGreaterThanOrEqual(3)
  })

  it("that can be opened no more are listed, but neither tested nor replaced without their secrets", async () => {
    const id = await made("telegram", bot)
    await service.exec(`UPDATE alert_channels SET sealed = 'x' WHERE id = ${id}`)
    expect(await read(id)).toMatchObject({ config: { mode: "bot", chat_id: "-100123" } })
    expect(told(await calls.call("POST", `/channels/${id}/test`, {}))).toContain("400 invalid_fields: config")
    const blank = bodyOf("telegram", { ...bot, bot_token: "" })
    expect(told(await calls.call("PUT", `/channels/${id}`, blank))).toContain("400 invalid_fields: config.bot_token")
    expect((await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", bot))).status).toBe(204)
    expect((await kept(id))?.config).toMatchObject({ botToken: "12:canary-token" })
    await calls.call("DELETE", `/channels/${id}`)
  })
})

describe("a test", () => {
  let receiver: Receiver
  let status = 200
  beforeEach(async () => {
    status = 200
    receiver = await startReceiver((response, one) => replyWith(status, {}, "canary-answer")(response, one))
  })
  afterEach(() => receiver.close())
  const target = (change: object = {}) => made("webhook", { ...hook, url: `${receiver.url}/in` }, change)

  it.each<readonly [body: string, expected: string]>([
    ["{", "400 invalid_request"],
    ["[]", "400 invalid_request"],
    ["5", "400 invalid_request"],
    [`{"title":5}`, "400 invalid_request"],
    [`${"[".repeat(10_000)}${"]".repeat(10_000)}`, "400 invalid_request"],
    [JSON.stringify({ title: "x".repeat(201) }), "400 invalid_fields: title must be at most 200 characters"],
    [JSON.stringify({ title: "a\nb" }), "400 invalid_fields: title"],
    [JSON.stringify({ message: "x".repeat(3501) }), "400 invalid_fields: message"]
  ])("is refused with the body %s", async (body, expected) => {
    const id = await target()
    expect(told(await calls.call("POST", `/channels/${id}/test`, body))).toContain(expected)
    expect(receiver.received).toEqual([])
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("arrives at a webhook, signed, whether it has texts of its own or none, and no body at all", async () => {
    const id = await target({ enabled: false })
    for (const body of [{ title: " Hello ", message: "one\ntwo" }, { title: null, message: " " }, undefined]) {
      const answer = await calls.call("POST", `/channels/${id}/test`, body)
      expect([answer.status, answer.text]).toEqual([204, ""])
    }
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    const standard = { title: "Test message", message: "This channel works: alerts can be told here." }
    expect(bodies).toEqual(
      [{ title: "Hello", message: "one\ntwo" }, standard, standard].map((texts) => ({
        ...texts,
        sent_at: expect.any(Number),
        meta: {}
      }))
    )
    for (const { body, headers, path } of receiver.received) {
      const signature = `sha256=${createHmac("sha256", "canary-secret").update(body).digest("hex")}`
      expect([path, headers["x-webhook-signature"], headers["x-key"]]).toEqual(["/in", signature, "canary-value"])
      expect(Object.keys(headers).filter((name) => name.startsWith("x-alert-"))).toEqual([])
    }
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("that fails says why in one word and ours, never in the words of the other side", async () => {
    const id = await target()
    for (const [answered, expected] of [
      [500, "503 notify_error: server_error: the target answered with status 500"],
      [401, "503 notify_error: auth: the target answered with status 401"],
      [429, "503 notify_error: rate_limited: the target answered with status 429"]
    ] as const) {
      status = answered
      const answer = await calls.call("POST", `/channels/${id}/test`, {})
      expect(told(answer)).toBe(expected)
      expect(answer.text).not.toContain("canary")
    }
    await calls.call("PUT", "/settings", { enabled: true, channel_ids: [], allow_private_targets: false })
    expect(told(await calls.call("POST", `/channels/${id}/test`, {}))).toContain("503 notify_error: refused_address: ")
    await calls.call("PUT", "/settings", { enabled: true, channel_ids: [], allow_private_targets: true })
    await receiver.close()
    expect(told(await calls.call("POST", `/channels/${id}/test`, {}))).toContain("503 notify_error: connect: ")
    receiver = await startReceiver(replyWith(200))
    await calls.call("DELETE", `/channels/${id}`)
  })

  it("of a bot sends the two samples, whatever texts are given", async () => {
    const id = await made("telegram", bot)
    const sinks = await service.inside(Sinks)
    const { deliver } = sinks
    const notes: Array<Note> = []
    Object.assign(sinks, { deliver: (_: unknown, note: Note) => Effect.sync(() => notes.push(note)) })
    const answer = await calls.call("POST", `/channels/${id}/test`, { title: "ignored", message: "ignored" })
    Object.assign(sinks, {
      deliver: () => new SinkError({ kind: "permanent", reason: "auth", message: "Telegram does not know the bot" })
    })
    const failed = await calls.call("POST", `/channels/${id}/test`, {})
    Object.assign(sinks, { deliver })

    expect(answer.status).toBe(204)
    expect(told(failed)).toBe("503 notify_error: auth: Telegram does not know the bot")
    expect(notes.map(({ meta, title, transition }) => [transition, title, meta])).toEqual([
      ["opened", "Alert: sample @ sample", {}],
      ["closed", "Recovered: sample @ sample", {}]
    ])
    expect(notes[0]?.body).toContain("Current value: 95.00%\nThreshold: >= 90.00%\n")
    await calls.call("DELETE", `/channels/${id}`)
  })
})
