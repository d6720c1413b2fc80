// Tests of a channel: what is told when an administrator wants to see whether it works, and why it did not.
import { Clock, type Context, Duration, Effect } from "effect"
import type { ChannelTest } from "../../schema/AlertChannels.ts"
import { InvalidFields, NotifyError, NotLoggedIn } from "../../schema/Errors.ts"
import type { Channel } from "../../src/core/alert/Channel.ts"
import { type Locale, rendered, type Style } from "../../src/core/alert/Messages.ts"
import { bodyMax, titleMax } from "../../src/core/alert/MessageText.ts"
import { lineOf, paragraphOf } from "../../src/core/Line.ts"
import { type Note, SinkError, type Sinks } from "./Sink.ts"

/** Of all messages of one test (decision 32). */
const deadlineMs = 15_000

const words: Readonly<Record<Locale, { readonly title: string; readonly message: string; readonly name: string }>> = {
  en: { title: "Test message", message: "This channel works: alerts can be told here.", name: "sample" },
  zh: { title: "测试消息", message: "此渠道可用：告警会发送到这里。", name: "示例" }
}

/** A refused delivery in the words of the API; the reason is one of a closed set and comes first. */
const refusalOf = ({ message, reason }: SinkError): NotLoggedIn | NotifyError =>
  reason === "not_logged_in" ? new NotLoggedIn({ message }) : new NotifyError({ message: `${reason}: ${message}` })

const written = (write: typeof ChannelTest.Type, { locale }: Style, atMs: number) =>
  Effect.gen(function* () {
    const title = (write.title ?? "").trim()
    const message = (write.message ?? "").trim()
    const wrong = (member: string) => (why: string) => new InvalidFields({ message: `${member} ${why}` })
    const note: Note = {
      title: yield* Effect.mapError(lineOf(title || words[locale].title, titleMax), wrong("title")),
      body: yield* Effect.mapError(paragraphOf(message || words[locale].message, bodyMax), wrong("message")),
      transition: "test",
      sentAtMs: atMs,
      meta: {}
    }
    return [note]
  })

/** An alert that opens and the one that closes, so that both looks can be seen (contract, channels). */
const samples = (style: Style, atMs: number): ReadonlyArray<Note> =>
  (["opened", "closed"] as const).map((transition) => {
    const { body, title } = rendered(
      {
        transition,
        rule: {
          id: 0,
          generation: 1,
          name: words[style.locale].name,
          metric: "cpu.usage_ratio",
          operator: ">=",
          durationSec: 60
        },
        nodeId: 0,
        nodeName: words[style.locale].name,
        value: transition === "opened" ? 0.95 : 0.42,
        threshold: 0.9,
        atMs,
        reason: transition === "opened" ? null : "condition_cleared",
        lastReportMs: null
      },
      style
    )
    return { title, body, transition, sentAtMs: atMs, meta: {} }
  })

/** Tells what was given, or the samples where the channel is a bot; whether the channel is enabled is not asked. */
export const testSend = (
  sinks: Context.Tag.Service<typeof Sinks>,
  style: Style,
  channel: Channel,
  write: typeof ChannelTest.Type
): Effect.Effect<void, InvalidFields | NotLoggedIn | NotifyError> =>
  Effect.gen(function* () {
    const atMs = yield* Clock.currentTimeMillis
    const { config } = channel
    const isBot = config.type === "telegram" && config.mode === "bot"
    const notes = isBot ? samples(style, atMs) : yield* written(write, style, atMs)
    yield* Effect.forEach(notes, (note) => sinks.deliver(channel, note), { discard: true }).pipe(
      Effect.timeoutFail({ duration: Duration.millis(deadlineMs), onTimeout: tooLate }),
      Effect.mapError(refusalOf)
    )
  })

const tooLate = () => new SinkError({ kind: "transient", reason: "timeout", message: "the test took too long" })
