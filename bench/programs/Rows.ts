// Offers rows to the real journal on a real file: first all it takes, then as many as a fleet sends.
import { Context, Effect, Layer } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import * as Journal from "../../runtime/Journal.ts"
import { rowsMax } from "../../runtime/JournalWriter.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import type { RowsOrder, RowsResult } from "../Rows.ts"
import { idOf, storage } from "../Seed.ts"

const vectorSize = 100
const checkpointEvery = 40
/** About what the details of a small server take. */
const checkpoint = JSON.stringify({ details: "x".repeat(1500) })
const resolutionMs = 1
/** Rows between two turns of the event loop: what one batch of the journal holds. */
const sliceRows = rowsMax

type JournalService = Context.Tag.Service<typeof Journal.Journal>

/** Gives each row to the next node; values change so that no two rows are alike. */
const makeOffer = (journal: JournalService, nodes: number) => {
  const vector = Float64Array.from({ length: vectorSize }, (_, i) => i * 1.1)
  const figures = { offered: 0, committed: 0 }
  const settle = (committed: boolean): void => {
    if (committed) figures.committed++
  }
  const offer = (): void => {
    const index = figures.offered % nodes
    const due = (Math.floor(figures.offered / nodes) + index) % checkpointEvery === 0
    vector[figures.offered % vectorSize] = figures.offered * 1.7
    const row = {
      nodeId: idOf(index),
      receivedAt: Date.now(),
      details: null,
      isApplied: true,
      checkpoint: due ? checkpoint : null,
      facts: null,
      alerts: null
    }
    if (journal.offerRow(row, vector, vectorSize, settle) === 0) throw new Error("the journal is full or closed")
    figures.offered++
  }
  return { figures, offer }
}

const flood = async (journal: JournalService, offer: () => void, ms: number): Promise<void> => {
  const until = performance.now() + ms
  while (performance.now() < until) {
    for (let n = 0; n < sliceRows && journal.room(); n++) offer()
    await turn()
  }
  await Effect.runPromise(journal.flushed)
}

const steady = async (offer: () => void, ms: number, rowsPerSec: number): Promise<void> => {
  const startAt = performance.now()
  let sent = 0
  for (let passed = 0; passed < ms; passed = performance.now() - startAt) {
    for (const due = (passed * rowsPerSec) / 1000; sent < due; sent++) offer()
    await delay(1)
  }
}

const measure = async (journal: JournalService, order: RowsOrder): Promise<RowsResult> => {
  const { figures, offer } = makeOffer(journal, order.nodes)
  // The code is compiled by then.
  await flood(journal, offer, 1000)
  const before = { ...figures }
  const startAt = performance.now()
  await flood(journal, offer, order.floodMs)
  const floodMs = performance.now() - startAt
  const floodRows = figures.committed - before.committed
  await steady(offer, 1000, order.rowsPerSec)
  const from = { committed: figures.committed, commits: journal.figures.commits }
  journal.figures.commitMsMax = 0
  const loop = monitorEventLoopDelay({ resolution: resolutionMs })
  loop.enable()
  await steady(offer, order.steadyMs, order.rowsPerSec)
  loop.disable()
  const block = (ns: number): number => Math.max(0, ns / 1e6 - resolutionMs)
  return {
    floodRows,
    floodMs,
    steadyRows: figures.committed - from.committed,
    blockMs: block(loop.max),
    blockP99Ms: block(loop.percentile(99)),
    commitMsMax: journal.figures.commitMsMax,
    commits: journal.figures.commits - from.commits
  }
}

process.on("disconnect", () => process.exit())
const order = JSON.parse(process.argv[2] ?? "") as RowsOrder
const found = await Effect.flatMap(Journal.Journal, (journal) => Effect.promise(() => measure(journal, order))).pipe(
  Effect.provide(
    Journal.layer.pipe(
      Layer.provide(Layer.merge(FiberRegister.layer, JournalStore.layer)),
      Layer.provide(storage(order.home))
    )
  ),
  Effect.runPromise
)
process.send?.(found)
