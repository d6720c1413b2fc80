// Owns the proof that Telegram accounts are kept, let go and told apart as they fail.
import { it } from "@effect/vitest"
import { Effect, Either, Fiber, TestClock } from "effect"
import { errors } from "telegram"
import { describe, expect, vi } from "vitest"
import type { Note, SinkError } from "../../../runtime/alert/Sink.ts"
import { bareId, gramClient } from "../../../runtime/alert/TelegramClient.ts"
import { telegramError } from "../../../runtime/alert/TelegramFault.ts"
import { make, type UserChannel } from "../../../runtime/alert/TelegramUser.ts"
import { FakeTelegram, floodWait, rpcError } from "../../support/FakeTelegram.ts"

const channel = (id = 1, session = "canary-session"): UserChannel => ({
  id,
  config: {
    type: "telegram",
    mode: "mtproto",
    apiId: 5,
    apiHash: "canary-hash",
    phone: "+1",
    chatId: "self",
    session,
    username: ""
  }
})

const note = (key: string): Note => ({
  title: "t",
  body: "b",
  transition: "opened",
  sentAtMs: 0,
  meta: { dedupe_key: key }
})

const outcome = (result: Either.Either<unknown, SinkError>): string => {
  expect(JSON.stringify(result)).not.toMatch(/canary/)
  return Either.match(result, { onLeft: ({ kind, reason }) => `${kind} ${reason}`, onRight: () => "sent" })
}

describe("a Telegram account", () => {
  it.scoped("without a login tells nothing and is not connected", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)

      expect(outcome(yield* Effect.either(users.deliver(channel(1, ""), note("a"))))).toBe("permanent not_logged_in")
      expect(yield* users.ping(channel(1, ""))).toEqual({ valid: false, reason: "not_logged_in" })
      expect(telegram.accounts).toEqual([])
    })
  )

  it.scoped("that fails is asked anew by the next delivery, on a client of its own", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      telegram.fail("connect", new Error("canary"))
      telegram.fail("send", rpcError("AUTH_KEY_UNREGISTERED", 401))
      const outcomes = []
      for (const key of ["a", "a", "a", "b"]) {
        outcomes.push(outcome(yield* Effect.either(users.deliver(channel(), note(key)))))
      }

      expect(outcomes).toEqual(["transient unknown", "permanent invalid_session", "sent", "sent"])
      expect(telegram.accounts).toHaveLength(3)
      expect(telegram.openClients).toBe(1)
    })
  )

  it.scoped("that hangs while connecting or telling is given up after 15 s and let go", () =>
    Effect.gen(function* () {
      for (const call of ["connect", "send", "close"] as const) {
        const telegram = new FakeTelegram()
        const users = yield* make(telegram.factory)
        telegram.hang(call)
        if (call === "close") telegram.hang("send")
        const running = yield* Effect.fork(Effect.either(users.deliver(channel(), note("a"))))
        yield* TestClock.adjust("15 seconds")
        yield* TestClock.adjust("3 seconds")

        expect(outcome(yield* Fiber.join(running))).toBe("transient timeout")
        expect(telegram.openClients).toBe(0)
        expect(outcome(yield* Effect.either(users.deliver(channel(), note("a"))))).toBe("sent")
      }
    })
  )

  it.scoped("that is interrupted in the middle of a message is let go", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      telegram.hang("send")
      const running = yield* Effect.fork(users.deliver(channel(), note("a")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(running)

      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("that asks to wait stays connected", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      telegram.fail("send", floodWait(9))
      const result = yield* Effect.either(users.deliver(channel(), note("a")))

      expect(result).toMatchObject({ left: { kind: "rate_limited", retryAfterMs: 9000 } })
      expect(telegram.openClients).toBe(1)
    })
  )

  it.scoped("gets a repeated note under the same id, and one it has already counts as told", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      yield* users.deliver(channel(), note("a"))
      yield* users.deliver(channel(), note("a"))
      yield* users.deliver(channel(), note("b"))
      const [first, second, third] = telegram.sent.map(({ id }) => id)

      expect(first).toBe(second)
      expect(third).not.toBe(first)
      expect(telegram.sent[0]).toMatchObject({ target: "self", text: "t\nb" })
      telegram.fail("send", rpcError("RANDOM_ID_DUPLICATE"))
      expect(outcome(yield* Effect.either(users.deliver(channel(), note("a"))))).toBe("sent")
    })
  )

  it.scoped("is left after five minutes without a note, when it is forgotten, and when its login changes", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      yield* users.deliver(channel(), note("a"))
      yield* TestClock.adjust("299 seconds")
      expect(telegram.openClients).toBe(1)
      yield* TestClock.adjust("2 seconds")
      expect(telegram.openClients).toBe(0)
      yield* users.deliver(channel(1), note("a"))
      yield* users.deliver(channel(1, "canary-other"), note("a"))
      yield* users.deliver(channel(2), note("a"))
      expect(telegram.accounts.at(-2)?.session).toBe("canary-other")
      yield* users.forget(1)
      expect(telegram.openClients).toBe(1)
    })
  )

  it.scoped("waits for a free place where sixteen are connected", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      for (let id = 1; id <= 16; id++) yield* users.deliver(channel(id), note("a"))

      expect(outcome(yield* Effect.either(users.deliver(channel(17), note("a"))))).toBe("transient connect")
      yield* users.forget(3)
      expect(outcome(yield* Effect.either(users.deliver(channel(17), note("a"))))).toBe("sent")
    })
  )

  it.scoped("says whether its login still holds, and fails where nobody knows", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const users = yield* make(telegram.factory)
      expect(yield* users.ping(channel())).toEqual({ valid: true })
      telegram.fail("self", rpcError("SESSION_REVOKED", 401))
      expect(yield* users.ping(channel())).toEqual({ valid: false, reason: "invalid_session" })
      telegram.fail("self", rpcError("INTERNAL", 500))
      expect(outcome(yield* Effect.either(users.ping(channel())))).toBe("transient server_error")
    })
  )
})

