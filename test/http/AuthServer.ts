// A server with the auth group and one guest-readable probe, and a client that shows every header it sends and gets.
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Option, Schema } from "effect"
import { createServer, type IncomingHttpHeaders, request } from "node:http"
import { AppConfig, type Settings } from "../../runtime/Config.ts"
import * as Auth from "../../runtime/http/Auth.ts"
import * as Security from "../../runtime/http/Security.ts"
import { AuthApi } from "../../schema/api/Auth.ts"
import { CurrentViewer, OptionalBearer } from "../../schema/api/Security.ts"
import { authLayer, rightPassword } from "../auth/Support.ts"
import { defaultLimits } from "../support/Limits.ts"

class Probe extends HttpApiGroup.make("probe")
  .add(HttpApiEndpoint.get("who", "/who").addSuccess(Schema.String).middleware(OptionalBearer))
  .prefix("/api") {}
class TestApi extends HttpApi.make("watchpost").add(AuthApi).add(Probe) {}

const probe = HttpApiBuilder.group(TestApi, "probe", (handlers) =>
  handlers.handle("who", () => Effect.map(CurrentViewer, (viewer) => viewer._tag))
)

const settings: Settings = {
  home: "/nowhere",
  listenHost: "127.0.0.1",
  listenPort: 0,
  publicUrl: Option.none(),
  adminPassword: Option.none(),
  trustedProxies: [],
  timezone: "UTC",
  localNode: false,
  trafficKeepMs: 90 * 86_400_000,
  language: "en",
  history: defaultLimits
}

const serverLayer = (change: Partial<Settings>) =>
  HttpApiBuilder.serve().pipe(
    Layer.provide(HttpApiBuilder.api(TestApi)),
    Layer.provide([Auth.layer, probe]),
    Layer.provide(Security.layer),
    Layer.provide(Layer.succeed(AppConfig, { ...settings, ...change })),
    Layer.provideMerge(authLayer()),
    Layer.provide(Logger.minimumLogLevel(LogLevel.None)),
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
  )

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
  readonly text: string
  /** Name to value and attributes, as the Set-Cookie lines say. */
  readonly cookies: Record<string, { readonly value: string; readonly attributes: ReadonlyArray<string> }>
}
export type Headers = Record<string, string>

const cookiesOf = (lines: ReadonlyArray<string>): Answer["cookies"] =>
  Object.fromEntries(
    lines.map((line) => {
      const [pair = "", ...attributes] = line.split("; ")
      const [name = "", value = ""] = pair.split("=")
      return [name, { value, attributes: attributes.toSorted() }]
    })
  )

export const send = (method: string, path: string, headers: Headers = {}, body?: string) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("the server listens on no port")
    return yield* Effect.async<Answer>((resume) => {
      const outgoing = request({ host: "127.0.0.1", port: address.port, method, path, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        response.on("end", () => {
          const parsed = text === "" ? {} : JSON.parse(text)
          const cookies = cookiesOf(response.headers["set-cookie"] ?? [])
          resume(
            Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body: parsed, text, cookies })
          )
        })
      })
      outgoing.on("error", (cause) => resume(Effect.die(cause)))
      outgoing.end(body)
    })
  })

const json = { "content-type": "application/json" }
export const login = (body: unknown = { password: rightPassword, persistence: "persistent" }, headers: Headers = {}) =>
  send("POST", "/api/auth/login", { ...json, ...headers }, typeof body === "string" ? body : JSON.stringify(body))

/** The headers with which the page of this answer would refresh or log out. */
export const pageOf = ({ cookies }: Answer): Headers => ({
  cookie: `refresh=${cookies["refresh"]?.value}; csrf=${cookies["csrf"]?.value}`,
  "x-csrf-token": cookies["csrf"]?.value ?? ""
})
export const bearerOf = ({ body }: Answer): Headers => ({ authorization: `Bearer ${String(body["access_token"])}` })
export const who = (headers: Headers) => Effect.map(send("GET", "/api/who", headers), ({ body }) => body)
export const code = ({ status, body }: Answer) => `${status} ${String(body["code"])}`

export const test = <A, E>(
  name: string,
  body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof serverLayer>>>,
  change: Partial<Settings> = {}
) => it.live(name, () => body.pipe(Effect.provide(serverLayer(change))), 20_000)
