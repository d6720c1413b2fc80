// Keeps the traffic of 10,000 interfaces in the real tables over a real file: writes, builds, feeds, reads and weighs them.
import { Effect } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { CycleTotals } from "../../runtime/CycleTotals.ts"
import { PercentileTable } from "../../runtime/PercentileTable.ts"
import { TrafficPlans } from "../../runtime/TrafficPlans.ts"
import { TrafficReads } from "../../runtime/TrafficReads.ts"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Viewer } from "../../schema/Session.ts"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import { type Cycle, type CycleConfig, previous } from "../../src/core/Cycle.ts"
import { layoutOf, Nic, nicSize } from "../../src/core/Layout.ts"
import { type ClosedFact, emptyLedger, record } from "../../src/core/Ledger.ts"
import { monthOf, monthText } from "../../src/core/Month.ts"
import { Database } from "../../src/store/Sql.ts"
import { type MonthWrite, trafficWriter } from "../../src/store/Traffic.ts"
import { fact } from "../../test/support/Facts.ts"
import { rng } from "../../test/support/HistorySamples.ts"
import { day, inLedgers, setNode } from "../../test/support/Ledgers.ts"
import type { TrafficOrder, TrafficResult } from "../Traffic.ts"

const ifacesPerNode = 4
const nics = 8
const transactionFacts = 500
const monthsBack = 12
/** The last quarter-hour of a month of thirty days. */
const nowMs = Date.UTC(2031, 3, 30, 23, 45)
const monthMs = Date.UTC(2031, 3, 1)

const random = rng(7)
const ifaceOf = (index: number) => ({
  nodeId: NodeId.make(Math.floor(index / ifacesPerNode) + 1),
  iface: `eth${index % ifacesPerNode}`
})
/** Rates between 1 and 100 MB/s that change all the time. */
const factAt = (start: number): Fact =>
  fact(start, Math.floor(3e8 * (1 + random() * 99)), Math.floor(3e8 * (1 + random() * 99)))

/** Nanoseconds of one report and interface, per round of a thousand reports. */
const ledgerRounds = (seconds: number) => {
  const layout = layoutOf({
    nics: Array.from({ length: nics }, (_, i) => `eth${i}`),
    physical: [],
    logical: [],
    filesystems: [],
    baseIo: [],
    sensors: []
  })
  const vector = new Float64Array(layout.size)
  const ledger = emptyLedger()
  const rounds: Array<number> = []
  let facts = 0
  let at = monthMs
  const until = performance.now() + seconds * 1000
  for (let round = 0; performance.now() < until; round++) {
    const startedAt = performance.now()
    for (let i = 0; i < 1000; i++) {
      at += 3000
      for (let nic = 0; nic < nics; nic++) {
        const slot = layout.nicsAt + nic * nicSize
        vector[slot + Nic.recv] = (vector[slot + Nic.recv] as number) + 3_000_000 + nic
        vector[slot + Nic.sent] = (vector[slot + Nic.sent] as number) + 2_000_000 + i
      }
      const uptimeSec = (at - monthMs) / 1000
      const origin = { hostname: "bench", bootAt: monthMs, reportedAt: at, uptimeSec, receivedAt: at }
      facts += record(ledger, { origin, layout, vector, wide: null, limitMs: 12_000 })?.length ?? 0
    }
    const ns = ((performance.now() - startedAt) * 1e6) / (1000 * nics)
    // The first rounds are spent on compiling.
    if (round >= 10) rounds.push(ns)
  }
  return { rounds, facts }
}

/** Facts of every interface for the first days, a bucket after the other as a service writes them. */
const writeDays = ({ interfaces, home, storedDays }: TrafficOrder) =>
  Effect.map(Database, (database) => {
    const db = database.handle()
    const writer = trafficWriter()
    const startedAt = performance.now()
    let facts = 0
    for (let start = monthMs; start < monthMs + storedDays * day; start += bucketMs) {
      for (let from = 0; from < interfaces; from += transactionFacts) {
        db.transaction(() => {
          for (let i = from; i < Math.min(interfaces, from + transactionFacts); i++) {
            const { iface, nodeId } = ifaceOf(i)
            writer.facts(db, nodeId, [{ iface, firstSeenAt: monthMs, fact: factAt(start) }])
            facts++
          }
        })()
      }
    }
    const ms = performance.now() - startedAt
    return { facts, ms, bytes: statSync(join(home, "watchpost.db")).size }
  })

