// Measures actors in a process of their own: their memory under the real supervisor, or their turns.
import { Effect, Layer } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import * as Journal from "../../runtime/Journal.ts"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import * as NodeSupervisor from "../../runtime/NodeSupervisor.ts"
import * as Replay from "../../runtime/Replay.ts"
import { Groups } from "../../src/store/Groups.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import type { MemoryOrder, MemoryResult, TurnsOrder, TurnsResult } from "../Actors.ts"
import { mailOf, reportIn, rowsOnly, runningActors, type SettleRow } from "../Drive.ts"
import { Requests } from "../Reports.ts"
import { storage } from "../Seed.ts"

/** Enough for the fibers of all nodes to start and for what starting left behind to be garbage. */
const restMs = 1500
/** Turns between two looks at the clock: as many reports as one commit of the real journal holds under load. */
const batch = 64
const warmupSec = 2

const engine = (home: string) =>
  NodeSupervisor.layer.pipe(
    Layer.provideMerge(Replay.layer),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, NodeRoster.layer)),
    Layer.provideMerge(FiberRegister.layer),
    Layer.provideMerge(Layer.mergeAll(Groups.layer, Nodes.layer, JournalStore.layer)),
    Layer.provideMerge(storage(home))
  )

const memory = ({ home }: MemoryOrder): Promise<MemoryResult> =>
  Effect.gen(function* () {
    const supervisor = yield* NodeSupervisor.NodeSupervisor
    yield* Effect.sleep(restMs)
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.()
      yield* Effect.sleep(100)
    }
    const { external, heapUsed, rss } = process.memoryUsage()
    return { actors: supervisor.counts().running, heapUsed, external, rss }
  }).pipe(Effect.provide(engine(home)), Effect.runPromise)

/** Keeps settles until they are called, as a journal does between offer and commit. */
const makeTurns = (fleet: TurnsOrder["fleet"]) => {
  const requests = new Requests(fleet)
  const written = new Float64Array(4096)
  let settles: Array<SettleRow> = []
  let seq = 0
  const journal = rowsOnly(
    (_row, _vector, _size, settle) => {
      settles.push(settle)
      return ++seq
    },
    () => seq
  )
  const nodes = runningActors(fleet.count, journal)
  const settleAll = (): void => {
    const ready = settles
    settles = []
    for (const settle of ready) settle(true, written)
  }
  return { requests, nodes, settleAll }
}

const turns = ({ fleet, seconds }: TurnsOrder): TurnsResult => {
  const { nodes, requests, settleAll } = makeTurns(fleet)
  // The fleet's clock, one step per round, so that no node ever reports a moment twice.
  let clock = fleet.epochMs
  let next = 0
  const sums = { turns: 0, read: 0, turn: 0, settle: 0 }
  const begun = performance.now()
  let isWarm = false
  for (let now = begun; now - begun < (seconds + warmupSec) * 1000; now = performance.now()) {
    if (!isWarm && now - begun >= warmupSec * 1000) {
      isWarm = true
      Object.assign(sums, { turns: 0, read: 0, turn: 0, settle: 0 })
    }
    const from = next
    const size = Math.min(batch, nodes.length - from)
    const bodies = Array.from({ length: size }, (_, i) => requests.body(from + i, clock))
    const t0 = performance.now()
    const mails = bodies.map((body) => mailOf(reportIn(body), clock))
    const t1 = performance.now()
    for (let i = 0; i < size; i++) nodes[from + i]?.offer(mails[i] as (typeof mails)[number])
    const t2 = performance.now()
    settleAll()
    const t3 = performance.now()
    sums.turns += size
    sums.read += t1 - t0
    sums.turn += t2 - t1
    sums.settle += t3 - t2
    next = (from + size) % nodes.length
    if (next === 0) clock += 3000
  }
  const mean = (ms: number): number => (ms * 1000) / sums.turns
  return { turns: sums.turns, turnUs: mean(sums.turn), settleUs: mean(sums.settle), readUs: mean(sums.read) }
}

process.on("disconnect", () => process.exit())
const order = JSON.parse(process.argv[2] ?? "") as MemoryOrder | TurnsOrder
process.send?.(order.kind === "memory" ? await memory(order) : turns(order))
