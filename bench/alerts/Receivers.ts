// Two webhook receivers: one answers at once and remembers what came when, the other one never answers.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

export interface Arrival {
  /** Of this process, milliseconds. */
  readonly atMs: number
  readonly dedupeKey: string
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

export const receivers = async () => {
  const arrivals: Array<Arrival> = []
  let arrived: ((one: Arrival) => void) | undefined
  const healthy = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    request.on("end", () => {
      const { meta } = JSON.parse(text) as { meta: { dedupe_key: string } }
      const one = { atMs: performance.now(), dedupeKey: meta.dedupe_key }
      arrivals.push(one)
      response.writeHead(204).end()
      arrived?.(one)
    })
  })
  const hanging = createServer((request) => void request.resume())
  return {
    healthyUrl: await listening(healthy),
    hangingUrl: await listening(hanging),
    arrivals,
    /** The next arrival of any notification. */
    next: (limitMs: number) =>
      new Promise<Arrival>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`nothing arrived in ${limitMs / 1000} s`)), limitMs)
        arrived = (one) => {
          clearTimeout(late)
          arrived = undefined
          resolve(one)
        }
      }),
    close: () => {
      for (const server of [healthy, hanging]) {
        server.close()
        server.closeAllConnections()
      }
    }
  }
}
export type Receivers = Awaited<ReturnType<typeof receivers>>
