// Owns the proof of how mails are sent through real SMTP servers, and how they fail.
import { Effect, Either, Fiber, TestClock } from "effect"
import { it as effectIt } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { deliverEmail } from "../../../runtime/alert/Email.ts"
import { Guard, type GuardOptions, make } from "../../../runtime/alert/Guard.ts"
import type { Note, SinkError } from "../../../runtime/alert/Sink.ts"
import type { EmailConfig } from "../../../src/core/alert/Channel.ts"
import { type Smtp, type SmtpOptions, startSmtp } from "../../support/SmtpServer.ts"
import { testCertificate } from "../../support/TestCertificate.ts"

const open: Array<Smtp> = []
const smtp = async (options: SmtpOptions) => {
  const one = await startSmtp(options)
  open.push(one)
  return one
}
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

const note: Note = {
  title: "Opened\r\nBcc: evil@example.com\u0000 <load>",
  body: "server <script>alert(1)</script> & co\nsecond line",
  transition: "opened",
  sentAtMs: 0,
  meta: { dedupe_key: "alert:7:opened:3" }
}

const configFor = (port: number, more: Partial<EmailConfig> = {}): EmailConfig => ({
  type: "email",
  smtpHost: "127.0.0.1",
  smtpPort: port,
  username: "",
  password: "",
  from: "watch@example.com",
  to: ["a@example.com", "b@example.com"],
  useTls: false,
  ...more
})

const trusting: GuardOptions = { allowPrivate: true, ca: testCertificate }
const login = { user: "me", password: "canary-password" }
const withLogin = { username: login.user, password: login.password }

const deliver = (config: EmailConfig, options: GuardOptions = trusting): Promise<Either.Either<void, SinkError>> =>
  Effect.runPromise(deliverEmail(config, note).pipe(Effect.provideService(Guard, make(options)), Effect.either))

const outcome = async (running: Promise<Either.Either<void, SinkError>>): Promise<string> => {
  const result = await running
  expect(JSON.stringify(result)).not.toMatch(/canary|words of the server|127/)
  return Either.match(result, { onLeft: ({ kind, reason }) => `${kind} ${reason}`, onRight: () => "sent" })
}

