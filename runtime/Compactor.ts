// Seals what waits in the journal into chunks and folds chunks into tiers, a little at a time, in the journal's commits.
import { Chunk, Clock, Context, Effect, Layer, Schedule } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import { atOnce } from "../src/core/Steps.ts"
import { type FoldedTier, foldedTiers } from "../src/core/Tier.ts"
import { HistoryStore } from "../src/store/History.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { type Look, placesAhead } from "../src/store/ReadAhead.ts"
import { isFoldDue, isSealDue } from "./Compaction.ts"
import { folding, graceMs, type Job, sealing, type Steps, type Tools } from "./CompactionJobs.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { Journal } from "./Journal.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { pause } from "./Pause.ts"
import { ReadAhead } from "./ReadAhead.ts"
import { type Give, inSlices } from "./Slices.ts"

const every = Schedule.spaced("1 second")
/** Seals that are read for at once: a trip to the thread that reads takes turns of the loop, whatever it brings. */
const sealsAtOnce = 8
/** Folds of one round, some ten seconds beside a busy disk: then the seals that have come due meanwhile go first again. */
const foldsPerRound = 64
/** Nodes whose chunks are looked up in one round, when their marks were read from the disk: 20 µs each. */
const lookupsMax = 500

/** A node has at most as many chunks waiting as a tier holds; beyond this something keeps failing. */
const drainRoundsMax = 1000

export class Compactor extends Context.Tag("runtime/Compactor")<
  Compactor,
  {
    /** Nodes that wait to be sealed or folded, as of the last round. */
    readonly behind: () => number
    /** Folds a node's oldest chunks, full stretch or not; false when nothing could be offered. */
    readonly foldNow: (id: NodeId, from: FoldedTier, now: number) => Effect.Effect<boolean>
    /** Seals whatever is due and folds whatever is due at once, until nothing is left: for tests and benches. */
    readonly drain: Effect.Effect<void>
  }
>() {}

/** A fleet's nodes are looked through in milliseconds; so many of them between two looks at the time. */
const nodesAtOnce = 32

/** Says what it takes to find out which chunks wait, of as many nodes as one round looks up. */
function* unknown({ marks, supervisor }: Tools): Generator<Give, void> {
  const looks: Array<Look> = []
  let looked = 0
  for (const { id } of supervisor.all()) {
    if (++looked % nodesAtOnce === 0) yield
    const { waiting } = marks.of(id)
    for (const from of foldedTiers) if (waiting[from] === undefined) looks.push(placesAhead(from, id))
    if (looks.length >= lookupsMax) break
  }
  yield looks
}

interface Jobs<J = Job> {
  readonly seals: ReadonlyArray<J>
  readonly folds: ReadonlyArray<J>
}

/** What is due now, seals first: rows that are not sealed hold up the journal, chunks hold up nothing. */
function* dueJobs(tools: Tools, now: number): Generator<Give, Jobs> {
  yield* unknown(tools)
  const seals: Array<Job> = []
  const folds: Array<Job> = []
  let lookups = 0
  let looked = 0
  for (const actor of tools.supervisor.all()) {
    if (++looked % nodesAtOnce === 0) yield
    const mark = tools.marks.of(actor.id)
    if (mark.isBusy) continue
    if (isSealDue(actor, now, graceMs)) {
      seals.push(sealing(tools, { actor, mark, now }))
      continue
    }
    for (const from of foldedTiers) {
      if (mark.waiting[from] === undefined) {
        if (++lookups > lookupsMax) continue
        yield
      }
      if (!isFoldDue(tools, actor.id, mark, from, now)) continue
      folds.push(folding(tools, { id: actor.id, mark, from, now }))
      break
    }
  }
  return { seals, folds }
}

interface CompactorFigures {
  behind: number
}

const isTaking = ({ writer }: Tools): boolean => writer.closed() === undefined && writer.room()

/** Does jobs one after the other; stops early when the journal takes nothing more. */
function* worked(tools: Tools, jobs: ReadonlyArray<Steps>, figures: CompactorFigures): Generator<Give, void> {
  for (const steps of jobs) {
    if (!isTaking(tools)) return
    yield* steps()
    yield
    figures.behind--
  }
}

/**
 * What a round does, a few at a time: what a group works on is read at once. Folds go one by one: each changes all that it
 * was made of, which shall still be in memory by then.
 */
export const groupsOf = <J>({ folds, seals }: Jobs<J>): ReadonlyArray<ReadonlyArray<J>> => [
  ...Array.from(Chunk.chunksOf(Chunk.fromIterable(seals), sealsAtOnce), Chunk.toReadonlyArray),
  ...folds.slice(0, foldsPerRound).map((fold) => [fold])
]

/** Does jobs group by group; what the next one works on is read meanwhile. */
const work = (tools: Tools, jobs: Jobs, figures: CompactorFigures): Effect.Effect<void> =>
  Effect.gen(function* () {
    figures.behind = jobs.seals.length + jobs.folds.length
    const groups = groupsOf(jobs)
    const read = (group: ReadonlyArray<Job>) =>
      Effect.forEach(group, ({ brought }) => brought, { concurrency: "unbounded" })
    let now = yield* read(groups[0] ?? [])
    for (let at = 1; now.length > 0 && isTaking(tools); at++) {
      const doing = inSlices(worked(tools, now, figures), tools.ahead)
      const [, next] = yield* Effect.all([doing, read(groups[at] ?? [])], { concurrency: 2 })
      now = next
    }
  })

const make = Effect.gen(function* () {
  const register = yield* FiberRegister
  const figures = { behind: 0 }
  const tools: Tools = {
    writer: yield* Journal,
    journal: yield* JournalStore,
    history: yield* HistoryStore,
    marks: yield* HistoryMarks,
    supervisor: yield* NodeSupervisor,
    ahead: yield* ReadAhead,
    watch: register.register("Compactor", () => figures.behind, 0)
  }
  const round = Effect.gen(function* () {
    if (tools.writer.closed() !== undefined) return
    const jobs = yield* inSlices(dueJobs(tools, yield* Clock.currentTimeMillis), tools.ahead)
    for (const id of tools.marks.ids()) if (tools.supervisor.actor(id) === undefined) tools.marks.drop(id)
    yield* work(tools, jobs, figures)
  })
  yield* Effect.forkScoped(
    supervised(
      tools.watch,
      tools.marks.ready.pipe(Effect.andThen(Effect.repeat(round, every)), Effect.andThen(Effect.never))
    )
  )
  const drain = Effect.gen(function* () {
    yield* tools.marks.ready
    // Bounded: a disk that does not answer leaves its jobs due for ever.
    for (let rounds = 0; rounds < drainRoundsMax; rounds++) {
      const { folds, seals } = atOnce(dueJobs(tools, yield* Clock.currentTimeMillis))
      const jobs = [...seals, ...folds]
      for (const job of jobs) atOnce(job.steps())
      yield* tools.writer.flushed
      yield* pause
      if (jobs.length === 0 || tools.writer.closed() !== undefined) return
    }
  })
  return Compactor.of({
    behind: () => figures.behind,
    foldNow: (id, from, now) =>
      Effect.flatMap(folding(tools, { id, mark: tools.marks.of(id), from, now }).brought, (steps) =>
        inSlices(steps(), tools.ahead)
      ),
    drain
  })
})

export const layer = Layer.scoped(Compactor, make)
