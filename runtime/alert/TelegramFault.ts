// Reads what Telegram and its library answer to a request that failed; their texts stay here.
import { networkError } from "./NetworkError.ts"
import { waitOfSeconds } from "./RetryAfter.ts"
import { SinkError } from "./Sink.ts"

/** `name` is Telegram's error constant, "" where there is none (a lost connection, for instance). */
export interface TelegramFault {
  readonly name: string
  readonly code: number
  /** How long Telegram wants to hear nothing. */
  readonly waitMs: number | undefined
}

export const faultOf = (cause: unknown): TelegramFault => {
  const member = (name: string): unknown =>
    typeof cause === "object" && cause !== null && name in cause ? Reflect.get(cause, name) : undefined
  const text = member("errorMessage")
  const code = member("code")
  return {
    name: typeof text === "string" && /^[A-Z][A-Z0-9_]*$/.test(text) ? text : "",
    code: typeof code === "number" ? code : 0,
    waitMs: waitOfSeconds(member("seconds"))
  }
}

// The login is gone: another device ended it, the account is closed, or the key was never good.
const lostLogin =
  /^(AUTH_KEY_(UNREGISTERED|INVALID|DUPLICATED|PERM_EMPTY)|SESSION_(REVOKED|EXPIRED|PASSWORD_NEEDED)|USER_DEACTIVATED(_BAN)?)$/

/** A failed request as a delivery that failed. */
export const telegramError = (cause: unknown): SinkError => {
  const { code, name, waitMs } = faultOf(cause)
  if (waitMs !== undefined) {
    const message = "Telegram asks to wait before the next message"
    return new SinkError({ kind: "rate_limited", reason: "rate_limited", retryAfterMs: waitMs, message })
  }
  if (lostLogin.test(name)) {
    return new SinkError({
      kind: "permanent",
      reason: "invalid_session",
      message: "the Telegram login is not valid any more"
    })
  }
  if (name === "TARGET_UNKNOWN") {
    return new SinkError({
      kind: "permanent",
      reason: "config",
      message: "the Telegram account does not know the chat"
    })
  }
  if (name.startsWith("API_ID_")) {
    return new SinkError({
      kind: "permanent",
      reason: "config",
      message: "Telegram does not know the api_id and api_hash"
    })
  }
  if (name === "CONNECTION_FAILED") return networkError({ code: "ECONNREFUSED" })
  if (code >= 400 && code < 500 && name !== "") {
    return new SinkError({ kind: "permanent", reason: "rejected", message: "Telegram refused the message" })
  }
  if (name !== "") {
    return new SinkError({ kind: "transient", reason: "server_error", message: "Telegram has a fault of its own" })
  }
  return networkError(cause)
}
