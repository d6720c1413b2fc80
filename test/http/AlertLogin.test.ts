// The login of Telegram accounts over a real socket, against a stand-in for Telegram: each step, each refusal, each race.
import { Effect, Exit, Schema, Scope } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { AlertBook } from "../../runtime/alert/AlertBook.ts"
import { Sinks } from "../../runtime/alert/Sink.ts"
import * as Login from "../../runtime/alert/TelegramLogin.ts"
import * as User from "../../runtime/alert/TelegramUser.ts"
import { Channel, LoginPing, LoginStarted } from "../../schema/AlertChannels.ts"
import { FakeTelegram, floodWait, rpcError } from "../support/FakeTelegram.ts"
import { codeOf, type Headers, type Service, signIn, startService } from "../support/Service.ts"
import { account, bodyOf, type Calls, callsOf, hook, told } from "./AlertCalls.ts"

let service: Service
let admin: Headers
let calls: Calls

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  calls = callsOf(service, () => admin)
})
afterAll(() => service.stop())

const made = (type: string, config: unknown) => calls.create("/channels", bodyOf(type, config))
const read = (id: number) => calls.read(Channel, `/channels/${id}`)
const kept = async (id: number) => (await service.inside(AlertBook)).page().channels.get(id)

describe("a Telegram account", () => {
  let telegram: FakeTelegram
  let scope: Scope.CloseableScope
  let id: number
  const before: { login?: object; users?: object; sinks?: object } = {}

  /** Puts services with a stand-in for Telegram in the place of the real ones. */
  beforeEach(async () => {
    telegram = new FakeTelegram()
    await service.inside(
      Effect.gen(function* () {
        scope = yield* Scope.make()
        const [login, users, sinks] = [yield* Login.TelegramLogin, yield* User.TelegramUsers, yield* Sinks]
        Object.assign(before, { login: { ...login }, users: { ...users } })
        Object.assign(login, yield* Scope.extend(Login.make(telegram.factory), scope))
        Object.assign(users, yield* Scope.extend(User.make(telegram.factory), scope))
        before.sinks = { forget: sinks.forget }
        Object.assign(sinks, { forget: (channel: number) => users.forget(channel) })
      })
    )
    id = await made("telegram", account)
  })
  afterEach(async () => {
    await calls.call("DELETE", `/channels/${id}`)
    await service.inside(
      Effect.gen(function* () {
        Object.assign(yield* Login.TelegramLogin, before.login)
        Object.assign(yield* User.TelegramUsers, before.users)
        Object.assign(yield* Sinks, before.sinks)
        yield* Scope.close(scope, Exit.void)
      })
    )
    expect(telegram.openClients).toBe(0)
  })

  const step = (name: string, body: unknown) => calls.call("POST", `/channels/telegram/mtproto/${name}`, body)
  const begun = async (): Promise<string> => {
    const answer = await step("code", { channel_id: id })
    expect(answer.status, answer.text).toBe(200)
    const { login_id, timeout } = Schema.decodeUnknownSync(LoginStarted)(answer.json, { onExcessProperty: "error" })
    expect([timeout, /^[0-9a-f-]{36}$/.test(login_id)]).toEqual([120, true])
    return login_id
  }
  const ping = async () => Schema.decodeUnknownSync(LoginPing)((await step("ping", { channel_id: id })).json)

  it("logs in with its code, is shown as logged in without its session, and tells from then on", async () => {
    expect(told(await calls.call("POST", `/channels/${id}/test`, {}))).toContain("400 not_logged_in")
    expect(await ping()).toEqual({ valid: false, reason: "not_logged_in" })
    const login = await begun()
    expect(codeOf(await step("verify", { login_id: login, code: "11111" }))).toBe("400 invalid_code")
    const verified = await step("verify", { login_id: ` ${login} `, code: " 12345 " })
    expect([verified.status, verified.text]).toEqual([204, ""])
    expect(telegram.openClients).toBe(0)

    const shown = await calls.call("GET", `/channels/${id}`)
    expect(shown.json).toMatchObject({ config: { logged_in: true, username: "me", chat_id: "self" } })
    expect(shown.text).not.toContain("canary")
    expect(await service.value(`SELECT config || sealed FROM alert_channels WHERE id = ${id}`)).not.toContain("canary")
    expect((await kept(id))?.config).toMatchObject({ session: "canary-session" })
    expect(await ping()).toEqual({ valid: true })
    telegram.fail("self", rpcError("AUTH_KEY_UNREGISTERED", 401))
    expect(await ping()).toEqual({ valid: false, reason: "invalid_session" })
    expect((await calls.call("POST", `/channels/${id}/test`, { title: "T", message: "M" })).status).toBe(204)
    expect(telegram.sent.map(({ target, text }) => [target, text])).toEqual([["self", "T\nM"]])
    expect(codeOf(await step("verify", { login_id: login, code: "12345" }))).toBe("404 not_found")
    // Another name, the same account: it stays logged in; another telephone does not.
    const renamed = bodyOf("telegram", { ...account, api_hash: "" }, { name: "renamed" })
    await calls.call("PUT", `/channels/${id}`, renamed)
    expect((await read(id)).config).toMatchObject({ logged_in: true })
    await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", { ...account, phone: "+49 30 2" }))
    expect((await read(id)).config).toMatchObject({ logged_in: false })
  })

  it("asks for its password when it has one", async () => {
    telegram.password = " pass word "
    const login = await begun()
    const verified = await step("verify", { login_id: login, code: "12345" })
    expect([verified.status, verified.json]).toEqual([200, { password_required: true }])
    expect((await read(id)).config).toMatchObject({ logged_in: false })
    expect(codeOf(await step("verify", { login_id: login, code: "12345" }))).toBe("404 not_found")
    expect(codeOf(await step("password", { login_id: login, password: "wrong" }))).toBe("400 invalid_password")
    const done = await step("password", { login_id: login, password: " pass word " })
    expect([done.status, done.text]).toEqual([204, ""])
    expect((await read(id)).config).toMatchObject({ logged_in: true })
  })

  it("refuses what is malformed, blank or of another kind of channel", async () => {
    const plain = await made("webhook", hook)
    for (const name of ["code", "ping"]) {
      expect(codeOf(await step(name, "{"))).toBe("400 invalid_request")
      expect(codeOf(await step(name, { channel_id: "1" }))).toBe("400 invalid_request")
      expect(told(await step(name, { channel_id: plain }))).toContain("400 invalid_fields: channel_id")
      for (const unknown of [0, -1, 999])
        expect(codeOf(await step(name, { channel_id: unknown }))).toBe("404 not_found")
    }
    for (const [name, part] of [
      ["verify", "code"],
      ["password", "password"]
    ] as const) {
      expect(codeOf(await step(name, {}))).toBe("400 invalid_request")
      expect(told(await step(name, { login_id: "x", [part]: " " }))).toBe(
        `400 invalid_fields: ${part} must not be blank`
      )
      expect(told(await step(name, { login_id: "", [part]: "1" }))).toBe(
        "400 invalid_fields: login_id must not be blank"
      )
      expect(told(await step(name, { login_id: "x", [part]: "1".repeat(1025) }))).toContain("400 invalid_fields")
      expect(codeOf(await step(name, { login_id: "x", [part]: "1" }))).toBe("404 not_found")
    }
    await calls.call("DELETE", `/channels/${plain}`)
  })

  it("says that Telegram asks to wait, refuses the number or does not answer", async () => {
    telegram.fail("requestCode", floodWait(30))
    expect(told(await step("code", { channel_id: id }))).toBe(
      "429 rate_limited: Telegram asks to wait before the next try: 30 seconds"
    )
    telegram.fail("requestCode", rpcError("PHONE_NUMBER_INVALID"))
    expect(told(await step("code", { channel_id: id }))).toContain("503 notify_error: refused: ")
    telegram.fail("connect", Object.assign(new Error("canary"), { code: "ECONNREFUSED" }))
    expect(told(await step("code", { channel_id: id }))).toContain("503 notify_error: unavailable: ")
    const login = await begun()
    telegram.fail("signIn", floodWait(30))
    expect(told(await step("verify", { login_id: login, code: "12345" }))).toContain("503 notify_error: rate_limited: ")
    telegram.fail("signIn", rpcError("INTERNAL", 500))
    const failed = await step("verify", { login_id: login, code: "12345" })
    expect(told(failed)).toContain("503 notify_error: unavailable: ")
    expect(failed.text).not.toContain("canary")
    // Five tries are all there are.
    for (let i = 0; i < 3; i++) await step("verify", { login_id: login, code: "1" })
    expect(codeOf(await step("verify", { login_id: login, code: "12345" }))).toBe("404 not_found")
  })

  it("is logged in only by the session that began, within ten minutes, and only as the account it was then", async () => {
    const first = admin
    const login = await begun()
    admin = await signIn(service)
    expect(codeOf(await step("verify", { login_id: login, code: "12345" }))).toBe("404 not_found")
    admin = first
    await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", { ...account, phone: "+49 30 2" }))
    expect(codeOf(await step("verify", { login_id: login, code: "12345" }))).toBe("404 not_found")
    const second = await begun()
    // Changed while Telegram thinks: what it then says is about the account of before.
    let open = () => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    telegram.script.self = [() => gate as Promise<never>]
    const slow = step("verify", { login_id: second, code: "12345" })
    await expect.poll(() => telegram.script.self?.length).toBe(0)
    await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", { ...account, phone: "+49 30 3" }))
    open()
    expect(told(await slow)).toContain("400 invalid_fields: channel_id")
    expect((await read(id)).config).toMatchObject({ phone: "+49 30 3", logged_in: false })
    await calls.call("PUT", `/channels/${id}`, bodyOf("telegram", account))
    const third = await begun()
    service.advance(601_000)
    expect(codeOf(await step("verify", { login_id: third, code: "12345" }))).toBe("404 not_found")
    await calls.call("PUT", `/channels/${id}/enabled`, { enabled: false })
  })
})
