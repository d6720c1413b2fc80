// Sends every node's reports at their moments, whatever the answers do, and times the answers.
import type { Connection } from "./Connection.ts"
import { quantile } from "./Figures.ts"
import { delay, drained, openAll } from "./Connections.ts"
import type { OpenOrder, OpenResult } from "./Orders.ts"
import { cpuMs, rssMb } from "./Proc.ts"
import type { Requests } from "./Reports.ts"

/** Unanswered requests of one node after which it sends no more: the service is gone. */
const pendingMax = 16
/** Between two looks at the resident memory. */
const rssEveryMs = 1000

/** Latencies in memory that is there from the start. */
class Latencies {
  private readonly values: Float64Array
  private used = 0

  constructor(max: number) {
    this.values = new Float64Array(max)
  }

  add(ms: number): void {
    if (this.used < this.values.length) this.values[this.used++] = ms
  }

  sorted(): Float64Array {
    return this.values.subarray(0, this.used).sort()
  }
}

/** One run. Only requests that are due in the measured part count. */
class OpenLoop {
  private readonly requests: Requests
  private readonly order: OpenOrder
  private readonly perMs: number
  private readonly taken: Latencies
  private readonly takenDue: Latencies
  private all: ReadonlyArray<Connection> = []
  private startAt = 0
  private measureFrom = Infinity
  private measureTo = Infinity
  private next = 0
  private sent = 0
  private refused = 0
  private complaint: string | undefined
  private rssMax = 0

  constructor(requests: Requests, order: OpenOrder) {
    this.requests = requests
    this.order = order
    this.perMs = requests.count / order.intervalMs
    const sentMax = Math.ceil(order.measureMs * this.perMs) + requests.count
    this.taken = new Latencies(sentMax)
    this.takenDue = new Latencies(sentMax)
  }

  async run(opened: () => void): Promise<OpenResult> {
    const { order, requests } = this
    this.all = await openAll(requests.count, order.port, (connection, status, body) => {
      this.answered(connection, status, body)
    })
    opened()
    this.startAt = performance.now()
    this.measureFrom = this.startAt + order.warmupMs
    this.measureTo = this.measureFrom + order.measureMs
    await this.sendUntil(this.measureFrom)
    const from = { cpu: cpuMs(order.pid), at: performance.now() }
    await this.sendUntil(this.measureTo)
    const cpu = cpuMs(order.pid) - from.cpu
    const wallMs = performance.now() - from.at
    await drained(this.all)
    this.closeAll()
    return this.result(cpu, wallMs)
  }

  private fail(why: string): void {
    this.refused++
    this.complaint ??= why
  }

  private counts(due: number): boolean {
    return due >= this.measureFrom && due < this.measureTo
  }

  private answered({ times }: Connection, status: number, body: string | undefined): void {
    const due = times.shift() ?? 0
    const at = times.shift() ?? 0
    if (!this.counts(due)) return
    if (status !== 200) return this.fail(`${status} ${body ?? "(the connection ended)"}`)
    const now = performance.now()
    this.taken.add(now - at)
    this.takenDue.add(now - due)
  }

  private async sendUntil(end: number): Promise<void> {
    let rssAt = 0
    for (;;) {
      const now = performance.now()
      for (;;) {
        const due = this.startAt + this.next / this.perMs
        if (due > now || due >= end) break
        this.send(this.all[this.next++ % this.all.length] as Connection, due)
      }
      if (now >= rssAt) {
        this.rssMax = Math.max(this.rssMax, rssMb(this.order.pid))
        rssAt = now + rssEveryMs
      }
      if (now >= end) return
      await delay(1)
    }
  }

  private send(connection: Connection, due: number): void {
    const counts = this.counts(due)
    if (counts) this.sent++
    if (!connection.open || connection.pending >= pendingMax) {
      if (counts) this.fail("the connection had ended or stopped answering")
      return
    }
    connection.times.push(due, performance.now())
    connection.send(this.requests.next(connection.index, Date.now()))
  }

  /** What is still unanswered counts as refused. */
  private closeAll(): void {
    for (const connection of this.all) {
      for (let i = 0; i < connection.times.length; i += 2) {
        if (this.counts(connection.times[i] as number)) this.fail("no answer")
      }
      connection.close()
    }
  }

  private result(cpu: number, wallMs: number): OpenResult {
    const latencies = this.taken.sorted()
    return {
      sent: this.sent,
      refused: this.refused,
      complaint: this.complaint,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
      max: quantile(latencies, 1),
      p99Due: quantile(this.takenDue.sorted(), 0.99),
      cpuMs: cpu,
      wallMs,
      rssMaxMb: this.rssMax,
      rssEndMb: rssMb(this.order.pid)
    }
  }
}

/** `opened` is called when all connections stand and the first report goes out. */
export const openLoop = (requests: Requests, order: OpenOrder, opened: () => void): Promise<OpenResult> =>
  new OpenLoop(requests, order).run(opened)
