// Turns every failure of the API into {code, message}: the catalogue's own, undecodable requests, and defects.
import { HttpApiError, HttpServerError, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Cause, Effect } from "effect"
import {
  type Failure,
  InternalError,
  InvalidId,
  InvalidJson,
  InvalidRequest,
  isFailure,
  NotFound
} from "../../schema/Errors.ts"
import { apiHeaders } from "./Answer.ts"

/** An answer of the catalogue, for middleware that answers before a handler runs. */
export const failureResponse = (
  failure: Failure,
  headers: Record<string, string> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(`${JSON.stringify({ code: failure.code, message: failure.message })}\n`, {
    status: failure.status,
    contentType: "application/json; charset=utf-8",
    headers: { ...apiHeaders, ...headers }
  })

/** Longest message of an undecodable request: it quotes what was sent, and that may be a megabyte. */
const sentenceLengthMax = 300

/** The first thing wrong, named by its path: "name: Expected string, actual 5". */
const sentence = (error: HttpApiError.HttpApiDecodeError): string => {
  const first = error.issues[0]
  const path = first?.path.map(String).join(".") ?? ""
  const text = `${path === "" ? "the request" : path}: ${first?.message ?? "is not valid"}`
  return text.length <= sentenceLengthMax ? text : `${text.slice(0, sentenceLengthMax)}…`
}

/** Quoting a body that is nested ten thousand deep exhausts the stack; nothing else in a request recurses. */
const isTooDeep = (failure: unknown): boolean =>
  failure instanceof RangeError && failure.message === "Maximum call stack size exceeded"

const isLogin = (url: string): boolean => /^\/api\/auth\/login\/?(?:\?|$)/.test(url)

/** What is wrong with the request, when the failure says so. */
const requestFailure = (failure: unknown, url: string): Failure | undefined => {
  if (isFailure(failure)) return failure
  if (failure instanceof HttpApiError.HttpApiDecodeError) {
    // Only path ids are called "id" in this API.
    if (failure.issues[0]?.path[0] === "id")
      return new InvalidId({ message: "the id in the path must be a positive integer" })
    return isLogin(url)
      ? new InvalidJson({ message: sentence(failure) })
      : new InvalidRequest({ message: sentence(failure) })
  }
  if (isTooDeep(failure)) return new InvalidRequest({ message: "the body is nested too deeply" })
  if (failure instanceof HttpServerError.RouteNotFound)
    return new NotFound({ message: "there is nothing at this path" })
  if (failure instanceof HttpServerError.RequestError) {
    const message = "the body must be one JSON value"
    return isLogin(url) ? new InvalidJson({ message }) : new InvalidRequest({ message })
  }
  return undefined
}

/** The last resort of every API request; what it does not know is logged and answered as `internal_error`. */
export const envelope = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.catchAllCause(app, (cause) =>
    Effect.gen(function* () {
      if (Cause.isInterruptedOnly(cause)) return yield* Effect.interrupt
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const known = requestFailure(Cause.squash(cause), url)
      if (known !== undefined) return failureResponse(known)
      yield* Effect.logError("a request failed unexpectedly").pipe(
        Effect.annotateLogs({ path: url.split("?")[0] ?? "", cause: Cause.pretty(cause) })
      )
      return failureResponse(new InternalError({ message: "something went wrong on our side; the log says more" }))
    })
  )
