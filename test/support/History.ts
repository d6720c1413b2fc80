// The engine with its history as tests run it, a fleet whose every report is remembered, and what history should say.
import { Effect, Layer, Option } from "effect"
import * as Compactor from "../../runtime/Compactor.ts"
import { AppConfig } from "../../runtime/Config.ts"
import type { HistoryLimits } from "../../runtime/HistoryLimits.ts"
import * as HistoryDesk from "../../runtime/HistoryDesk.ts"
import * as HistoryMarks from "../../runtime/HistoryMarks.ts"
import * as HistoryReads from "../../runtime/HistoryReads.ts"
import * as HistoryRetention from "../../runtime/HistoryRetention.ts"
import { Intake } from "../../runtime/Intake.ts"
import { Journal } from "../../runtime/Journal.ts"
import * as Retention from "../../runtime/Retention.ts"
import * as ServiceRuns from "../../runtime/ServiceRuns.ts"
import type { HistoryAgg, HistoryMetric } from "../../schema/History.ts"
import { SessionId } from "../../schema/Ids.ts"
import { Viewer } from "../../schema/Session.ts"
import { isoSeconds } from "../../src/core/Online.ts"
import * as HistoryStore from "../../src/store/History.ts"
import { type Answer, engine, type EngineOptions, epoch, post, reportOf, type Told, turns } from "./Engine.ts"
import { defaultLimits } from "./Limits.ts"
import { Hands, ManualClock } from "./ManualClock.ts"

export const admin = Viewer.Admin({ sessionId: SessionId.make("test") })

const config = (history: HistoryLimits) =>
  Layer.succeed(AppConfig, {
    home: "/nowhere",
    listenHost: "127.0.0.1",
    listenPort: 0,
    publicUrl: Option.none(),
    adminPassword: Option.none(),
    trustedProxies: [],
    timezone: "UTC",
    localNode: false,
    trafficKeepMs: 90 * 86_400_000,
    language: "en",
    history
  })

/** Compactor and reads, without what deletes. */
export const compaction = HistoryReads.layer.pipe(
  Layer.provideMerge(Compactor.layer),
  Layer.provideMerge(Layer.mergeAll(HistoryMarks.layer, HistoryDesk.layer, ServiceRuns.layer)),
  Layer.provideMerge(HistoryStore.layer)
)

/** All that keeps history, upon an engine. */
export const keeping = (limits: HistoryLimits = defaultLimits) =>
  Layer.mergeAll(Retention.layer, HistoryRetention.layer).pipe(
    Layer.provideMerge(compaction),
    Layer.provideMerge(config(limits))
  )

export type Keeping = Layer.Layer.Success<ReturnType<typeof keeping>>

/** Runs the body in an engine that keeps history, on a clock that is moved by hand and starts at `epoch`. */
export const inHistory = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  options: EngineOptions & { readonly limits?: HistoryLimits; readonly clock?: ManualClock } = {}
) => {
  const { clock = new ManualClock(epoch) } = options
  return body.pipe(
    Effect.provideService(Hands, clock),
    Effect.provide(keeping(options.limits).pipe(Layer.provideMerge(engine(options)))),
    Effect.withClock(clock)
  )
}

/** The journal lingers on real timers, at most 5 ms: a tenth of it per step suffices, since steps are many. */
const breath = Effect.async<void>((resume) => void setTimeout(() => resume(Effect.void), 1))

/** Moves the clock in steps, with turns of the event loop in between for what was due. */
export const elapse = (ms: number, stepMs = 250) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    for (let gone = 0; gone < ms; gone += stepMs) {
      clock.advance(Math.min(stepMs, ms - gone))
      yield* turns(2)
      yield* breath
    }
  })

/** One acknowledged report as history should remember it. */
export interface Remembered {
  readonly id: number
  /** Receive time, milliseconds. */
  readonly at: number
  readonly told: Told
}

/**
 * Posts at once, without waiting for the commit; the agent's clock is ahead of ours. Who calls the result has remembered
 * what is acknowledged, or found on the disk although no answer could be given any more.
 */
export const tell = (id: number, told: Omit<Told, "at">, memory: Array<Remembered>, aheadMs = 0) =>
  Effect.gen(function* () {
    const at = (yield* Hands).now
    const full = { ...told, at: at + aheadMs }
    const answers: Array<Answer> = post(yield* Intake, id, reportOf(full))
    return (isFound: (id: number, at: number) => boolean = () => false) => {
      if (answers.length === 0 ? isFound(id, at) : answers[0]?._tag === "Acknowledged") {
        memory.push({ id, at, told: full })
      }
    }
  })

/** Waits until everything offered is on disk. */
export const written = Effect.flatMap(Journal, (journal) => journal.flushed)

/** What history answers about a metric between two instants. */
export const asked = (
  id: number,
  metric: HistoryMetric,
  params: Readonly<Record<string, string | undefined>> = { range: "24h" }
) =>
  Effect.flatMap(HistoryReads.HistoryReads, (reads) =>
    reads.history(admin, { server_id: String(id), metric, ...params })
  )

const valueOf = (values: ReadonlyArray<number>, agg: HistoryAgg): number =>
  agg === "avg"
    ? Math.round(values.reduce((sum, value) => sum + value, 0) * 1e6) / 1e6 / values.length
    : agg === "max"
      ? Math.max(...values)
      : agg === "min"
        ? Math.min(...values)
        : (values[values.length - 1] as number)

/** The points of an exact memory, computed by looking at every report. */
export const expected = (
  memory: ReadonlyArray<Remembered>,
  id: number,
  value: (told: Told) => number | undefined,
  { agg, fromMs, stepMs, toMs }: { agg: HistoryAgg; fromMs: number; toMs: number; stepMs: number }
): ReadonlyArray<{ ts: string; value: number }> => {
  const steps = new Map<number, Array<number>>()
  for (const one of memory) {
    const found = value(one.told)
    if (one.id !== id || one.at < fromMs || one.at >= toMs || found === undefined) continue
    const start = Math.floor(one.at / stepMs) * stepMs
    const values = steps.get(start)
    if (values === undefined) steps.set(start, [found])
    else values.push(found)
  }
  return [...steps]
    .sort(([a], [b]) => a - b)
    .map(([start, values]) => ({ ts: isoSeconds(start), value: valueOf(values, agg) }))
}
