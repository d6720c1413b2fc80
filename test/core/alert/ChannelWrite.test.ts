// Owns the proof that a channel is taken only whole and safe, keeps its secrets and never shows them.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ChannelConfig, configOf, configText, type TelegramUserConfig } from "../../../src/core/alert/Channel.ts"
import {
  channelView,
  configView,
  loggedIn,
  newChannel,
  replacedChannel,
  switchOf
} from "../../../src/core/alert/ChannelWrite.ts"
import { mailAddressOf } from "../../../src/core/alert/EmailWrite.ts"

const webhook = { url: "https://hooks.example/a?b=c" }
const email = {
  smtp_host: "Mail.Example",
  smtp_port: 587,
  username: "u",
  password: "canary-password",
  from: "watch@example.com",
  to: ["a@example.com"],
  use_tls: true
}
const bot = { mode: "bot", bot_token: "12345:canary_token", chat_id: -100123 }
const account = { mode: "mtproto", api_id: "77", api_hash: "canary-hash", phone: "+49 151 1", chat_id: "self" }

const body = (type: string, config: object, more: object = {}) => ({
  name: " Ops ",
  type,
  enabled: true,
  config,
  ...more
})
const created = (type: string, config: object): ChannelConfig =>
  Either.getOrThrow(newChannel(body(type, config))).config
const replaced = (before: ChannelConfig, type: string, config: object) =>
  Either.getOrThrow(replacedChannel({ config: before }, body(type, config))).config
const complaint = (result: Either.Either<unknown, { message: string }>): string =>
  Either.match(result, { onLeft: ({ message }) => message, onRight: () => "accepted" })
const wrong = (type: string, config: object, more?: object) => complaint(newChannel(body(type, config, more)))

describe("a channel that is refused names the field", () => {
  const table: ReadonlyArray<readonly [string, string, object, object?]> = [
    ["name", "webhook", webhook, { name: " " }],
    ["name", "webhook", webhook, { name: "a\nb" }],
    ["name", "webhook", webhook, { name: "x".repeat(129) }],
    ["name", "webhook", webhook, { name: undefined }],
    ["type", "pager", webhook],
    ["enabled", "webhook", webhook, { enabled: undefined }],
    ["config", "webhook", [], {}],
    ["config.url", "webhook", {}],
    ["config.url", "webhook", { url: "ftp://a.example" }],
    ["config.url", "webhook", { url: "not a url" }],
    ["config.url", "webhook", { url: "https://u:p@a.example" }],
    ["config.url", "webhook", { url: `https://a.example/${"x".repeat(2048)}` }],
    ["config.secret", "webhook", { ...webhook, secret: 5 }],
    ["config.headers", "webhook", { ...webhook, headers: "a: b" }],
    ["config.headers", "webhook", { ...webhook, headers: { Host: "x" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "Content-Length": "1" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "transfer-encoding": "chunked" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "X-Alert-Event-ID": "1" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "X-Webhook-Signature": "1" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "a b": "1" } }],
    ["config.headers", "webhook", { ...webhook, headers: { "x-a": "1", "X-A": "2" } }],
    ["config.headers.x-a", "webhook", { ...webhook, headers: { "x-a": "1\r\nx-b: 2" } }],
    ["config.headers.x-a", "webhook", { ...webhook, headers: { "x-a": "é" } }],
    ["config.headers.x-a", "webhook", { ...webhook, headers: { "x-a": "x".repeat(1025) } }],
    ["config.headers.constructor", "webhook", { ...webhook, headers: { constructor: "" } }],
    [
      "config.headers",
      "webhook",
      { ...webhook, headers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, "1"])) }
    ],
    ["config.smtp_host", "email", { ...email, smtp_host: "a/b" }],
    ["config.smtp_host", "email", { ...email, smtp_host: "a@b" }],
    ["config.smtp_host", "email", { ...email, smtp_host: "a:25" }],
    ["config.smtp_port", "email", { ...email, smtp_port: 0 }],
    ["config.smtp_port", "email", { ...email, smtp_port: 65536 }],
    ["config.smtp_port", "email", { ...email, smtp_port: "25" }],
    ["config.username", "email", { ...email, username: undefined }],
    ["config.password", "email", { ...email, password: undefined }],
    ["config.from", "email", { ...email, from: "Watch <a@example.com>" }],
    ["config.to", "email", { ...email, to: [] }],
    ["config.to", "email", { ...email, to: ["a@example.com", " "] }],
    ["config.to", "email", { ...email, to: Array.from({ length: 51 }, (_, i) => `a${i}@example.com`) }],
    ["config.use_tls", "email", { ...email, use_tls: "yes" }],
    ["config.mode", "telegram", { ...bot, mode: "pigeon" }],
    ["config.bot_token", "telegram", { ...bot, bot_token: "" }],
    ["config.bot_token", "telegram", { ...bot, bot_token: "1:a/../b" }],
    ["config.chat_id", "telegram", { ...bot, chat_id: 1.5 }],
    ["config.chat_id", "telegram", { ...bot, chat_id: " " }],
    ["config.api_id", "telegram", { ...account, api_id: 0 }],
    ["config.api_id", "telegram", { ...account, api_id: "x" }],
    ["config.api_hash", "telegram", { ...account, api_hash: " " }],
    ["config.phone", "telegram", { ...account, phone: "home" }]
  ]
  for (const [field, type, config, more] of table) {
    it(`${field} of ${type} ${JSON.stringify(more ?? config).slice(0, 80)}`, () => {
      expect(wrong(type, config, more).split(" ")[0]).toBe(field)
    })
  }

  it("without repeating what was written", () => {
    const messages = table.map(([, type, config, more]) => wrong(type, config, more)).join("\n")

    expect(messages).not.toMatch(/canary/)
  })
})

