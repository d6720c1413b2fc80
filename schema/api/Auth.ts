// /api/auth: login, refresh, logout and sessions.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  AuthUnavailable,
  InvalidJson,
  InvalidPersistence,
  InvalidSession,
  RateLimited,
  Unauthorized,
  wire
} from "../Errors.ts"
import { Grant, Login, SessionList } from "../Session.ts"
import { AdminOnly } from "./Security.ts"

const login = HttpApiEndpoint.post("login", "/auth/login")
  .setPayload(Login)
  .addSuccess(Grant)
  .addError(wire(InvalidJson), { status: 400 })
  .addError(wire(InvalidPersistence), { status: 400 })
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(RateLimited), { status: 429 })
  .addError(wire(AuthUnavailable), { status: 503 })
  .annotate(OpenApi.Description, "Password to access token, refresh cookie and csrf cookie. Only failures are limited.")

const refresh = HttpApiEndpoint.post("refresh", "/auth/refresh")
  .addSuccess(Grant)
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(AuthUnavailable), { status: 503 })
  .annotate(
    OpenApi.Description,
    "Needs the cookies `refresh` and `csrf` and the header X-CSRF-Token. Rotates the refresh token."
  )

const logout = HttpApiEndpoint.post("logout", "/auth/logout")
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(AuthUnavailable), { status: 503 })
  .annotate(OpenApi.Description, "Revokes the session of the refresh cookie and clears both cookies.")

const list = HttpApiEndpoint.get("sessions", "/auth/sessions")
  .addSuccess(SessionList)
  .addError(wire(AuthUnavailable), { status: 503 })
  .middleware(AdminOnly)

const revokeCurrent = HttpApiEndpoint.del("revokeCurrent", "/auth/sessions/current")
  .addError(wire(AuthUnavailable), { status: 503 })
  .middleware(AdminOnly)

const revokeAll = HttpApiEndpoint.del("revokeAll", "/auth/sessions")
  .addError(wire(AuthUnavailable), { status: 503 })
  .middleware(AdminOnly)

const revoke = HttpApiEndpoint.del("revoke", "/auth/sessions/:sid")
  .setPath(Schema.Struct({ sid: Schema.String }))
  .addError(wire(InvalidSession), { status: 400 })
  .addError(wire(AuthUnavailable), { status: 503 })
  .middleware(AdminOnly)

export class AuthApi extends HttpApiGroup.make("auth")
  .add(login)
  .add(refresh)
  .add(logout)
  .add(list)
  .add(revokeCurrent)
  .add(revokeAll)
  .add(revoke)
  .annotate(OpenApi.Title, "Authentication")
  .prefix("/api") {}
