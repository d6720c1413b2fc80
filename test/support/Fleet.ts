// Owns a fleet of fake agents over real connections, and its own ledger of what the service acknowledged to them.
import { Effect, Layer } from "effect"
import { Agent, request } from "node:http"
import { join } from "node:path"
import * as Vault from "../../src/auth/Vault.ts"
import { Groups } from "../../src/store/Groups.ts"
import * as Migrations from "../../src/store/Migrations.ts"
import * as Sql from "../../src/store/Sql.ts"
import { quiet } from "../store/Support.ts"
import { epoch, reportOf, secretOf, seed } from "./Engine.ts"
import { databaseOf, sleep } from "./Program.ts"

/** Puts `count` nodes that guests may see into a new home, before the program starts in it. */
export const seedHome = (home: string, count: number): Promise<void> =>
  seed(count, count).pipe(
    Effect.provide(
      Groups.layer.pipe(
        Layer.provideMerge(Migrations.layer),
        Layer.provideMerge(Sql.layer(databaseOf(home))),
        Layer.provideMerge(Vault.layer(join(home, "secret.key"))),
        Layer.provide(quiet)
      )
    ),
    Effect.runPromise
  )

export interface Receipt {
  /** The agent's time of the report, milliseconds; no two reports of a node share one. */
  readonly at: number
  /** When the answer came, on this machine's clock. */
  readonly heardAt: number
}

/** Time between two reports of an agent, in its own clock. */
const stepMs = 1000

interface FakeAgent {
  readonly id: number
  /** Time of the last report made. */
  at: number
  /** The report that no answer came to yet, when the agent means to send it again. */
  pending: string | undefined
}

export interface FleetOptions {
  readonly agents: number
  /** Between an answer and the next report. */
  readonly paceMs: number
  /** Uniform in [0, 1). */
  readonly chance: () => number
}

export class Fleet {
  /** What was acknowledged, by node, in the order of the reports. */
  readonly receipts = new Map<number, Array<Receipt>>()
  /** Answers other than 200 and 503, and answers that say something else than they should. */
  readonly surprises: Array<string> = []
  /** Reports that were answered with 503. */
  refused = 0
  private readonly agents: ReadonlyArray<FakeAgent>
  private readonly options: FleetOptions
  private running: Promise<unknown> | undefined
  private isStopping = false

  constructor(options: FleetOptions) {
    this.options = options
    this.agents = Array.from({ length: options.agents }, (_, i) => ({ id: i + 1, at: epoch, pending: undefined }))
    for (const { id } of this.agents) this.receipts.set(id, [])
  }

  get acknowledged(): number {
    let count = 0
    for (const receipts of this.receipts.values()) count += receipts.length
    return count
  }

  /** The newest acknowledged time of a node, 0 without one. */
  lastOf(id: number): number {
    return this.receipts.get(id)?.at(-1)?.at ?? 0
  }

  /** Lets every agent push against this origin until `stop`. */
  run(url: string): void {
    const { hostname, port } = new URL(url)
    const keepAlive = new Agent({ keepAlive: true, maxSockets: this.options.agents })
    this.isStopping = false
    const loops = this.agents.map((agent) => this.loop(agent, hostname, Number(port), keepAlive))
    this.running = Promise.all(loops).finally(() => keepAlive.destroy())
  }

  /** Resolves when every agent has heard of its last report, or that its connection is gone. */
  async stop(): Promise<void> {
    this.isStopping = true
    await this.running
  }

  private async loop(agent: FakeAgent, host: string, port: number, keepAlive: Agent): Promise<void> {
    const { chance, paceMs } = this.options
    await sleep(chance() * paceMs)
    while (!this.isStopping) {
      agent.pending ??= this.next(agent)
      const status = await this.push(agent.id, agent.pending, host, port, keepAlive)
      if (status === 200) {
        this.receipts.get(agent.id)?.push({ at: agent.at, heardAt: performance.now() })
        agent.pending = undefined
      } else if (status === 503) this.refused++
      // Half of the agents that heard nothing send the same again, the other half measure anew.
      else if (chance() < 0.5) agent.pending = undefined
      await sleep(paceMs * (0.5 + chance()))
    }
  }

  private next(agent: FakeAgent): string {
    agent.at += stepMs
    return JSON.stringify(reportOf({ at: agent.at, hostname: `host-${agent.id}`, cpu: (agent.at % 97_000) / 97_000 }))
  }

  /** Status of the answer, 0 when there was none. */
  private push(id: number, body: string, host: string, port: number, agent: Agent): Promise<number> {
    return new Promise((resolve) => {
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "x-node-secret": secretOf(id)
      }
      const outgoing = request(
        { host, port, method: "POST", path: "/api/node/metrics", headers, agent },
        (response) => {
          let text = ""
          const status = response.statusCode ?? 0
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
          response.on("error", () => resolve(0))
          response.on("end", () => {
            const isExpected = status === 503 || (status === 200 && text === '{"ok":true,"update":null}\n')
            if (!isExpected && this.surprises.length < 10) this.surprises.push(`${status} ${text}`)
            resolve(isExpected ? status : 0)
          })
        }
      )
      outgoing.on("error", () => resolve(0))
      outgoing.end(body)
    })
  }
}
