// Login, refresh and revocation: the one place that decides who is the administrator.
import { Clock, Context, Data, Effect, Layer, Option, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { AuthUnavailable, Unauthorized } from "../schema/Errors.ts"
import { SessionId } from "../schema/Ids.ts"
import { Viewer } from "../schema/Session.ts"
import * as AccessTokens from "../src/auth/AccessTokens.ts"
import * as Gate from "../src/auth/Gate.ts"
import * as LoginLimit from "../src/auth/LoginLimit.ts"
import { Password } from "../src/auth/Password.ts"
import { digest, familyOf, makeRefresh, refreshLifetimeMs, standing } from "../src/auth/Tokens.ts"
import { Vault } from "../src/auth/Vault.ts"
import { type SessionRecord, SessionStore } from "../src/store/Sessions.ts"

/** Too many failed logins from this network or from everywhere, or too many logins at once. */
export class LoginRefused extends Data.TaggedError("LoginRefused")<LoginLimit.Refusal> {}

export interface LoginAttempt {
  readonly password: Redacted.Redacted
  /** The cookies end with the browser session; the family itself lives as long as any other. */
  readonly sessionOnly: boolean
  /** Client address, as ClientAddress found it. */
  readonly address: string
}

/** What login and refresh hand out. Times in milliseconds since 1970. */
export interface Granted {
  readonly sessionId: SessionId
  readonly access: AccessTokens.AccessToken
  readonly refresh: { readonly token: Redacted.Redacted; readonly expiresAt: number }
  readonly sessionOnly: boolean
}

export class Sessions extends Context.Tag("runtime/Sessions")<
  Sessions,
  {
    /** Contract 2.7: the first check of a login, before its body is read. */
    readonly admitted: (address: string) => Effect.Effect<void, LoginRefused>
    readonly login: (attempt: LoginAttempt) => Effect.Effect<Granted, Unauthorized | LoginRefused | AuthUnavailable>
    /** Rotates the token; showing a consumed one ends its family (decision 36). */
    readonly refresh: (token: Redacted.Redacted) => Effect.Effect<Granted, Unauthorized | AuthUnavailable>
    /** Ends the family that the token names, whatever its age; an unknown token is no error. */
    readonly logout: (token: Redacted.Redacted) => Effect.Effect<void, AuthUnavailable>
    readonly list: Effect.Effect<ReadonlyArray<SessionRecord>, AuthUnavailable>
    /** An unknown id is no error. */
    readonly revoke: (id: SessionId) => Effect.Effect<void, AuthUnavailable>
    readonly revokeAll: Effect.Effect<void, AuthUnavailable>
    /** The administrator behind an access token, or undefined; reads memory only. */
    readonly verify: (token: string) => Viewer | undefined
    /** Drops one slice of dead rows; every login does so too. */
    readonly purge: Effect.Effect<void, AuthUnavailable>
    readonly stats: () => {
      readonly accessTokens: number
      readonly accessTokensEvicted: number
      readonly loginsRefused: number
    }
  }
>() {}

/** One change at a time: each is a few rows, and what is in memory must agree with what is on disk. */
const size: Gate.GateSize = { permits: 1, waitingMax: 256, waitMs: 5_000 }

const unavailable = () => new AuthUnavailable({ message: "sessions cannot be reached at the moment" })
const refused = { full: unavailable, late: unavailable }
const wrongPassword = () => new Unauthorized({ message: "the password is wrong" })
const notLoggedIn = () => new Unauthorized({ message: "the session is over, log in again" })

interface Parts {
  readonly store: Context.Tag.Service<typeof SessionStore>
  readonly vault: Context.Tag.Service<typeof Vault>
  readonly password: Context.Tag.Service<typeof Password>
  readonly access: AccessTokens.AccessTokens
  readonly limit: LoginLimit.FailureLimit
  readonly gate: Gate.Gate
}

const toUnavailable = Effect.mapError(unavailable)
/** A parent's grace is for the row in which its successor was sealed. */
const sealContext = (id: SessionId, parentDigest: string): string => `sessions/${id}/${parentDigest}`

const makeAdmitted =
  ({ limit }: Parts) =>
  (address: string): Effect.Effect<void, LoginRefused> =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const refusal = limit.blocked(address, nowMs)
      return refusal === undefined ? Effect.void : Effect.fail(new LoginRefused(refusal))
    })

const makeJudged =
  ({ limit }: Parts) =>
  (address: string) =>
  (right: boolean): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      if (right) return Effect.sync(() => limit.succeeded(address))
      limit.failed(address, nowMs)
      return Effect.logWarning("a login failed").pipe(Effect.annotateLogs({ address }))
    })

/** The queue before the hash is a fraction of a second long; nothing was counted against the client. */
const crowded = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
  Effect.fail(
    new LoginRefused({
      limit: LoginLimit.loginQuota.perNetwork,
      remaining: 0,
      resetSec: Math.ceil(nowMs / 1000) + 1,
      retryAfterSec: 1
    })
  )
)

