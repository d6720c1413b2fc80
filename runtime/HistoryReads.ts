// Answers history and online requests: chunks of the fitting tier, finer ones where it is not folded yet, then the tail.
import { Clock, Context, Effect, Layer } from "effect"
import { Forbidden, InvalidRequest, NotFound } from "../schema/Errors.ts"
import type { HistoryAnswer, HistoryMetric, OnlineAnswer } from "../schema/History.ts"
import { NodeId } from "../schema/Ids.ts"
import type { Viewer } from "../schema/Session.ts"
import { RawReader, TierReader } from "../src/core/Chunk.ts"
import { kept } from "../src/core/Column.ts"
import {
  type HistoryParams,
  type HistoryQuery,
  historyQuery,
  isWrong,
  type Reach,
  serverIdOf
} from "../src/core/HistoryQuery.ts"
import { isoSeconds, onlinePoints, onlineRangeOf, onlineSpan, receivedIn, type Span } from "../src/core/Online.ts"
import { Points } from "../src/core/Points.ts"
import { Sealing } from "../src/core/Sealing.ts"
import { historyText } from "../src/core/HistoryText.ts"
import { findSeries, type Series, seriesFrom } from "../src/core/Series.ts"
import { type Tier, tierNames, tiers } from "../src/core/Tier.ts"
import { canRead } from "../src/core/Visibility.ts"
import type { Details } from "../src/core/Details.ts"
import { type ChunkRow, HistoryStore } from "../src/store/History.ts"
import { JournalStore } from "../src/store/Journal.ts"
import { Settings } from "../src/store/Settings.ts"
import { addRow } from "./Compaction.ts"
import { AppConfig } from "./Config.ts"
import { HistoryMarks } from "./HistoryMarks.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ServiceRuns } from "./ServiceRuns.ts"
import { TailRows } from "./TailRows.ts"
import type { NodeActor } from "./NodeActor.ts"
import type { StorageUnavailable } from "../schema/Errors.ts"

/** Damaged stretches that an answer lists. */
const missingMax = 100
/** Series lists of layouts kept parsed: many nodes share one, and a chunk refers to one. */
const layoutsMax = 512

type Refusal = InvalidRequest | Forbidden | NotFound | StorageUnavailable

export class HistoryReads extends Context.Tag("runtime/HistoryReads")<
  HistoryReads,
  {
    /** Guests get 403 for what they may not read, whatever the reason; administrators 404 for an unknown node. */
    readonly history: (viewer: Viewer, params: HistoryParams) => Effect.Effect<HistoryAnswer, Refusal>
    /** The same as JSON. */
    readonly text: (viewer: Viewer, params: HistoryParams) => Effect.Effect<string, Refusal>
    /** The same without a fiber; undefined for guests, and where there is anything to wait for or to refuse. */
    readonly textAtOnce: (viewer: Viewer, params: HistoryParams) => string | undefined
    readonly online: (
      viewer: Viewer,
      params: { readonly server_id?: string | undefined; readonly range?: string | undefined }
    ) => Effect.Effect<OnlineAnswer, Refusal>
  }
>() {}

interface Tools {
  readonly store: Context.Tag.Service<typeof HistoryStore>
  readonly marks: Context.Tag.Service<typeof HistoryMarks>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly tails: TailRows
  readonly layouts: Map<number, ReadonlyArray<Series>>
}

const readerOf = (tier: Tier, row: ChunkRow, bytes: Uint8Array): RawReader | TierReader =>
  (row.reader ??= tier === "raw" ? new RawReader(bytes) : new TierReader(bytes))

const seriesOf = ({ layouts, store }: Tools, layoutId: number): ReadonlyArray<Series> => {
  let series = layouts.get(layoutId)
  if (series === undefined) {
    series = seriesFrom(store.layout(layoutId) ?? "[]")
    if (layouts.size >= layoutsMax) layouts.delete(layouts.keys().next().value as number)
    layouts.set(layoutId, series)
  }
  return series
}

/** The tiers that an answer reads from: its own, and every finer one behind what is folded of it. */
const shelvesOf = (tier: Tier): ReadonlyArray<Tier> => tierNames.slice(0, tierNames.indexOf(tier) + 1).reverse()

/**
 * Hands over a node's chunks in [from, to), coarsest tier first and oldest first; each instant is in exactly one of
 * them, because a finer tier is read only behind what is folded of it.
 */
