// /api/admin/alerts/channels: whom to tell, tests of it, and the login of Telegram accounts.
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Schema } from "effect"
import { ChannelTest, LoginCode, LoginPassword } from "../../schema/AlertChannels.ts"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import {
  InvalidCode,
  InvalidFields,
  InvalidPassword,
  InvalidRequest,
  NotFound,
  NotifyError,
  RateLimited
} from "../../schema/Errors.ts"
import { channelAnswer } from "../../src/core/alert/AlertAnswers.ts"
import * as AlertAdmin from "../alert/AlertAdmin.ts"
import type { Written } from "../alert/AlertChanges.ts"
import { Sinks } from "../alert/Sink.ts"
import { type LoggedIn, LoginError, type PasswordRequired, TelegramLogin } from "../alert/TelegramLogin.ts"
import { TelegramUsers } from "../alert/TelegramUser.ts"
import { testSend } from "../alert/TestSend.ts"
import { AppConfig } from "../Config.ts"
import { answered, createdAt } from "./ChangeAnswer.ts"

export const layer = HttpApiBuilder.group(Api, "alertChannels", (handlers) =>
  Effect.gen(function* () {
    const admin = yield* AlertAdmin.make
    const sinks = yield* Sinks
    const { language: locale, timezone: zone } = yield* AppConfig
    const { code, password, ping, verify } = yield* makeLogin(admin)
    return (
      handlers
        .handle("list", () => Effect.map(admin.list, (rows) => rows.map(channelAnswer)))
        .handle("read", ({ path }) => Effect.map(admin.read(path.id), channelAnswer))
        .handle("create", ({ payload }) =>
          Effect.map(admin.create(payload), (written) => createdAt("/api/admin/alerts/channels", written))
        )
        .handle("replace", ({ path, payload }) => Effect.map(admin.replace(path.id, payload), answered))
        .handle("switch", ({ path, payload }) => Effect.map(admin.setEnabled(path.id, payload), answered))
        .handle("remove", ({ path }) => Effect.map(admin.remove(path.id), answered))
        // Raw, because a test may come without a body.
        .handleRaw("test", ({ path, request }) =>
          Effect.gen(function* () {
            const write = yield* bodyOf(request, ChannelTest, "{}")
            yield* testSend(sinks, { locale, zone }, yield* admin.find(path.id), write)
            return HttpServerResponse.empty({ status: 204 })
          })
        )
        .handle("loginCode", ({ payload }) => code(payload.channel_id))
        // Raw, because what is wrong with a code or a password must not be told by quoting it.
        .handleRaw("loginVerify", ({ request }) =>
          Effect.flatMap(bodyOf(request, LoginCode), (body) => verify(body.login_id, body.code))
        )
        .handleRaw("loginPassword", ({ request }) =>
          Effect.flatMap(bodyOf(request, LoginPassword), (body) => password(body.login_id, body.password))
        )
        .handle("loginPing", ({ payload }) => ping(payload.channel_id))
    )
  })
)

type Request = HttpServerRequest.HttpServerRequest

const bodyOf = <A, I>(
  request: Request,
  schema: Schema.Schema<A, I>,
  whenEmpty?: string
): Effect.Effect<A, InvalidRequest> =>
  request.text.pipe(
    Effect.flatMap((text) => Schema.decodeUnknown(Schema.parseJson(schema))(text.trim() || (whenEmpty ?? text))),
    Effect.mapError(() => new InvalidRequest({ message: "the body must be a JSON object of the documented members" }))
  )

/** Longest code and password that are tried. */
const secretMax = 1024

const required = (name: string, text: string): Effect.Effect<void, InvalidFields> => {
  if (text.trim() === "") return Effect.fail(new InvalidFields({ message: `${name} must not be blank` }))
  if (text.length <= secretMax) return Effect.void
  return Effect.fail(new InvalidFields({ message: `${name} must be at most ${secretMax} characters` }))
}

const notified = ({ message, reason }: LoginError) => new NotifyError({ message: `${reason}: ${message}` })

/** How each step tells that it failed; a code that is wrong is nothing that the step with the password can meet. */
const startRefusal = (error: LoginError) =>
  error.reason === "rate_limited" ? new RateLimited({ message: waiting(error) }) : notified(error)
const codeRefusal = (error: LoginError) => {
  if (error.reason === "unknown_login") return new NotFound({ message: error.message })
  return error.reason === "invalid_code" ? new InvalidCode({ message: error.message }) : notified(error)
}
const passwordRefusal = (error: LoginError) => {
  if (error.reason === "unknown_login") return new NotFound({ message: error.message })
  return error.reason === "invalid_password" ? new InvalidPassword({ message: error.message }) : notified(error)
}
const waiting = ({ message, retryAfterMs }: LoginError): string =>
  retryAfterMs === undefined ? message : `${message}: ${Math.ceil(retryAfterMs / 1000)} seconds`

/** A login belongs to the session that began it. */
const owner = Effect.map(CurrentViewer, (viewer) => (viewer._tag === "Admin" ? viewer.sessionId : ""))

const makeLogin = (admin: Effect.Effect.Success<typeof AlertAdmin.make>) =>
  Effect.gen(function* () {
    const logins = yield* TelegramLogin
    const users = yield* TelegramUsers
    /** Whoever leaves after the last step must not lose the login that it won. */
    const kept = <E, R>(step: Effect.Effect<LoggedIn | PasswordRequired, E, R>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(step), (won) =>
          won._tag === "LoggedIn"
            ? Effect.map(admin.keepLogin(won), (written): Written<void> | undefined => written)
            : Effect.succeed(undefined)
        )
      )
    return {
      code: (channelId: number) =>
        Effect.gen(function* () {
          const account = yield* admin.account(channelId)
          const begun = yield* Effect.mapError(logins.code(account, yield* owner), startRefusal)
          return {
            login_id: begun.loginId,
            ...(begun.timeoutSec === undefined ? {} : { timeout: begun.timeoutSec })
          }
        }),
      verify: (loginId: string, text: string) =>
        Effect.gen(function* () {
          yield* required("login_id", loginId)
          yield* required("code", text)
          const by = yield* owner
          const written = yield* kept(Effect.mapError(logins.verify(loginId.trim(), text.trim(), by), codeRefusal))
          return written === undefined ? { password_required: true as const } : answered(written)
        }),
      password: (loginId: string, text: string) =>
        Effect.gen(function* () {
          yield* required("login_id", loginId)
          yield* required("password", text)
          const by = yield* owner
          const written = yield* kept(Effect.mapError(logins.password(loginId.trim(), text, by), passwordRefusal))
          return written === undefined ? undefined : answered(written)
        }),
      ping: (channelId: number) =>
        Effect.flatMap(admin.account(channelId), (account) =>
          Effect.mapError(users.ping(account), ({ message, reason }) => {
            return new NotifyError({ message: `${reason}: ${message}` })
          })
        )
    }
  })
