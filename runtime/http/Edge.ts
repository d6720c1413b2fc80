// Checks every API request before its handler: canonical path, known route, method, content type and size.
import { HttpApi, type HttpServerRequest } from "@effect/platform"
import { Api } from "../../schema/api/Api.ts"
import { AdminOnly } from "../../schema/api/Security.ts"
import {
  BodyTooLarge,
  type Failure,
  InvalidPath,
  MethodNotAllowed,
  NotFound,
  UnsupportedMediaType
} from "../../schema/Errors.ts"
import { hasBody, isPlainJson } from "./RequestBody.ts"

/** Bytes of an admin body: the longest list of ids and the largest setting stay below it. */
export const apiBodyMax = 1_048_576

interface Method {
  readonly takesBody: boolean
  readonly needsAdmin: boolean
}
interface Route {
  readonly pattern: RegExp
  readonly methods: Map<string, Method>
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
const toPattern = (path: string): RegExp => {
  const segments = path.split("/").map((segment) => (segment.startsWith(":") ? "[^/]+" : escape(segment)))
  return new RegExp(`^${segments.join("/").replace(/\/$/, "")}/?$`)
}

/** Every path of the API with its methods, read off the declaration itself; literal paths stand before patterns. */
const routes: ReadonlyArray<Route> = (() => {
  const found = new Map<string, Route>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, middleware }) => {
      const path = endpoint.path.replace(/\/$/, "")
      let route = found.get(path)
      if (route === undefined) found.set(path, (route = { pattern: toPattern(path), methods: new Map() }))
      route.methods.set(endpoint.method, {
        takesBody: endpoint.payloadSchema._tag === "Some",
        needsAdmin: [...middleware].some(({ key }) => key === AdminOnly.key)
      })
    }
  })
  const documents = {
    pattern: /^\/api\/(?:openapi\.json|docs)\/?$/,
    methods: new Map([["GET", { takesBody: false, needsAdmin: false }]])
  }
  return [
    documents,
    ...[...found.entries()]
      .sort(([a], [b]) => Number(a.includes(":")) - Number(b.includes(":")))
      .map(([, route]) => route)
  ]
})()

/** Paths that two readers could read differently: empty or dot segments, encoded separators, control characters. */
// eslint-disable-next-line no-control-regex
const ambiguous = /\/\/|\/\.{1,2}(?:\/|$)|%2f|%5c|%2e|%00|\\|;|[\u0000-\u0020]/i

/** False for a path that is not in its plain form. */
export const isPlain = (path: string): boolean => !ambiguous.test(path)

export interface Refused {
  readonly failure: Failure
  readonly headers: Record<string, string>
  /** The endpoint exists and is the administrator's: a stranger is told 401 before this. */
  readonly needsAdmin: boolean
}

const refused = (failure: Failure, needsAdmin: boolean, headers: Record<string, string> = {}): Refused => ({
  failure,
  headers,
  needsAdmin
})

const bodyRefusal = (
  headers: HttpServerRequest.HttpServerRequest["headers"],
  needsAdmin: boolean
): Refused | undefined => {
  const length = headers["content-length"]
  if (!hasBody(length, headers["transfer-encoding"])) return undefined
  if (!isPlainJson(headers["content-type"], headers["content-encoding"])) {
    return refused(new UnsupportedMediaType({ message: "the Content-Type must be application/json" }), needsAdmin)
  }
  // Without a length the body cannot be judged before it is read; clients of this API always know it.
  if (length === undefined || Number(length) > apiBodyMax) {
    const message = `the body must be at most ${apiBodyMax} bytes, with a Content-Length`
    return refused(new BodyTooLarge({ message }), needsAdmin, { connection: "close" })
  }
  return undefined
}

/** Why a request under /api is not let through to its handler, or undefined. */
export const refusal = ({
  headers,
  method,
  url
}: Pick<HttpServerRequest.HttpServerRequest, "headers" | "method" | "url">): Refused | undefined => {
  const path = url.split("?", 1)[0] as string
  if (!isPlain(path)) return refused(new InvalidPath({ message: "the path is not in its plain form" }), false)
  const route = routes.find(({ pattern }) => pattern.test(path))
  if (route === undefined) return refused(new NotFound({ message: "there is nothing at this path" }), false)
  const endpoint = route.methods.get(method)
  if (endpoint === undefined) {
    const allow = [...route.methods.keys()].sort().join(", ")
    const failure = new MethodNotAllowed({ message: `this path answers ${allow}, not ${method}` })
    return refused(failure, false, { allow })
  }
  return endpoint.takesBody ? bodyRefusal(headers, endpoint.needsAdmin) : undefined
}
