import { X509Certificate } from "node:crypto"
import * as https from "node:https"
import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { makeLog } from "../../../src/agent/Log.ts"
import { verifiesAt, wasValidUntilExpiry } from "../../../src/agent/push/Downgrade.ts"
import { destinationUrl, makeEndpoint, plainUrl, urlFault } from "../../../src/agent/push/Endpoint.ts"
import {
  clientCertificate,
  expiredCertificate,
  expiredKey,
  goodCertificate,
  goodKey,
  testRoot
} from "../support/Certificates.ts"
import { type Receiver, startReceiver } from "../support/Receiver.ts"

const cleanups: Array<() => Promise<void> | void> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  cleanups.push(() => void server.close())
  return (server.address() as AddressInfo).port
}

interface TlsService {
  readonly port: number
  readonly requests: Array<string>
}

/** An HTTPS service with that certificate; what reaches it unencrypted is answered by the TLS library, not by us. */
const startTls = async (cert: string, key: string): Promise<TlsService> => {
  const requests: Array<string> = []
  const server = https.createServer({ cert, key }, (request, response) => {
    requests.push(request.url ?? "")
    response.end()
  })
  return { port: await listen(server), requests }
}

/** TLS and plain HTTP on one port: the first byte tells which; the contract's fall keeps host and port. */
const startBoth = async (cert: string, key: string): Promise<TlsService & { readonly plain: Receiver }> => {
  const plain = await startReceiver()
  const tls = await startTls(cert, key)
  cleanups.push(plain.close)
  const front = createServer((socket) => {
    socket.once("data", (head) => {
      socket.pause()
      const back = connect(head[0] === 0x16 ? tls.port : plain.port, "127.0.0.1", () => {
        back.write(head)
        socket.pipe(back).pipe(socket)
      })
      back.on("error", () => socket.destroy())
      socket.on("error", () => back.destroy())
      socket.on("close", () => back.destroy())
    })
    cleanups.push(() => void socket.destroy())
  })
  return { port: await listen(front), requests: tls.requests, plain }
}

const connectTo = (url: string, requireHttps = false, ca: ReadonlyArray<string> | null = [testRoot]) => {
  const lines: Array<string> = []
  const log = makeLog((text) => lines.push(text), false)
  const signal = new AbortController().signal
  const endpoint = makeEndpoint({ url, secret: "s3cret-value", requireHttps, ca, signal }, log)
  cleanups.push(endpoint.close)
  return { endpoint, lines }
}
const body = Buffer.from("{}")
const address = (port: number) => `https://127.0.0.1:${port}/api/node/metrics`
const name = (port: number) => `https://localhost:${port}/api/node/metrics`

describe("an HTTPS target that fails", () => {
  it("is not spoken to over HTTP with --require-https, whatever it answers", async () => {
    const plain = await startReceiver()
    cleanups.push(plain.close)
    const { endpoint } = connectTo(address(plain.port), true)
    await expect(endpoint.post("static", body, 5000)).rejects.toThrow()
    expect(plain.received).toEqual([])
  })

  it("is not spoken to over HTTP when a name's certificate comes from an unknown root", async () => {
    const { plain, port } = await startBoth(goodCertificate, goodKey)
    const { endpoint } = connectTo(name(port), false, null)
    await expect(endpoint.post("static", body, 5000)).rejects.toThrow(/UNABLE_TO_|SELF_SIGNED/)
    expect(plain.received).toEqual([])
  })

  it("is not spoken to over HTTP when an expired certificate never was good", async () => {
    const { plain, port } = await startBoth(expiredCertificate, expiredKey)
    const { endpoint } = connectTo(name(port), false, null)
    await expect(endpoint.post("static", body, 5000)).rejects.toThrow()
    expect(plain.received).toEqual([])
  })

  it("is not spoken to over HTTP when nobody listens", async () => {
    const { endpoint, lines } = connectTo("https://127.0.0.1:1/api/node/metrics")
    await expect(endpoint.post("static", body, 5000)).rejects.toThrow("ECONNREFUSED")
    expect(lines).toEqual([])
  })

  it("is not spoken to over HTTP when the peer speaks neither TLS nor HTTP", async () => {
    const port = await listen(createServer((socket) => void socket.end("220 mail.example ready\r\n")))
    const { endpoint, lines } = connectTo(address(port))
    await expect(endpoint.post("static", body, 5000)).rejects.toThrow()
    expect(lines).toEqual([])
  })

  it("falls to HTTP for good when the peer answers plain HTTP, and sends static again at once", async () => {
    const plain = await startReceiver()
    cleanups.push(plain.close)
    const { endpoint, lines } = connectTo(name(plain.port))

    expect((await endpoint.post("static", body, 5000)).status).toBe(200)
    expect((await endpoint.post("metrics", body, 5000)).status).toBe(200)

    expect(plain.received.map(({ path }) => path)).toEqual(["/api/node/static", "/api/node/metrics"])
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain("unencrypted HTTP")
    expect(lines[0]).not.toContain("s3cret-value")
  })

  it("does not send a report again at once; the next round goes over HTTP", async () => {
    const plain = await startReceiver()
    cleanups.push(plain.close)
    const { endpoint } = connectTo(address(plain.port))

    await expect(endpoint.post("metrics", body, 5000)).rejects.toThrow()
    expect(plain.received).toEqual([])
    expect((await endpoint.post("metrics", body, 5000)).status).toBe(200)
  })

  it("falls to HTTP when it is an address whose certificate cannot be verified", async () => {
    const { plain, port } = await startBoth(goodCertificate, goodKey)
    const { endpoint, lines } = connectTo(address(port), false, null)
    expect((await endpoint.post("identity", body, 5000)).status).toBe(200)
    expect(plain.received.map(({ path }) => path)).toEqual(["/api/node/identity"])
    expect(lines[0]).toContain("the certificate of an address failed")
  })

  it("falls to HTTP when it is a name whose certificate did nothing worse than expire", async () => {
    const { plain, port } = await startBoth(expiredCertificate, expiredKey)
    const { endpoint, lines } = connectTo(name(port))
    expect((await endpoint.post("static", body, 5000)).status).toBe(200)
    expect(plain.received).toHaveLength(1)
    expect(lines[0]).toContain("has expired")
  })
})

