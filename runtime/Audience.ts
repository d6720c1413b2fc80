// One audience of the front page, guests or administrators: its rows, its own change counter and its shared answers.
import type { FrontGroup } from "../schema/Group.ts"
import type { Viewer } from "../schema/Session.ts"
import { type RosterContext, rosterOf, type Row, valuesOf } from "../src/core/LiveColumns.ts"
import { readable } from "../src/core/Visibility.ts"
import { type Cached, cached } from "./Cached.ts"
import type { NodeRecord } from "./NodeRoster.ts"

/** Frames that a client may be behind; older ones get a whole frame. Two minutes at the usual poll. */
const historyMax = 64
/** Different `since` values answered from one tick; most viewers share one or two. */
const framesMax = 16
/** A frame carries the service's clock, so a shared one must not grow older than this. */
const frameAgeMaxMs = 1000
/** How long a client should wait between two polls: what agents take between two reports. */
const pollMs = 3000

interface Tick {
  readonly seq: number
  /** Views with a larger revision changed after this tick. */
  readonly revision: number
  readonly rosterSeq: number
}
interface Frame {
  readonly answer: Cached
  readonly madeAt: number
}

/** What the audience is built from, read anew at each refresh. */
export interface Source {
  readonly records: () => ReadonlyArray<NodeRecord>
  readonly rosterRevision: () => number
  readonly view: (record: NodeRecord) => Row["view"] | undefined
  readonly revision: () => number
  readonly groups: () => ReadonlyArray<{ readonly id: FrontGroup["id"]; readonly name: string }>
  readonly isOutdated: (version: string | undefined) => boolean
}

export class Audience {
  readonly viewer: "guest" | "admin"
  rows: ReadonlyArray<Row> = []
  private readonly who: Viewer
  private readonly source: Source
  private readonly boot: string
  private seq: number
  private rosterSeq: number
  private rosterText = ""
  private orders = ""
  private ticks: Array<Tick> = []
  private readonly frames = new Map<number, Frame>()
  private seenRevision = -1
  private seenRosterRevision = -1
  private seenReported = -1
  private statics: ReadonlyArray<unknown> = []
  private refreshedAt = 0

  /** `boot` tells answers of this process from those of another; `firstSeq` must be larger than any earlier one. */
  constructor(who: Viewer, source: Source, boot: string, firstSeq: number) {
    this.who = who
    this.viewer = who._tag === "Admin" ? "admin" : "guest"
    this.source = source
    this.boot = boot
    this.seq = firstSeq
    this.rosterSeq = firstSeq
  }

  /** The tick between two looks: 0.1 ms per node up to a second, so small fleets are seen at once. */
  private due(now: number): boolean {
    return now - this.refreshedAt >= Math.min(1000, this.rows.length / 10) || now < this.refreshedAt
  }

  /** Looks for changes. The counter moves only when something that this audience sees did. */
  refresh(now: number): void {
    const revision = this.source.revision()
    const rosterRevision = this.source.rosterRevision()
    const rosterMoved = rosterRevision !== this.seenRosterRevision
    if (!rosterMoved && (revision === this.seenRevision || !this.due(now))) return
    this.refreshedAt = now
    const before = this.seenRevision
    this.seenRevision = revision
    this.seenRosterRevision = rosterRevision
    const rosterChanged = this.lookAtRoster(rosterMoved)
    if (!rosterChanged && !this.rows.some(({ view }) => view.revision > before)) return
    this.seq++
    if (rosterChanged) this.rosterSeq = this.seq
    this.frames.clear()
    this.ticks.push({ seq: this.seq, revision, rosterSeq: this.rosterSeq })
    if (this.ticks.length > historyMax) this.ticks.shift()
  }

  /** Rebuilds rows and roster columns when something in them may have changed; true when the text really did. */
  private lookAtRoster(moved: boolean): boolean {
    const reported = this.countReported()
    const told = moved || reported !== this.seenReported || this.toldAnew()
    if (!told) return false
    this.seenReported = reported
    const guest = this.viewer === "guest"
    const rows: Array<Row> = []
    for (const record of readable(this.who, this.source.records())) {
      const view = this.source.view(record)
      if (view !== undefined && (!guest || view.receivedAt > 0)) rows.push({ record, view })
    }
    this.rows = rows
    this.statics = rows.map(({ view }) => this.trace(view))
    const groupNames = new Map(this.source.groups().map(({ id, name }) => [id as number, name]))
    const context: RosterContext = { guest, groupNames, isOutdated: this.source.isOutdated }
    const text = JSON.stringify(rosterOf(rows, context))
    const orders = rows.map(({ record }) => record.displayOrder).join()
    if (text === this.rosterText && orders === this.orders) return false
    this.orders = orders
    this.rosterText = text
    return true
  }

  private countReported(): number {
    let count = 0
    for (const record of this.source.records()) if ((this.source.view(record)?.receivedAt ?? 0) > 0) count++
    return count
  }

  /** What of a view stands in the roster columns, as something cheap to compare. */
  private trace(view: Row["view"]): unknown {
    if (this.viewer === "guest") return view.statics
    if (view.faults.length > 0) return `${view.version}|${view.faults.map((fault) => fault.message).join(";")}`
    return view.statics === undefined
      ? view.version
      : view.statics.body.version === view.version
        ? view.statics
        : view.version
  }

  private toldAnew(): boolean {
    const { rows, statics } = this
    for (let i = 0; i < rows.length; i++) if (this.trace((rows[i] as Row).view) !== statics[i]) return true
    return false
  }

  /** The live frame for a client that has `since`. */
  frame(since: number | undefined, now: number): Cached {
    this.refresh(now)
    const tick = since === undefined ? undefined : this.ticks.find((one) => one.seq === since)
    const key = tick === undefined || tick.rosterSeq !== this.rosterSeq ? 0 : tick.seq
    const kept = this.frames.get(key)
    if (kept !== undefined && now - kept.madeAt < frameAgeMaxMs && now >= kept.madeAt) return kept.answer
    const whole = key === 0 || tick === undefined
    const changed: Array<number> = []
    if (!whole) this.rows.forEach(({ view }, i) => view.revision > tick.revision && changed.push(i))
    const values = JSON.stringify(valuesOf(this.rows, whole ? null : changed))
    const text = `{"seq":${this.seq},"now":${now},"viewer":"${this.viewer}","poll_ms":${pollMs},"roster":${whole ? this.rosterText : "null"},"values":${values}}\n`
    const answer = cached(`"${this.boot}-${this.viewer[0]}${this.seq}-${key}"`, text)
    if (this.frames.size >= framesMax) this.frames.clear()
    this.frames.set(key, { answer, madeAt: now })
    return answer
  }

  /** Marks the state that a full list was made from. */
  get mark(): number {
    return this.seq
  }

  etag(kind: string, mark: number): string {
    return `"${this.boot}-${this.viewer[0]}${kind}${mark}"`
  }

  /** Groups with the nodes this audience reads; guests get no group without one. */
  groups(): ReadonlyArray<FrontGroup> {
    const members = new Map<number, Array<NodeRecord["id"]>>()
    for (const record of readable(this.who, this.source.records())) {
      for (const id of record.groupIds) {
        const list = members.get(id)
        if (list === undefined) members.set(id, [record.id])
        else list.push(record.id)
      }
    }
    const all = this.source.groups().map(({ id, name }) => ({
      id,
      name,
      node_ids: (members.get(id) ?? []).sort((a, b) => a - b)
    }))
    return this.viewer === "guest" ? all.filter((group) => group.node_ids.length > 0) : all
  }
}
