// One call to the service: token, JSON, conditional reads, timeout, and one repeat after a 401.
import type { Auth } from "./Auth.ts"
import { Failure, failureOf, failureOfResponse } from "./Failure.ts"

export interface CallOptions {
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** Makes the read conditional; the answer may then be 304 without a body. */
  readonly etag?: string | null
  /** For calls that are known to take long. */
  readonly timeoutMs?: number
}

export interface Answer {
  readonly status: number
  /** Undefined for 204 and 304. */
  readonly body: unknown
  readonly headers: Headers
}

/** No call of this app takes longer when all is well. */
const callTimeoutMs = 15_000

export class Client {
  readonly #auth: Auth
  /** Called when a call stays 401 after a refresh. */
  readonly #onExpired: () => void

  constructor(auth: Auth, onExpired: () => void) {
    this.#auth = auth
    this.#onExpired = onExpired
  }

  /** Rejects with a Failure for every answer but 2xx and 304. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const response = await this.#answered(method, path, options)
    if (response.status === 204 || response.status === 304) {
      return { status: response.status, body: undefined, headers: response.headers }
    }
    const body: unknown = await response.json().catch((thrown: unknown) => {
      throw new Failure(response.status, "invalid_json_response", String(thrown))
    })
    return { status: response.status, body, headers: response.headers }
  }

  /** The body of a read. The caller names the type the contract gives to `path`. */
  async get<A>(path: string, options: CallOptions = {}): Promise<A> {
    return (await this.call("GET", path, options)).body as A
  }

  /** The body of a read that is no JSON. */
  async text(path: string): Promise<string> {
    return (await this.#answered("GET", path, {})).text()
  }

  async #answered(method: string, path: string, options: CallOptions): Promise<Response> {
    const { token } = this.#auth
    const first = await this.#send(method, path, options)
    const response = first.status === 401 ? await this.#again(method, path, options, first, token) : first
    if (!response.ok && response.status !== 304) throw await failureOfResponse(response)
    return response
  }

  /** The refused answer stands when the session could be neither renewed nor found to be over. */
  async #again(method: string, path: string, options: CallOptions, refused: Response, used: string | null) {
    const outcome = await this.#auth.renew(used)
    if (outcome === "failed") return refused
    const second = outcome === "refreshed" ? await this.#send(method, path, options) : refused
    if (second.status === 401) this.#onExpired()
    return second
  }

  async #send(method: string, path: string, options: CallOptions): Promise<Response> {
    const headers: Record<string, string> = { accept: "application/json" }
    if (this.#auth.token !== null) headers["authorization"] = `Bearer ${this.#auth.token}`
    if (options.body !== undefined) headers["content-type"] = "application/json"
    if (options.etag) headers["if-none-match"] = options.etag
    const timeout = AbortSignal.timeout(options.timeoutMs ?? callTimeoutMs)
    try {
      return await fetch(path, {
        method,
        headers,
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]),
        credentials: "same-origin"
      })
    } catch (thrown) {
      throw failureOf(thrown)
    }
  }
}
