// Tells a note by mail through an SMTP server.
import { Duration, Effect } from "effect"
import type { Socket } from "node:net"
import { createTransport } from "nodemailer"
import type { EmailConfig } from "../../src/core/alert/Channel.ts"
import { literalOf } from "../../src/core/alert/Address.ts"
import { Guard } from "./Guard.ts"
import { networkError } from "./NetworkError.ts"
import { type Note, SinkError } from "./Sink.ts"

/** Of one mail, dialling included. */
const deadlineMs = 15_000
const subjectMax = 200
const bodyMax = 20_000

/** Delivers one note to all recipients in one mail; it counts as delivered when the server took it for any of them. */
export const deliverEmail = (config: EmailConfig, note: Note): Effect.Effect<void, SinkError, Guard> =>
  Effect.gen(function* () {
    const guard = yield* Guard
    const socket = yield* guard.connect(config.smtpHost, config.smtpPort)
    yield* Effect.tryPromise({
      try: () => transportOf(config, socket, guard.ca).sendMail(mailOf(config, note)),
      catch: mailError
    })
  }).pipe(
    // The socket dies with the scope, whatever stage the conversation is at.
    Effect.scoped,
    Effect.timeoutFail({
      duration: Duration.millis(deadlineMs),
      onTimeout: () =>
        new SinkError({ kind: "transient", reason: "timeout", message: "the mail server did not answer in time" })
    }),
    Effect.asVoid
  )

const transportOf = (config: EmailConfig, connection: Socket, ca: string | undefined) => {
  const isDirect = config.useTls && config.smtpPort === 465
  const name = literalOf(config.smtpHost)
  return createTransport({
    host: config.smtpHost,
    port: config.smtpPort,
    connection,
    secure: isDirect,
    requireTLS: config.useTls && !isDirect,
    ignoreTLS: !config.useTls,
    tls: { ...(name === undefined ? { servername: config.smtpHost } : {}), ...(ca === undefined ? {} : { ca }) },
    ...(config.username === "" ? {} : { auth: { user: config.username, pass: config.password }, forceAuth: true }),
    greetingTimeout: deadlineMs,
    socketTimeout: deadlineMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false
  })
}

const mailOf = (config: EmailConfig, note: Note) => {
  const subject = oneLine(note.title)
  const text = note.body.replace(/\r\n?/g, "\n").replace(unprintable, "").slice(0, bodyMax)
  return {
    // As address objects: a text would be searched for display names.
    from: { name: "", address: config.from },
    to: config.to.map((address) => ({ name: "", address })),
    subject,
    text,
    html: htmlOf(subject, text),
    ...messageIdOf(config.from, note)
  }
}

/** The same note has the same Message-ID at each attempt, so that a mailbox can tell a repetition from news. */
const messageIdOf = (from: string, note: Note) => {
  const key = note.meta["dedupe_key"]
  if (key === undefined) return {}
  return { messageId: `<${key.replace(/[^A-Za-z0-9.-]/g, ".")}@${from.slice(from.lastIndexOf("@") + 1)}>` }
}

const unprintable = /(?![\t\n])[\p{Cc}\p{Cs}]/gu

const oneLine = (text: string): string =>
  Array.from(text.replace(/[\s\p{Cc}\p{Cs}]+/gu, " ").trim())
    .slice(0, subjectMax)
    .join("")

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => entities[sign] ?? "")

const htmlOf = (title: string, text: string): string =>
  `<!doctype html><html><body style="font-family:sans-serif"><p><strong>${escaped(title)}</strong></p>` +
  `<p>${escaped(text).replaceAll("\n", "<br>\n")}</p></body></html>`

/** What nodemailer's errors say in codes; their texts hold the server's words and stay here. */
const mailError = (cause: unknown): SinkError => {
  const code = textMember(cause, "code")
  const status = statusOf(cause)
  const said = status === undefined ? "" : ` with code ${status}`
  const isTransient = status === undefined || status < 500
  const kind = isTransient ? "transient" : "permanent"
  if (code === "EAUTH") {
    // Without a code the server offers no login at all, or broke it off; asking again changes neither.
    const authKind = status !== undefined && isTransient ? "transient" : "permanent"
    return new SinkError({ kind: authKind, reason: "auth", message: `the mail server refused the login${said}` })
  }
  if (code === "ETLS" && status !== undefined) {
    return new SinkError({ kind, reason: "tls", message: "the mail server does not offer STARTTLS" })
  }
  if (status !== undefined && status >= 400) {
    return new SinkError({ kind, reason: "rejected", message: `the mail server refused the mail${said}` })
  }
  return networkError(cause)
}

const textMember = (cause: unknown, name: string): string => {
  if (typeof cause !== "object" || cause === null || !(name in cause)) return ""
  return String(Reflect.get(cause, name))
}

const statusOf = (cause: unknown): number | undefined => {
  const status = Number(textMember(cause, "responseCode"))
  return Number.isInteger(status) && status >= 200 ? status : undefined
}