describe("an HTTPS target that is fine", () => {
  it("stays on HTTPS", async () => {
    const { plain, port, requests } = await startBoth(goodCertificate, goodKey)
    const { endpoint } = connectTo(name(port))
    expect((await endpoint.post("metrics", body, 5000)).status).toBe(200)
    expect(requests).toEqual(["/api/node/metrics"])
    expect(plain.received).toEqual([])
  })
})

describe("wasValidUntilExpiry", () => {
  const certificate = (pem: string) => new X509Certificate(pem)
  const [root, expired, client, good] = [testRoot, expiredCertificate, clientCertificate, goodCertificate].map(
    certificate
  ) as [X509Certificate, X509Certificate, X509Certificate, X509Certificate]
  const nowMs = Date.parse("2026-06-14T08:20:00Z")

  it.each([
    ["an empty chain", [], [root], "localhost"],
    ["another host", [expired], [root], "other.example"],
    ["no root", [expired], [], "localhost"],
    ["a certificate that serves no TLS", [client], [root], "localhost"],
    ["a certificate that has not expired", [good], [root], "localhost"],
    ["an issuer that is no authority", [expired], [good], "localhost"]
  ])("refuses %s", (_, chain, roots, host) => {
    expect(wasValidUntilExpiry(chain, roots, host, nowMs)).toBe(false)
  })

  it("accepts an expired certificate of a known root", () => {
    expect(wasValidUntilExpiry([expired], [root], "localhost", nowMs)).toBe(true)
  })

  it("checks every certificate at the time it is asked about", () => {
    expect(verifiesAt([expired], [root], Date.parse("2019-06-01T00:00:00Z"))).toBe(false)
    expect(verifiesAt([expired], [root], Date.parse("2020-06-01T00:00:00Z"))).toBe(true)
    expect(verifiesAt([expired], [root], Date.parse("2022-06-01T00:00:00Z"))).toBe(false)
  })
})

describe("target URLs", () => {
  it.each([
    ["no url", "is not a URL"],
    ["ftp://h/api/node/metrics", "must start with http:// or https://"],
    ["https://user:pw@h/api/node/metrics", "must not contain a user name or password"],
    ["https://h/api/node/static", "must end with /metrics"],
    ["https://h/api/node/metrics?x=1", "must end with /metrics"],
    ["https://h/api?x=/metrics", "must end with /metrics"],
    ["https://h/api#/metrics", "must end with /metrics"]
  ])("refuses %s", (url, fault) => {
    expect(urlFault(url, false)).toBe(fault)
  })

  it("refuses plain HTTP only when HTTPS is required", () => {
    expect(urlFault("http://h/api/node/metrics", false)).toBeNull()
    expect(urlFault("http://h/api/node/metrics", true)).toContain("--require-https")
    expect(urlFault("https://h/api/node/metrics", true)).toBeNull()
  })

  it("lead to the neighbours of /metrics, and keep the port when they fall to HTTP", () => {
    const url = new URL("https://h/metrics/api/node/metrics")
    expect(destinationUrl(url, "static").href).toBe("https://h/metrics/api/node/static")
    expect(plainUrl(url).href).toBe("http://h:443/metrics/api/node/metrics")
    expect(plainUrl(new URL("https://[::1]:8443/metrics")).href).toBe("http://[::1]:8443/metrics")
  })
})
