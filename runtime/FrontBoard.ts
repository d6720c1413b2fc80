// The published face of the fleet: snapshots serialised once per change, lists and live frames shared by their viewers.
import { Clock, Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { Forbidden, NotFound } from "../schema/Errors.ts"
import type { FrontGroup } from "../schema/Group.ts"
import { NodeId, SessionId } from "../schema/Ids.ts"
import type { Recent } from "../schema/Live.ts"
import { Viewer } from "../schema/Session.ts"
import { recentOf, type Row } from "../src/core/LiveColumns.ts"
import { snapshotText } from "../src/core/SnapshotView.ts"
import { isOutdated } from "../src/core/Version.ts"
import { canRead } from "../src/core/Visibility.ts"
import { Audience, type Source } from "./Audience.ts"
import { BundledVersion } from "./BundledVersion.ts"
import { type Cached, cached } from "./Cached.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { pause } from "./Pause.ts"

/** Snapshots serialised between two yields: about 5 ms. */
const sliceNodes = 250

/** A page of the list, or chosen nodes. */
export type Selection =
  | { readonly _tag: "All" }
  | { readonly _tag: "Page"; readonly offset: number; readonly limit: number }
  | { readonly _tag: "Ids"; readonly ids: ReadonlySet<number> }

export class FrontBoard extends Context.Tag("runtime/FrontBoard")<
  FrontBoard,
  {
    /** Snapshots of the visible nodes that have reported, as a JSON array. */
    readonly metrics: (viewer: Viewer, selection: Selection) => Effect.Effect<Cached>
    readonly groups: (viewer: Viewer) => Effect.Effect<ReadonlyArray<FrontGroup>>
    readonly live: (viewer: Viewer, since: number | undefined) => Effect.Effect<Cached>
    /** Guests get 403 for hidden, deleted and unknown alike, administrators 404 for unknown. */
    readonly recent: (viewer: Viewer, id: number) => Effect.Effect<Recent, Forbidden | NotFound>
  }
>() {}

/** The text of one node, made again when its view or its record changed. */
interface Piece {
  readonly revision: number
  readonly record: Row["record"]
  readonly admin: string
  readonly guest: string
}

/** Text of a row for its audience. Only SMART differs, so most nodes share one text. */
const makePieces = () => {
  const pieces = new Map<number, Piece>()
  const textOf = (row: Row, guest: boolean): string => {
    const { record, view } = row
    let piece = pieces.get(record.id)
    if (piece === undefined || piece.revision !== view.revision || piece.record !== record) {
      const admin = snapshotText(view, record, false)
      const differs = (view.details?.smart?.devices.length ?? 0) > 0
      piece = { revision: view.revision, record, admin, guest: differs ? snapshotText(view, record, true) : admin }
      pieces.set(record.id, piece)
    }
    return guest ? piece.guest : piece.admin
  }
  /** Forgets nodes that are gone; the map never outgrows the fleet by more than the deletions of one rebuild. */
  const prune = (known: ReadonlyMap<number, unknown>) => {
    if (pieces.size <= known.size) return
    for (const id of pieces.keys()) if (!known.has(id)) pieces.delete(id)
  }
  return { textOf, prune }
}

/** One audience with its full list and the turn of whoever makes it. */
interface Own {
  readonly audience: Audience
  readonly turn: Effect.Semaphore
  list: { readonly mark: number; readonly answer: Cached } | undefined
}

interface Tools {
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly pieces: ReturnType<typeof makePieces>
  readonly own: (viewer: Viewer) => Own
}

/** Serialises in slices, so that ten thousand nodes do not hold the loop. */
const join = ({ pieces }: Tools, rows: ReadonlyArray<Row>, guest: boolean) =>
  Effect.gen(function* () {
    const texts: Array<string> = []
    for (let from = 0; from < rows.length; from += sliceNodes) {
      for (const row of rows.slice(from, from + sliceNodes)) {
        if (row.view.receivedAt > 0) texts.push(pieces.textOf(row, guest))
      }
      if (from + sliceNodes < rows.length) yield* pause
    }
    return `[${texts.join(",")}]\n`
  })

/** Single flight: whoever waits for the turn finds the list that the one before made. */
const fullList = (tools: Tools, own: Own) =>
  own.turn.withPermits(1)(
    Effect.gen(function* () {
      const { audience } = own
      audience.refresh(yield* Clock.currentTimeMillis)
      const { mark } = audience
      if (own.list?.mark === mark) return own.list.answer
      tools.pieces.prune(tools.roster.records())
      const text = yield* join(tools, audience.rows, audience.viewer === "guest")
      own.list = { mark, answer: cached(audience.etag("m", mark), text) }
      return own.list.answer
    })
  )

const partialList = (tools: Tools, { audience }: Own, selection: Exclude<Selection, { _tag: "All" }>) =>
  Effect.gen(function* () {
    audience.refresh(yield* Clock.currentTimeMillis)
    const reporting = audience.rows.filter(({ view }) => view.receivedAt > 0)
    const rows =
      selection._tag === "Page"
        ? reporting.slice(selection.offset, selection.offset + selection.limit)
        : reporting.filter(({ record }) => selection.ids.has(record.id))
    const key =
      selection._tag === "Page" ? `${selection.offset}.${selection.limit}.` : `${[...selection.ids].join(".")}.`
    const { mark } = audience
    return cached(audience.etag(key, mark), yield* join(tools, rows, audience.viewer === "guest"))
  })

const recent = ({ roster, supervisor }: Tools, viewer: Viewer, id: number) =>
  Effect.gen(function* () {
    const record = roster.records().get(NodeId.make(id))
    if (!canRead(viewer, record)) {
      if (viewer._tag === "Guest") return yield* new Forbidden({ message: "this node's data is not public" })
      return yield* new NotFound({ message: `node ${id} does not exist` })
    }
    const actor = record === undefined ? undefined : supervisor.actor(record.id)
    const window = actor?.window
    return actor === undefined || window === undefined ? emptyRecent(id) : recentOf(actor.view, window)
  })

const adminViewer = Viewer.Admin({ sessionId: SessionId.make("board") })

const make = Effect.gen(function* () {
  const supervisor = yield* NodeSupervisor
  const roster = yield* NodeRoster
  const bundled = yield* BundledVersion
  const source: Source = {
    records: roster.ordered,
    rosterRevision: roster.revision,
    view: (record) => supervisor.view(record.id),
    revision: supervisor.revision,
    groups: roster.groups,
    isOutdated: (version) => isOutdated(version, bundled.version)
  }
  const boot = randomBytes(6).toString("base64url")
  const firstSeq = yield* Clock.currentTimeMillis
  const newOwn = (who: Viewer) =>
    Effect.map(Effect.makeSemaphore(1), (turn): Own => ({
      audience: new Audience(who, source, boot, firstSeq),
      turn,
      list: undefined
    }))
  const guests = yield* newOwn(Viewer.Guest())
  const admins = yield* newOwn(adminViewer)
  const own = (viewer: Viewer) => (viewer._tag === "Admin" ? admins : guests)
  const tools: Tools = { supervisor, roster, pieces: makePieces(), own }

  return FrontBoard.of({
    metrics: (viewer, selection) =>
      selection._tag === "All" ? fullList(tools, own(viewer)) : partialList(tools, own(viewer), selection),
    groups: (viewer) => Effect.sync(() => own(viewer).audience.groups()),
    live: (viewer, since) => Effect.map(Clock.currentTimeMillis, (now) => own(viewer).audience.frame(since, now)),
    recent: (viewer, id) => recent(tools, viewer, id)
  })
})

const emptyRecent = (id: number): Recent => ({
  server_id: id,
  at: [],
  cpu: [],
  mem: [],
  recv_bps: [],
  sent_bps: [],
  read_bps: [],
  write_bps: []
})

export const layer = Layer.effect(FrontBoard, make)
