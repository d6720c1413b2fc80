// Owns the proof that each channel is told its way, and that its configuration rests sealed.
import { it as effectIt } from "@effect/vitest"
import { Effect, Either, Fiber, Layer, TestClock } from "effect"
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { make as makeVault } from "../../../src/auth/Vault.ts"
import type { Channel, ChannelConfig } from "../../../src/core/alert/Channel.ts"
import { openedConfig, sealedConfig } from "../../../runtime/alert/ChannelSeal.ts"
import { Guard, layer as guardLayer, make as makeGuard } from "../../../runtime/alert/Guard.ts"
import { type Note, Sinks } from "../../../runtime/alert/Sink.ts"
import { layer } from "../../../runtime/alert/Sinks.ts"
import { layer as usersLayer } from "../../../runtime/alert/TelegramUser.ts"
import { FakeTelegram } from "../../support/FakeTelegram.ts"
import { replyWith, startReceiver } from "../../support/Receiver.ts"
import { startSmtp } from "../../support/SmtpServer.ts"

const channelOf = (config: ChannelConfig): Channel => ({
  id: 3,
  name: "n",
  enabled: true,
  config,
  revision: 1,
  createdAt: 0,
  updatedAt: 0
})

const note: Note = { title: "t", body: "b", transition: "test", sentAtMs: 0, meta: {} }

const account: ChannelConfig = {
  type: "telegram",
  mode: "mtproto",
  apiId: 1,
  apiHash: "canary-hash",
  phone: "+1",
  chatId: "@x",
  session: "canary-session",
  username: ""
}

describe("the sinks", () => {
  it("tell each kind of channel its way", async () => {
    const receiver = await startReceiver(replyWith(200, {}, '{"ok":true}'))
    const smtp = await startSmtp({})
    const telegram = new FakeTelegram()
    const configs: ReadonlyArray<ChannelConfig> = [
      { type: "webhook", url: `${receiver.url}/hook`, headers: {}, secret: "" },
      {
        type: "email",
        smtpHost: "127.0.0.1",
        smtpPort: smtp.port,
        username: "",
        password: "",
        from: "a@example.com",
        to: ["b@example.com"],
        useTls: false
      },
      { type: "telegram", mode: "bot", botToken: "1:a", chatId: "7" },
      account
    ]
    const sent = Effect.gen(function* () {
      const sinks = yield* Sinks
      yield* Effect.forEach(configs, (config) => sinks.deliver(channelOf(config), note))
      expect(telegram.openClients).toBe(1)
      yield* sinks.forget(3)
    })
    await Effect.runPromise(
      sent.pipe(
        Effect.provide(
          layer({ botApi: receiver.url }).pipe(
            Layer.provide(Layer.merge(guardLayer({ allowPrivate: true }), usersLayer(telegram.factory)))
          )
        )
      )
    )
    await Promise.all([receiver.close(), smtp.close()])

    expect(receiver.received.map(({ path }) => path)).toEqual(["/hook", "/bot1:a/sendMessage"])
    expect(smtp.mails).toHaveLength(1)
    expect(telegram.sent).toMatchObject([{ target: "@x", text: "t\nb" }])
    expect(telegram.openClients).toBe(0)
  })

  effectIt.effect("give up on whatever takes longer than 15 s", () =>
    Effect.gen(function* () {
      const sinks = yield* Sinks
      const config: ChannelConfig = { type: "webhook", url: "http://a.example/", headers: {}, secret: "" }
      const running = yield* Effect.fork(Effect.either(sinks.deliver(channelOf(config), note)))
      yield* TestClock.adjust("15 seconds")
      expect(Either.flip(yield* Fiber.join(running))).toMatchObject({ right: { kind: "transient", reason: "timeout" } })
    }).pipe(
      Effect.provide(
        layer({}).pipe(
          Layer.provide(
            Layer.merge(
              Layer.succeed(Guard, Guard.of({ ...makeGuard({ allowPrivate: false }), post: () => Effect.never })),
              usersLayer(new FakeTelegram().factory)
            )
          )
        )
      )
    )
  )
})

describe("a configuration at rest", () => {
  const vault = makeVault(randomBytes(32))
  const { sealed, shown } = sealedConfig(vault, 3, account)

  it("opens neither in another row, nor with another key, nor after a change", () => {
    expect(openedConfig(vault, 4, sealed)).toBeUndefined()
    expect(openedConfig(makeVault(randomBytes(32)), 3, sealed)).toBeUndefined()
    expect(
      openedConfig(vault, 3, `${sealed.slice(0, 20)}${sealed[20] === "A" ? "B" : "A"}${sealed.slice(21)}`)
    ).toBeUndefined()
    expect(openedConfig(vault, 3, vault.seal("{}", "alert_channels:3"))).toBeUndefined()
  })

  it("opens in its own row, and shows no secret before", () => {
    expect(openedConfig(vault, 3, sealed)).toEqual(account)
    expect(`${shown}${sealed}`).not.toMatch(/canary/)
  })
})
