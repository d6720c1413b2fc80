// HTTP receivers on loopback for tests of what the service sends out: each request kept, each answer written by the test.
import { once } from "node:events"
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createSecure } from "node:https"
import type { AddressInfo } from "node:net"
import { testCertificate, testKey } from "./TestCertificate.ts"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface Receiver {
  /** Without a path: `http://127.0.0.1:<port>`. */
  readonly url: string
  readonly port: number
  readonly received: ReadonlyArray<Received>
  readonly close: () => Promise<void>
}

export type Reply = (response: ServerResponse, received: Received) => void

/** Answers with a status, headers and a text. */
export const replyWith =
  (status: number, headers: Readonly<Record<string, string>> = {}, text = ""): Reply =>
  (response) => {
    response.writeHead(status, headers).end(text)
  }

/** A receiver that hands each request, once its body is whole, to `reply`. */
export const startReceiver = async (reply: Reply, isSecure = false): Promise<Receiver> => {
  const received: Array<Received> = []
  const listen = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const one = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8")
      }
      received.push(one)
      reply(response, one)
    })
  }
  const server = isSecure ? createSecure({ key: testKey, cert: testCertificate }, listen) : createPlain(listen)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `${isSecure ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    received,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
