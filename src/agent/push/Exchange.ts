// One POST to a target: headers, limits, and nothing that follows a redirect.
import * as http from "node:http"
import * as https from "node:https"
import { agentVersion } from "../Version.ts"

export interface Exchange {
  readonly url: URL
  /** Sent as X-Node-Secret; never logged. */
  readonly secret: string
  readonly body: Buffer
  readonly agent: http.Agent
  /** For the whole exchange, connecting and reading included. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status: number
  /** Lower case, without parameters; empty when none was named. */
  readonly mediaType: string
  /** Null when the body was larger than is read. */
  readonly text: string | null
}

/** A reply needs a few hundred bytes; past this the connection is given up instead of drained. */
const replyBytesMax = 1024 * 1024

/** Thrown for everything that ends without an HTTP status. */
export class ExchangeFailed extends Error {
  /** `timeout`, `stopped`, or the code of the system, of TLS or of certificate verification. */
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

const codeOf = (error: unknown): string => {
  if (error instanceof ExchangeFailed) return error.code
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code
  return error instanceof Error ? error.name : "unknown"
}

const readReply = (
  response: http.IncomingMessage,
  done: (reply: Reply) => void,
  failed: (e: unknown) => void
): void => {
  const mediaType = (response.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""
  const status = response.statusCode ?? 0
  const chunks: Array<Buffer> = []
  let length = 0
  response.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length <= replyBytesMax) chunks.push(chunk)
    else {
      done({ status, mediaType, text: null })
      response.destroy()
    }
  })
  response.on("end", () => done({ status, mediaType, text: Buffer.concat(chunks).toString("utf8") }))
  response.on("error", failed)
  response.on("close", () => failed(new ExchangeFailed("ECONNRESET")))
}

/** The server may close an idle connection at the very moment it is used again; that is no failure of the target. */
const isStaleConnection = (request: http.ClientRequest, error: unknown): boolean =>
  request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(codeOf(error))

/** Posts once and resolves with any HTTP status; rejects with {@link ExchangeFailed}. Redirects are not followed. */
export const post = (exchange: Exchange): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { agent, body, secret, signal, timeoutMs, url } = exchange
    let request: http.ClientRequest | null = null
    let isSettled = false
    const settle = (act: () => void): void => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      signal.removeEventListener("abort", stop)
      act()
    }
    const fail = (error: unknown): void => settle(() => reject(new ExchangeFailed(codeOf(error))))
    const giveUp = (code: string): void => {
      fail(new ExchangeFailed(code))
      request?.destroy()
    }
    const stop = (): void => giveUp("stopped")
    const timer = setTimeout(() => giveUp("timeout"), timeoutMs)
    signal.addEventListener("abort", stop)
    const start = (mayRepeat: boolean): void => {
      const headers = {
        "Content-Type": "application/json",
        "Content-Length": body.length,
        "User-Agent": `monitor-node/${agentVersion}`,
        "X-Node-Secret": secret
      }
      const made = (url.protocol === "https:" ? https : http).request(url, { method: "POST", agent, headers })
      request = made
      made.on("response", (response) => readReply(response, (reply) => settle(() => resolve(reply)), fail))
      made.on("error", (error) => {
        if (!isSettled && mayRepeat && isStaleConnection(made, error)) start(false)
        else fail(error)
      })
      made.end(body)
    }
    if (signal.aborted) stop()
    else start(true)
  })
