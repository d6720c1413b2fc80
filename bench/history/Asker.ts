// Asks the running service for history over loopback HTTP, as an administrator's page does, and times the answers.
import { Agent, request } from "node:http"
import { type HistoryRange, historyRanges } from "../../schema/HistoryTerms.ts"
import { rng } from "../../test/support/HistorySamples.ts"
import { adminPassword } from "../Service.ts"
import { historyIdOf, historyNodes, kindOf } from "./Nodes.ts"

/** The ranges whose answers are timed. */
export const askedRanges = ["1h", "24h", "30d"] as const satisfies ReadonlyArray<HistoryRange>
export type AskedRange = (typeof askedRanges)[number]

const answerLimitMs = 30_000
/** What a node's page of history asks for about the host alone: eight charts. */
export const pageQueries = 16

interface Answer {
  readonly status: number
  readonly text: string
  /** From sending to the last byte. */
  readonly ms: number
}

export class Asker {
  private readonly port: number
  private readonly agent: Agent
  private readonly random: () => number
  /** Of each kind of node: metric, then the names of the device. */
  private readonly series: ReadonlyArray<ReadonlyArray<ReadonlyArray<string>>>
  private token = ""
  /** Queries of pages so far, and the node whose page is open. */
  private asked = 0
  private opened = 0

  constructor(port: number, series: ReadonlyArray<string>, connections: number) {
    this.port = port
    this.agent = new Agent({ keepAlive: true, maxSockets: connections })
    this.random = rng(port)
    this.series = series.map((text) => JSON.parse(text) as ReadonlyArray<ReadonlyArray<string>>)
  }

  private call(method: string, path: string, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const startAt = performance.now()
      const headers = {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` })
      }
      const options = { host: "127.0.0.1", port: this.port, agent: this.agent, method, path, headers }
      const sent = request({ ...options, timeout: answerLimitMs }, (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () => {
          const ms = performance.now() - startAt
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8"), ms })
        })
      })
      sent.on("error", reject)
      sent.on("timeout", () => sent.destroy(new Error(`${path}: no answer after ${answerLimitMs / 1000} s`)))
      sent.end(body)
    })
  }

  async signIn(): Promise<void> {
    const body = JSON.stringify({ password: adminPassword, persistence: "session" })
    const { status, text } = await this.call("POST", "/api/auth/login", body)
    if (status !== 200) throw new Error(`the login was answered with ${status} ${text}`)
    this.token = (JSON.parse(text) as { access_token: string }).access_token
  }

  private one(count: number): number {
    return Math.floor(this.random() * count)
  }

  /** Asks for as many metrics of a node as one after the other, as the charts of its page do, then turns to another. */
  page(range: AskedRange): Promise<number> {
    if (this.asked++ % pageQueries === 0) this.opened = this.one(historyNodes)
    return this.ask(range, 0, this.opened)
  }

  /**
   * Asks for a metric of a node, both by chance, devices included; milliseconds until the answer is whole. Fails on an
   * answer that has less than this share of its points: then the history is not what it should be.
   */
  async ask(range: AskedRange, shareMin = 0, index = this.one(historyNodes)): Promise<number> {
    const series = this.series[kindOf(index)] ?? []
    const [metric = "", device] = series[this.one(series.length)] ?? []
    const params = new URLSearchParams({ server_id: String(historyIdOf(index)), metric, range })
    if (device !== undefined) params.set("device", device)
    const { ms, status, text } = await this.call("GET", `/api/metrics/history?${params}`)
    const { spanMs, stepSec } = historyRanges[range]
    const points = status === 200 ? (JSON.parse(text) as { points: ReadonlyArray<unknown> }).points.length : 0
    if (status !== 200 || points < (spanMs / stepSec / 1000) * shareMin) {
      throw new Error(`${params} was answered with ${status} and ${points} points: ${text.slice(0, 200)}`)
    }
    return ms
  }

  close(): void {
    this.agent.destroy()
  }
}
