// The API as one HttpApp: the router behind the edge, inside the envelope.
import { HttpApiBuilder, HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import { Unauthorized } from "../../schema/Errors.ts"
import { Sessions } from "../Sessions.ts"
import { apiHeaders } from "./Answer.ts"
import { apiBodyMax, refusal, type Refused } from "./Edge.ts"
import { envelope, failureResponse } from "./Envelope.ts"
import { bearerOf } from "./Security.ts"

export class Server extends Context.Tag("runtime/http/Server")<
  Server,
  {
    readonly app: Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      never,
      HttpServerRequest.HttpServerRequest | Scope.Scope
    >
  }
>() {}

/** Paths whose handlers need a session: nobody without one learns more than that. */
const needsSession = /^\/api\/(?:admin|auth\/sessions)(?:\/|$)/

/** What every answer carries unless its handler said otherwise. */
const withApiHeaders = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const own = response.headers
  const isJson = own["content-type"] === "application/json"
  return HttpServerResponse.setHeaders(response, {
    ...apiHeaders,
    ...own,
    ...(isJson ? { "content-type": "application/json; charset=utf-8" } : {})
  })
}

const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const routed = yield* HttpApiBuilder.httpApp
  type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope
  const context = yield* Effect.context<Exclude<Effect.Effect.Context<typeof routed>, PerRequest>>()
  const isStranger = (request: HttpServerRequest.HttpServerRequest, refused: Refused): boolean => {
    if (!refused.routed || !needsSession.test(request.url)) return false
    const token = bearerOf(request.headers["authorization"])
    return token === undefined || sessions.verify(token) === undefined
  }
  const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const refused = refusal(request)
    if (refused === undefined) return routed
    if (isStranger(request, refused)) {
      return Effect.succeed(failureResponse(new Unauthorized({ message: "a valid bearer token is required" })))
    }
    return Effect.succeed(failureResponse(refused.failure, refused.headers))
  })
  return Server.of({
    app: Effect.map(envelope(app), withApiHeaders).pipe(
      HttpIncomingMessage.withMaxBodySize(Option.some(apiBodyMax)),
      Effect.mapInputContext((own: Context.Context<PerRequest>) => Context.merge(context, own))
    )
  })
})

export const layer = Layer.effect(Server, make)
