// Plain node:http answers for what is served outside the API's router: JSON errors and their headers.
import type { ServerResponse } from "node:http"
import type { Failure, FailureClass } from "../../schema/Errors.ts"

/** Headers of every API answer: nothing is cached, nothing is sniffed, nothing is framed. */
export const apiHeaders = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff"
} as const

/** Headers of every page and file; the policy leaves scripts, styles and connections to this origin only. */
export const securityHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; font-src 'self'; connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
} as const

/**
 * A ready answer; made once for constant messages. The body is text, because node then sends head and body in one
 * write, where a Buffer costs a cork, a list and a gathered write: 2 µs of each report.
 */
export interface Prepared {
  readonly status: number
  readonly headers: ReadonlyArray<string>
  readonly body: string
}

export const jsonType = "application/json; charset=utf-8"

const headersOf = (type: string, body: string): ReadonlyArray<string> => [
  "Content-Type",
  type,
  "Content-Length",
  String(Buffer.byteLength(body)),
  "Cache-Control",
  apiHeaders["cache-control"],
  "X-Content-Type-Options",
  apiHeaders["x-content-type-options"]
]

/** An answer that is no failure. */
export const answerOf = (type: string, body: string): Prepared => ({
  status: 200,
  headers: headersOf(type, body),
  body
})

export const prepared = <F extends Failure>(
  one: FailureClass<F>,
  message: string,
  extra: ReadonlyArray<string> = []
): Prepared => {
  const body = `${JSON.stringify({ code: one.code, message })}\n`
  return { status: one.status, headers: [...headersOf(jsonType, body), ...extra], body }
}

/** Sends ready bytes; a client that has left is no error. */
export const send = (response: ServerResponse, { body, headers, status }: Prepared): void => {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, headers as Array<string>)
  response.end(body)
}

/** True when If-None-Match names the tag, alone or in a list, weak or not. */
export const hasTag = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined && ifNoneMatch.split(",").some((one) => one.trim().replace(/^W\//, "") === etag)

/** True when Accept-Encoding names gzip and does not refuse it with a weight of zero. */
export const takesGzip = (acceptEncoding: string | undefined): boolean =>
  /(?:^|,)\s*gzip\s*(?:$|,|;)(?!\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(acceptEncoding ?? "")

/** How long a refused client may take to read its answer before the connection is cut. */
const lingerMs = 250

/**
 * Makes this the last answer of its connection and leaves unread what the client still sends: at most what Node and
 * the kernel had already buffered is taken. Node itself would cut at once, and the reset that follows can overtake
 * the answer; or it would read the rest of the body, however long.
 */
export const closeUnread = (response: ServerResponse): void => {
  const { req, socket } = response
  response.shouldKeepAlive = false
  if (socket === null) return
  const cut = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    if (req.complete) return cut()
    socket.pause()
    socket.end()
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }
}

/** Answers without reading the rest of the body and closes: whoever sends too much does not get to send it all. */
export const sendAndClose = (response: ServerResponse, answer: Prepared): void => {
  response.req.pause()
  closeUnread(response)
  send(response, answer)
}
