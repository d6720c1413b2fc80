// Tells a note to a webhook: a JSON POST, signed when there is a secret, that any 2xx answers.
import { Clock, Effect } from "effect"
import { createHmac } from "node:crypto"
import type { WebhookConfig } from "../../src/core/alert/Channel.ts"
import { type Answer, Guard } from "./Guard.ts"
import { retryAfterMs } from "./RetryAfter.ts"
import { type Note, SinkError } from "./Sink.ts"

/** Delivers one note. The signature is HMAC-SHA256 over the very bytes of the body (contract, events). */
export const deliverWebhook = (config: WebhookConfig, note: Note): Effect.Effect<void, SinkError, Guard> =>
  Effect.gen(function* () {
    const guard = yield* Guard
    const body = webhookBody(note)
    const answer = yield* guard.post({ url: config.url, headers: headersOf(config, note, body), body })
    const failed = failureOf(answer, yield* Clock.currentTimeMillis)
    if (failed !== undefined) return yield* failed
  })

/** The body of a webhook; `sent_at` in whole seconds. */
export const webhookBody = (note: Note): string =>
  JSON.stringify({
    title: note.title,
    message: note.body,
    sent_at: Math.floor(note.sentAtMs / 1000),
    meta: note.meta
  })

const headersOf = (config: WebhookConfig, note: Note, body: string): Record<string, string> => {
  const { dedupe_key: dedupeKey, event_id: eventId, transition } = note.meta
  // The channel's own headers come first, so that none of them can stand in for ours.
  return {
    "user-agent": "watchpost",
    ...config.headers,
    "content-type": "application/json",
    ...(eventId === undefined ? {} : { "x-alert-event-id": eventId }),
    ...(dedupeKey === undefined ? {} : { "x-alert-dedupe-key": dedupeKey }),
    ...(transition === undefined ? {} : { "x-alert-transition": transition }),
    ...(config.secret === "" ? {} : { "x-webhook-signature": signatureOf(config.secret, body) })
  }
}

const signatureOf = (secret: string, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(body, "utf8").digest("hex")}`

/** Answers that say "not now" though they look like a refusal. */
const temporary = new Set([408, 425, 429])

const failureOf = ({ retryAfter, status }: Answer, nowMs: number): SinkError | undefined => {
  if (status >= 200 && status < 300) return undefined
  const message = `the target answered with status ${status}`
  const wait = retryAfterMs(retryAfter, nowMs)
  if (status === 429 || (status === 503 && wait !== undefined)) {
    const waiting = wait === undefined ? {} : { retryAfterMs: wait }
    return new SinkError({ kind: "rate_limited", reason: "rate_limited", ...waiting, message })
  }
  if (status >= 500) return new SinkError({ kind: "transient", reason: "server_error", message })
  if (temporary.has(status)) return new SinkError({ kind: "transient", reason: "rejected", message })
  if (status >= 300 && status < 400) {
    return new SinkError({ kind: "permanent", reason: "rejected", message: `${message}; redirects are not followed` })
  }
  const reason = status === 401 || status === 403 ? "auth" : "rejected"
  return new SinkError({ kind: "permanent", reason, message })
}