const makeLogin = (parts: Parts) => {
  const { access, gate, password, store, vault } = parts
  const admitted = makeAdmitted(parts)
  const judged = makeJudged(parts)

  const open = Effect.fnUntraced(function* (sessionOnly: boolean) {
    const nowMs = yield* Clock.currentTimeMillis
    const id = SessionId.make(randomUUID())
    const token = makeRefresh(vault, id)
    const expiresAt = nowMs + refreshLifetimeMs
    const displaced = yield* toUnavailable(
      store.open({ id, tokenDigest: digest(token), sessionOnly, expiresAt }, nowMs)
    )
    for (const old of displaced) access.revoke(old)
    return granted(parts, { id, sessionOnly, expiresAt }, token, nowMs)
  })

  return Effect.fn("Sessions.login")(function* (attempt: LoginAttempt) {
    // Asked again in the turn itself: attempts that arrive together must not all be judged by the same count.
    const right = yield* password
      .check(attempt.password, { admitted: admitted(attempt.address), judged: judged(attempt.address) })
      .pipe(Effect.catchTag("RateLimited", () => crowded))
    if (!right) return yield* wrongPassword()
    return yield* gate.enter(open(attempt.sessionOnly), refused)
  })
}

const granted = (
  { access }: Parts,
  session: { readonly id: SessionId; readonly sessionOnly: boolean; readonly expiresAt: number },
  token: string,
  nowMs: number
): Granted => ({
  sessionId: session.id,
  access: access.issue(session.id, nowMs),
  refresh: { token: Redacted.make(token), expiresAt: session.expiresAt },
  sessionOnly: session.sessionOnly
})

const makeRefreshing = (parts: Parts) => {
  const { access, gate, store, vault } = parts

  const rotate = Effect.fnUntraced(function* (id: SessionId, token: string) {
    const nowMs = yield* Clock.currentTimeMillis
    const from = digest(token)
    const successor = makeRefresh(vault, id)
    const sealed = vault.seal(successor, sealContext(id, from))
    const rotation = { id, from, to: digest(successor), sealed, expiresAt: nowMs + refreshLifetimeMs }
    const rotated = yield* toUnavailable(store.rotate(rotation, nowMs))
    if (Option.isSome(rotated)) return granted(parts, rotated.value, successor, nowMs)

    const family = Option.getOrUndefined(yield* toUnavailable(store.find(id)))
    const found = standing(family, from, nowMs)
    if (found === "reused") {
      access.revoke(id)
      yield* Effect.logWarning("a consumed refresh token was shown again; its session is revoked").pipe(
        Effect.annotateLogs({ session: id })
      )
      yield* toUnavailable(store.revoke(id, nowMs))
    }
    if (found !== "lost" || family?.successorSealed == null) return yield* notLoggedIn()
    const same = vault.open(family.successorSealed, sealContext(id, from))
    return same === undefined ? yield* notLoggedIn() : granted(parts, family, same, nowMs)
  })

  return Effect.fn("Sessions.refresh")(function* (token: Redacted.Redacted) {
    const text = Redacted.value(token)
    const id = familyOf(vault, text)
    if (id === undefined) return yield* notLoggedIn()
    return yield* gate.enter(rotate(id, text), refused)
  })
}

// Memory comes first: when the store fails the caller is told so and tries again, but nobody gets further in meanwhile.
const makeRevoke = ({ access, gate, store }: Parts) => {
  const revoke = (id: SessionId) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      access.revoke(id)
      return toUnavailable(store.revoke(id, nowMs))
    })
  return (id: SessionId) => gate.enter(revoke(id), refused)
}

const makeRevokeAll = ({ access, gate, store }: Parts) => {
  const revokeAll = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    access.revokeAll()
    return toUnavailable(store.revokeAll(nowMs))
  })
  return gate.enter(revokeAll, refused)
}

const make = Effect.gen(function* () {
  const parts: Parts = {
    store: yield* SessionStore,
    vault: yield* Vault,
    password: yield* Password,
    access: AccessTokens.make(),
    limit: LoginLimit.make(LoginLimit.loginQuota),
    gate: yield* Gate.make(size)
  }
  const { access, limit, store, vault } = parts
  const clock = yield* Effect.clock
  const revoke = makeRevoke(parts)

  return Sessions.of({
    admitted: makeAdmitted(parts),
    login: makeLogin(parts),
    refresh: makeRefreshing(parts),
    logout: (token) => {
      const id = familyOf(vault, Redacted.value(token))
      return id === undefined ? Effect.void : revoke(id)
    },
    list: Effect.flatMap(Clock.currentTimeMillis, (nowMs) => toUnavailable(store.live(nowMs))),
    revoke,
    revokeAll: makeRevokeAll(parts),
    verify: (token) => {
      const sessionId = access.sessionOf(token, clock.unsafeCurrentTimeMillis())
      return sessionId === undefined ? undefined : Viewer.Admin({ sessionId })
    },
    purge: Effect.flatMap(Clock.currentTimeMillis, (nowMs) => toUnavailable(store.purge(nowMs))),
    stats: () => ({
      accessTokens: access.stats().live,
      accessTokensEvicted: access.stats().evicted,
      loginsRefused: limit.stats().refused
    })
  })
})

export const layer: Layer.Layer<Sessions, never, SessionStore | Vault | Password> = Layer.effect(Sessions, make)
