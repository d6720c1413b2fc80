// The API as one HttpApp: the router behind the edge, inside the envelope.
import { HttpApiBuilder, HttpBody, HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "@effect/platform"
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

const jsonType = "application/json; charset=utf-8"
const newline = Buffer.from("\n")

/** What the platform encoded says no charset and ends without a newline; what our own code wrote has both. */
const finished = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body, headers } = response
  if (headers["content-type"] !== "application/json" || body._tag !== "Uint8Array") return response
  return HttpServerResponse.setBody(response, HttpBody.uint8Array(Buffer.concat([body.body, newline]), jsonType))
}

/** What every answer carries unless its handler said otherwise. */
const withApiHeaders = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(response, { ...apiHeaders, ...response.headers })

const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  // Inside the platform's own encoding of errors, which would otherwise show its shape of them to clients.
  yield* Effect.flatMap(HttpApiBuilder.Middleware, ({ add }) => add(envelope))
  const routed = yield* HttpApiBuilder.httpApp
  type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope
  const context = yield* Effect.context<Exclude<Effect.Effect.Context<typeof routed>, PerRequest>>()
  const isStranger = (request: HttpServerRequest.HttpServerRequest, refused: Refused): boolean => {
    if (!refused.needsAdmin) return false
    const token = bearerOf(request.headers["authorization"])
    return token === undefined || sessions.verify(token) === undefined
  }
  const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const refused = refusal(request)
    if (refused === undefined) return routed
    if (isStranger(request, refused)) {
      const unauthorized = new Unauthorized({ message: "a valid bearer token is required" })
      return Effect.succeed(failureResponse(unauthorized))
    }
    return Effect.succeed(failureResponse(refused.failure, refused.headers))
  })
  return Server.of({
    app: Effect.map(envelope(app), (response) => withApiHeaders(finished(response))).pipe(
      HttpIncomingMessage.withMaxBodySize(Option.some(apiBodyMax)),
      Effect.mapInputContext((own: Context.Context<PerRequest>) => Context.merge(context, own))
    )
  })
})

export const layer = Layer.effect(Server, make)
