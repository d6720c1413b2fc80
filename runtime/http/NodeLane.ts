// The fast lane of /api/node/*: secret, content type, size, then the intake; answered from ready bytes after commit.
import { Context, Effect, Layer, Runtime } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { NodeId } from "../../schema/Ids.ts"
import {
  BodyTooLarge,
  InvalidMetrics,
  InvalidRequest,
  InvalidStatic,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  UnsupportedMediaType
} from "../../schema/Errors.ts"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import * as LoginLimit from "../../src/auth/LoginLimit.ts"
import { AppConfig } from "../Config.ts"
import { InstallId } from "../InstallId.ts"
import { type Ending, Intake, type Ticket } from "../Intake.ts"
import { answerOf, jsonType, type Prepared, prepared, send, sendAndClose } from "./Answer.ts"
import { clientOf, trust, type Trust } from "./ClientAddress.ts"
import { hasBody, isPlainJson } from "./RequestBody.ts"
import { TurnShare } from "./TurnShare.ts"

/** Bytes of a body; the contract's 1 MiB holds the largest node that the other bounds allow. */
export const nodeBodyMax = 1_048_576

export type NodeRoute = "metrics" | "static" | "identity"

/** The route of a path (without query, with or without its trailing slash), if it is one of this lane. */
export const nodeRoute = (path: string): NodeRoute | undefined => {
  if (!path.startsWith("/api/node/")) return undefined
  const name = path.endsWith("/") ? path.slice(10, -1) : path.slice(10)
  return name === "metrics" || name === "static" || name === "identity" ? name : undefined
}

export class NodeLane extends Context.Tag("runtime/http/NodeLane")<
  NodeLane,
  { readonly handle: (route: NodeRoute, request: IncomingMessage, response: ServerResponse) => void }
>() {}

const retryAfter = ["Retry-After", "2"]
const unauthorized = prepared(Unauthorized, "the header X-Node-Secret is missing or names no node")
const wrongType = prepared(UnsupportedMediaType, "the Content-Type must be application/json, without an encoding")
const tooLarge = prepared(BodyTooLarge, `the body must be at most ${nodeBodyMax} bytes`)
const noBody = prepared(InvalidRequest, "the body must be one JSON value")
const unavailable = prepared(ServiceUnavailable, "the report cannot be stored right now; try again", retryAfter)

const okReport = answerOf(jsonType, '{"ok":true,"update":null}\n')
const okStatic = answerOf("text/plain; charset=utf-8", "ok")
const okUpdate = (update: UpdateManifest): Prepared => answerOf(jsonType, `${JSON.stringify({ ok: true, update })}\n`)

/** The headers that decide about a report. */
interface Head {
  secret: string | undefined
  type: string | undefined
  length: string | undefined
  encoding: string | undefined
  transfer: string | undefined
}

/**
 * Reads them off the raw list. Asking node for its headers object would build it, every header of every report, at
 * 1.5 µs. A repeated secret is no secret; node itself refuses repeated lengths.
 */
const headOf = ({ rawHeaders }: IncomingMessage): Head => {
  const head: Head = { secret: undefined, type: undefined, length: undefined, encoding: undefined, transfer: undefined }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    // Lengths tell nearly all names apart, so few are compared.
    if (name.length === 13 && name.toLowerCase() === "x-node-secret")
      head.secret = head.secret === undefined ? value : ""
    else if (name.length === 12 && name.toLowerCase() === "content-type") head.type ??= value
    else if (name.length === 14 && name.toLowerCase() === "content-length") head.length = value
    else if (name.length === 16 && name.toLowerCase() === "content-encoding") head.encoding = value
    else if (name.length === 17 && name.toLowerCase() === "transfer-encoding") head.transfer = value
  }
  return head
}

/**
 * Collects a body of at most `nodeBodyMax` bytes. Exactly one of the callbacks is called, once.
 * A body that arrives whole, as reports do, is done with its only chunk; chunked ones are cut where they pass the bound.
 */
const collect = (
  request: IncomingMessage,
  length: number,
  done: (text: string) => void,
  over: () => void,
  left: () => void
): void => {
  let parts: Array<Buffer> | undefined
  let size = 0
  let ended = false
  const finish = (body: Buffer) => {
    ended = true
    done(body.toString("utf8"))
  }
  request.on("data", (chunk: Buffer) => {
    if (ended) return
    size += chunk.length
    if (size > nodeBodyMax) {
      ended = true
      parts = undefined
      over()
    } else if (size === length) finish(parts === undefined ? chunk : Buffer.concat([...parts, chunk], size))
    else (parts ??= []).push(chunk)
  })
  if (!(length > 0)) {
    request.on("end", () => {
      if (!ended) finish(Buffer.concat(parts ?? [], size))
    })
  }
  request.on("close", () => {
    if (ended) return
    ended = true
    left()
  })
}

