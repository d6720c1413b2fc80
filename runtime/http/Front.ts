// Public reads: version, brand, front metrics, groups, live frames and the last minutes of a node.
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import { InvalidRequest, ServiceUnavailable } from "../../schema/Errors.ts"
import { Settings } from "../../src/store/Settings.ts"
import { BundledVersion } from "../BundledVersion.ts"
import { type Cached, cached, gzipBytesMin } from "../Cached.ts"
import { FrontBoard, type Selection } from "../FrontBoard.ts"
import { serviceVersion } from "../Version.ts"
import { hasTag, takesGzip } from "./Answer.ts"

const limitMax = 1000
const offsetMax = 100_000

const headers = (etag: string) => ({
  etag,
  "cache-control": "private, no-cache",
  vary: "Authorization, Accept-Encoding",
  "x-content-type-options": "nosniff"
})

/** 304 when the client has it, else the bytes, compressed when the client takes that. */
const conditional = (answer: Cached) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (hasTag(request.headers["if-none-match"], answer.etag)) {
      return HttpServerResponse.empty({ status: 304, headers: headers(answer.etag) })
    }
    const contentType = "application/json; charset=utf-8"
    const zipped = takesGzip(request.headers["accept-encoding"]) && answer.body.length >= gzipBytesMin
    if (!zipped) return HttpServerResponse.uint8Array(answer.body, { contentType, headers: headers(answer.etag) })
    const encoded = { ...headers(answer.etag), "content-encoding": "gzip" }
    return HttpServerResponse.uint8Array(yield* answer.gzipped, { contentType, headers: encoded })
  })

const wrong = (message: string) => new InvalidRequest({ message })

const integer = (text: string | undefined, name: string, least: number) => {
  if (text === undefined) return Effect.succeed(undefined)
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1
  return value >= least ? Effect.succeed(value) : Effect.fail(wrong(`${name} must be an integer of at least ${least}`))
}

interface MetricsParams {
  readonly limit?: string | undefined
  readonly offset?: string | undefined
  readonly ids?: string | undefined
}

/** Values over a bound are lowered to it; what is no number, or an offset alone, is refused (contract 3.3). */
const selectionOf = (params: MetricsParams): Effect.Effect<Selection, InvalidRequest> =>
  Effect.gen(function* () {
    const limit = yield* integer(params.limit, "limit", 1)
    const offset = yield* integer(params.offset, "offset", 0)
    if (offset !== undefined && limit === undefined) return yield* wrong("offset needs limit")
    if (params.ids === undefined) {
      if (limit === undefined) return { _tag: "All" }
      return { _tag: "Page", limit: Math.min(limit, limitMax), offset: Math.min(offset ?? 0, offsetMax) }
    }
    if (limit !== undefined) return yield* wrong("ids cannot be combined with limit")
    const ids = params.ids.split(",")
    if (ids.length > limitMax) return yield* wrong(`ids must name at most ${limitMax} nodes`)
    const parsed = yield* Effect.forEach(ids, (id) => integer(id, "ids", 1))
    return { _tag: "Ids", ids: new Set(parsed.filter((id) => id !== undefined)) }
  })

const hashed = (text: string): Cached =>
  cached(`"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`, text)

export const layer = HttpApiBuilder.group(Api, "front", (handlers) =>
  Effect.gen(function* () {
    const board = yield* FrontBoard
    const bundled = yield* BundledVersion
    const settings = yield* Settings
    return handlers
      .handle("version", () => Effect.succeed({ version: serviceVersion, node_version: bundled.version ?? "unknown" }))
      .handle("brand", () =>
        Effect.mapError(settings.brand, () => new ServiceUnavailable({ message: "the brand cannot be read right now" }))
      )
      .handleRaw("metrics", ({ urlParams }) =>
        Effect.gen(function* () {
          const viewer = yield* CurrentViewer
          const selection = yield* selectionOf(urlParams)
          return yield* conditional(yield* board.metrics(viewer, selection))
        })
      )
      .handleRaw("groups", () =>
        Effect.gen(function* () {
          const groups = yield* board.groups(yield* CurrentViewer)
          return yield* conditional(hashed(`${JSON.stringify(groups)}\n`))
        })
      )
      .handleRaw("live", ({ urlParams }) =>
        Effect.gen(function* () {
          const since = yield* integer(urlParams.since, "since", 0)
          return yield* conditional(yield* board.live(yield* CurrentViewer, since))
        })
      )
      .handle("recent", ({ urlParams }) =>
        Effect.gen(function* () {
          const id = yield* integer(urlParams.server_id, "server_id", 1)
          if (id === undefined) return yield* wrong("server_id is required")
          return yield* board.recent(yield* CurrentViewer, id)
        })
      )
  })
)
