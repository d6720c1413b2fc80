// Clients that take their time: slow senders and readers are cut, everyone else notices nothing. All of it runs at once.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { SystemStatus } from "../../schema/System.ts"
import { head, open, type RawConnection } from "../support/Raw.ts"
import {
  addNode,
  type Headers,
  type MadeNode,
  push,
  reportOf,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"

let service: Service
let admin: Headers
let node: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  for (let i = 0; i < 30; i++) {
    node = await addNode(service, admin, { is_guest_visible: true })
    await push(service, "metrics", node.secret, reportOf())
  }
})
afterAll(() => service.stop())

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const elapsed = (since: number): number => performance.now() - since
/** The longest that F14 lets a slow socket live. */
const goneMs = 20_000

/** Sends the start at once and then one byte a second until the connection is gone; gives how long that took. */
const drip = async (connection: RawConnection, start: string, byte: string): Promise<number> => {
  const startedAt = performance.now()
  connection.send(start)
  while (!connection.isClosed && elapsed(startedAt) < goneMs + 5000) {
    await Promise.race([connection.closed, sleep(1000)])
    connection.send(byte)
  }
  connection.destroy()
  return elapsed(startedAt)
}

/** Lives of `count` connections, half of which keep their own side open when the server ends its side. */
const lives = (count: number, start: () => string, byte: string): Promise<ReadonlyArray<number>> =>
  Promise.all(
    Array.from({ length: count }, (_, i) => drip(open(service.port, { halfOpen: i % 2 === 0 }), start(), byte))
  )

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN

describe.concurrent("while others take their time", { timeout: 60_000 }, () => {
  it("a sender of slow headers is gone after 10 to 20 seconds", async () => {
    const lived = await lives(100, () => "POST /api/node/metrics HTTP/1.1\r\nHost: x\r\nX: ", "x")

    expect(Math.max(...lived)).toBeLessThan(goneMs)
    expect(Math.min(...lived)).toBeGreaterThan(9000)
  })

  it("a client that connects and says nothing is gone after 20 seconds", async () => {
    const startedAt = performance.now()
    const silent = Array.from({ length: 20 }, () => open(service.port))
    await Promise.all(silent.map(({ closed }) => closed))

    expect(elapsed(startedAt)).toBeLessThan(goneMs)
  })

  it("a sender of a slow body is gone after 15 to 20 seconds, on both lanes, and is accounted for", async () => {
    const request = (line: string, secret: string) => () =>
      head(`${line} HTTP/1.1`, "Host: x", "Content-Type: application/json", secret, "Content-Length: 1000")
    const [reports, logins] = await Promise.all([
      lives(60, request("POST /api/node/metrics", `X-Node-Secret: ${node.secret}`), " "),
      lives(40, request("POST /api/auth/login", "X-A: b"), " ")
    ])

    for (const lived of [reports, logins]) {
      expect(Math.max(...lived)).toBeLessThan(goneMs)
      expect(Math.min(...lived)).toBeGreaterThan(13_000)
    }
    const { intake } = (await service.call("GET", "/api/admin/system/status", admin)).json as SystemStatus
    expect(intake.received).toBe(intake.acknowledged + intake.refused + intake.rejected + intake.in_flight)
    expect(intake.rejected).toBeGreaterThanOrEqual(60)
  })

  it("a client that asks for much and reads nothing is cut, and costs a bounded buffer", async () => {
    const before = process.memoryUsage.rss()
    const startedAt = performance.now()
    const many = head("GET /api/openapi.json HTTP/1.1", "Host: x").repeat(400)
    const readers = Array.from({ length: 50 }, () => open(service.port))
    for (const reader of readers) {
      reader.socket.pause()
      reader.send(many)
    }
    await sleep(5000)
    const after = process.memoryUsage.rss()
    // A reader that reads nothing does not learn of its end either: the next byte it sends does.
    const isGone = async ({ closed, isClosed, socket }: RawConnection): Promise<boolean> => {
      while (!isClosed && elapsed(startedAt) < 40_000) {
        if (socket.destroyed) return true
        socket.write("x")
        await Promise.race([closed, sleep(1000)])
      }
      return isClosed || socket.destroyed
    }
    const gone = await Promise.all(readers.map(isGone))

    // All that was asked for would be thousands of megabytes.
    expect((after - before) / 1e6).toBeLessThan(200)
    expect(gone).toEqual(readers.map(() => true))
  })

  it("agents with connections that rest between reports are answered on the same connection", async () => {
    const body = () => JSON.stringify(reportOf())
    const request = (text: string) =>
      head(
        "POST /api/node/metrics HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        `X-Node-Secret: ${node.secret}`,
        `Content-Length: ${text.length}`
      ) + text
    const agents = Array.from({ length: 200 }, () => open(service.port))
    for (let round = 1; round <= 3; round++) {
      const answers = await Promise.all(
        agents.map(async (agent, i) => {
          await sleep(i * 5)
          agent.send(request(body()))
          return (await agent.answered(round)).map(({ status }) => status)
        })
      )
      expect(answers.filter((statuses) => statuses.length !== round || statuses.some((one) => one !== 200))).toEqual([])
      await sleep(6000)
    }
    expect(agents.filter(({ isClosed }) => isClosed).length).toBe(0)
    for (const agent of agents) agent.destroy()
  })

  it("reports and reads stay quick, with guests who ask two hundred times a second", async () => {
    const reports: Array<number> = []
    const reads: Array<number> = []
    const until = performance.now() + 17_000
    const timed = async (into: Array<number>, call: () => Promise<{ readonly status: number }>) => {
      const startedAt = performance.now()
      expect((await call()).status).toBe(200)
      into.push(elapsed(startedAt))
    }
    const reporter = async () => {
      for (; performance.now() < until; await sleep(50)) {
        await timed(reports, () => push(service, "metrics", node.secret, reportOf()))
      }
    }
    const guest = async () => {
      for (; performance.now() < until; await sleep(20)) {
        await timed(reads, () => service.call("GET", "/api/front/metrics", { "accept-encoding": "gzip" }))
      }
    }
    await Promise.all([reporter(), ...Array.from({ length: 4 }, guest)])

    expect(reports.length).toBeGreaterThan(100)
    expect(percentile(reports, 0.99)).toBeLessThan(250)
    expect(percentile(reads, 0.99)).toBeLessThan(250)
  })
})
