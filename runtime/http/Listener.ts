// Owns the node:http server: reports and charts take fast lanes, documents and health are ready bytes, the rest goes to the API.
import { NodeHttpServer } from "@effect/platform-node"
import { Data, Effect, Layer } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { InvalidPath, InvalidRequest } from "../../schema/Errors.ts"
import { AppConfig } from "../Config.ts"
import { ListenAddress } from "../ListenAddress.ts"
import { Readiness } from "../Readiness.ts"
import { apiHeaders, closeUnread, type Prepared, prepared, send } from "./Answer.ts"
import { documents } from "./Docs.ts"
import { apiBodyMax, isPlain } from "./Edge.ts"
import { Files } from "./Files.ts"
import { IdleSockets } from "./IdleSockets.ts"
import { NodeLane, nodeRoute } from "./NodeLane.ts"
import { historyPath, ReadLane } from "./ReadLane.ts"
import { Server as ApiServer } from "./Server.ts"

/** Agents push every 3 s and proxies keep connections for a minute: longer than both, so that nobody reconnects. */
const keepAliveSec = 75
/** How often idle connections are looked for. */
const sweepSec = 5
/** Slow senders of headers and bodies are cut; the check runs every second. */
const headersMs = 10_000
const requestMs = 15_000
/** A connection on which nothing moves for this long while an answer is due is cut: its reader has gone to sleep. */
const stalledMs = 15_000
/** How long a client may take to read why its bytes were refused. */
const lingerMs = 250
const headerBytesMax = 16_384
const headersMax = 100
/** Open sockets; at about 15 kB each this is what a small machine bears. */
const connectionsMax = 20_000
/** Answers in flight get this long at shutdown, so that the whole exit stays below five seconds. */
const drainMs = 2500
/** How often connections that have become idle are closed meanwhile. */
const drainSweepMs = 25

/** The address could not be listened on; the message is one line for a person. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly message: string }> {}

const badRequest = prepared(InvalidRequest, "the request is not valid HTTP", ["Connection", "close"])
const badPath = prepared(InvalidPath, "the path is not in its plain form")
const told = (status: number, type: string, text: string): Prepared => {
  const headers = { "content-type": type, ...apiHeaders, "content-length": String(Buffer.byteLength(text)) }
  return { status, headers: Object.entries(headers).flat(), body: text }
}
const healthy = told(200, "text/plain; charset=utf-8", "ok\n")
const ready = (reason: string | undefined): Prepared => {
  const text = `${JSON.stringify({ ready: reason === undefined, reason: reason ?? null })}\n`
  return told(reason === undefined ? 200 : 503, "application/json; charset=utf-8", text)
}

const listen = (server: Server, host: string, port: number) =>
  Effect.async<AddressInfo, ListenFailed>((resume) => {
    server.once("error", (cause) => {
      resume(new ListenFailed({ message: `cannot listen on ${host}:${port}: ${cause.message}` }))
    })
    server.listen({ host, port, backlog: 4096 }, () => resume(Effect.succeed(server.address() as AddressInfo)))
  })

/**
 * Stops accepting, closes each connection once its answer is out, then cuts what is left. With timers of its own:
 * a finalizer cannot be interrupted, so a timeout around it would wait for agents that never stop sending.
 */
const close = (server: Server) =>
  Effect.async<void>((resume) => {
    const sweep = setInterval(() => server.closeIdleConnections(), drainSweepMs)
    const cut = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(cut)
      resume(Effect.void)
    })
    server.closeIdleConnections()
  })

const open = (idle: IdleSockets, dispatch: (request: IncomingMessage, response: ServerResponse) => void): Server => {
  const server = createServer(
    {
      // Idle connections are swept.
      keepAliveTimeout: 0,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: headerBytesMax,
      noDelay: true
    },
    dispatch
  )
  server.maxHeadersCount = headersMax
  server.maxConnections = connectionsMax
  server.on("connection", (socket) => idle.watch(socket))
  server.on("clientError", (_, socket) => {
    // A client that keeps its own side open must not keep the connection.
    setTimeout(() => socket.destroy(), lingerMs).unref()
    if (!socket.writable) return socket.destroy()
    const head = badRequest.headers.reduce((text, part, i) => text + part + (i % 2 === 0 ? ": " : "\r\n"), "")
    socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${badRequest.body}`)
  })
  return server
}

/** True for a body that is longer than any handler reads, or that does not say how long it is. */
const isUnbounded = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > apiBodyMax

/**
 * From this, and nothing else, node makes the header that tells a client how long its connection is kept; without it
 * clients go by defaults of a few seconds. The server's own setting would also wind up a timer after each answer.
 */
interface Promising extends ServerResponse {
  _keepAliveTimeout?: number
}

const dispatcher = (idle: IdleSockets) =>
  Effect.gen(function* () {
    const lane = yield* NodeLane
    const reads = yield* ReadLane
    const files = yield* Files
    const readiness = yield* Readiness
    const { app } = yield* ApiServer
    const handle = yield* NodeHttpServer.makeHandler(app)
    const { json, page } = documents()
    return (request: IncomingMessage, response: Promising): void => {
      response._keepAliveTimeout = keepAliveSec * 1000
      const url = request.url ?? "/"
      const query = url.indexOf("?")
      const path = query < 0 ? url : url.slice(0, query)
      const { method } = request
      if (method === "POST") {
        const route = nodeRoute(path)
        // The lane counts the bytes of reports itself; nobody reads what comes with an identity.
        if (route === "identity" && isUnbounded(request)) closeUnread(response)
        if (route !== undefined) {
          idle.used(request.socket)
          return lane.handle(route, request, response)
        }
      }
      if (isUnbounded(request)) closeUnread(response)
      // Answers of the lane fit into any socket buffer; only longer ones can stall. Set for the whole server, the timer
      // would be wound up again with every packet of every agent: a fifth of what a report costs.
      idle.answering(request.socket, response, stalledMs)
      if (method === "GET" || method === "HEAD") {
        if (path === "/healthz") return send(response, healthy)
        if (path === "/readyz") return send(response, ready(readiness.reason()))
      }
      if (method === "GET") {
        if (path === historyPath && query >= 0)
          return reads.handle(url.slice(query + 1), request, response, () => handle(request, response))
        if (path === "/api/openapi.json" || path === "/api/openapi.json/") return send(response, json)
        if (path === "/api/docs" || path === "/api/docs/") return send(response, page)
      }
      if (path === "/api" || path.startsWith("/api/")) return handle(request, response)
      if (!isPlain(path)) return send(response, badPath)
      files.handle(path, request, response)
    }
  })

const make = Effect.gen(function* () {
  const { listenHost, listenPort } = yield* AppConfig
  const idle = new IdleSockets(Math.ceil(keepAliveSec / sweepSec))
  const server = open(idle, yield* dispatcher(idle))
  const address = yield* Effect.acquireRelease(listen(server, listenHost, listenPort), () => close(server))
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(`${sweepSec} seconds`), idle.sweep)))
  const wildcard = listenHost === "0.0.0.0" || listenHost === "::"
  const host = wildcard ? "127.0.0.1" : listenHost.includes(":") ? `[${listenHost}]` : listenHost
  return ListenAddress.of({ port: address.port, localUrl: `http://${host}:${address.port}` })
})

export const layer = Layer.scoped(ListenAddress, make)
