// Logs Telegram accounts in by hand, step by step: code, verify, password. What is begun is kept in memory only.
import { Clock, Context, Data, Duration, Effect, ExecutionStrategy, Exit, FiberMap, Layer, Option, Scope } from "effect"
import { randomUUID } from "node:crypto"
import type { TelegramClientLike, TelegramFactory } from "./TelegramClient.ts"
import { faultOf, telegramError } from "./TelegramFault.ts"
import { connected, type UserChannel } from "./TelegramUser.ts"

/** A login that is not finished in this time is dropped (contract, channels). */
const lifeMs = 600_000
/** Each keeps a connection to Telegram; a person logs in one account at a time. */
const loginsMax = 8
/** Codes have five digits and Telegram counts too; more tries than this are guessing. */
const attemptsMax = 5
const stepMs = 15_000

export class LoginError extends Data.TaggedError("LoginError")<{
  readonly reason:
    "unknown_login" | "invalid_code" | "invalid_password" | "busy" | "rate_limited" | "refused" | "unavailable"
  /** The wait Telegram asked for. */
  readonly retryAfterMs?: number
  /** For the administrator's eyes: our own words. */
  readonly message: string
}> {}

export interface LoggedIn {
  readonly _tag: "LoggedIn"
  /** The channel as it was when the login began: store the session only while its account is still this one. */
  readonly channel: UserChannel
  /** A secret as good as the account itself. */
  readonly session: string
  readonly username: string
}

export interface PasswordRequired {
  readonly _tag: "PasswordRequired"
}

export class TelegramLogin extends Context.Tag("runtime/alert/TelegramLogin")<
  TelegramLogin,
  {
    /** Asks Telegram for a code. `owner` names the session of the administrator: no other one can go on with it. */
    readonly code: (
      channel: UserChannel,
      owner: string
    ) => Effect.Effect<{ readonly loginId: string; readonly timeoutSec?: number }, LoginError>
    readonly verify: (
      loginId: string,
      code: string,
      owner: string
    ) => Effect.Effect<LoggedIn | PasswordRequired, LoginError>
    readonly password: (loginId: string, password: string, owner: string) => Effect.Effect<LoggedIn, LoginError>
    /** Ends what is begun for a channel. */
    readonly forget: (channelId: number) => Effect.Effect<void>
  }
>() {}

interface Login {
  readonly id: string
  readonly channel: UserChannel
  readonly owner: string
  readonly scope: Scope.CloseableScope
  readonly turn: Effect.Semaphore
  step: "code" | "password"
  client: TelegramClientLike | undefined
  codeHash: string
  attempts: number
  expiresAt: number
}

/** The logins that are begun, each with the connection it needs and the fiber that ends it. */
const makeLogins = Effect.gen(function* () {
  const all = new Map<string, Login>()
  const timers = yield* FiberMap.make<string>()
  const scope = yield* Effect.scope
  const drop = (login: Login) =>
    Effect.suspend(() => {
      all.delete(login.id)
      return Scope.close(login.scope, Exit.void)
    }).pipe(Effect.uninterruptible)
  const expire = Effect.fnUntraced(function* (login: Login) {
    for (;;) {
      const leftMs = login.expiresAt - (yield* Clock.currentTimeMillis)
      if (leftMs <= 0) break
      yield* Effect.sleep(Duration.millis(leftMs))
    }
    yield* drop(login)
  })
  const end = (login: Login) => drop(login).pipe(Effect.zipRight(FiberMap.remove(timers, login.id)))
  const forget = (channelId: number) =>
    Effect.suspend(() =>
      Effect.forEach(
        Array.from(all.values()).filter(({ channel }) => channel.id === channelId),
        end,
        { discard: true }
      )
    )
  return {
    end,
    forget,
    begin: Effect.fnUntraced(function* (channel: UserChannel, owner: string) {
      yield* forget(channel.id)
      if (all.size >= loginsMax) return yield* failed("busy", "too many logins are under way")
      const login: Login = {
        id: randomUUID(),
        channel,
        owner,
        scope: yield* Scope.fork(scope, ExecutionStrategy.sequential),
        turn: Effect.unsafeMakeSemaphore(1),
        step: "code",
        client: undefined,
        codeHash: "",
        attempts: 0,
        expiresAt: (yield* Clock.currentTimeMillis) + lifeMs
      }
      all.set(login.id, login)
      yield* FiberMap.run(timers, login.id, expire(login))
      return login
    }),
    /** The login of this id, while it waits for this step and is this owner's. */
    find: Effect.fnUntraced(function* (id: string, step: Login["step"], owner: string) {
      const login = all.get(id)
      const now = yield* Clock.currentTimeMillis
      const client = login?.client
      if (login === undefined || client === undefined || login.expiresAt <= now) return yield* gone()
      if (login.owner !== owner || login.step !== step) return yield* gone()
      return { login, client }
    })
  }
})

