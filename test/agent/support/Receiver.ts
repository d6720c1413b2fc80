// A local service that takes reports as a test tells it to.
import * as http from "node:http"
import type { AddressInfo, Socket } from "node:net"

export interface Received {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface Answer {
  readonly status?: number
  readonly type?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** `hang` never answers; `reset` closes the connection without an answer. */
export type Behaviour = (received: Received) => Answer | "hang" | "reset"

export interface Receiver {
  readonly url: string
  readonly port: number
  /** Every request so far. */
  readonly received: Array<Received>
  /** Connections accepted so far. */
  readonly connections: () => number
  readonly behave: (behaviour: Behaviour) => void
  /** The bodies that came for one path ending. */
  readonly bodiesFor: (ending: string) => ReadonlyArray<string>
  readonly close: () => Promise<void>
}

/** Starts on a free port of the loopback interface, or on the port given. */
export const startReceiver = async (behaviour: Behaviour = () => ({}), port = 0): Promise<Receiver> => {
  const received: Array<Received> = []
  const sockets = new Set<Socket>()
  let accepted = 0
  let act = behaviour
  const server = http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() }
      received.push(one)
      const answer = act(one)
      if (answer === "hang") return
      if (answer === "reset") return void request.socket.destroy()
      response.writeHead(answer.status ?? 200, { "Content-Type": answer.type ?? "application/json", ...answer.headers })
      response.end(answer.body ?? '{"ok":true,"update":null}')
    })
  })
  server.on("connection", (socket) => {
    accepted += 1
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${bound}/api/node/metrics`,
    port: bound,
    received,
    connections: () => accepted,
    behave: (next) => {
      act = next
    },
    bodiesFor: (ending) => received.filter(({ path }) => path.endsWith(ending)).map(({ body }) => body),
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}

/** Waits until the condition holds; fails after five seconds. */
export const until = async (condition: () => boolean): Promise<void> => {
  const deadline = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("the condition did not come true")
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
