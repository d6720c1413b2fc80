// Gathers what history and online reads ask for: chunks of the fitting tier, finer ones where it is not folded yet, the tail.
import { type Context, Exit } from "effect"
import type { HistoryAnswer, HistoryMetric } from "../schema/History.ts"
import type { NodeId } from "../schema/Ids.ts"
import { RawReader, TierReader } from "../src/core/Chunk.ts"
import { kept } from "../src/core/Column.ts"
import type { Details } from "../src/core/Details.ts"
import type { HistoryQuery } from "../src/core/HistoryQuery.ts"
import { isoSeconds, receivedIn, type Span } from "../src/core/Online.ts"
import { Points } from "../src/core/Points.ts"
import { Sealing } from "../src/core/Sealing.ts"
import { findSeries, type Series, seriesFrom } from "../src/core/Series.ts"
import { atOnce } from "../src/core/Steps.ts"
import { type Tier, tierNames, tiers } from "../src/core/Tier.ts"
import type { ChunkRow, ChunkStand, HistoryStore } from "../src/store/History.ts"
import { addRow } from "./Compaction.ts"
import type { HistoryMarks } from "./HistoryMarks.ts"
import type { NodeActor } from "./NodeActor.ts"
import type { NodeSupervisor } from "./NodeSupervisor.ts"
import { portion } from "./Slices.ts"
import type { TailRows } from "./TailRows.ts"

/** Damaged stretches that an answer lists. */
const missingMax = 100
/** Series lists of layouts kept parsed: many nodes share one, and a chunk refers to one. */
const layoutsMax = 512

/** What answers are gathered with. */
export interface Tools {
  readonly store: Context.Tag.Service<typeof HistoryStore>
  readonly marks: Context.Tag.Service<typeof HistoryMarks>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
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

/**
 * The tiers that an answer reads from, coarsest first, and the id of the last chunk that it leaves to the one before: its
 * own tier, and every finer one behind what is folded of it.
 */
export const shelvesOf = ({ marks }: Pick<Tools, "marks">, id: NodeId, tier: Tier) => {
  const { folded } = marks.of(id)
  const shelves = tierNames.slice(0, tierNames.indexOf(tier) + 1).reverse()
  return shelves.map((shelf) => ({ tier: shelf, behind: shelf === tier || shelf === "hour" ? 0 : folded[shelf] }))
}

/** A chunk is not any more where it stood when the reading began. */
class Changed extends Error {}

/** What stands where, all of one moment. */
interface Shelf {
  readonly tier: Tier
  readonly places: ReadonlyArray<ChunkStand>
}

/**
 * Where a node's chunks in [from, to) stand, coarsest tier first and oldest first; each instant is in exactly one of
 * them, because a finer tier is read only behind what is folded of it.
 */
const shelved = (tools: Tools, id: NodeId, tier: Tier, { fromMs, toMs }: Span): ReadonlyArray<Shelf> =>
  shelvesOf(tools, id, tier).map(({ behind, tier: shelf }) => ({
    tier: shelf,
    places: tools.store.standsBetween(shelf, id, fromMs, toMs, behind)
  }))

/** Hands over the chunks one by one, and yields behind each: throws `Changed` when one has gone meanwhile. */
function* eachChunk(
  { store }: Tools,
  shelves: ReadonlyArray<Shelf>,
  use: (tier: Tier, row: ChunkRow) => void
): Generator<void, void> {
  for (const { places, tier } of shelves) {
    for (const place of places) {
      const row = store.chunkAt(tier, place)
      if (row === undefined) throw new Changed()
      use(tier, row)
      yield
    }
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
export interface Gathered {
  readonly head: Omit<HistoryAnswer, "points">
  readonly points: Points
}

/** What a query asks for. Tail and places are of one moment, that of the first step, whenever the last is taken. */
export function* gathering(tools: Tools, id: NodeId, query: HistoryQuery): Generator<void, Gathered> {
  const { agg, device, fromMs, metric, range, stepMs, tier, toMs } = query
  const points = new Points(fromMs, toMs, stepMs)
  const devices = namesFor(tools, id, device)
  const missing: Array<{ from: string; to: string }> = []
  let damaged = 0
  const shelves = shelved(tools, id, tier, query)
  const tail = tailOf(tools, tools.supervisor.actor(id), metric)
  yield* eachChunk(tools, shelves, (shelf, row) => {
    if (addChunk(tools, points, metric, devices, shelf, row)) return
    damaged++
    if (missing.length < missingMax) missing.push({ from: isoSeconds(row.startAt), to: isoSeconds(row.endAt) })
  })
  tools.marks.figures.damaged += damaged
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

/** Rows of a chunk with their times: reports at raw resolution, counts per bucket in the tiers. */
const eachRow = (reader: RawReader | TierReader, use: (at: number, rows: number) => void): void => {
  if (reader instanceof RawReader) return reader.times().forEach((at) => use(at, 1))
  const rows = reader.rows()
  reader.times().forEach((at, i) => use(at, rows[i] as number))
}

/** Reports received in each part of a span, as `receivedIn` counts them; of one moment like `gathering`. */
export function* receiving(tools: Tools, id: NodeId, tier: Tier, span: Span): Generator<void, Float64Array> {
  const { add, counts } = receivedIn(span)
  let damaged = 0
  const shelves = shelved(tools, id, tier, span)
  const tail = tailOf(tools, tools.supervisor.actor(id))
  yield* eachChunk(tools, shelves, (shelf, row) => {
    try {
      if (row.bytes !== undefined) return eachRow(readerOf(shelf, row, row.bytes), add)
    } catch {
      // A damaged chunk: counted like one whose checksum does not hold.
    }
    damaged++
  })
  tools.marks.figures.damaged += damaged
  tail?.chunk.times.forEach((at) => add(at, 1))
  return counts
}

/** A portion of a reading; one whose chunks went away begins anew, and goes to the end at once: then nothing changes. */
const goneOn = <A>(begin: () => Generator<void, A>, steps: Generator<void, A>): IteratorResult<void, A> => {
  try {
    return portion(steps).step
  } catch (cause) {
    if (cause instanceof Changed) return { done: true, value: atOnce(begin()) }
    throw cause
  }
}

/**
 * The result of a reading: at once when it is short, as nearly all are (a chart of a usual node takes 1 to 3 ms), else in
 * portions, one in each turn of the event loop: what comes from a slow disk shall not hold up everybody else. `done` is
 * called once; what was thrown is a defect. Gives a function after which it is not called any more.
 */
export const inTurns = <A>(begin: () => Generator<void, A>, done: (result: Exit.Exit<A>) => void): (() => void) => {
  const steps = begin()
  let turn: NodeJS.Immediate | undefined
  const goOn = (): void => {
    let step: IteratorResult<void, A>
    try {
      step = goneOn(begin, steps)
    } catch (cause) {
      return done(Exit.die(cause))
    }
    if (step.done === true) done(Exit.succeed(step.value))
    else turn = setImmediate(goOn)
  }
  goOn()
  return () => clearImmediate(turn)
}