export const make = (factory: TelegramFactory) =>
  Effect.gen(function* () {
    const logins = yield* makeLogins
    /** One try at a step; the login ends when it was the last one. */
    const attempt = <A>(
      id: string,
      step: Login["step"],
      owner: string,
      act: (login: Login, client: TelegramClientLike) => Effect.Effect<A, LoginError>
    ): Effect.Effect<A, LoginError> =>
      Effect.gen(function* () {
        const { client, login } = yield* logins.find(id, step, owner)
        const tried = yield* Effect.suspend(() => {
          // Counted before it is made, so that hanging up in the middle wins no extra try.
          login.attempts += 1
          return act(login, client)
        }).pipe(
          inTime,
          Effect.onError(() => (login.attempts >= attemptsMax ? logins.end(login) : Effect.void)),
          Effect.tapError((error) => (error.reason === "unknown_login" ? logins.end(login) : Effect.void)),
          login.turn.withPermitsIfAvailable(1)
        )
        if (Option.isNone(tried)) return yield* failed("busy", "this login has a step under way")
        return tried.value
      })
    const finish = (login: Login, client: TelegramClientLike) =>
      Effect.gen(function* () {
        const { username } = yield* ask(() => client.self())
        const session = client.session()
        yield* logins.end(login)
        return { _tag: "LoggedIn", channel: login.channel, session, username } satisfies LoggedIn
      })
    return TelegramLogin.of({
      forget: logins.forget,
      code: (channel, owner) =>
        Effect.flatMap(logins.begin(channel, owner), (login) => requested(factory, logins, login)),
      verify: (loginId, code, owner) =>
        attempt<LoggedIn | PasswordRequired>(loginId, "code", owner, (login, client) =>
          Effect.flatMap(
            ask(() => signedIn(login, client, code)),
            (isIn): Effect.Effect<LoggedIn | PasswordRequired, LoginError> =>
              isIn ? finish(login, client) : passwordStep(login)
          )
        ),
      password: (loginId, password, owner) =>
        attempt(loginId, "password", owner, (login, client) =>
          Effect.zipRight(
            ask(() => client.signInWithPassword(password)),
            finish(login, client)
          )
        )
    })
  })

export const layer = (factory: TelegramFactory) => Layer.scoped(TelegramLogin, make(factory))

const requested = (factory: TelegramFactory, logins: Effect.Effect.Success<typeof makeLogins>, login: Login) =>
  Effect.gen(function* () {
    const { apiHash, apiId, phone } = login.channel.config
    const client = yield* connected(factory, { apiId, apiHash, session: "" }).pipe(
      Scope.extend(login.scope),
      Effect.mapError(({ message }) => failed("unavailable", message))
    )
    const sent = yield* ask(() => client.requestCode(phone))
    login.client = client
    login.codeHash = sent.codeHash
    return { loginId: login.id, ...(sent.timeoutSec === undefined ? {} : { timeoutSec: sent.timeoutSec }) }
  }).pipe(
    inTime,
    Effect.onError(() => logins.end(login))
  )

/** False when the code was right and the account has a password besides. */
const signedIn = async (login: Login, client: TelegramClientLike, code: string): Promise<boolean> => {
  try {
    await client.signIn(login.channel.config.phone, login.codeHash, code)
    return true
  } catch (cause) {
    if (faultOf(cause).name === "SESSION_PASSWORD_NEEDED") return false
    throw cause
  }
}

const passwordStep = Effect.fnUntraced(function* (login: Login) {
  login.step = "password"
  login.attempts = 0
  login.expiresAt = (yield* Clock.currentTimeMillis) + lifeMs
  return { _tag: "PasswordRequired" } satisfies PasswordRequired
})

const inTime = <A, R>(step: Effect.Effect<A, LoginError, R>): Effect.Effect<A, LoginError, R> =>
  Effect.timeoutFail(step, {
    duration: Duration.millis(stepMs),
    onTimeout: () => failed("unavailable", "Telegram did not answer in time")
  })

const ask = <A>(act: () => Promise<A>): Effect.Effect<A, LoginError> =>
  Effect.tryPromise({ try: act, catch: loginError })

const failed = (reason: LoginError["reason"], message: string, retryAfterMs?: number) =>
  new LoginError({ reason, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })

const gone = () => failed("unknown_login", "this login is not under way any more")

const loginError = (cause: unknown): LoginError => {
  const { name, waitMs } = faultOf(cause)
  if (waitMs !== undefined) return failed("rate_limited", "Telegram asks to wait before the next try", waitMs)
  if (/^PHONE_CODE_(INVALID|EMPTY)$/.test(name)) return failed("invalid_code", "the code is wrong")
  if (name === "PHONE_CODE_EXPIRED") return failed("unknown_login", "the code is not valid any more")
  if (/^(PASSWORD_HASH_INVALID|SRP_PASSWORD_CHANGED)$/.test(name))
    return failed("invalid_password", "the password is wrong")
  if (name.startsWith("PHONE_NUMBER_")) return failed("refused", "Telegram refuses the telephone number")
  if (name.startsWith("API_ID_")) return failed("refused", "Telegram does not know the api_id and api_hash")
  return failed("unavailable", telegramError(cause).message)
}
