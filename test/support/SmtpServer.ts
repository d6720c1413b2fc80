// SMTP servers on loopback for tests: what they offer, whom they let in and what they refuse is up to the test.
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { testCertificate, testKey } from "./TestCertificate.ts"

export interface Mail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly isSecure: boolean
  /** Undefined without a login. */
  readonly user: string | undefined
  readonly text: string
}

export interface Smtp {
  readonly port: number
  readonly mails: ReadonlyArray<Mail>
  readonly close: () => Promise<void>
}

export interface SmtpOptions {
  /** TLS from the first byte. */
  readonly secure?: boolean
  readonly startTls?: boolean
  /** The login that is let in; without it the server offers none. */
  readonly login?: { readonly user: string; readonly password: string }
  /** The code every mail is refused with, at the recipient. */
  readonly refuseCode?: number
  /** The code every login is refused with. */
  readonly refuseLoginCode?: number
}

const failure = (code: number) => Object.assign(new Error("words of the server"), { responseCode: code })

export const startSmtp = async (options: SmtpOptions): Promise<Smtp> => {
  const mails: Array<Mail> = []
  const disabled = [
    ...(options.startTls === true ? [] : ["STARTTLS"]),
    ...(options.login === undefined ? ["AUTH"] : [])
  ]
  const server = new SMTPServer({
    secure: options.secure === true,
    key: testKey,
    cert: testCertificate,
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: disabled,
    logger: false,
    onAuth: ({ password, username }, _session, answer) => {
      const { login, refuseLoginCode } = options
      if (refuseLoginCode !== undefined) return answer(failure(refuseLoginCode))
      if (username === login?.user && password === login?.password) return answer(null, { user: username })
      answer(failure(535))
    },
    onRcptTo: (_address, _session, answer) => {
      answer(options.refuseCode === undefined ? null : failure(options.refuseCode))
    },
    onData: (stream, session, answer) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: session.user === undefined ? undefined : String(session.user),
          text: Buffer.concat(chunks).toString("utf8")
        })
        answer()
      })
    }
  } satisfies SMTPServerOptions)
  // A client that hangs up in the middle is what some tests are about.
  server.on("error", () => undefined)
  server.listen(0, "127.0.0.1")
  await once(server.server, "listening")
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve()))
  }
}
