// Owns the proof that everything that leaves is judged at connect time, bounded in time and in size.
import { Effect, Either, Fiber, TestClock } from "effect"
import { it as effectIt } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { Guard, type GuardOptions, layer, make, type Resolve } from "../../../runtime/alert/Guard.ts"
import type { SinkError } from "../../../runtime/alert/Sink.ts"
import { type Receiver, type Reply, replyWith, startReceiver } from "../../support/Receiver.ts"
import { testCertificate } from "../../support/TestCertificate.ts"

const open: Array<Receiver> = []
const receiver = async (reply: Reply, isSecure = false) => {
  const one = await startReceiver(reply, isSecure)
  open.push(one)
  return one
}
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

const answers =
  (...addresses: ReadonlyArray<string>): Resolve =>
  (_host, answer) =>
    answer(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )

const post = (url: string, options: GuardOptions) =>
  Effect.runPromise(Effect.either(make(options).post({ url, headers: {}, body: "{}" })))

const connect = (host: string, port: number, options: GuardOptions) =>
  Effect.runPromise(Effect.either(Effect.scoped(make(options).connect(host, port))))

const reasonIn = (result: Either.Either<unknown, SinkError>): string =>
  Either.match(result, { onLeft: ({ kind, reason }) => `${kind} ${reason}`, onRight: () => "done" })

const refused = "permanent refused_address"

