// Seals stretches of many different nodes with the service's own step, from a real journal into the real store.
import { Effect, Layer } from "effect"
import { sealOf, settleSeal, type Shelves } from "../../runtime/Compaction.ts"
import type { Mark } from "../../runtime/HistoryMarks.ts"
import type { NodeActor } from "../../runtime/NodeActor.ts"
import { atOnce } from "../../src/core/Steps.ts"
import { encoded } from "../../src/core/VectorCode.ts"
import * as HistoryStore from "../../src/store/History.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import { type JournalService, mailOf, rowsOnly, runningActors } from "../Drive.ts"
import { intervalMs } from "../Fleet.ts"
import { machineOf, type Machine, recordingIn } from "../history/Machine.ts"
import { kinds } from "../history/Nodes.ts"
import { type SealOrder, type SealResult, stretchRows } from "../history/SealTime.ts"
import { storage } from "../Seed.ts"

/** Rounds whose code is not compiled yet. */
const warmupRounds = 3
/** Rounds of reports that the machines have. */
const roundsMax = 120

type Store = Effect.Effect.Success<typeof JournalStore.JournalStore>

const newMark = (): Mark => ({
  sealedSeq: 0,
  folded: { raw: 0, minute: 0, quarter: 0 },
  waiting: { raw: undefined, minute: undefined, quarter: undefined },
  isBusy: false,
  failures: 0
})

/** A seal looks at no marks; the type of what it is given holds them. */
const noMarks: Shelves["marks"] = {
  ready: Effect.void,
  isReady: () => true,
  of: newMark,
  drop: () => {},
  ids: () => [],
  figures: { seals: 0, folds: 0, values: 0, bytes: 0, damaged: 0, lostRows: 0, droppedByAge: 0, droppedByBytes: 0 }
}

/** A journal that keeps rows until they are flushed into one transaction, then settles them. */
const makeWriter = (store: Store) => {
  let writes: Array<JournalStore.Write> = []
  let settles: Array<() => void> = []
  let seq = 0
  const offerRow: JournalService["offerRow"] = (row, vector, size, settle) => {
    const copy = vector.slice(0, size)
    writes.push({ kind: "row", seq: ++seq, ...row, vector: encoded(copy) })
    settles.push(() => settle(true, copy))
    return seq
  }
  const flush = (): void => {
    store.write(writes)
    const ready = settles
    writes = []
    settles = []
    for (const settle of ready) settle()
  }
  return { flush, journal: rowsOnly(offerRow, () => seq) }
}

/** Milliseconds of CPU of this process, all its threads. */
const cpuOf = (work: () => void): number => {
  const from = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(from)
  return (system + user) / 1000
}

const report = (actors: ReadonlyArray<NodeActor>, machines: ReadonlyArray<Machine>, round: number, startAt: number) => {
  for (let i = round * stretchRows; i < (round + 1) * stretchRows; i++) {
    actors.forEach((actor, n) => {
      const machine = machines[n] as Machine
      const at = startAt + machine.afterMs(i)
      actor.offer(mailOf(machine.report(i, at), at))
    })
  }
}

const measure = (order: SealOrder, shelves: Shelves): SealResult => {
  const store = shelves.journal
  const recording = recordingIn(order.recording)
  const rows = roundsMax * stretchRows
  const machines = Array.from({ length: kinds }, (_, kind) => machineOf(kind, rows, recording))
  const { flush, journal } = makeWriter(store)
  const actors = runningActors(kinds, journal)
  const marks = actors.map(newMark)
  const startAt = Date.now() - rows * intervalMs
  const found = { seals: [] as Array<number>, writes: [] as Array<number>, values: 0, bytes: 0 }
  let until = Number.POSITIVE_INFINITY
  for (let round = 0; round < roundsMax && performance.now() < until; round++) {
    if (round === warmupRounds) until = performance.now() + order.seconds * 1000
    report(actors, machines, round, startAt)
    flush()
    const writes: Array<JournalStore.Write> = []
    actors.forEach((actor, n) => {
      const took = cpuOf(() => {
        const seal = atOnce(sealOf(shelves, actor, Number.POSITIVE_INFINITY))
        if (seal?.taken !== stretchRows || seal.lost > 0) throw new Error("a stretch was not sealed whole")
        writes.push(seal.write)
        found.values += round < warmupRounds ? 0 : seal.values
        found.bytes += round < warmupRounds ? 0 : (seal.write.chunk?.bytes.length ?? 0)
      })
      if (round >= warmupRounds) found.seals.push(took)
      settleSeal(shelves, actor, marks[n] as Mark, { taken: stretchRows, nextAt: undefined })
    })
    const took = cpuOf(() => store.write(writes))
    if (round >= warmupRounds) found.writes.push(took / kinds)
  }
  return found
}

process.on("disconnect", () => process.exit())
const order = JSON.parse(process.argv[2] ?? "") as SealOrder
const found = await Effect.gen(function* () {
  const journal = yield* JournalStore.JournalStore
  const history = yield* HistoryStore.HistoryStore
  return measure(order, { journal, history, marks: noMarks })
}).pipe(
  Effect.provide(Layer.merge(JournalStore.layer, HistoryStore.layer).pipe(Layer.provide(storage(order.home)))),
  Effect.runPromise
)
process.send?.(found)
process.disconnect?.()
