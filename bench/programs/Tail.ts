// Writes the checkpoints and the journal tail of a fleet that has been reporting for a while, through the real actors.
import { encoded } from "../../src/core/VectorCode.ts"
import { Effect, Layer } from "effect"
import { checkpointEvery } from "../../runtime/NodeActor.ts"
import type { NodeReport } from "../../schema/Report.ts"
import { uptimeText } from "../../src/core/Details.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import { type JournalService, mailOf, reportIn, rowsOnly, runningActors, type SettleRow } from "../Drive.ts"
import { intervalMs } from "../Fleet.ts"
import { Requests } from "../Reports.ts"
import type { TailOrder, TailResult } from "../Restart.ts"
import { idOf, storage } from "../Seed.ts"

/** Two minutes at one report in three seconds, and what comes in between two rounds of the retention. */
const keptRounds = 42
/** Checkpoints of all nodes lie half their distance back, which is the mean. */
const rounds = checkpointEvery + checkpointEvery / 2
/** Rows per transaction. */
const batch = 4096

type Store = Effect.Effect.Success<typeof JournalStore.JournalStore>

/** A journal that writes rows of the kept rounds and forgets the others, as the retention would have. */
const makeWriter = (store: Store) => {
  let writes: Array<JournalStore.Write> = []
  let settles: Array<() => void> = []
  const figures = { seq: 0, rows: 0, isKeeping: false }
  const flush = (): void => {
    store.write(writes)
    figures.rows += writes.length
    const ready = settles
    writes = []
    settles = []
    for (const settle of ready) settle()
  }
  const offerRow: JournalService["offerRow"] = (row, vector, size, settle: SettleRow) => {
    const seq = ++figures.seq
    const copy = vector.slice(0, size)
    if (figures.isKeeping) writes.push({ kind: "row", seq, ...row, vector: encoded(copy) })
    settles.push(() => settle(true, copy))
    return seq
  }
  return { figures, flush, journal: rowsOnly(offerRow, () => figures.seq), waiting: () => settles.length }
}

/** The same machine some time later: what decides about the journal is in time and counters. */
const later = (report: NodeReport, ms: number, atMs: number): NodeReport => {
  const { network, system } = report.metrics
  const uptime = (system.uptime_seconds ?? 0) + Math.floor(ms / 1000)
  return {
    ...report,
    timestamp: new Date(atMs).toISOString(),
    metrics: {
      ...report.metrics,
      network: network.map((nic) => ({ ...nic, bytes_recv: (nic.bytes_recv ?? 0) + ms * 10 })),
      system: { ...system, uptime_seconds: uptime, uptime: uptimeText(uptime) }
    }
  }
}

const write = ({ fleet }: TailOrder, store: Store): TailResult => {
  const { figures, flush, journal, waiting } = makeWriter(store)
  const requests = new Requests(fleet)
  const nodes = runningActors(fleet.count, journal)
  const firstAt = Date.now() - rounds * intervalMs
  const reports = nodes.map((_, i) => reportIn(requests.body(i, firstAt)))
  for (let round = 0; round < rounds; round++) {
    figures.isKeeping = round >= rounds - keptRounds
    nodes.forEach((node, i) => {
      const ms = round * intervalMs + Math.floor((i * intervalMs) / nodes.length)
      node.offer(mailOf(later(reports[i] as NodeReport, ms, firstAt + ms), firstAt + ms))
      if (waiting() >= batch) flush()
    })
  }
  flush()
  if (nodes.some(({ checkpointSeq, id }) => checkpointSeq === 0 || id > idOf(fleet.count))) {
    throw new Error("a node has no checkpoint")
  }
  return { rows: figures.rows }
}

const order = JSON.parse(process.argv[2] ?? "") as TailOrder
const found = await Effect.map(JournalStore.JournalStore, (store) => write(order, store)).pipe(
  Effect.provide(JournalStore.layer.pipe(Layer.provide(storage(order.home)))),
  Effect.runPromise
)
process.send?.(found)
process.disconnect?.()