describe("Telegram's own errors", () => {
  const request = Object.create(null)
  const table: ReadonlyArray<readonly [string, number, string]> = [
    ["AUTH_KEY_UNREGISTERED", 401, "permanent invalid_session"],
    ["SESSION_REVOKED", 401, "permanent invalid_session"],
    ["AUTH_KEY_DUPLICATED", 406, "permanent invalid_session"],
    ["API_ID_INVALID", 400, "permanent config"],
    ["CHAT_WRITE_FORBIDDEN", 403, "permanent rejected"],
    ["PEER_ID_INVALID", 400, "permanent rejected"],
    ["RPC_CALL_FAIL", 500, "transient server_error"],
    ["Timeout", -503, "transient unknown"],
    ["FLOOD_WAIT_33", 420, "rate_limited rate_limited"],
    ["SLOWMODE_WAIT_5", 420, "rate_limited rate_limited"]
  ]
  for (const [name, code, expected] of table) {
    it(`${name} is ${expected}`, () => {
      const error = errors.RPCMessageToError(
        Object.assign(Object.create(null), { errorMessage: name, errorCode: code }),
        request
      )

      expect(outcome(Either.left(telegramError(error)))).toBe(expected)
    })
  }

  it("name the time to wait", () => {
    const error = errors.RPCMessageToError(
      Object.assign(Object.create(null), { errorMessage: "FLOOD_WAIT_33", errorCode: 420 }),
      request
    )

    expect(telegramError(error)).toMatchObject({ retryAfterMs: 33_000 })
  })
})

describe("the real client", () => {
  it("is made and closed without a word to anyone", async () => {
    const said = (["log", "info", "warn", "error"] as const).map((name) => vi.spyOn(console, name))
    const client = await gramClient({ apiId: 5, apiHash: "hash", session: "" })

    expect(client.session()).toBe("")
    await client.close()
    expect(said.map(({ mock }) => mock.calls)).toEqual([[], [], [], []])
    vi.restoreAllMocks()
  })

  it("refuses a session that is none", async () => {
    await expect(gramClient({ apiId: 5, apiHash: "hash", session: "nonsense" })).rejects.toThrow()
  })
})

describe("a chat named by a number", () => {
  it("loses the marks of channels and groups; a name stays a name", () => {
    expect(["-1001234", "-77", "77", "@name", "name7", "-100", "self"].map(bareId)).toEqual([
      "1234",
      "77",
      "77",
      undefined,
      undefined,
      "100",
      undefined
    ])
  })
})
