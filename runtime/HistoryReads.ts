// Answers history and online requests: who may read what, and what was asked for.
import { Clock, Context, Effect, Either, Exit, Layer } from "effect"
import { Forbidden, InvalidRequest, NotFound, type StorageUnavailable } from "../schema/Errors.ts"
import type { HistoryAnswer, OnlineAnswer } from "../schema/History.ts"
import { NodeId } from "../schema/Ids.ts"
import type { Viewer } from "../schema/Session.ts"
import { type HistoryParams, historyQuery, isWrong, type Reach, serverIdOf } from "../src/core/HistoryQuery.ts"
import { historyText } from "../src/core/HistoryText.ts"
import { isoSeconds, onlinePoints, onlineRangeOf, onlineSpan } from "../src/core/Online.ts"
import { canRead } from "../src/core/Visibility.ts"
import { HistoryStore } from "../src/store/History.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { Settings } from "../src/store/Settings.ts"
import { AppConfig } from "./Config.ts"
import { HistoryAhead, type Scope } from "./HistoryAhead.ts"
import { type Gathered, gathering, inTurns, receiving, type Tools } from "./HistoryGathering.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ReadAhead } from "./ReadAhead.ts"
import { ServiceRuns } from "./ServiceRuns.ts"
import { TailRows } from "./TailRows.ts"

type Roster = Context.Tag.Service<typeof NodeRoster>
type Refusal = InvalidRequest | Forbidden | NotFound | StorageUnavailable

export class HistoryReads extends Context.Tag("runtime/HistoryReads")<
  HistoryReads,
  {
    /** Guests get 403 for what they may not read, whatever the reason; administrators 404 for an unknown node. */
    readonly history: (viewer: Viewer, params: HistoryParams) => Effect.Effect<HistoryAnswer, Refusal>
    /** The same as JSON. */
    readonly text: (viewer: Viewer, params: HistoryParams) => Effect.Effect<string, Refusal>
    /**
     * The same without a fiber: `done` is called with the text, now or later, or with undefined when it could not
     * be read. False, and nothing was done, for guests and where there is anything to wait for or to refuse.
     */
    readonly offer: (viewer: Viewer, params: HistoryParams, done: (text: string | undefined) => void) => boolean
    readonly online: (
      viewer: Viewer,
      params: { readonly server_id?: string | undefined; readonly range?: string | undefined }
    ) => Effect.Effect<OnlineAnswer, Refusal>
  }
>() {}

const answerOf = ({ head, points }: Gathered): HistoryAnswer => {
  const found: Array<{ ts: string; value: number }> = []
  points.each(head.agg, (startMs, value) => found.push({ ts: isoSeconds(startMs), value }))
  return { ...head, points: found }
}
const textOf = ({ head, points }: Gathered): string => historyText(head, points)

const hidden = () => new Forbidden({ message: "this node's figures are not public" })

/** The node, if this viewer may read it. `isOpen` is what the guests' access mode says. */
const readableNode = (roster: Roster, viewer: Viewer, serverId: number, isOpen: boolean) => {
  const id = NodeId.make(serverId)
  const record = roster.records().get(id)
  if (canRead(viewer, record) && (isOpen || viewer._tag === "Admin")) return Either.right(id)
  return Either.left(viewer._tag === "Guest" ? hidden() : new NotFound({ message: `node ${serverId} does not exist` }))
}

/** In portions, without the fiber's own work in between, once its pages are in memory. */
const read = <A>(ahead: HistoryAhead, scope: Scope, begin: () => Generator<void, A>): Effect.Effect<A> =>
  Effect.andThen(
    ahead.bring(scope),
    Effect.async<A>((resume) => {
      // What is thrown is a defect, which whoever answers turns into words.
      const leave = inTurns(begin, resume)
      return Effect.sync(leave)
    })
  )

/** The text without a fiber, where nothing has to be waited for and nothing is refused. */
const makeOffer =
  (tools: Tools, ahead: HistoryAhead, roster: Roster, reach: Reach, clock: Clock.Clock) =>
  (viewer: Viewer, params: HistoryParams, done: (text: string | undefined) => void): boolean => {
    // Whether guests may look at all is in the database.
    if (viewer._tag === "Guest") return false
    const query = historyQuery(params, clock.unsafeCurrentTimeMillis(), reach)
    if (isWrong(query) || !tools.marks.isReady()) return false
    const id = readableNode(roster, viewer, query.serverId, true)
    if (Either.isLeft(id)) return false
    const begin = function* () {
      return textOf(yield* gathering(tools, id.right, query))
    }
    ahead.begin({ id: id.right, tier: query.tier, span: query }, () => {
      // Where the database is in trouble, whoever asks again by the long way is told so.
      inTurns(begin, (result) => done(Exit.isSuccess(result) ? result.value : undefined))
    })
    return true
  }

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const runs = yield* ServiceRuns
  const { history: limits } = yield* AppConfig
  const roster = yield* NodeRoster
  const tools: Tools = {
    tails: new TailRows(yield* JournalStore),
    store: yield* HistoryStore,
    marks: yield* HistoryMarks,
    supervisor: yield* NodeSupervisor,
    layouts: new Map()
  }
  const ahead = new HistoryAhead(tools, (yield* ReadAhead).answers)
  const reach: Reach = {
    raw: limits.raw.keepMs,
    minute: limits.minute.keepMs,
    quarter: limits.quarter.keepMs,
    hour: limits.hour.keepMs
  }

  const reading = (viewer: Viewer, params: HistoryParams) =>
    Effect.gen(function* () {
      const query = historyQuery(params, yield* Clock.currentTimeMillis, reach)
      if (isWrong(query)) return yield* new InvalidRequest({ message: query.wrong })
      const isOpen = viewer._tag === "Admin" || (yield* settings.historyAccess) === "by_node"
      const id = yield* readableNode(roster, viewer, query.serverId, isOpen)
      yield* tools.marks.ready
      return yield* read(ahead, { id, tier: query.tier, span: query }, () => gathering(tools, id, query))
    })

  const online = (viewer: Viewer, params: { server_id?: string | undefined; range?: string | undefined }) =>
    Effect.gen(function* () {
      const serverId = serverIdOf(params.server_id)
      if (typeof serverId === "object") return yield* new InvalidRequest({ message: serverId.wrong })
      const range = onlineRangeOf(params.range)
      if (range === undefined) return yield* new InvalidRequest({ message: "range must be 24h or 7d" })
      const id = yield* readableNode(roster, viewer, serverId, true)
      yield* tools.marks.ready
      const span = onlineSpan(range, yield* Clock.currentTimeMillis)
      const interval = tools.supervisor.view(id)?.statics?.body.report_interval_seconds ?? 3
      const tier = range === "24h" ? "minute" : "quarter"
      const points = onlinePoints(range, span, {
        received: yield* read(ahead, { id, tier, span }, () => receiving(tools, id, tier, span)),
        runs: runs.all(),
        intervalMs: interval * 1000,
        createdMs: roster.records().get(id)?.createdAt ?? 0
      })
      return { server_id: id, range, step_sec: (span.toMs - span.fromMs) / 1000 / points.length, points }
    })

  return HistoryReads.of({
    history: (viewer, params) => Effect.map(reading(viewer, params), answerOf),
    text: (viewer, params) => Effect.map(reading(viewer, params), textOf),
    offer: makeOffer(tools, ahead, roster, reach, yield* Effect.clock),
    online
  })
})

export const layer = Layer.effect(HistoryReads, make)
