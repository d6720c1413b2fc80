// Who may call: the middleware tags of the API. Implementations live in runtime/http/Security.ts.
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import { AuthUnavailable, Unauthorized, wire } from "../Errors.ts"
import type { Viewer } from "../Session.ts"

/** Who is looking at this request. */
export class CurrentViewer extends Context.Tag("schema/api/CurrentViewer")<CurrentViewer, Viewer>() {}

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "Access token of POST /api/auth/login.")
)

/** A valid bearer or 401 `unauthorized`. */
export class AdminOnly extends HttpApiMiddleware.Tag<AdminOnly>()("schema/api/AdminOnly", {
  failure: Schema.Union(
    wire(Unauthorized).annotations(HttpApiSchema.annotations({ status: Unauthorized.status })),
    wire(AuthUnavailable).annotations(HttpApiSchema.annotations({ status: AuthUnavailable.status }))
  ),
  provides: CurrentViewer,
  security: { bearer }
}) {}

/** Never fails: a missing, malformed, expired or revoked token makes a guest. */
export class OptionalBearer extends HttpApiMiddleware.Tag<OptionalBearer>()("schema/api/OptionalBearer", {
  provides: CurrentViewer,
  security: { bearer }
}) {}
