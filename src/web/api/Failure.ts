// What a call can end in: the service's `{code, message}`, or that it was not reached.

/** `status` 0 means that no answer came; `code` is then `network` or `timeout`. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  /** Whole seconds of `Retry-After`, when the service gave it. */
  readonly retryAfterSec: number | null

  constructor(status: number, code: string, message: string, retryAfterSec: number | null = null) {
    super(message)
    this.name = "Failure"
    this.status = status
    this.code = code
    this.retryAfterSec = retryAfterSec
  }
}

/** Anything thrown, as a failure. An abort counts as a timeout. */
export const failureOf = (thrown: unknown): Failure => {
  if (thrown instanceof Failure) return thrown
  const isAbort = thrown instanceof Error && thrown.name === "AbortError"
  return new Failure(0, isAbort ? "timeout" : "network", thrown instanceof Error ? thrown.message : String(thrown))
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** Reads the error body; a proxy's HTML page becomes `http_<status>`. */
export const failureOfResponse = async (response: Response): Promise<Failure> => {
  const body: unknown = await response.json().catch(() => null)
  const code = isRecord(body) && typeof body["code"] === "string" ? body["code"] : `http_${response.status}`
  const message = isRecord(body) && typeof body["message"] === "string" ? body["message"] : response.statusText
  const retryAfter = Number(response.headers.get("retry-after") ?? NaN)
  return new Failure(response.status, code, message, Number.isFinite(retryAfter) ? retryAfter : null)
}
