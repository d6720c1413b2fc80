// The columns of the live frame: a roster that changes seldom and quantised values, straight from the vectors.
import type { LiveValues, Recent, Roster } from "../../schema/Live.ts"
import { ioTotal, mountsOf } from "./DiskView.ts"
import { Host } from "./Layout.ts"
import type { NodeView } from "./NodeView.ts"
import { osFamily, staleAfterSec, type Titled } from "./SnapshotView.ts"
import type { Window } from "./Window.ts"

/** A node as the frame lists it. */
export interface Listed extends Titled {
  readonly id: number
  readonly guestVisible: boolean
  readonly groupIds: ReadonlyArray<number>
}
export interface Row {
  readonly record: Listed
  readonly view: NodeView
}
export interface RosterContext {
  readonly guest: boolean
  readonly groupNames: ReadonlyMap<number, string>
  readonly isOutdated: (version: string | undefined) => boolean
}

/** Roster columns, in the order of the rows. Guests get no version, visibility or fault. */
export const rosterOf = (rows: ReadonlyArray<Row>, context: RosterContext): Roster => {
  const used = new Set(rows.flatMap(({ record }) => record.groupIds))
  const names = [...used].map((id) => [String(id), context.groupNames.get(id) ?? ""] as const)
  const system = rows.map(({ view }) => view.statics?.body.system)
  return {
    id: rows.map(({ record }) => record.id),
    title: rows.map(({ record }) => record.name),
    os: system.map((one) => (one === undefined ? "unknown" : osFamily(one.os))),
    platform: system.map((one) => one?.platform ?? ""),
    arch: system.map((one) => one?.arch ?? ""),
    tags: rows.map(({ record }) => record.tags),
    groups: rows.map(({ record }) => record.groupIds),
    stale_after_sec: rows.map(({ view }) => staleAfterSec(view)),
    cores: rows.map(({ view }) => view.statics?.body.cpu?.info?.cores_logical ?? 0),
    memory_total: rows.map(({ view }) => view.statics?.body.memory?.total ?? 0),
    group_names: Object.fromEntries(names),
    ...(context.guest
      ? {}
      : {
          version: rows.map(({ view }) => view.version ?? ""),
          outdated: rows.map(({ view }) => (context.isOutdated(view.version) ? 1 : 0)),
          guest_visible: rows.map(({ record }) => (record.guestVisible ? 1 : 0)),
          fault: rows.map(({ view }) => view.faults.map((fault) => fault.message).join("; "))
        })
  }
}

/** What of a row's view the roster shows: when it changes, the roster does. */
export const rosterTrace = ({ view }: Row, guest: boolean): string =>
  guest
    ? `${view.statics?.receivedAt ?? 0}`
    : `${view.statics?.receivedAt ?? 0}|${view.version ?? ""}|${view.faults.map((fault) => fault.message).join(";")}`

const { MAX_SAFE_INTEGER: wholeMax, MIN_SAFE_INTEGER: wholeMin } = Number
/** Within what the frame's integers hold: one node with absurd figures must not spoil the frame of all. */
const whole = (value: number | undefined, scale = 1): number =>
  value === undefined || !Number.isFinite(value)
    ? -1
    : Math.min(Math.max(Math.round(value * scale), wholeMin), wholeMax)

/** The fullest mount, per mille; -1 without mounts. */
const fullest = (view: NodeView): number => {
  let found = -1
  for (const mount of mountsOf(view)) found = Math.max(found, whole(mount.used_ratio, 1000))
  return found
}

/** Value columns of the given rows. `indexes` null means every row, in order. */
export const valuesOf = (rows: ReadonlyArray<Row>, indexes: ReadonlyArray<number> | null): LiveValues => {
  const chosen = indexes === null ? rows : indexes.map((i) => rows[i] as Row)
  const column = (series: number, scale = 1): Array<number> =>
    chosen.map(({ view }) => (view.receivedAt === 0 ? 0 : whole(view.vector[series], scale)))
  const io = chosen.map(({ view }) => ioTotal(view))
  return {
    row: indexes,
    received_at: chosen.map(({ view }) => view.receivedAt),
    cpu: column(Host.cpuUsage, 1000),
    load1: chosen.map(({ view }) => {
      const load = view.vector[Host.load1]
      return load === undefined || load < 0 ? -1 : whole(load, 100)
    }),
    mem: column(Host.memUsedRatio, 1000),
    swap: column(Host.swapUsedRatio, 1000),
    disk: chosen.map(({ view }) => fullest(view)),
    recv_bps: column(Host.netRecvRate),
    sent_bps: column(Host.netSentRate),
    read_bps: io.map((rates) => whole(rates.read_bps)),
    write_bps: io.map((rates) => whole(rates.write_bps)),
    uptime_sec: column(Host.uptimeSec),
    processes: column(Host.processes),
    tcp: column(Host.tcp),
    udp: column(Host.udp),
    temp: chosen.map(({ view }) => whole(view.vector[Host.cpuTemp], 10))
  }
}

/** The last minutes of one node from its window. Disk rates are the total that the snapshot shows. */
export const recentOf = (view: NodeView, window: Window): Recent => {
  const at: Array<number> = []
  const series = { cpu: [], mem: [], recv_bps: [], sent_bps: [], read_bps: [], write_bps: [] } as {
    [K in Exclude<keyof Recent, "server_id" | "at">]: Array<number>
  }
  const vector = new Float64Array(window.size)
  for (let i = 0; i < window.length; i++) {
    for (let s = 0; s < window.size; s++) vector[s] = window.valueAt(i, s)
    const io = ioTotal({ ...view, vector })
    at.push(window.timeAt(i))
    series.cpu.push(vector[Host.cpuUsage] as number)
    series.mem.push(vector[Host.memUsedRatio] as number)
    series.recv_bps.push(vector[Host.netRecvRate] as number)
    series.sent_bps.push(vector[Host.netSentRate] as number)
    series.read_bps.push(Number.isNaN(io.read_bps) ? 0 : io.read_bps)
    series.write_bps.push(Number.isNaN(io.write_bps) ? 0 : io.write_bps)
  }
  return { server_id: view.id, at, ...series }
}