describe("a mail", () => {
  it("is not sent in the clear where TLS is asked for and the server has none", async () => {
    const server = await smtp({ login })

    expect(await outcome(deliver(configFor(server.port, { ...withLogin, useTls: true })))).toBe("permanent tls")
    expect(server.mails).toEqual([])
  })

  it("is not sent to a server whose certificate nobody trusts, or that is another one's", async () => {
    const server = await smtp({ startTls: true })
    const config = configFor(server.port, { useTls: true })
    const resolve: GuardOptions["resolve"] = (_host, answer) => answer(null, [{ address: "127.0.0.1", family: 4 }])

    expect(await outcome(deliver(config, { allowPrivate: true }))).toBe("transient tls")
    expect(await outcome(deliver({ ...config, smtpHost: "other.example" }, { ...trusting, resolve }))).toBe(
      "transient tls"
    )
    expect(await outcome(deliver({ ...config, smtpHost: "mail.example" }, { ...trusting, resolve }))).toBe("sent")
  })

  it("is not sent to an address that is refused", async () => {
    const server = await smtp({})

    expect(await outcome(deliver(configFor(server.port), { allowPrivate: false }))).toBe("permanent refused_address")
  })

  it("fails for good on a refused login, for now on one that is refused for now", async () => {
    const server = await smtp({ login })
    const busy = await smtp({ login, refuseLoginCode: 454 })
    const none = await smtp({})

    expect(await outcome(deliver(configFor(server.port, { ...withLogin, password: "canary" })))).toBe("permanent auth")
    expect(await outcome(deliver(configFor(busy.port, withLogin)))).toBe("transient auth")
    expect(await outcome(deliver(configFor(none.port, withLogin)))).toBe("permanent auth")
    expect([...server.mails, ...busy.mails, ...none.mails]).toEqual([])
  })

  it("fails for now on a 4xx, for good on a 5xx, and tells the code", async () => {
    const later = await smtp({ refuseCode: 451 })
    const never = await smtp({ refuseCode: 550 })

    expect(await outcome(deliver(configFor(later.port)))).toBe("transient rejected")
    expect(await outcome(deliver(configFor(never.port)))).toBe("permanent rejected")
    expect(JSON.stringify(await deliver(configFor(never.port)))).toContain("550")
  })

  it("fails for now where nobody listens, and where the server hangs up or is none", async () => {
    const texts = ["", "220 hello\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "554 no\r\n"]
    const servers = await Promise.all(
      texts.map(async (text) => {
        const server = createServer((socket) =>
          socket
            .on("error", () => undefined)
            .resume()
            .end(text)
        ).listen(0, "127.0.0.1")
        await once(server, "listening")
        return server
      })
    )
    const ports = servers.map((server) => (server.address() as AddressInfo).port)
    const outcomes = []
    for (const port of [1, ...ports]) outcomes.push(await outcome(deliver(configFor(port))))
    await Promise.all(servers.map((server) => once(server.close(), "close")))

    expect(outcomes).toEqual([
      "transient connect",
      "transient connect",
      "transient connect",
      "transient server_error",
      "permanent rejected"
    ])
  })

  effectIt.effect("gives up on a server that never speaks, after 15 s, and hangs up", () =>
    Effect.gen(function* () {
      const server = createServer((socket) => socket.on("error", () => undefined).resume()).listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(server, "listening"))
      const { port } = server.address() as AddressInfo
      const running = yield* Effect.fork(
        deliverEmail(configFor(port), note).pipe(Effect.provideService(Guard, make(trusting)), Effect.either)
      )
      const [accepted] = yield* Effect.promise(() => once(server, "connection"))
      const hungUp = once(accepted, "close")
      // The dialled side learns of its connection a moment after the server; only then does the next wait begin.
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
      yield* TestClock.adjust("15 seconds")
      expect(yield* Fiber.join(running)).toMatchObject({ left: { kind: "transient", reason: "timeout" } })
      yield* Effect.promise(() => hungUp)
      yield* Effect.promise(() => once(server.close(), "close"))
    })
  )

  it("is sent plain, by STARTTLS and by TLS from the start, with and without a login", async () => {
    const plain = await smtp({})
    const upgraded = await smtp({ startTls: true, login })

    expect(await outcome(deliver(configFor(plain.port)))).toBe("sent")
    expect(await outcome(deliver(configFor(upgraded.port, { ...withLogin, useTls: true })))).toBe("sent")
    expect(plain.mails).toMatchObject([{ isSecure: false, user: undefined, from: "watch@example.com" }])
    expect(plain.mails[0]?.to).toEqual(["a@example.com", "b@example.com"])
    expect(upgraded.mails).toMatchObject([{ isSecure: true, user: "me" }])
  })

  it("does not upgrade where TLS is not asked for, whatever the server offers", async () => {
    const server = await smtp({ startTls: true })

    expect(await outcome(deliver(configFor(server.port)))).toBe("sent")
    expect(server.mails).toMatchObject([{ isSecure: false }])
  })

  it("speaks TLS from the first byte on port 465 only", async () => {
    const server = await smtp({ secure: true, login })
    const guard = make(trusting)
    // Port 465 belongs to root: the connection goes to the server that plays it.
    const redirected = Guard.of({ ...guard, connect: (host) => guard.connect(host, server.port) })
    const config = configFor(465, { ...withLogin, useTls: true })
    const result = await Effect.runPromise(
      Effect.either(deliverEmail(config, note).pipe(Effect.provideService(Guard, redirected)))
    )

    expect(result).toEqual(Either.void)
    expect(server.mails).toMatchObject([{ isSecure: true, user: "me" }])
  })

  it("cannot be given headers, recipients or markup by what it tells", async () => {
    const server = await smtp({})
    await deliver(configFor(server.port))
    const text = server.mails[0]?.text ?? ""
    const head = text.slice(0, text.indexOf("\r\n\r\n"))

    expect(head).toMatch(/^Subject: Opened Bcc: evil@example\.com <load>$/m)
    expect(head).not.toMatch(/^Bcc:/m)
    expect(head).toMatch(/^To: a@example\.com, b@example\.com$/m)
    expect(server.mails[0]?.to).toEqual(["a@example.com", "b@example.com"])
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt; &amp; co<br>")
    expect(text.match(/<script>/g)).toHaveLength(1)
    expect(text).toContain("text/plain; charset=utf-8")
  })

  it("has the same id at each attempt, so that mailboxes can tell a repetition", async () => {
    const server = await smtp({})
    await deliver(configFor(server.port))
    await deliver(configFor(server.port))
    const ids = server.mails.map(({ text }) => /^Message-ID: (.+)$/m.exec(text)?.[1])

    expect(ids).toEqual(["<alert.7.opened.3@example.com>", "<alert.7.opened.3@example.com>"])
  })
})