/** A snapshot of each month before the running one. */
const writeMonths = ({ interfaces }: TrafficOrder, config: CycleConfig, current: Cycle) =>
  Effect.map(Database, (database) => {
    const db = database.handle()
    const writer = trafficWriter()
    let cycle = previous(config, current)
    for (let back = 0; back < monthsBack; back++, cycle = previous(config, cycle)) {
      const facts = Array.from({ length: 288 }, (_, i) => factAt(cycle.startMs + i * bucketMs))
      const month = monthOf(cycle, facts, { createdMs: 0, firstMs: 0 }, monthMs)
      db.transaction(() => {
        for (let ifaceId = 1; ifaceId <= interfaces; ifaceId++) {
          const row: MonthWrite = {
            ...config,
            kind: "month",
            ifaceId,
            cycleStart: cycle.startMs,
            cycleEnd: cycle.endMs,
            status: "sealed",
            coveredUntil: cycle.endMs,
            generatedAt: cycle.endMs,
            sealedAt: cycle.endMs,
            body: monthText(month)
          }
          writer.write(db, row)
        }
      })()
    }
    db.exec(`UPDATE traffic_ifaces SET first_seen_at = 0`)
  })

const weight = (): number => {
  global.gc?.()
  global.gc?.()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + Math.max(external, arrayBuffers)
}

/** Reads at random for the given time; milliseconds of each. */
const readRandomly = (
  order: TrafficOrder,
  read: (query: { server_id: string; iface: string }) => Effect.Effect<unknown, unknown>
) =>
  Effect.gen(function* () {
    const taken: Array<number> = []
    const until = performance.now() + order.seconds * 1000
    while (performance.now() < until) {
      const { iface, nodeId } = ifaceOf(Math.floor(random() * order.interfaces))
      const startedAt = performance.now()
      JSON.stringify(yield* read({ server_id: String(nodeId), iface }))
      taken.push(performance.now() - startedAt)
    }
    return taken
  })

const measure = (order: TrafficOrder) =>
  Effect.gen(function* () {
    const ledger = ledgerRounds(order.seconds)
    const settings = yield* TrafficSettings
    yield* settings.change({ usage_mode: "billing", guest_access_mode: "by_node" })
    const totals = yield* CycleTotals
    const { table } = yield* PercentileTable
    for (let id = 1; id <= order.interfaces / ifacesPerNode; id++) yield* setNode(id, { traffic_p95_enabled: 1 })
    const written = yield* writeDays(order)
    const plan = (yield* TrafficPlans).of(NodeId.make(1), nowMs)
    if (plan === undefined) throw new Error("the first node has no plan")
    yield* writeMonths(order, plan.config, plan.cycle)

    const before = weight()
    const builtAt = performance.now()
    for (const one of [totals, table]) for (const _ of one.sweep(nowMs)) continue
    const built = { facts: written.facts * 2, ms: performance.now() - builtAt }
    if (totals.size !== order.interfaces || table.size !== order.interfaces) {
      throw new Error(`only ${totals.size} and ${table.size} interfaces were built`)
    }
    const fed = feed(
      order,
      (nodeId, facts) => totals.accept(nodeId, facts),
      (nodeId, facts) => table.accept(nodeId, facts)
    )
    const tableBytes = weight() - before
    const reads = yield* TrafficReads
    const guest = Viewer.Guest()
    const first = yield* reads.summary(guest, { server_id: "1", iface: "eth0" })
    const summaryMs = yield* readRandomly(order, (query) => reads.summary(guest, query))
    const monthlyMs = yield* readRandomly(order, (query) => reads.monthly(guest, { ...query, months: "12" }))
    const result: TrafficResult = {
      ledgerNs: ledger.rounds,
      ledgerFacts: ledger.facts,
      written,
      built,
      fed,
      tableBytes,
      summaryMs,
      monthlyMs,
      samples: first.stats.sample_count
    }
    return result
  })

type Accept = (nodeId: NodeId, facts: ReadonlyArray<ClosedFact>) => void

/** The rest of the month, bucket after bucket. */
const feed = ({ interfaces, storedDays }: TrafficOrder, toTotals: Accept, toPercentiles: Accept) => {
  const batch: Array<[NodeId, ReadonlyArray<ClosedFact>]> = []
  const found = { facts: 0, ms: 0, p95Ms: 0 }
  for (let start = monthMs + storedDays * day; start + bucketMs <= nowMs; start += bucketMs) {
    batch.length = 0
    for (let i = 0; i < interfaces; i++) {
      const { iface, nodeId } = ifaceOf(i)
      batch.push([nodeId, [{ iface, firstSeenAt: monthMs, fact: factAt(start) }]])
    }
    const startedAt = performance.now()
    for (const [nodeId, facts] of batch) toTotals(nodeId, facts)
    const halfAt = performance.now()
    for (const [nodeId, facts] of batch) toPercentiles(nodeId, facts)
    const endedAt = performance.now()
    found.facts += batch.length
    found.ms += endedAt - startedAt
    found.p95Ms += endedAt - halfAt
  }
  return found
}

process.on("disconnect", () => process.exit())
const order = JSON.parse(process.argv[2] ?? "") as TrafficOrder
const found = await inLedgers(measure(order), {
  at: nowMs,
  filename: join(order.home, "watchpost.db"),
  nodes: order.interfaces / ifacesPerNode
}).pipe(Effect.scoped, Effect.runPromise)
// Fibers of the engine would keep it alive.
process.send?.(found, () => process.exit())
