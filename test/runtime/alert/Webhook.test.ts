// Owns the proof of what a webhook is sent and what its answers mean.
import { Effect, Either } from "effect"
import { createHmac } from "node:crypto"
import { afterEach, describe, expect, it } from "vitest"
import { make } from "../../../runtime/alert/Guard.ts"
import { Guard } from "../../../runtime/alert/Guard.ts"
import { retryAfterMs } from "../../../runtime/alert/RetryAfter.ts"
import type { Note } from "../../../runtime/alert/Sink.ts"
import { deliverWebhook } from "../../../runtime/alert/Webhook.ts"
import type { WebhookConfig } from "../../../src/core/alert/Channel.ts"
import { type Receiver, type Reply, replyWith, startReceiver } from "../../support/Receiver.ts"

const open: Array<Receiver> = []
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

const note: Note = {
  title: "Opened: load @ böx",
  body: "opened\nserver",
  transition: "opened",
  sentAtMs: 1_700_000_000_999,
  meta: { event_id: "7", transition: "opened", dedupe_key: "alert:7:opened:3", rule_id: "-1", server_id: "5" }
}

const deliver = async (reply: Reply, config: Partial<WebhookConfig> = {}, told: Note = note) => {
  const receiver = await startReceiver(reply)
  open.push(receiver)
  const whole: WebhookConfig = {
    type: "webhook",
    url: `${receiver.url}/hook?k=canary`,
    headers: {},
    secret: "",
    ...config
  }
  const result = await deliverWebhook(whole, told).pipe(
    Effect.provideService(Guard, make({ allowPrivate: true })),
    Effect.either,
    Effect.runPromise
  )
  return { result, received: receiver.received[0], count: receiver.received.length }
}

describe("a webhook", () => {
  const outcomes: ReadonlyArray<readonly [number, string]> = [
    [301, "permanent rejected"],
    [304, "permanent rejected"],
    [400, "permanent rejected"],
    [401, "permanent auth"],
    [403, "permanent auth"],
    [404, "permanent rejected"],
    [408, "transient rejected"],
    [410, "permanent rejected"],
    [425, "transient rejected"],
    [429, "rate_limited rate_limited"],
    [500, "transient server_error"],
    [503, "transient server_error"],
    [599, "transient server_error"]
  ]
  for (const [status, outcome] of outcomes) {
    it(`that answers ${status} failed: ${outcome}`, async () => {
      const { result } = await deliver(replyWith(status, {}, "words of the target"))

      expect(Either.match(result, { onLeft: ({ kind, reason }) => `${kind} ${reason}`, onRight: () => "" })).toBe(
        outcome
      )
      expect(JSON.stringify(result)).toContain(String(status))
      expect(JSON.stringify(result)).not.toMatch(/words|canary/)
    })
  }

  it("that asks to wait is waited for, by 429 and by 503", async () => {
    const first = await deliver(replyWith(429, { "retry-after": "17" }))
    const second = await deliver(replyWith(503, { "retry-after": "2" }))

    expect(first.result).toMatchObject({ left: { kind: "rate_limited", retryAfterMs: 17_000 } })
    expect(second.result).toMatchObject({ left: { kind: "rate_limited", retryAfterMs: 2000 } })
  })

  it("that cuts the line or is not there failed for now, without its address in the words", async () => {
    const cut = await deliver((response) => response.socket?.destroy())
    const nowhere = await deliver(replyWith(200), { url: "http://127.0.0.1:1/canary" })

    expect(cut.result).toMatchObject({ left: { kind: "transient", reason: "connect" } })
    expect(nowhere.result).toMatchObject({ left: { kind: "transient", reason: "connect" } })
    expect(JSON.stringify([cut.result, nowhere.result])).not.toMatch(/canary|127/)
  })

  it("is told once, as JSON with whole seconds and the headers of the event", async () => {
    for (const status of [200, 202, 204]) {
      const { count, received, result } = await deliver(replyWith(status))

      expect(result).toEqual(Either.void)
      expect(count).toBe(1)
      expect(received).toMatchObject({ method: "POST", path: "/hook?k=canary" })
      expect(JSON.parse(received?.body ?? "")).toEqual({
        title: note.title,
        message: note.body,
        sent_at: 1_700_000_000,
        meta: note.meta
      })
      expect(received?.headers).toMatchObject({
        "content-type": "application/json",
        "x-alert-event-id": "7",
        "x-alert-dedupe-key": "alert:7:opened:3",
        "x-alert-transition": "opened"
      })
      expect(received?.headers).not.toHaveProperty("x-webhook-signature")
    }
  })

  it("has no event headers where there is no event, and still an object as meta", async () => {
    const { received } = await deliver(replyWith(200), {}, { ...note, transition: "test", meta: {} })

    expect(Object.keys(received?.headers ?? {}).filter((name) => name.startsWith("x-"))).toEqual([])
    expect(JSON.parse(received?.body ?? "")).toMatchObject({ meta: {} })
  })

  it("can prove with its secret where the very bytes of the body come from", async () => {
    const { received } = await deliver(replyWith(200), { secret: "s3cret" })
    const proof = createHmac("sha256", "s3cret")
      .update(received?.body ?? "")
      .digest("hex")

    expect(received?.headers["x-webhook-signature"]).toBe(`sha256=${proof}`)
  })

  it("has its own headers beside ours and never instead of them", async () => {
    const headers = { authorization: "Bearer canary", "content-type": "text/plain", "x-alert-event-id": "666" }
    const { received } = await deliver(replyWith(200), { headers })

    expect(received?.headers).toMatchObject({
      authorization: "Bearer canary",
      "content-type": "application/json",
      "x-alert-event-id": "7"
    })
  })
})

describe("Retry-After", () => {
  const now = Date.parse("2026-01-02T03:04:05Z")

  it("is nothing where it is neither a number of seconds nor a date", () => {
    const texts = [undefined, "", "soon", "-1", "1.5", "1e9", "Xyz, nonsense"]

    expect(texts.filter((text) => retryAfterMs(text, now) !== undefined)).toEqual([])
  })

  it("is a wait from now, never backwards and never longer than a day", () => {
    expect(retryAfterMs("120", now)).toBe(120_000)
    expect(retryAfterMs("Fri, 02 Jan 2026 03:05:05 GMT", now)).toBe(60_000)
    expect(retryAfterMs("Fri, 02 Jan 2026 03:03:05 GMT", now)).toBe(0)
    expect(retryAfterMs("99999999999", now)).toBe(86_400_000)
  })
})
