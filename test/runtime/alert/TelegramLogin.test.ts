// Owns the proof that a login by hand is bounded in time, tries and number, and ends everywhere.
import { it } from "@effect/vitest"
import { Effect, Either, Fiber, Scope, TestClock } from "effect"
import { describe, expect } from "vitest"
import type { UserChannel } from "../../../runtime/alert/TelegramUser.ts"
import { type LoginError, make } from "../../../runtime/alert/TelegramLogin.ts"
import { FakeTelegram, floodWait, rpcError } from "../../support/FakeTelegram.ts"

const channel = (id = 1): UserChannel => ({
  id,
  config: {
    type: "telegram",
    mode: "mtproto",
    apiId: 5,
    apiHash: "canary-hash",
    phone: "+1",
    chatId: "self",
    session: "canary-before",
    username: ""
  }
})

const owner = "session of an administrator"

const reasonOf = <A>(running: Effect.Effect<A, LoginError>): Effect.Effect<string> =>
  Effect.map(Effect.either(running), (result) => {
    if (Either.isLeft(result)) expect(JSON.stringify(result)).not.toMatch(/canary/)
    return Either.match(result, { onLeft: ({ reason }) => reason, onRight: () => "done" })
  })

const begin = Effect.gen(function* () {
  const telegram = new FakeTelegram()
  const login = yield* make(telegram.factory)
  return { telegram, login }
})

describe("a Telegram login", () => {
  it.scoped("that is unknown, another session's or at another step is not under way", () =>
    Effect.gen(function* () {
      const { login } = yield* begin
      const { loginId } = yield* login.code(channel(), owner)

      expect(yield* reasonOf(login.verify("nobody", "12345", owner))).toBe("unknown_login")
      expect(yield* reasonOf(login.verify(loginId, "12345", "somebody else"))).toBe("unknown_login")
      expect(yield* reasonOf(login.password(loginId, "secret", owner))).toBe("unknown_login")
      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("done")
      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("unknown_login")
    })
  )

  it.scoped("that cannot begin leaves nothing behind", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      telegram.fail("connect", new Error("canary"))
      telegram.fail("requestCode", rpcError("PHONE_NUMBER_INVALID"))
      telegram.fail("requestCode", rpcError("API_ID_INVALID"))
      telegram.fail("requestCode", floodWait(60))
      const reasons = []
      for (let i = 0; i < 4; i++) reasons.push(yield* reasonOf(login.code(channel(), owner)))

      expect(reasons).toEqual(["unavailable", "refused", "refused", "rate_limited"])
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("that hangs is given up after 15 s, and ends when the caller hangs up", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      telegram.hang("requestCode")
      telegram.hang("requestCode")
      const running = yield* Effect.fork(reasonOf(login.code(channel(), owner)))
      yield* TestClock.adjust("15 seconds")
      expect(yield* Fiber.join(running)).toBe("unavailable")
      const left = yield* Effect.fork(login.code(channel(), owner))
      yield* TestClock.adjust("1 second")
      expect(telegram.openClients).toBe(1)
      yield* Fiber.interrupt(left)
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("ends at the fifth wrong code", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      const { loginId } = yield* login.code(channel(), owner)
      const reasons = []
      for (let i = 0; i < 6; i++) reasons.push(yield* reasonOf(login.verify(loginId, "00000", owner)))

      expect(reasons).toEqual([...Array(5).fill("invalid_code"), "unknown_login"])
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("ends at the fifth wrong password", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      telegram.password = "right"
      const { loginId } = yield* login.code(channel(), owner)
      expect(yield* reasonOf(login.verify(loginId, "00000", owner))).toBe("invalid_code")
      expect(yield* login.verify(loginId, "12345", owner)).toEqual({ _tag: "PasswordRequired" })
      const reasons = []
      for (let i = 0; i < 6; i++) reasons.push(yield* reasonOf(login.password(loginId, "wrong", owner)))

      expect(reasons).toEqual([...Array(5).fill("invalid_password"), "unknown_login"])
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("ends when its code is too old for Telegram", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      const { loginId } = yield* login.code(channel(), owner)
      telegram.fail("signIn", rpcError("PHONE_CODE_EXPIRED"))

      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("unknown_login")
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("ends after ten minutes, counted anew from the question for the password", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      telegram.password = "right"
      const first = yield* login.code(channel(1), owner)
      const second = yield* login.code(channel(2), owner)
      yield* TestClock.adjust("599 seconds")
      yield* login.verify(first.loginId, "12345", owner)
      yield* TestClock.adjust("1 second")
      expect(yield* reasonOf(login.verify(second.loginId, "12345", owner))).toBe("unknown_login")
      expect(telegram.openClients).toBe(1)
      yield* TestClock.adjust("598 seconds")
      expect(yield* reasonOf(login.password(first.loginId, "wrong", owner))).toBe("invalid_password")
      yield* TestClock.adjust("1 second")
      expect(yield* reasonOf(login.password(first.loginId, "right", owner))).toBe("unknown_login")
      expect(telegram.openClients).toBe(0)
    })
  )

  it.scoped("takes one step at a time", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      const { loginId } = yield* login.code(channel(), owner)
      telegram.hang("signIn")
      const first = yield* Effect.fork(reasonOf(login.verify(loginId, "12345", owner)))
      yield* TestClock.adjust("1 second")
      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("busy")
      yield* TestClock.adjust("14 seconds")
      expect(yield* Fiber.join(first)).toBe("unavailable")
      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("done")
    })
  )

  it.scoped("is one of eight at most, and one at most of a channel", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      const { loginId } = yield* login.code(channel(1), owner)
      for (let id = 1; id <= 8; id++) yield* login.code(channel(id), owner)

      expect(telegram.openClients).toBe(8)
      expect(yield* reasonOf(login.verify(loginId, "12345", owner))).toBe("unknown_login")
      expect(yield* reasonOf(login.code(channel(9), owner))).toBe("busy")
      yield* login.forget(4)
      expect(yield* reasonOf(login.code(channel(9), owner))).toBe("done")
    })
  )

  it.scoped("begins without the old session and gives the new one, by code alone or with the password", () =>
    Effect.gen(function* () {
      const { login, telegram } = yield* begin
      const begun = yield* login.code(channel(), owner)
      expect(begun).toMatchObject({ timeoutSec: 120 })
      expect(begun.loginId).toMatch(/^[0-9a-f-]{36}$/)
      const loggedIn = { _tag: "LoggedIn", channel: channel(), session: "canary-session", username: "me" }
      expect(yield* login.verify(begun.loginId, "12345", owner)).toEqual(loggedIn)

      telegram.password = "right"
      const again = yield* login.code(channel(), owner)
      expect(yield* login.verify(again.loginId, "12345", owner)).toEqual({ _tag: "PasswordRequired" })
      expect(yield* login.password(again.loginId, "right", owner)).toEqual(loggedIn)
      expect(telegram.accounts.map(({ session }) => session)).toEqual(["", ""])
      expect(telegram.openClients).toBe(0)
    })
  )

  it.effect("ends with the service", () =>
    Effect.gen(function* () {
      const telegram = new FakeTelegram()
      const scope = yield* Scope.make()
      const login = yield* make(telegram.factory).pipe(Scope.extend(scope))
      yield* login.code(channel(), owner)
      expect(telegram.openClients).toBe(1)
      yield* Scope.close(scope, yield* Effect.exit(Effect.void))

      expect(telegram.openClients).toBe(0)
    })
  )
})
