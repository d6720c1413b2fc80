// Sends each note the way its channel tells notes, within one deadline.
import { Duration, Effect, Layer } from "effect"
import type { Channel } from "../../src/core/alert/Channel.ts"
import { deliverEmail } from "./Email.ts"
import { Guard } from "./Guard.ts"
import { type Note, SinkError, Sinks } from "./Sink.ts"
import { botApi, deliverBot } from "./TelegramBot.ts"
import { TelegramUsers } from "./TelegramUser.ts"
import { deliverWebhook } from "./Webhook.ts"

/** Of one delivery, whatever the channel (contract, outbox). */
const deadlineMs = 15_000

export interface SinksOptions {
  /** The address of the Bot API; the real one when it is not given. */
  readonly botApi?: string
}

export const make = (options: SinksOptions) =>
  Effect.gen(function* () {
    const guard = yield* Guard
    const users = yield* TelegramUsers
    const tell = ({ config, id }: Channel, note: Note): Effect.Effect<void, SinkError, Guard> => {
      switch (config.type) {
        case "webhook":
          return deliverWebhook(config, note)
        case "email":
          return deliverEmail(config, note)
        case "telegram":
          return config.mode === "bot"
            ? deliverBot(config, note, options.botApi ?? botApi)
            : users.deliver({ id, config }, note)
      }
    }
    return Sinks.of({
      deliver: (channel, note) =>
        tell(channel, note).pipe(
          Effect.provideService(Guard, guard),
          Effect.timeoutFail({ duration: Duration.millis(deadlineMs), onTimeout: tooLate })
        ),
      // Only clients of Telegram accounts outlive a delivery.
      forget: users.forget
    })
  })

export const layer = (options: SinksOptions) => Layer.effect(Sinks, make(options))

const tooLate = () => new SinkError({ kind: "transient", reason: "timeout", message: "the delivery took too long" })
