// Checks the configuration of a mail channel: the server, the login and bare mail addresses.
import { Either } from "effect"
import { literalOf } from "./Address.ts"
import { addressMax, type EmailConfig, hostMax, recipientsMax, secretMax } from "./Channel.ts"
import { type Checked, kept, line, lineOrBlank, type Members, refuse } from "./Members.ts"

/** A mail channel out of its write form; the password of the one before stays where none is given. */
export const emailOf = (members: Members, before: EmailConfig | undefined): Checked<EmailConfig> =>
  Either.gen(function* () {
    const smtpHost = asciiHost(yield* line(members, "smtp_host", hostMax))
    if (smtpHost === undefined) return yield* refuse("config.smtp_host", "must be the name or address of a host")
    const smtpPort = members["smtp_port"]
    if (typeof smtpPort !== "number" || !Number.isInteger(smtpPort) || smtpPort < 1 || smtpPort > 65535) {
      return yield* refuse("config.smtp_port", "must be a whole number from 1 to 65535")
    }
    const username = yield* lineOrBlank(members, "username", secretMax)
    const password = yield* before === undefined
      ? lineOrBlank(members, "password", secretMax)
      : kept(members, "password", secretMax, before.password)
    const from = mailAddressOf(yield* line(members, "from", addressMax))
    if (from === undefined) return yield* refuse("config.from", "must be a mail address without a display name")
    const useTls = members["use_tls"]
    if (typeof useTls !== "boolean") return yield* refuse("config.use_tls", "must be true or false")
    const to = yield* recipientsOf(members["to"])
    return { type: "email", smtpHost, smtpPort, username, password, from, to, useTls }
  })

// The dot-atom of RFC 5322 3.2.3: no quoted text, so no comment, group or display name can hide in it.
const localForm = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const localMax = 64

/** A bare mail address, its domain in ASCII; undefined for anything else. */
export const mailAddressOf = (text: string): string | undefined => {
  const at = text.lastIndexOf("@")
  const local = text.slice(0, Math.max(at, 0))
  const domain = asciiHost(text.slice(at + 1))
  if (local.length > localMax || !localForm.test(local)) return undefined
  if (domain === undefined || literalOf(domain) !== undefined) return undefined
  const address = `${local}@${domain}`
  return address.length > addressMax ? undefined : address
}

/** The host as a URL would hold it: lower case, ASCII, addresses in their one form; undefined when it is none. */
const asciiHost = (text: string): string | undefined => {
  if (!/^(\[[0-9A-Fa-f:.]+\]|[\p{L}\p{N}\p{M}._-]+)$/u.test(text)) {
    return /^[0-9A-Fa-f:.]+$/.test(text) && text.includes(":") ? asciiHost(`[${text}]`) : undefined
  }
  const whole = `http://${text}`
  return URL.canParse(whole) ? new URL(whole).hostname : undefined
}

const recipientsOf = (value: unknown): Checked<ReadonlyArray<string>> => {
  const given: ReadonlyArray<unknown> = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : []
  if (given.length === 0) return refuse("config.to", "must be at least one mail address")
  if (given.length > recipientsMax) return refuse("config.to", `must be at most ${recipientsMax} mail addresses`)
  const to: Array<string> = []
  for (const one of given) {
    const address = typeof one === "string" ? mailAddressOf(one.trim()) : undefined
    if (address === undefined) return refuse("config.to", "must be mail addresses without display names")
    if (!to.includes(address)) to.push(address)
  }
  return Either.right(to)
}
