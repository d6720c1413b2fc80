// The fast lane of an administrator's history: charts ask by the dozen, and half of what each cost was the way to it.
import { Context, Effect, Layer } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { historyParams } from "../../schema/api/History.ts"
import type { HistoryParams } from "../../src/core/HistoryQuery.ts"
import { HistoryReads } from "../HistoryReads.ts"
import { Sessions } from "../Sessions.ts"
import { answerOf, jsonType, send } from "./Answer.ts"
import { hasBody } from "./RequestBody.ts"
import { bearerOf } from "./Security.ts"

/** The path whose reads it takes, without its query. */
export const historyPath = "/api/metrics/history"

export class ReadLane extends Context.Tag("runtime/http/ReadLane")<
  ReadLane,
  {
    /**
     * Answers a GET of `historyPath` with this query, now or a few turns later, or calls `otherwise`: guests, refusals
     * and failures are the API's, which has the words for them.
     */
    readonly handle: (query: string, request: IncomingMessage, response: ServerResponse, otherwise: () => void) => void
  }
>() {}

const names: ReadonlySet<string> = new Set(Object.keys(historyParams.fields))

/** The parameters; undefined for what has to be judged first: one that is given twice, a fragment. */
export const paramsOf = (query: string): HistoryParams | undefined => {
  if (query.includes("#")) return undefined
  const params: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!names.has(name)) continue
    if (params[name] !== undefined) return undefined
    params[name] = value
  }
  return params
}

const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const reads = yield* HistoryReads
  return ReadLane.of({
    handle: (query, { headers }, response, otherwise) => {
      if (hasBody(headers["content-length"], headers["transfer-encoding"])) return otherwise()
      const token = bearerOf(headers.authorization)
      const viewer = token === undefined ? undefined : sessions.verify(token)
      if (viewer === undefined) return otherwise()
      const params = paramsOf(query)
      if (params === undefined) return otherwise()
      const isTaken = reads.offer(viewer, params, (body) =>
        body === undefined ? otherwise() : send(response, answerOf(jsonType, body))
      )
      if (!isTaken) otherwise()
    }
  })
})

export const layer = Layer.effect(ReadLane, make)
