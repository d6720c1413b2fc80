// /api/auth: login, refresh, logout and sessions; what is read from the request and which cookies go back.
import { HttpApiBuilder, HttpApp, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Clock, Context, DateTime, Effect, Option, Redacted, Schema } from "effect"
import { createHash, randomUUID, timingSafeEqual } from "node:crypto"
import { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import { InvalidJson, InvalidPersistence, InvalidSession, RateLimited, Unauthorized } from "../../schema/Errors.ts"
import { SessionId } from "../../schema/Ids.ts"
import { type Grant, Login } from "../../schema/Session.ts"
import { AppConfig } from "../Config.ts"
import { type Granted, type LoginRefused, Sessions } from "../Sessions.ts"
import * as ClientAddress from "./ClientAddress.ts"

type Request = HttpServerRequest.HttpServerRequest
type SessionsService = Context.Tag.Service<typeof Sessions>

interface Edge {
  readonly sessions: SessionsService
  readonly clientOf: (request: Request) => ClientAddress.Client
  readonly publicHost: string | undefined
}

const isEncrypted = ({ source }: Request): boolean =>
  source instanceof IncomingMessage && source.socket instanceof TLSSocket

const makeEdge = Effect.gen(function* () {
  const config = yield* AppConfig
  const trust = ClientAddress.trust(config.trustedProxies)
  const edge: Edge = {
    sessions: yield* Sessions,
    clientOf: (request) =>
      ClientAddress.clientOf(
        trust,
        Option.getOrUndefined(request.remoteAddress),
        isEncrypted(request),
        request.headers
      ),
    publicHost: Option.getOrUndefined(Option.map(config.publicUrl, (url) => new URL(url).host))
  }
  return edge
})

/** Changes the response of this request, whichever it becomes. */
const onResponse = (
  change: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
): Effect.Effect<void> => HttpApp.appendPreResponseHandler((_request, response) => Effect.succeed(change(response)))

/** RFC 3339, UTC, whole seconds. */
const instant = (ms: number): string => DateTime.formatIso(DateTime.unsafeMake(ms)).replace(/\.\d+Z$/, "Z")
const dateOf = (ms: number) => DateTime.toDateUtc(DateTime.unsafeMake(ms))

interface CookiePair {
  readonly refresh: string
  readonly csrf: string
  readonly secure: boolean
  /** Undefined: the cookies end with the browser session. */
  readonly kept: { readonly maxAge: number; readonly expires: Date } | undefined
}

const setCookies = ({ refresh, csrf, secure, kept }: CookiePair): Effect.Effect<void> =>
  onResponse((response) => {
    const common = { secure, sameSite: "strict", ...kept } as const
    return response.pipe(
      HttpServerResponse.unsafeSetCookie("refresh", refresh, { ...common, path: "/api/auth", httpOnly: true }),
      HttpServerResponse.unsafeSetCookie("csrf", csrf, { ...common, path: "/" })
    )
  })

const clearCookies = (secure: boolean): Effect.Effect<void> =>
  setCookies({ refresh: "", csrf: "", secure, kept: { maxAge: 0, expires: dateOf(0) } })

const answer = Effect.fnUntraced(function* (granted: Granted, secure: boolean) {
  const csrf = randomUUID()
  const { expiresAt, token } = granted.refresh
  const maxAge = Math.round((expiresAt - (yield* Clock.currentTimeMillis)) / 1000) * 1000
  const kept = granted.sessionOnly ? undefined : { maxAge, expires: dateOf(expiresAt) }
  yield* setCookies({ refresh: Redacted.value(token), csrf, secure, kept })
  return {
    access_token: granted.access.token,
    expires_at: instant(granted.access.expiresAt),
    csrf_token: csrf
  } satisfies Grant
})

const refuse = Effect.fnUntraced(function* (refusal: LoginRefused) {
  yield* onResponse((response) =>
    HttpServerResponse.setHeaders(response, {
      "x-ratelimit-limit": String(refusal.limit),
      "x-ratelimit-remaining": String(refusal.remaining),
      "x-ratelimit-reset": String(refusal.resetSec),
      "retry-after": String(refusal.retryAfterSec)
    })
  )
  return yield* new RateLimited({ message: `too many logins, try again in ${refusal.retryAfterSec} seconds` })
})

const decodeLogin = Schema.decodeUnknown(Schema.parseJson(Login))
const invalidJson = () => new InvalidJson({ message: "the body must be a JSON object with password and persistence" })

const textOrNothing = (member: unknown): Effect.Effect<string, InvalidJson> => {
  if (member === undefined || member === null) return Effect.succeed("")
  return typeof member === "string" ? Effect.succeed(member) : Effect.fail(invalidJson())
}

/** Decodes in the order of the contract: JSON, then persistence; an empty password is merely a wrong one. */
const readLogin = Effect.fnUntraced(function* (request: Request) {
  const body = yield* request.text.pipe(Effect.flatMap(decodeLogin), Effect.mapError(invalidJson))
  const password = Redacted.make(yield* textOrNothing(body.password))
  const persistence = (yield* textOrNothing(body.persistence)).trim().toLowerCase()
  if (persistence !== "session" && persistence !== "persistent") {
    return yield* new InvalidPersistence({ message: "persistence must be session or persistent" })
  }
  return { password, sessionOnly: persistence === "session" }
})

const makeLogin = ({ clientOf, sessions }: Edge) =>
  Effect.fnUntraced(
    function* (request: Request) {
      const { address, secure } = clientOf(request)
      yield* sessions.admitted(address)
      const attempt = yield* readLogin(request)
      return yield* answer(yield* sessions.login({ ...attempt, address }), secure)
    },
    Effect.catchTag("LoginRefused", refuse)
  )

const isSame = (a: string, b: string): boolean => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

const hostOf = (scheme: string, authority: string | undefined): string | undefined =>
  authority !== undefined && URL.canParse(`${scheme}//${authority}`)
    ? new URL(`${scheme}//${authority}`).host
    : undefined

/**
 * Whether a browser says that another site caused the request. Sec-Fetch-Site cannot be set by scripts and decides
 * where it is present; else Origin must name the authority that was asked for. Neither present: not a browser.
 */
const isForeign = ({ publicHost }: Edge, { headers }: Request, client: ClientAddress.Client): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const origin = headers["origin"]
  if (origin === undefined) return false
  if (!URL.canParse(origin)) return true
  const { host, protocol } = new URL(origin)
  return host === "" || (host !== publicHost && host !== hostOf(protocol, client.host))
}

