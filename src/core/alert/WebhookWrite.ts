// Checks the configuration of a webhook: where it goes and which headers it may bring along.
import { Either } from "effect"
import { headersMax, headerValueMax, secretMax, urlMax, type WebhookConfig } from "./Channel.ts"
import { type Checked, kept, line, type Members, membersOf, refuse } from "./Members.ts"

/** A webhook out of its write form; the secret and header values of the one before stay as {@link kept} says. */
export const webhookOf = (members: Members, before: WebhookConfig | undefined): Checked<WebhookConfig> =>
  Either.gen(function* () {
    const url = yield* urlOf(members)
    const secret = yield* kept(members, "secret", secretMax, before?.secret ?? "")
    return { type: "webhook", url, headers: yield* headersOf(members["headers"], url, before), secret }
  })

const urlOf = (members: Members): Checked<string> =>
  Either.gen(function* () {
    const text = yield* line(members, "url", urlMax)
    if (!URL.canParse(text)) return yield* refuse("config.url", "must be a URL with scheme and host")
    const url = new URL(text)
    if (url.protocol !== "https:" && url.protocol !== "http:") {
      return yield* refuse("config.url", "must begin with https:// or http://")
    }
    if (url.username !== "" || url.password !== "") {
      return yield* refuse("config.url", "must not hold a user name or password: use a header")
    }
    return text
  })

const nameForm = /^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/
const valueForm = /^[\x20-\x7e]+$/
// What frames the message or says what it is belongs to the sender of it (RFC 9112, 9110 7.6.1).
const reserved = new Set(
  `host content-length content-type content-encoding transfer-encoding connection keep-alive upgrade te trailer expect
  proxy-connection proxy-authorization x-webhook-signature`.split(/\s+/)
)

const headersOf = (value: unknown, url: string, before: WebhookConfig | undefined): Checked<WebhookConfig["headers"]> =>
  Either.gen(function* () {
    // A value that nobody can read must not be sent elsewhere by whoever may change the address.
    const isMoved = before !== undefined && originOf(before.url) !== originOf(url)
    const old: WebhookConfig["headers"] = before === undefined || isMoved ? {} : before.headers
    if (value === undefined || value === null) {
      if (!isMoved || Object.keys(before.headers).length === 0) return old
      return yield* refuse("config.headers", "must be given again because the URL names another host")
    }
    const entries = Object.entries(yield* membersOf("config.headers", value))
    if (entries.length > headersMax) return yield* refuse("config.headers", `must be at most ${headersMax}`)
    const headers: Record<string, string> = Object.create(null)
    for (const [given, content] of entries) {
      const name = given.trim().toLowerCase()
      if (!nameForm.test(name)) return yield* refuse("config.headers", "must have names of HTTP headers")
      if (reserved.has(name) || name.startsWith("x-alert-"))
        return yield* refuse("config.headers", `must not set ${name}`)
      if (name in headers) return yield* refuse("config.headers", `must name ${name} once`)
      headers[name] = yield* valueOf(name, content, Object.hasOwn(old, name) ? old[name] : undefined)
    }
    return { ...headers }
  })

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)

const valueOf = (name: string, content: unknown, old: string | undefined): Checked<string> => {
  if (typeof content !== "string") return refuse(`config.headers.${name}`, "must be a text")
  const value = content.trim()
  if (value === "") return old === undefined ? refuse(`config.headers.${name}`, "must not be blank") : Either.right(old)
  if (value.length > headerValueMax) {
    return refuse(`config.headers.${name}`, `must be at most ${headerValueMax} characters`)
  }
  return valueForm.test(value) ? Either.right(value) : refuse(`config.headers.${name}`, "must be printable ASCII")
}
