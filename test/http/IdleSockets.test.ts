// Which connections of a real server are closed as idle, sweep by sweep.
import { Effect } from "effect"
import { createServer, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { IdleSockets } from "../../runtime/http/IdleSockets.ts"

const sweepsMax = 3
const cleanup: Array<() => void> = []
afterEach(() => {
  for (const undo of cleanup.splice(0)) undo()
})

/** A server that answers /report at once, /page as a long answer, and /slow when it is told to. */
const served = async (stalledMs = 60_000) => {
  const idle = new IdleSockets(sweepsMax)
  const held: Array<ServerResponse> = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (request.url === "/report") idle.used(request.socket)
    else idle.answering(request.socket, response, stalledMs)
    if (request.url === "/slow") held.push(response)
    else response.end("done")
  })
  server.on("connection", (socket) => idle.watch(socket))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  cleanup.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { idle, held, port: (server.address() as AddressInfo).port }
}

interface Client {
  readonly socket: Socket
  readonly answers: () => number
}

const connected = async (port: number): Promise<Client> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  let text = ""
  socket.setEncoding("latin1").on("data", (piece: string) => (text += piece))
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()))
  cleanup.push(() => socket.destroy())
  return { socket, answers: () => text.split("HTTP/1.1 200").length - 1 }
}

const until = async (isSo: () => boolean): Promise<void> => {
  for (let left = 400; left > 0 && !isSo(); left--) await delay(5)
  expect(isSo()).toBe(true)
}

const ask = async ({ answers, socket }: Client, path: string): Promise<void> => {
  const before = answers()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`)
  await until(() => answers() > before)
}

const swept = async (idle: IdleSockets, times: number): Promise<void> => {
  for (let i = 0; i < times; i++) Effect.runSync(idle.sweep)
  await delay(20)
}

describe("idle connections", () => {
  it("are closed when nothing was asked for the time promised, and not before", async () => {
    const { idle, port } = await served()
    const client = await connected(port)
    await ask(client, "/report")
    await swept(idle, sweepsMax)
    expect([client.socket.closed, idle.size]).toEqual([false, 1])
    await swept(idle, 1)
    await until(() => client.socket.closed)
    expect(idle.size).toBe(0)
  })

  it("are closed although nothing was ever asked on them", async () => {
    const { idle, port } = await served()
    const client = await connected(port)
    await until(() => idle.size === 1)
    await swept(idle, sweepsMax + 1)
    await until(() => client.socket.closed)
  })

  it("stay for as long as something is asked in time, whichever way it is answered", async () => {
    const { idle, port } = await served()
    const client = await connected(port)
    for (let i = 0; i < 6; i++) {
      await ask(client, i % 2 === 0 ? "/report" : "/page")
      await swept(idle, sweepsMax)
    }
    expect(client.answers()).toBe(6)
    expect(client.socket.closed).toBe(false)
  })

  it("are not those whose answer is not out yet, and are from then on", async () => {
    const { held, idle, port } = await served()
    const client = await connected(port)
    client.socket.write("GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
    await until(() => held.length === 1)
    await swept(idle, 3 * sweepsMax)
    expect(client.socket.closed).toBe(false)
    held[0]?.end("at last")
    await until(() => client.answers() === 1)
    await swept(idle, sweepsMax)
    expect(client.socket.closed).toBe(false)
    await swept(idle, 1)
    await until(() => client.socket.closed)
  })

  it("outlive the limit within which an answer must move, once it is out", async () => {
    const { port } = await served(50)
    const client = await connected(port)
    await ask(client, "/page")
    await delay(200)
    await ask(client, "/page")
    expect(client.answers()).toBe(2)
  })

  it("are cut when an answer does not move within its limit", async () => {
    const { held, port } = await served(50)
    const client = await connected(port)
    client.socket.write("GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
    await until(() => held.length === 1)
    await until(() => client.socket.closed)
    expect(client.answers()).toBe(0)
  })
})