/** The answers to one report. */
class Answering implements Ending {
  private readonly route: "metrics" | "static"
  private readonly response: ServerResponse

  constructor(route: "metrics" | "static", response: ServerResponse) {
    this.route = route
    this.response = response
  }
  acknowledged(update: UpdateManifest | null): void {
    send(this.response, this.route === "static" ? okStatic : update === null ? okReport : okUpdate(update))
  }
  refused(): void {
    send(this.response, unavailable)
  }
  rejected(breach: "undecodable" | "meaningless", message: string): void {
    if (breach === "undecodable") send(this.response, prepared(InvalidRequest, message))
    else if (this.route === "metrics") send(this.response, prepared(InvalidMetrics, message))
    else send(this.response, prepared(InvalidStatic, message))
  }
}

const limited = (seconds: number): Prepared =>
  prepared(RateLimited, "too many requests with a wrong secret from this network", ["Retry-After", String(seconds)])

/** Kept on the socket itself: a WeakMap hashes it anew for every report. */
const addressKey = Symbol("address")
interface Known extends Socket {
  [addressKey]?: string
}

/** Without proxies a connection has one address for life, so it is worked out once. */
const addressReader =
  (ranges: Trust) =>
  (request: IncomingMessage): string => {
    const socket: Known = request.socket
    const kept = socket[addressKey]
    if (kept !== undefined) return kept
    const { address } = clientOf(ranges, socket.remoteAddress, false, request.headers)
    if (ranges.length === 0) socket[addressKey] = address
    return address
  }

/** Why a request of a known node is turned away before its body is read. */
const turnedAway = ({ encoding, length, transfer, type }: Head): Prepared | undefined => {
  if (hasBody(length, transfer) && !isPlainJson(type, encoding)) return wrongType
  return length !== undefined && Number(length) > nodeBodyMax ? tooLarge : undefined
}

/** What all reports of a lane share. */
interface Shared {
  readonly addressOf: (request: IncomingMessage) => string
  readonly share: TurnShare
}

/** Takes the body of a known node's report and hands it to the intake, in this turn of the event loop or a later one. */
const take = (
  route: "metrics" | "static",
  id: NodeId,
  ticket: Ticket,
  length: number,
  request: IncomingMessage,
  response: ServerResponse,
  { addressOf, share }: Shared
): void => {
  const hand = (text: string, address: string) => {
    if (text === "") {
      ticket.reject()
      send(response, noBody)
    } else if (route === "static") ticket.statics(id, text, new Answering(route, response))
    else ticket.report(id, text, address, new Answering(route, response))
  }
  collect(
    request,
    length,
    (text) => {
      // A connection that is gone by then has no address any more.
      const address = addressOf(request)
      if (share.isSpent(text.length)) share.putOff(text.length, () => hand(text, address))
      else hand(text, address)
    },
    () => {
      ticket.reject()
      sendAndClose(response, tooLarge)
    },
    () => ticket.reject()
  )
}

const make = Effect.gen(function* () {
  const intake = yield* Intake
  const installId = yield* InstallId
  const ranges = trust((yield* AppConfig).trustedProxies)
  const clock = yield* Effect.clock
  const fork = Runtime.runFork(yield* Effect.runtime<never>())
  const failures = LoginLimit.make(LoginLimit.nodeQuota)
  const addressOf = addressReader(ranges)
  const shared: Shared = { addressOf, share: new TurnShare() }

  /** Only failures are limited: a known secret passes whatever its address did before. */
  const stranger = (request: IncomingMessage, response: ServerResponse) => {
    const now = clock.unsafeCurrentTimeMillis()
    const address = addressOf(request)
    const blocked = failures.blocked(address, now)
    if (blocked !== undefined) return sendAndClose(response, limited(blocked.retryAfterSec))
    failures.failed(address, now)
    sendAndClose(response, unauthorized)
  }
  const identity = (response: ServerResponse) =>
    fork(installId.get).addObserver((exit) => {
      if (exit._tag === "Failure") return send(response, unavailable)
      send(response, answerOf(jsonType, `${JSON.stringify(exit.value)}\n`))
    })

  return NodeLane.of({
    handle: (route, request, response) => {
      const ticket = route === "identity" ? undefined : intake.open()
      const head = headOf(request)
      const id = head.secret === undefined || head.secret === "" ? undefined : intake.identify(head.secret)
      const refusal = id === undefined ? undefined : turnedAway(head)
      if (id === undefined || refusal !== undefined) ticket?.reject()
      if (id === undefined) return stranger(request, response)
      if (refusal !== undefined) return sendAndClose(response, refusal)
      if (route === "identity" || ticket === undefined) return void identity(response)
      take(route, id, ticket, Number(head.length ?? Number.NaN), request, response, shared)
    }
  })
})

export const layer = Layer.effect(NodeLane, make)
