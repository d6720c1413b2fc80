// Turns the Authorization header into a Viewer: required for administrators, never failing for everyone else.
import { HttpServerRequest } from "@effect/platform"
import { type Context, Effect, Layer } from "effect"
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
const viewerOf = ({ verify }: Context.Tag.Service<typeof Sessions>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const token = bearerOf(headers["authorization"])
    return token === undefined ? undefined : verify(token)
  })

// One message whatever is wrong: missing, malformed, expired and revoked look the same from outside.
const unauthorized = () => new Unauthorized({ message: "a valid bearer token is required" })

const adminOnly = Layer.effect(
  AdminOnly,
  Effect.map(Sessions, (sessions) => {
    const required = Effect.flatMap(viewerOf(sessions), (viewer) =>
      viewer === undefined ? Effect.fail(unauthorized()) : Effect.succeed(viewer)
    )
    return AdminOnly.of({ bearer: () => required })
  })
)

const optionalBearer = Layer.effect(
  OptionalBearer,
  Effect.map(Sessions, (sessions) => {
    const optional = Effect.map(viewerOf(sessions), (viewer) => viewer ?? Viewer.Guest())
    return OptionalBearer.of({ bearer: () => optional })
  })
)

/** Both middlewares of the API. */
export const layer: Layer.Layer<AdminOnly | OptionalBearer, never, Sessions> = Layer.merge(adminOnly, optionalBearer)
