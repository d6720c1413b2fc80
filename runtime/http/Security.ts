// Turns the Authorization header into a Viewer: required for administrators, never failing for everyone else.
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import { AdminOnly, OptionalBearer } from "../../schema/api/Security.ts"
import { Unauthorized } from "../../schema/Errors.ts"
import { Viewer } from "../../schema/Session.ts"
import { Sessions } from "../Sessions.ts"

/**
 * The token of a bearer header, or undefined. The header must hold exactly two fields, the scheme in any case;
 * the decoder of the platform only cuts seven characters off whatever is there, so its result is not used.
 */
export const bearerOf = (authorization: string | undefined): string | undefined => {
  const fields = (authorization ?? "").trim().split(/[ \t]+/)
  return fields.length === 2 && fields[0]?.toLowerCase() === "bearer" ? fields[1] : undefined
}

/** The viewer of the current request, or undefined when it carries no live access token. */
const viewer = Effect.gen(function* () {
  const sessions = yield* Sessions
  return Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const token = bearerOf(headers["authorization"])
    return token === undefined ? undefined : sessions.verify(token)
  })
})

// One message whatever is wrong: missing, malformed, expired and revoked look the same from outside.
const unauthorized = () => new Unauthorized({ message: "a valid bearer token is required" })

const adminOnly = Layer.effect(
  AdminOnly,
  Effect.map(viewer, (seen) =>
    AdminOnly.of({
      bearer: () =>
        Effect.flatMap(seen, (found) => (found === undefined ? Effect.fail(unauthorized()) : Effect.succeed(found)))
    })
  )
)

const optionalBearer = Layer.effect(
  OptionalBearer,
  Effect.map(viewer, (seen) =>
    OptionalBearer.of({ bearer: () => Effect.map(seen, (found) => found ?? Viewer.Guest()) })
  )
)

/** Both middlewares of the API. */
export const layer: Layer.Layer<AdminOnly | OptionalBearer, never, Sessions> = Layer.merge(adminOnly, optionalBearer)
