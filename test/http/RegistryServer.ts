// A server with the two registry groups on a real database, an administrator's stub, and a client for them.
import { HttpApi, HttpApiBuilder, HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { createServer } from "node:http"
import { BundledVersion } from "../../runtime/BundledVersion.ts"
import { AppConfig } from "../../runtime/Config.ts"
import { envelope } from "../../runtime/http/Envelope.ts"
import * as Groups from "../../runtime/http/Groups.ts"
import * as Nodes from "../../runtime/http/Nodes.ts"
import { NodeDirectory, type NodeFacts } from "../../runtime/NodeDirectory.ts"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import { GroupsApi } from "../../schema/api/Groups.ts"
import { NodesApi } from "../../schema/api/Nodes.ts"
import { AdminOnly } from "../../schema/api/Security.ts"
import { Unauthorized } from "../../schema/Errors.ts"
import { NodeId, SessionId } from "../../schema/Ids.ts"
import { Viewer } from "../../schema/Session.ts"
import { quiet, stores } from "../store/Support.ts"
import { defaultLimits } from "../support/Limits.ts"

class TestApi extends HttpApi.make("watchpost").add(GroupsApi).add(NodesApi) {}

const adminOnly = Layer.succeed(AdminOnly, {
  bearer: (token) =>
    Redacted.value(token) === "admin"
      ? Effect.succeed(Viewer.Admin({ sessionId: SessionId.make("s1") }))
      : Effect.fail(new Unauthorized({ message: "a valid bearer token is required" }))
})

/** What the engine says of nodes, and how often it was told to follow the roster. */
export interface Engine {
  readonly facts: Map<NodeId, NodeFacts>
  reconciled: number
}
export const newEngine = (): Engine => ({ facts: new Map(), reconciled: 0 })

const directory = (engine: Engine) =>
  Layer.mock(NodeDirectory, {
    facts: (id) => engine.facts.get(id),
    reconcile: Effect.sync(() => void engine.reconciled++)
  })

const config = Layer.succeed(AppConfig, {
  home: "/nowhere",
  listenHost: "127.0.0.1",
  listenPort: 0,
  publicUrl: Option.none(),
  adminPassword: Option.none(),
  trustedProxies: [],
  timezone: "Asia/Tokyo",
  localNode: false,
  trafficKeepMs: 90 * 86_400_000,
  language: "en",
  history: defaultLimits
})

const server = (engine: Engine, bundled: string | undefined, generate?: Effect.Effect<string>) =>
  HttpApiBuilder.serve().pipe(
    Layer.provide(HttpApiBuilder.middleware(envelope)),
    Layer.provide(HttpApiBuilder.api(TestApi)),
    Layer.provide([Groups.layer, Nodes.layer]),
    Layer.provide([adminOnly, config, directory(engine), Layer.succeed(BundledVersion, { version: bundled })]),
    Layer.provideMerge(NodeRoster.layer),
    Layer.provideMerge(stores(generate === undefined ? {} : { generate })),
    Layer.provide(quiet),
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
  )

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** Sends a request as the administrator, unless told otherwise; a body that is no string is sent as JSON. */
export const send = (method: string, path: string, body?: unknown, token = "admin", signal?: AbortSignal) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("the server listens on no port")
    const url = `http://127.0.0.1:${address.port}/api/admin${path}`
    return yield* Effect.promise(async (): Promise<Answer> => {
      const response = await fetch(url, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal })
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: text === "" ? undefined : JSON.parse(text)
      }
    })
  })

/** Status and code, "204" without one. */
export const codeOf = ({ body, status }: Answer): string =>
  body !== null && typeof body === "object" && "code" in body ? `${status} ${String(body.code)}` : String(status)

/** The id that the Location header of a create call ends in. */
export const created = (path: "/groups" | "/nodes", body?: unknown) =>
  Effect.map(send("POST", path, body), ({ headers }) => Number(headers.get("location")?.split("/").at(-1)))

export const bodyOf = (path: string) => Effect.map(send("GET", path), ({ body }) => body)

/** A call that is refused, and how. */
export type Row = readonly [code: string, method: string, path: string, body?: unknown]

type Served = Layer.Layer.Success<ReturnType<typeof server>>
interface Setting {
  readonly engine?: Engine
  readonly bundled?: string
  readonly generate?: Effect.Effect<string>
}

export const test = <A, E>(name: string, body: Effect.Effect<A, E, Served>, setting: Setting = {}) =>
  it.live(
    name,
    () => body.pipe(Effect.provide([server(setting.engine ?? newEngine(), setting.bundled, setting.generate), quiet])),
    20_000
  )