describe("a target of the service's own network", () => {
  it("is refused in every way to write it, and no connection is made", async () => {
    const target = await receiver(replyWith(200))
    const hosts = [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "0177.0.0.1",
      "127.1",
      "１２７.0.0.1",
      "127.0.0.1.",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "[2002:7f00:1::]",
      "0.0.0.0",
      "[::]"
    ]
    const results = await Promise.all(
      hosts.map((host) => post(`http://${host}:${target.port}/`, { allowPrivate: false }))
    )

    expect(results.map(reasonIn)).toEqual(hosts.map(() => refused))
    expect(target.received).toEqual([])
  })

  it("is refused when a name leads there, alone or beside a public address", async () => {
    const target = await receiver(replyWith(200))
    const resolved = [["127.0.0.1"], ["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["fe80::1"]]
    const results = await Promise.all(
      resolved.map((one) =>
        post(`http://public.example:${target.port}/`, { allowPrivate: false, resolve: answers(...one) })
      )
    )

    expect(results.map(reasonIn)).toEqual(resolved.map(() => refused))
    expect(target.received).toEqual([])
  })

  it("is refused for bare connections too, as a name and as an address", async () => {
    const target = await receiver(replyWith(200))
    const strict = { allowPrivate: false }

    expect(reasonIn(await connect("127.0.0.1", target.port, strict))).toBe(refused)
    expect(reasonIn(await connect("::1", target.port, strict))).toBe(refused)
    expect(reasonIn(await connect("0x7f.1", target.port, strict))).toBe(refused)
    expect(reasonIn(await connect("mail.example", 25, { ...strict, resolve: answers("192.168.0.1") }))).toBe(refused)
  })

  it("is refused as the metadata of a cloud even where private targets are allowed", async () => {
    const lax = { allowPrivate: true }
    const named = { ...lax, resolve: answers("169.254.169.254") }

    expect(reasonIn(await post("http://169.254.169.254/latest", lax))).toBe(refused)
    expect(reasonIn(await post("http://[::ffff:a9fe:a9fe]/", lax))).toBe(refused)
    expect(reasonIn(await post("http://[fd00:ec2::254]/", lax))).toBe(refused)
    expect(reasonIn(await post("http://metadata.example/", named))).toBe(refused)
  })

  it("is reached where private targets are allowed, by name and by address", async () => {
    const target = await receiver(replyWith(200, {}, "hello"))
    const lax = { allowPrivate: true, resolve: answers("127.0.0.1") }

    expect(await post(`${target.url}/a`, lax)).toMatchObject({ right: { status: 200, text: "hello" } })
    expect(await post(`http://inside.example:${target.port}/b`, lax)).toMatchObject({ right: { status: 200 } })
    expect(reasonIn(await connect("inside.example", target.port, lax))).toBe("done")
    expect(target.received.map(({ path }) => path)).toEqual(["/a", "/b"])
  })
})

describe("a request", () => {
  const lax = { allowPrivate: true }

  it("fails in our own words when the name, the connection or the certificate is no good", async () => {
    const secure = await receiver(replyWith(200), true)
    const closed = await receiver(replyWith(200))
    await open.pop()?.close()
    const cut = await receiver((response) => response.socket?.destroy())
    const unknown: Resolve = (_host, answer) => answer(Object.assign(new Error("words"), { code: "ENOTFOUND" }), [])

    expect(reasonIn(await post("http://nobody.example/", { ...lax, resolve: unknown }))).toBe("transient dns")
    expect(reasonIn(await post(closed.url, lax))).toBe("transient connect")
    expect(reasonIn(await post(cut.url, lax))).toBe("transient connect")
    expect(reasonIn(await post(secure.url, lax))).toBe("transient tls")
    expect(reasonIn(await post("no url", lax))).toBe("permanent config")
  })

  it("trusts a certificate it was told to trust, under the name it is for", async () => {
    const secure = await receiver(replyWith(204), true)
    const named = { ...lax, ca: testCertificate, resolve: answers("127.0.0.1") }

    expect(await post(secure.url, named)).toMatchObject({ right: { status: 204 } })
    expect(await post(`https://mail.example:${secure.port}/`, named)).toMatchObject({ right: { status: 204 } })
    expect(reasonIn(await post(`https://other.example:${secure.port}/`, named))).toBe("transient tls")
  })

  it("does not follow a redirect", async () => {
    const inner = await receiver(replyWith(200))
    const outer = await receiver(replyWith(302, { location: inner.url }))

    expect(await post(outer.url, lax)).toMatchObject({ right: { status: 302 } })
    expect(inner.received).toEqual([])
  })

  it("counts an answer of more than 64 kB, or one that breaks off, as having no body", async () => {
    const huge = await receiver(replyWith(200, {}, "x".repeat(65_537)))
    const whole = await receiver(replyWith(200, {}, "x".repeat(65_536)))
    const broken = await receiver((response) => {
      response.writeHead(200, { "content-length": "10" }).write("half")
      setImmediate(() => response.socket?.destroy())
    })

    expect(await post(huge.url, lax)).toMatchObject({ right: { status: 200, text: undefined } })
    expect(await post(broken.url, lax)).toMatchObject({ right: { status: 200, text: undefined } })
    expect(await post(whole.url, lax)).toMatchObject({ right: { text: "x".repeat(65_536) } })
  })

  it("fails on an endless head and on an answer that is no HTTP", async () => {
    const long = await receiver((response) => response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}`))
    const wild = await receiver((response) => response.socket?.end("what is it\r\n\r\n"))

    expect(reasonIn(await post(long.url, lax))).toBe("transient server_error")
    expect(reasonIn(await post(wild.url, lax))).toBe("transient server_error")
  })

  effectIt.effect("gives up after 10 s without a head, and leaves no connection behind", () =>
    Effect.gen(function* () {
      const sockets: Array<{ readonly destroyed: boolean }> = []
      const server = createServer((socket) => sockets.push(socket.resume()))
      server.listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(server, "listening"))
      const { port } = server.address() as AddressInfo
      const guard = yield* Guard
      const running = yield* Effect.fork(
        Effect.either(guard.post({ url: `http://127.0.0.1:${port}/`, headers: {}, body: "" }))
      )
      yield* Effect.promise(() => once(server, "connection"))
      yield* TestClock.adjust("9999 millis")
      expect(yield* Fiber.poll(running)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("1 millis")
      expect(reasonIn(yield* Fiber.join(running))).toBe("transient timeout")
      yield* Effect.promise(async () => {
        server.close()
        await once(server, "close")
      })
      expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true])
    }).pipe(Effect.provide(layer(lax)))
  )

  it("waits no more than 2 s for a body that never ends", async () => {
    const slow = await receiver((response) => void response.writeHead(200).write("a"))

    expect(await post(slow.url, lax)).toMatchObject({ right: { status: 200, text: undefined } })
  })

  effectIt.effect("gives up on a name that nobody resolves", () =>
    Effect.gen(function* () {
      const silent = make({ ...lax, resolve: () => undefined })
      const posting = yield* Effect.fork(
        Effect.either(silent.post({ url: "http://a.example/", headers: {}, body: "" }))
      )
      const dialling = yield* Effect.fork(Effect.either(Effect.scoped(silent.connect("a.example", 25))))
      yield* TestClock.adjust("10 seconds")

      expect(reasonIn(yield* Fiber.join(posting))).toBe("transient timeout")
      expect(reasonIn(yield* Fiber.join(dialling))).toBe("transient timeout")
    })
  )
})