const eachChunk = (
  { marks, store }: Tools,
  id: NodeId,
  tier: Tier,
  { fromMs, toMs }: Span,
  use: (tier: Tier, row: ChunkRow) => void
): void => {
  const mark = marks.of(id)
  for (const shelf of shelvesOf(tier)) {
    const behind = shelf === tier || shelf === "hour" ? 0 : mark.folded[shelf]
    for (const row of store.between(shelf, id, fromMs, toMs, behind)) use(shelf, row)
  }
}

/** The rows that are committed but in no chunk yet, as columns; one that cannot be read is left out and counted. */
const tailOf = ({ marks, store, tails }: Tools, actor: NodeActor | undefined, metric?: HistoryMetric) => {
  if (actor === undefined || actor.unsealed.length === 0) return undefined
  const details = store.sealedDetails(actor.id)
  const before = details === undefined ? undefined : (JSON.parse(details) as Details)
  const sealing = new Sealing(before ?? undefined, actor.unsealed.length, metric)
  for (const row of tails.of(actor.id, actor.unsealed))
    if (!addRow(sealing, row, tails.valuesOf)) marks.figures.damaged++
  return sealing.finish()
}

/** Adds what a chunk says of the metric; false when it is damaged. */
const addChunk = (
  tools: Tools,
  to: Points,
  metric: HistoryMetric,
  devices: ReadonlyArray<string>,
  tier: Tier,
  row: ChunkRow
) => {
  if (row.bytes === undefined) return false
  const index = findSeries(seriesOf(tools, row.layoutId), metric, devices)
  if (index < 0) return true
  try {
    const reader = readerOf(tier, row, row.bytes)
    if (reader instanceof RawReader) to.addValues(reader.times(), reader.column(index))
    else to.addBuckets(reader.times(), reader.series(index), tiers[tier].widthMs)
    return true
  } catch {
    return false
  }
}

/** Names under which the asked device may stand: a volume is also known by the mount point that Static tells. */
const namesFor = ({ supervisor }: Tools, id: NodeId, device: string): ReadonlyArray<string> => {
  if (device === "") return []
  const volumes = supervisor.view(id)?.statics?.body.disk?.logical ?? []
  const mounted = volumes.filter(
    (volume) => volume.mountpoint === device || Object.hasOwn(volume.mountpoints ?? {}, device)
  )
  return [device, ...mounted.flatMap(({ name, ref }) => [ref ?? "", name]).filter((name) => name !== "")]
}

/** An answer whose points are still columns. */
interface Gathered {
  readonly head: Omit<HistoryAnswer, "points">
  readonly points: Points
}

const gathered = (tools: Tools, id: NodeId, query: HistoryQuery): Gathered => {
  const { agg, device, fromMs, metric, range, stepMs, tier, toMs } = query
  const points = new Points(fromMs, toMs, stepMs)
  const devices = namesFor(tools, id, device)
  const missing: Array<{ from: string; to: string }> = []
  eachChunk(tools, id, tier, query, (shelf, row) => {
    if (addChunk(tools, points, metric, devices, shelf, row)) return
    tools.marks.figures.damaged++
    if (missing.length < missingMax) missing.push({ from: isoSeconds(row.startAt), to: isoSeconds(row.endAt) })
  })
  const tail = tailOf(tools, tools.supervisor.actor(id), metric)
  const index = tail === undefined ? -1 : findSeries(tail.series, metric, devices)
  if (tail !== undefined && index >= 0) {
    points.addValues(tail.chunk.times, (tail.chunk.columns[index] as Float64Array).map(kept))
  }
  const head = {
    server_id: id,
    metric,
    range,
    agg,
    step_sec: stepMs / 1000,
    ...(device === "" ? {} : { device }),
    from: isoSeconds(fromMs),
    // A range ends with this very millisecond: its span counts from there.
    to: isoSeconds(range === "custom" ? toMs : toMs - 1),
    missing
  }
  return { head, points }
}

const answerOf = ({ head, points }: Gathered): HistoryAnswer => {
  const found: Array<{ ts: string; value: number }> = []
  points.each(head.agg, (startMs, value) => found.push({ ts: isoSeconds(startMs), value }))
  return { ...head, points: found }
}
const textOf = ({ head, points }: Gathered): string => historyText(head, points)

