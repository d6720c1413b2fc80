// The only way out: HTTP requests and TCP connections whose every address is judged before it is dialled.
import { Context, Duration, Effect, Layer, type Scope } from "effect"
import { lookup as systemLookup, type LookupAddress } from "node:dns"
import { connect, type LookupFunction, type Socket } from "node:net"
import { Agent, type Dispatcher, request } from "undici"
import { isAllowedTarget, literalOf } from "../../src/core/alert/Address.ts"
import { networkError, RefusedAddress } from "./NetworkError.ts"
import { SinkError } from "./Sink.ts"

/** Of a request, from the name to the last byte of the answer's head, and of a TCP connection (contract, outbox). */
const deadlineMs = 10_000
/** An answer's status decides most deliveries; its body is waited for only so long after the head. */
const bodyWaitMs = 2_000
/** An answer with more than this is cut off and counts as having no body. */
const bodyMaxBytes = 64 * 1024

/** Resolves a name to all of its addresses, as node:dns does. */
export type Resolve = (
  host: string,
  answer: (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<LookupAddress>) => void
) => void

export interface GuardOptions {
  /** The operator's setting: targets inside the own network are allowed, though never the metadata of a cloud. */
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
  /** Certificates to trust in place of the system's, PEM. */
  readonly ca?: string
}

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  /** The `Retry-After` of the answer as it came. */
  readonly retryAfter: string | undefined
  /** Undefined when the body was too long, too slow or cut off. */
  readonly text: string | undefined
}

export class Guard extends Context.Tag("runtime/alert/Guard")<
  Guard,
  {
    /** One POST on a connection of its own, redirects not followed, proxies of the environment ignored. */
    readonly post: (post: Post) => Effect.Effect<Answer, SinkError>
    /** A connected TCP socket, destroyed with the scope. */
    readonly connect: (host: string, port: number) => Effect.Effect<Socket, SinkError, Scope.Scope>
    /** Certificates to trust in place of the system's. */
    readonly ca: string | undefined
  }
>() {}

export const make = (options: GuardOptions): Context.Tag.Service<typeof Guard> => {
  const lookup = guardedLookup(options.allowPrivate, options.resolve ?? resolveBySystem)
  const ca = options.ca
  const tls = ca === undefined ? {} : { ca }
  return Guard.of({
    ca,
    post: (post) =>
      Effect.gen(function* () {
        if (!URL.canParse(post.url)) {
          return yield* new SinkError({ kind: "permanent", reason: "config", message: "the URL cannot be read" })
        }
        const url = new URL(post.url)
        yield* admitLiteral(url.hostname, options.allowPrivate)
        return yield* Effect.acquireUseRelease(
          // An agent per request: no connection outlives the judgement of its address.
          Effect.sync(() => new Agent({ pipelining: 0, connect: { lookup, timeout: deadlineMs, ...tls } })),
          (agent) => exchange(agent, url, post),
          // Nobody waits for its end: the answer is read by then.
          (agent) => Effect.sync(() => void agent.destroy())
        )
      }),
    connect: (host, port) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          yield* admitLiteral(host, options.allowPrivate)
          const socket = yield* restore(dial(literalOf(host) ?? host, port, lookup))
          yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
          return socket
        })
      )
  })
}

export const layer = (options: GuardOptions) => Layer.succeed(Guard, make(options))

/** Node asks no resolver about addresses that are written out, so these are judged here. */
const admitLiteral = (host: string, allowPrivate: boolean) => {
  const literal = literalOf(host)
  return literal === undefined || isAllowedTarget(literal, allowPrivate)
    ? Effect.void
    : Effect.fail(networkError(new RefusedAddress()))
}

const resolveBySystem: Resolve = (host, answer) => systemLookup(host, { all: true }, answer)

/** A lookup that fails when one single address of the name is refused: a mixed answer is an attempt to get inside. */
const guardedLookup =
  (allowPrivate: boolean, resolve: Resolve): LookupFunction =>
  (host, { all, family }, callback) => {
    resolve(host, (error, addresses) => {
      if (error !== null) return callback(error, "")
      if (!addresses.every(({ address }) => isAllowedTarget(address, allowPrivate))) {
        return callback(new RefusedAddress(), "")
      }
      const wanted = addresses.filter((one) => (family !== 4 && family !== 6) || one.family === family)
      const [first] = wanted
      if (first === undefined) return callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "")
      return all === true ? callback(null, [...wanted]) : callback(null, first.address, first.family)
    })
  }

const exchange = Effect.fnUntraced(function* (dispatcher: Agent, url: URL, post: Post) {
  const head = yield* Effect.tryPromise({
    try: (signal) =>
      request(url, { method: "POST", headers: { ...post.headers }, body: post.body, dispatcher, signal }),
    catch: networkError
  }).pipe(Effect.timeoutFail({ duration: Duration.millis(deadlineMs), onTimeout: tooLate }))
  const text = yield* Effect.promise(() => bodyOf(head.body)).pipe(
    Effect.timeoutTo({ duration: Duration.millis(bodyWaitMs), onSuccess: (body) => body, onTimeout: () => undefined })
  )
  const retryAfter = head.headers["retry-after"]
  return { status: head.statusCode, retryAfter: typeof retryAfter === "string" ? retryAfter : undefined, text }
})

/** The body as text; undefined when it breaks off or grows too long. Never rejects. */
const bodyOf = async (body: Dispatcher.ResponseData["body"]): Promise<string | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk)
      size += bytes.length
      if (size > bodyMaxBytes) return undefined
      chunks.push(bytes)
    }
    return Buffer.concat(chunks).toString("utf8")
  } catch {
    return undefined
  }
}

const dial = (host: string, port: number, lookup: LookupFunction): Effect.Effect<Socket, SinkError> =>
  Effect.async<Socket, SinkError>((resume) => {
    const socket = connect({ host, port, lookup, autoSelectFamily: true })
    socket.once("connect", () => resume(Effect.succeed(socket)))
    // Stays for the life of the socket: one that breaks before its user listens must not end the process.
    socket.on("error", (error) => resume(Effect.fail(networkError(error))))
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.timeoutFail({ duration: Duration.millis(deadlineMs), onTimeout: tooLate }))

const tooLate = () =>
  new SinkError({ kind: "transient", reason: "timeout", message: "the target did not answer in time" })