describe("a mail address", () => {
  it("is refused with anything but the address itself", () => {
    const texts = [
      "a b@example.com",
      "a@b@example.com",
      '"a"@example.com',
      "a@example.com\r\nBcc: x@example.com",
      "a,b@example.com",
      "<a@example.com>",
      "a@[127.0.0.1]",
      "a@127.0.0.1",
      ".a@example.com",
      "a..b@example.com",
      "@example.com",
      "a@",
      "group:a@example.com;",
      `${"x".repeat(65)}@example.com`
    ]

    expect(texts.filter((one) => mailAddressOf(one) !== undefined)).toEqual([])
  })

  it("never holds a separator, a line break or a space, whatever was written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        const address = mailAddressOf(`${text}@example.com`)
        return address === undefined || /^[^\s<>,;:"()[\]\\@]+@example\.com$/.test(address)
      })
    )
  })

  it("has its domain in ASCII", () => {
    expect(mailAddressOf("a+b@Bücher.example")).toBe("a+b@xn--bcher-kva.example")
  })
})

describe("a channel that is taken", () => {
  it("is trimmed, its chat told as text and its recipients as a list without repetitions", () => {
    const named = Either.getOrThrow(newChannel(body("telegram", bot)))

    expect(named.name).toBe("Ops")
    expect(named.config).toEqual({ type: "telegram", mode: "bot", botToken: "12345:canary_token", chatId: "-100123" })
    expect(created("email", { ...email, to: "a@example.com, b@example.com,a@example.com" })).toMatchObject({
      smtpHost: "mail.example",
      to: ["a@example.com", "b@example.com"]
    })
    expect(created("telegram", account)).toMatchObject({ apiId: 77, session: "", username: "" })
    expect(created("webhook", { ...webhook, headers: { "X-Key": " v " } })).toMatchObject({ headers: { "x-key": "v" } })
  })

  it("may have an empty login for mail", () => {
    expect(created("email", { ...email, username: "", password: "" })).toMatchObject({ username: "", password: "" })
  })

  it("is the same after its text at rest", () => {
    const all = [
      created("webhook", webhook),
      created("email", email),
      created("telegram", bot),
      created("telegram", account)
    ]

    expect(all.map((config) => configOf(configText(config)))).toEqual(all)
    expect(configOf("{}")).toBeUndefined()
    expect(configOf("no json")).toBeUndefined()
  })

  it("is told without any secret", () => {
    const all = [
      created("webhook", { ...webhook, secret: "canary-secret", headers: { authorization: "canary" } }),
      created("email", email),
      created("telegram", bot),
      loggedIn(created("telegram", account) as TelegramUserConfig, "canary-session", "me")
    ]
    const channel = { id: 1, name: "n", enabled: true, createdAt: 0, updatedAt: 1000 }
    const told = all.map((config) => channelView({ ...channel, config }))

    expect(JSON.stringify(told)).not.toMatch(/canary/)
    expect(told.map(({ config }) => config)).toEqual([
      { url: webhook.url, header_names: ["authorization"], has_secret: true },
      {
        smtp_host: "mail.example",
        smtp_port: 587,
        username: "u",
        from: "watch@example.com",
        to: ["a@example.com"],
        use_tls: true
      },
      { mode: "bot", chat_id: "-100123" },
      { mode: "mtproto", api_id: 77, phone: "+49 151 1", chat_id: "self", logged_in: true, username: "me" }
    ])
    expect(told[0]).toMatchObject({
      type: "webhook",
      created_at: "1970-01-01T00:00:00Z",
      updated_at: "1970-01-01T00:00:01Z"
    })
  })

  it("is switched only by true or false", () => {
    expect(complaint(switchOf({ enabled: 1 }))).toBe("enabled must be true or false")
    expect(switchOf({ enabled: false })).toEqual(Either.right(false))
  })
})