/** Rows of a chunk with their times: reports at raw resolution, counts per bucket in the tiers. */
const eachRow = (reader: RawReader | TierReader, use: (at: number, rows: number) => void): void => {
  if (reader instanceof RawReader) return reader.times().forEach((at) => use(at, 1))
  const rows = reader.rows()
  reader.times().forEach((at, i) => use(at, rows[i] as number))
}

const received = (tools: Tools, id: NodeId, tier: Tier, span: Span): Float64Array => {
  const { add, counts } = receivedIn(span)
  eachChunk(tools, id, tier, span, (shelf, row) => {
    try {
      if (row.bytes !== undefined) return eachRow(readerOf(shelf, row, row.bytes), add)
    } catch {
      // A damaged chunk: counted like one whose checksum does not hold.
    }
    tools.marks.figures.damaged++
  })
  tailOf(tools, tools.supervisor.actor(id))?.chunk.times.forEach((at) => add(at, 1))
  return counts
}

const hidden = () => new Forbidden({ message: "this node's figures are not public" })

/** The node, if this viewer may read it. `isOpen` is what the guests' access mode says. */
const readableNode = ({ roster }: Tools, viewer: Viewer, serverId: number, isOpen: boolean) => {
  const id = NodeId.make(serverId)
  const record = roster.records().get(id)
  if (canRead(viewer, record) && (isOpen || viewer._tag === "Admin")) return Effect.succeed(id)
  return viewer._tag === "Guest"
    ? Effect.fail(hidden())
    : Effect.fail(new NotFound({ message: `node ${serverId} does not exist` }))
}

/** The text without a fiber, where nothing has to be waited for and nothing is refused. */
const makeAtOnce =
  (tools: Tools, reach: Reach, clock: Clock.Clock) =>
  (viewer: Viewer, params: HistoryParams): string | undefined => {
    // Whether guests may look at all is in the database.
    if (viewer._tag === "Guest") return undefined
    const query = historyQuery(params, clock.unsafeCurrentTimeMillis(), reach)
    if (isWrong(query) || !tools.marks.isReady()) return undefined
    const id = NodeId.make(query.serverId)
    if (!canRead(viewer, tools.roster.records().get(id))) return undefined
    try {
      return textOf(gathered(tools, id, query))
    } catch {
      // The database is in trouble: whoever asks again by the long way is told so.
      return undefined
    }
  }

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const runs = yield* ServiceRuns
  const { history: limits } = yield* AppConfig
  const tools: Tools = {
    tails: new TailRows(yield* JournalStore),
    store: yield* HistoryStore,
    marks: yield* HistoryMarks,
    supervisor: yield* NodeSupervisor,
    roster: yield* NodeRoster,
    layouts: new Map()
  }
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
      const id = yield* readableNode(tools, viewer, query.serverId, isOpen)
      yield* tools.marks.ready
      return gathered(tools, id, query)
    })

  const online = (viewer: Viewer, params: { server_id?: string | undefined; range?: string | undefined }) =>
    Effect.gen(function* () {
      const serverId = serverIdOf(params.server_id)
      if (typeof serverId === "object") return yield* new InvalidRequest({ message: serverId.wrong })
      const range = onlineRangeOf(params.range)
      if (range === undefined) return yield* new InvalidRequest({ message: "range must be 24h or 7d" })
      const id = yield* readableNode(tools, viewer, serverId, true)
      yield* tools.marks.ready
      const span = onlineSpan(range, yield* Clock.currentTimeMillis)
      const interval = tools.supervisor.view(id)?.statics?.body.report_interval_seconds ?? 3
      const points = onlinePoints(range, span, {
        received: received(tools, id, range === "24h" ? "minute" : "quarter", span),
        runs: runs.all(),
        intervalMs: interval * 1000,
        createdMs: tools.roster.records().get(id)?.createdAt ?? 0
      })
      return { server_id: id, range, step_sec: (span.toMs - span.fromMs) / 1000 / points.length, points }
    })

  return HistoryReads.of({
    history: (viewer, params) => Effect.map(reading(viewer, params), answerOf),
    text: (viewer, params) => Effect.map(reading(viewer, params), textOf),
    textAtOnce: makeAtOnce(tools, reach, yield* Effect.clock),
    online
  })
})

export const layer = Layer.effect(HistoryReads, make)
