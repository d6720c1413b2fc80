// Owns the proof of what the Bot API is sent and what its answers mean.
import { Effect, Either } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Guard, make } from "../../../runtime/alert/Guard.ts"
import type { Note } from "../../../runtime/alert/Sink.ts"
import { deliverBot } from "../../../runtime/alert/TelegramBot.ts"
import { markedText, plainText, textMax } from "../../../runtime/alert/TelegramText.ts"
import type { TelegramBotConfig } from "../../../src/core/alert/Channel.ts"
import { type Receiver, type Reply, replyWith, startReceiver } from "../../support/Receiver.ts"

const open: Array<Receiver> = []
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

const config: TelegramBotConfig = { type: "telegram", mode: "bot", botToken: "42:canary_Token-1", chatId: "-1007" }
const note: Note = {
  title: "Opened: load @ *n* <b>",
  body: "server: n\ntime: 2026-01-02 03:04:05 UTC",
  transition: "opened",
  sentAtMs: 0,
  meta: {}
}

const deliver = async (reply: Reply, told: Note = note) => {
  const receiver = await startReceiver(reply)
  open.push(receiver)
  const result = await deliverBot(config, told, receiver.url).pipe(
    Effect.provideService(Guard, make({ allowPrivate: true })),
    Effect.either,
    Effect.runPromise
  )
  return { result, received: receiver.received[0] }
}

const json = (status: number, answer: object): Reply =>
  replyWith(status, { "content-type": "application/json" }, JSON.stringify(answer))

describe("a Telegram bot", () => {
  const outcomes: ReadonlyArray<readonly [string, Reply, string]> = [
    [
      "a chat that does not exist",
      json(400, { ok: false, error_code: 400, description: "words canary" }),
      "permanent rejected"
    ],
    ["a token nobody knows", json(401, { ok: false, error_code: 401 }), "permanent auth"],
    ["a token of the wrong form", json(404, { ok: false, error_code: 404 }), "permanent auth"],
    ["a chat that threw the bot out", json(403, { ok: false, error_code: 403 }), "permanent rejected"],
    ["too many messages", json(429, { ok: false, error_code: 429 }), "rate_limited rate_limited"],
    ["a fault of its own", json(502, { ok: false }), "transient server_error"],
    ["a redirect", replyWith(302, { location: "http://127.0.0.1/" }), "permanent rejected"],
    ["a refusal under a good status", json(200, { ok: false, error_code: 400 }), "permanent rejected"],
    ["a good status without ok", json(200, {}), "transient server_error"],
    ["a good status and no JSON", replyWith(200, {}, "<html>"), "transient server_error"],
    ["a body without end", json(200, { ok: true, more: "x".repeat(70_000) }), "transient server_error"],
    ["a cut line", (response) => response.socket?.destroy(), "transient connect"]
  ]
  for (const [what, reply, outcome] of outcomes) {
    it(`that answers with ${what} failed: ${outcome}`, async () => {
      const { result } = await deliver(reply)

      expect(Either.match(result, { onLeft: ({ kind, reason }) => `${kind} ${reason}`, onRight: () => "" })).toBe(
        outcome
      )
      expect(JSON.stringify(result)).not.toMatch(/canary|words|sendMessage/)
    })
  }

  it("that asks to wait is waited for", async () => {
    const { result } = await deliver(json(429, { ok: false, error_code: 429, parameters: { retry_after: 31 } }))

    expect(result).toMatchObject({ left: { kind: "rate_limited", retryAfterMs: 31_000 } })
  })

  it("is told in plain text, with a mark, and no link is looked at", async () => {
    const { received, result } = await deliver(json(200, { ok: true, result: {} }))

    expect(result).toEqual(Either.void)
    expect(received).toMatchObject({ method: "POST", path: "/bot42:canary_Token-1/sendMessage" })
    expect(received?.headers["content-type"]).toBe("application/json")
    expect(JSON.parse(received?.body ?? "")).toEqual({
      chat_id: "-1007",
      text: "❌ Opened: load @ *n* <b>\nserver: n\n🕒 time: 2026-01-02 03:04:05 UTC",
      link_preview_options: { is_disabled: true }
    })
  })
})

describe("the text for Telegram", () => {
  it("is cut to what one message holds, never through a character", () => {
    const long = (fill: number) => plainText({ ...note, title: "t", body: `${"x".repeat(fill)}😀${"y".repeat(100)}` })

    expect(long(4091).length).toBeLessThanOrEqual(textMax)
    for (const fill of [4090, 4091, 4092, 4093, 4094]) {
      expect(long(fill).length).toBeLessThanOrEqual(textMax)
      expect(long(fill)).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/)
      expect(long(fill).endsWith("…")).toBe(true)
    }
  })

  it("has another mark for what is over and none for a test", () => {
    expect(markedText({ ...note, transition: "closed" }).startsWith("✅ Opened")).toBe(true)
    expect(markedText({ ...note, transition: "test" }).startsWith("Opened")).toBe(true)
    expect(plainText(note).startsWith("Opened")).toBe(true)
  })
})
