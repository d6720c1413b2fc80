// /api/admin/system: the status of the service with every long-lived fiber, and the settings.
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Api } from "../../schema/api/Api.ts"
import type { AlertDispatchStatus } from "../../schema/AlertEvents.ts"
import type { FiberStatus, HistoryStatus, SystemStatus } from "../../schema/System.ts"
import { settingsChanges, settingsReplacement } from "../../src/core/SystemSettings.ts"
import { pendingMax } from "../../src/store/alert/AlertWrites.ts"
import { HistoryStore } from "../../src/store/History.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { Settings } from "../../src/store/Settings.ts"
import { Dispatcher } from "../alert/Dispatcher.ts"
import { Compactor } from "../Compactor.ts"
import { AppConfig } from "../Config.ts"
import { FiberRegister } from "../FiberStatus.ts"
import { HistoryDesk } from "../HistoryDesk.ts"
import { HistoryMarks } from "../HistoryMarks.ts"
import { Intake } from "../Intake.ts"
import { Journal } from "../Journal.ts"
import { mailboxMax, type NodeActor } from "../NodeActor.ts"
import { NodeSupervisor } from "../NodeSupervisor.ts"
import { Readiness } from "../Readiness.ts"
import { serviceVersion } from "../Version.ts"

/** Node fibers listed at most, troubled ones first; beyond a screenful the counts say the rest. */
const actorsListedMax = 500

const stateOf = (status: NodeActor["status"]): FiberStatus["state"] => (status === "restoring" ? "restarting" : status)

const actorStatus = (actor: NodeActor): FiberStatus => ({
  name: `NodeActor/${actor.id}`,
  state: stateOf(actor.status),
  depth: actor.depth,
  depth_max: mailboxMax,
  restarts: actor.restarts,
  last_error: actor.lastError,
  last_error_at: actor.lastErrorAt === null ? null : new Date(actor.lastErrorAt).toISOString()
})

/** Channels live and fail like fibers of their own, so they stand among them. */
const channelStatus = (channel: AlertDispatchStatus["channels"][number]): FiberStatus => ({
  name: `AlertChannel/${channel.channel_id}`,
  state: "running",
  depth: channel.pending,
  depth_max: pendingMax,
  restarts: channel.restarts,
  last_error: channel.last_error,
  last_error_at: channel.last_error_at
})

export const layer = HttpApiBuilder.group(Api, "system", (handlers) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const status = yield* makeStatus
    return handlers
      .handle("status", () => status)
      .handle("settings", () => settings.system)
      .handle("replaceSettings", ({ payload }) => Effect.flatMap(settingsReplacement(payload), settings.change))
      .handle("changeSettings", ({ payload }) => Effect.flatMap(settingsChanges(payload), settings.change))
  })
)

const makeHistoryStatus = Effect.gen(function* () {
  const { history: limits } = yield* AppConfig
  const store = yield* HistoryStore
  const compactor = yield* Compactor
  const { figures } = yield* HistoryMarks
  const { figures: desk } = yield* HistoryDesk
  return (): HistoryStatus => ({
    tiers: store.sizes().map(({ bytes, chunks, tier }) => ({
      tier,
      chunks,
      bytes,
      bytes_max: limits[tier].maxBytes,
      keep_sec: limits[tier].keepMs / 1000
    })),
    behind: compactor.behind(),
    seals: figures.seals,
    folds: figures.folds,
    sealed_values: figures.values,
    sealed_bytes: figures.bytes,
    damaged_chunks: figures.damaged,
    lost_rows: figures.lostRows,
    dropped_by_age: figures.droppedByAge,
    dropped_by_bytes: figures.droppedByBytes,
    answered_by_thread: desk.answered,
    answered_on_loop: desk.without,
    questions_refused: desk.refused
  })
})

const makeStatus = Effect.gen(function* () {
  const intake = yield* Intake
  const journal = yield* Journal
  const store = yield* JournalStore
  const supervisor = yield* NodeSupervisor
  const register = yield* FiberRegister
  const readiness = yield* Readiness
  const historyStatus = yield* makeHistoryStatus
  const dispatcher = yield* Dispatcher
  const clock = yield* Effect.clock
  const loop = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 10 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  return Effect.sync((): SystemStatus => {
    const { figures } = journal
    const reason = readiness.reason()
    const alerts = dispatcher.status(clock.unsafeCurrentTimeMillis())
    return {
      version: serviceVersion,
      started_at: readiness.startedAt,
      ready: reason === undefined,
      ready_reason: reason ?? null,
      rss_bytes: process.memoryUsage.rss(),
      event_loop_block_ms: Math.round(loop.max / 1e4) / 100,
      intake: intake.figures(),
      journal: {
        rows: figures.rows,
        commits: figures.commits,
        failures: figures.failures,
        commit_ms_last: Math.round(figures.commitMsLast * 100) / 100,
        commit_ms_max: Math.round(figures.commitMsMax * 100) / 100,
        database_bytes: store.bytes()
      },
      history: historyStatus(),
      alerts,
      nodes: supervisor.counts(),
      fibers: [
        ...register.list(),
        ...alerts.channels.map(channelStatus),
        ...supervisor.actors(actorsListedMax).map(actorStatus)
      ]
    }
  })
})
