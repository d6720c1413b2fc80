// Answers history and online requests: who may read what, and what was asked for.
import { Clock, Context, Effect, Either, Exit, Layer } from "effect"
import { Forbidden, InvalidRequest, NotFound, type StorageUnavailable } from "../schema/Errors.ts"
import type { HistoryAnswer, OnlineAnswer } from "../schema/History.ts"
import { NodeId } from "../schema/Ids.ts"
import type { Viewer } from "../schema/Session.ts"
import { type HistoryParams, type HistoryQuery, historyQuery, isWrong, serverIdOf } from "../src/core/HistoryQuery.ts"
import { onlinePoints, onlineRangeOf, onlineSpan, type Span } from "../src/core/Online.ts"
import { perTier, type Tier } from "../src/core/Tier.ts"
import { canRead } from "../src/core/Visibility.ts"
import { Settings } from "../src/store/Settings.ts"
import { AppConfig } from "./Config.ts"
import { type Done, HistoryDesk } from "./HistoryDesk.ts"
import type { ChartAnswer, CountAnswer } from "./HistoryGathering.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ServiceRuns } from "./ServiceRuns.ts"

type Supervisor = Context.Tag.Service<typeof NodeSupervisor>
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

const hidden = () => new Forbidden({ message: "this node's figures are not public" })

/** The node, if this viewer may read it. `isOpen` is what the guests' access mode says. */
const readableNode = (roster: Roster, viewer: Viewer, serverId: number, isOpen: boolean) => {
  const id = NodeId.make(serverId)
  const record = roster.records().get(id)
  if (canRead(viewer, record) && (isOpen || viewer._tag === "Admin")) return Either.right(id)
  return Either.left(viewer._tag === "Guest" ? hidden() : new NotFound({ message: `node ${serverId} does not exist` }))
}

/** Names under which the asked device may stand: a volume is also known by the mount point that Static tells. */
const namesFor = (supervisor: Supervisor, id: NodeId, device: string): ReadonlyArray<string> => {
  if (device === "") return []
  const volumes = supervisor.view(id)?.statics?.body.disk?.logical ?? []
  const mounted = volumes.filter(
    (volume) => volume.mountpoint === device || Object.hasOwn(volume.mountpoints ?? {}, device)
  )
  return [device, ...mounted.flatMap(({ name, ref }) => [ref ?? "", name]).filter((name) => name !== "")]
}

/** What questions are put together from. */
interface Tools {
  readonly desk: Context.Tag.Service<typeof HistoryDesk>
  readonly marks: Context.Tag.Service<typeof HistoryMarks>
  readonly supervisor: Supervisor
}

/** The list changes with the next report; what is asked of it is of this moment. */
const unsealedOf = ({ supervisor }: Tools, id: NodeId): ReadonlyArray<number> => [
  ...(supervisor.actor(id)?.unsealed ?? [])
]

const counted = <A extends { readonly damaged: number }>({ marks }: Tools, answer: A): A => {
  marks.figures.damaged += answer.damaged
  return answer
}

const askChart = (tools: Tools, id: NodeId, query: HistoryQuery, done: Done<ChartAnswer>): void => {
  const devices = namesFor(tools.supervisor, id, query.device)
  tools.desk.chart({ id, query, devices, unsealed: unsealedOf(tools, id) }, (result) =>
    done(Exit.map(result, (answer) => counted(tools, answer)))
  )
}

/** How many reports came in each part of the span. */
const askCount = (tools: Tools, id: NodeId, tier: Tier, span: Span) =>
  // What is thrown is a defect, which whoever answers turns into words.
  Effect.async<CountAnswer, StorageUnavailable>((resume) =>
    tools.desk.count({ id, tier, span, unsealed: unsealedOf(tools, id) }, resume)
  ).pipe(Effect.map((answer) => counted(tools, answer).counts))

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const runs = yield* ServiceRuns
  const { history: limits } = yield* AppConfig
  const roster = yield* NodeRoster
  const clock = yield* Effect.clock
  const tools: Tools = { desk: yield* HistoryDesk, marks: yield* HistoryMarks, supervisor: yield* NodeSupervisor }
  const reach = perTier((tier) => limits[tier].keepMs)

  const text = (viewer: Viewer, params: HistoryParams) =>
    Effect.gen(function* () {
      const query = historyQuery(params, yield* Clock.currentTimeMillis, reach)
      if (isWrong(query)) return yield* new InvalidRequest({ message: query.wrong })
      const isOpen = viewer._tag === "Admin" || (yield* settings.historyAccess) === "by_node"
      const id = yield* readableNode(roster, viewer, query.serverId, isOpen)
      yield* tools.marks.ready
      const answer = yield* Effect.async<ChartAnswer, StorageUnavailable>((resume) =>
        askChart(tools, id, query, resume)
      )
      return answer.text
    })

  const offer = (viewer: Viewer, params: HistoryParams, done: (text: string | undefined) => void): boolean => {
    // Whether guests may look at all is in the database.
    if (viewer._tag === "Guest") return false
    const query = historyQuery(params, clock.unsafeCurrentTimeMillis(), reach)
    if (isWrong(query) || !tools.marks.isReady()) return false
    const id = readableNode(roster, viewer, query.serverId, true)
    if (Either.isLeft(id)) return false
    // Where the database is in trouble, whoever asks again by the long way is told so.
    askChart(tools, id.right, query, (result) => done(Exit.isSuccess(result) ? result.value.text : undefined))
    return true
  }

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
      const points = onlinePoints(range, span, {
        received: yield* askCount(tools, id, range === "24h" ? "minute" : "quarter", span),
        runs: runs.all(),
        intervalMs: interval * 1000,
        createdMs: roster.records().get(id)?.createdAt ?? 0
      })
      return { server_id: id, range, step_sec: (span.toMs - span.fromMs) / 1000 / points.length, points }
    })

  return HistoryReads.of({
    history: (viewer, params) => Effect.map(text(viewer, params), (found) => JSON.parse(found) as HistoryAnswer),
    text,
    offer,
    online
  })
})

export const layer = Layer.effect(HistoryReads, make)