describe("a channel that is replaced", () => {
  const secrets = {
    webhook: created("webhook", { ...webhook, secret: "s", headers: { "x-key": "v" } }),
    email: created("email", email),
    bot: created("telegram", bot),
    account: loggedIn(created("telegram", account) as TelegramUserConfig, "session", "me")
  }

  it("loses its secrets with its type or mode", () => {
    const bare = { ...bot, bot_token: "" }

    expect(complaint(replacedChannel({ config: secrets.account }, body("telegram", bare)))).toMatch(/^config.bot_token/)
    expect(complaint(replacedChannel({ config: secrets.email }, body("telegram", bare)))).toMatch(/^config.bot_token/)
    expect(replaced(secrets.email, "webhook", webhook)).toMatchObject({ secret: "", headers: {} })
  })

  it("keeps every secret that is missing or blank", () => {
    expect(replaced(secrets.webhook, "webhook", { ...webhook, secret: " " })).toEqual(secrets.webhook)
    expect(replaced(secrets.webhook, "webhook", { ...webhook, headers: { "X-Key": "" } })).toEqual(secrets.webhook)
    expect(replaced(secrets.email, "email", { ...email, password: null })).toEqual(secrets.email)
    expect(replaced(secrets.bot, "telegram", { ...bot, bot_token: undefined })).toEqual(secrets.bot)
    expect(replaced(secrets.account, "telegram", { ...account, api_hash: "" })).toEqual(secrets.account)
  })

  it("takes new secrets and leaves out headers that are not named any more", () => {
    expect(replaced(secrets.webhook, "webhook", { ...webhook, secret: "t", headers: {} })).toMatchObject({
      secret: "t",
      headers: {}
    })
    expect(replaced(secrets.email, "email", { ...email, password: "new" })).toMatchObject({ password: "new" })
  })

  it("sends no header value that nobody can read to another host", () => {
    const moved = { url: "https://elsewhere.example/" }
    const result = (config: object) => complaint(replacedChannel({ config: secrets.webhook }, body("webhook", config)))

    expect(result(moved)).toMatch(/^config.headers must be given again/)
    expect(result({ ...moved, headers: { "x-key": "" } })).toMatch(/^config.headers.x-key/)
    expect(result({ ...moved, headers: { "x-key": "w" } })).toBe("accepted")
    expect(result({ url: "https://hooks.example/other" })).toBe("accepted")
  })

  it("keeps the login of an account only while it is the same account", () => {
    expect(replaced(secrets.account, "telegram", { ...account, chat_id: "@x" })).toMatchObject({ session: "session" })
    for (const other of [{ api_id: 78 }, { api_hash: "other" }, { phone: "+49 151 2" }]) {
      expect(replaced(secrets.account, "telegram", { ...account, ...other })).toMatchObject({
        session: "",
        username: ""
      })
    }
    expect(configView(secrets.account)).toMatchObject({ logged_in: true })
  })
})
