// Tells a note through the Telegram Bot API.
import { Effect, Either, Schema } from "effect"
import type { TelegramBotConfig } from "../../src/core/alert/Channel.ts"
import { Guard } from "./Guard.ts"
import { waitOfSeconds } from "./RetryAfter.ts"
import { type Note, SinkError } from "./Sink.ts"
import { markedText } from "./TelegramText.ts"

export const botApi = "https://api.telegram.org"

const BotAnswer = Schema.parseJson(
  Schema.Struct({
    ok: Schema.Boolean,
    error_code: Schema.optional(Schema.Number),
    parameters: Schema.optional(Schema.Struct({ retry_after: Schema.optional(Schema.Number) }))
  })
)
type BotAnswer = typeof BotAnswer.Type

const decode = Schema.decodeUnknownEither(BotAnswer)

/** Delivers one note: 2xx and `ok` are both needed (contract, message layout). `api` is the address of the Bot API. */
export const deliverBot = (config: TelegramBotConfig, note: Note, api: string): Effect.Effect<void, SinkError, Guard> =>
  Effect.gen(function* () {
    const guard = yield* Guard
    const answer = yield* guard.post({
      url: `${api}/bot${encodeURIComponent(config.botToken).replace("%3A", ":")}/sendMessage`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        chat_id: config.chatId,
        text: markedText(note),
        link_preview_options: { is_disabled: true }
      })
    })
    const told = Either.getOrUndefined(decode(answer.text))
    if (answer.status >= 200 && answer.status < 300 && told?.ok === true) return
    return yield* failureOf(answer.status, told)
  })

const failureOf = (httpStatus: number, told: BotAnswer | undefined): SinkError => {
  // The API repeats its status in the body; a proxy in between only knows the one in the head.
  const isAccepted = httpStatus >= 200 && httpStatus < 300
  const status = isAccepted ? (told?.error_code ?? 0) : httpStatus
  const message = `Telegram answered with status ${status === 0 ? httpStatus : status}`
  if (status === 429) {
    const wait = waitOfSeconds(told?.parameters?.retry_after)
    const waiting = wait === undefined ? {} : { retryAfterMs: wait }
    return new SinkError({ kind: "rate_limited", reason: "rate_limited", ...waiting, message })
  }
  if (status === 401 || status === 404) {
    return new SinkError({ kind: "permanent", reason: "auth", message: "Telegram does not know the bot's token" })
  }
  if (status >= 300 && status < 500) {
    const isTemporary = status === 408 || status === 425
    return new SinkError({ kind: isTemporary ? "transient" : "permanent", reason: "rejected", message })
  }
  // Anything else, also a 2xx that does not say ok, may be a fault in between: the message may not have arrived.
  return new SinkError({ kind: "transient", reason: "server_error", message })
}