/** Contract 2.3 and then 2.4: the csrf pair first, then the presence of the refresh cookie. */
const checkedRefresh = Effect.fnUntraced(function* (edge: Edge, request: Request, client: ClientAddress.Client) {
  const header = request.headers["x-csrf-token"] ?? ""
  const { csrf = "", refresh = "" } = request.cookies
  if (header === "" || csrf === "" || !isSame(header, csrf) || isForeign(edge, request, client)) {
    return yield* new Unauthorized({ message: "the header X-CSRF-Token must repeat the cookie csrf" })
  }
  if (refresh === "") return yield* new Unauthorized({ message: "the refresh cookie is missing" })
  return Redacted.make(refresh)
})

const makeRefresh = (edge: Edge) =>
  Effect.fnUntraced(function* (request: Request) {
    const client = edge.clientOf(request)
    const token = yield* checkedRefresh(edge, request, client)
    return yield* answer(yield* edge.sessions.refresh(token), client.secure)
  })

const makeLogout = (edge: Edge) =>
  Effect.fnUntraced(function* (request: Request) {
    const client = edge.clientOf(request)
    yield* edge.sessions.logout(yield* checkedRefresh(edge, request, client))
    yield* clearCookies(client.secure)
  })

const ownSession = Effect.map(CurrentViewer, (viewer) => (viewer._tag === "Admin" ? viewer.sessionId : undefined))

const makeList = ({ sessions }: Edge) =>
  Effect.gen(function* () {
    const own = yield* ownSession
    const rows = yield* sessions.list
    return {
      sessions: rows.map((row) => ({
        id: row.id,
        expires_at: instant(row.expiresAt),
        session_only: row.sessionOnly,
        current: row.id === own
      }))
    }
  })

const makeRevoke = ({ clientOf, sessions }: Edge) =>
  Effect.fnUntraced(function* (request: Request, sid: string) {
    if (sid.trim() === "") return yield* new InvalidSession({ message: "the session id must not be blank" })
    const id = Schema.decodeOption(SessionId)(sid)
    // Longer than any id we make, hence unknown, which is no error.
    if (Option.isNone(id)) return
    yield* sessions.revoke(id.value)
    if (id.value === (yield* ownSession)) yield* clearCookies(clientOf(request).secure)
  })

const makeRevokeCurrent = ({ clientOf, sessions }: Edge) =>
  Effect.fnUntraced(function* (request: Request) {
    const own = yield* ownSession
    if (own !== undefined) yield* sessions.revoke(own)
    yield* clearCookies(clientOf(request).secure)
  })

const makeRevokeAll = ({ clientOf, sessions }: Edge) =>
  Effect.fnUntraced(function* (request: Request) {
    yield* sessions.revokeAll
    yield* clearCookies(clientOf(request).secure)
  })

/** Handlers of the group "auth". */
export const layer = HttpApiBuilder.group(Api, "auth", (handlers) =>
  Effect.gen(function* () {
    const edge = yield* makeEdge
    const login = makeLogin(edge)
    const refresh = makeRefresh(edge)
    const logout = makeLogout(edge)
    const list = makeList(edge)
    const revoke = makeRevoke(edge)
    const revokeCurrent = makeRevokeCurrent(edge)
    const revokeAll = makeRevokeAll(edge)
    return (
      handlers
        // Raw, because the limit is asked before the body is read.
        .handleRaw("login", ({ request }) => login(request))
        .handle("refresh", ({ request }) => refresh(request))
        .handle("logout", ({ request }) => logout(request))
        .handle("sessions", () => list)
        .handle("revokeCurrent", ({ request }) => revokeCurrent(request))
        .handle("revokeAll", ({ request }) => revokeAll(request))
        .handle("revoke", ({ request, path }) => revoke(request, path.sid))
    )
  })
)
