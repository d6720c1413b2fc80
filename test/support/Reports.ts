// Owns reports and statics for tests: the contract's examples, builders of realistic pieces, a node that takes reports.
import { readFileSync } from "node:fs"
import { NodeId } from "../../schema/Ids.ts"
import type {
  BaseIo,
  Filesystem,
  Interface,
  Logical,
  NodeReport,
  Physical,
  RaidArray,
  Sensor,
  Smart,
  SmartDevice,
  Thermal
} from "../../schema/Report.ts"
import type { Snapshot } from "../../schema/Snapshot.ts"
import type { Static } from "../../schema/Static.ts"
import { type Arrival, changesIn } from "../../src/core/DetailChanges.ts"
import { type Changes, type Details } from "../../src/core/Details.ts"
import { flatten } from "../../src/core/Flatten.ts"
import { type Layout, layoutOf } from "../../src/core/Layout.ts"
import { emptyState, faultsOf, type NodeState, type Outcome, step } from "../../src/core/NodeState.ts"
import type { NodeView } from "../../src/core/NodeView.ts"
import type { Titled } from "../../src/core/SnapshotView.ts"

/** The same shape with every member writable, for edits of a fresh copy; lists are replaced as a whole. */
export type Draft<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Draft<Item>>
    : T extends object
      ? { -readonly [K in keyof T]: Draft<T[K]> }
      : T

const read = (name: string): string => readFileSync(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8")

/** The complete report of the contract: RAID1 data volume, NVMe root, SMART, thermal, pressure. */
export const fullReportText = read("report-full")
export const smallReportText = read("report-small")
/** The report of the next agent: nothing available beside the basics. */
export const nextReportText = read("report-next")
export const fullStaticText = read("static-full")

export const fullReport = (): Draft<NodeReport> => JSON.parse(fullReportText) as Draft<NodeReport>
export const smallReport = (): Draft<NodeReport> => JSON.parse(smallReportText) as Draft<NodeReport>
export const nextReport = (): Draft<NodeReport> => JSON.parse(nextReportText) as Draft<NodeReport>
export const fullStatic = (): Draft<Static> => JSON.parse(fullStaticText) as Draft<Static>
/** The contract's example of what the front page reads. */
export const exampleSnapshots = (): ReadonlyArray<Snapshot> => JSON.parse(read("snapshots")) as ReadonlyArray<Snapshot>

/** A copy of the full report (or of `base`) after an edit. */
export const reportWith = (edit: (report: Draft<NodeReport>) => void, base = fullReport()): NodeReport => {
  edit(base)
  return base
}
export const staticWith = (edit: (body: Draft<Static>) => void, base = fullStatic()): Static => {
  edit(base)
  return base
}

/** Sets what stands at a path such as `metrics.network[0].name`; undefined removes it. The value is any JSON. */
export const setAt = (value: object, path: string, to: unknown): void => {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== "")
  const last = keys.pop() as string
  let at = value as Record<string, unknown>
  for (const key of keys) at = at[key] as Record<string, unknown>
  if (to === undefined) delete at[last]
  else at[last] = to
}

/** What a body holds after it travelled as JSON. */
export const travelled = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

const rates = { read_rate_bytes_per_sec: 10, write_rate_bytes_per_sec: 20, read_iops: 1, write_iops: 2, iops: 3 }

export const nic = (name: string, over: Partial<Interface> = {}): Interface => ({
  name,
  bytes_recv: 1000,
  bytes_sent: 2000,
  recv_rate_bytes_per_sec: 30,
  sent_rate_bytes_per_sec: 40,
  packets_recv: 10,
  packets_sent: 20,
  recv_rate_packets_per_sec: 3,
  sent_rate_packets_per_sec: 4,
  err_in: 0,
  err_out: 0,
  drop_in: 0,
  drop_out: 0,
  ...over
})
export const physical = (name: string, over: Partial<Physical> = {}): Physical => ({
  name,
  device_path: `/dev/${name}`,
  ref: `disk:${name}`,
  read_bytes: 1,
  write_bytes: 2,
  ...rates,
  util_ratio: 0.1,
  queue_length: 0.2,
  wait_ms: 0.3,
  service_ms: 0.4,
  ...over
})
export const volume = (name: string, over: Partial<Logical> = {}): Logical => ({
  kind: "disk",
  name,
  ref: `disk:${name}`,
  used: 40,
  free: 60,
  used_ratio: 0.4,
  ...over
})
export const filesystem = (path: string, over: Partial<Filesystem> = {}): Filesystem => ({
  path,
  mountpoint: path,
  device: "/dev/sda1",
  used: 40,
  free: 60,
  used_ratio: 0.4,
  inodes_used: 1,
  inodes_free: 9,
  inodes_used_ratio: 0.1,
  ...over
})
export const baseIo = (name: string, over: Partial<BaseIo> = {}): BaseIo => ({
  kind: "physical",
  name,
  ref: `disk:${name}`,
  ...rates,
  ...over
})
export const smartDevice = (name: string, over: Partial<SmartDevice> = {}): SmartDevice => ({
  name,
  source: "smartctl",
  status: "ok",
  device_path: `/dev/${name}`,
  device_type: "sat",
  protocol: "ATA",
  model: "EXAMPLE-HD4000",
  serial: `serial-of-${name}`,
  temp_c: 36,
  ...over
})
export const smart = (...devices: ReadonlyArray<SmartDevice>): Smart => ({ status: "ok", ttl_seconds: 300, devices })
export const sensor = (name: string, over: Partial<Sensor> = {}): Sensor => ({
  kind: "cpu",
  name,
  sensor_key: name,
  source: "gopsutil",
  status: "ok",
  temp_c: 50,
  ...over
})
export const thermal = (...sensors: ReadonlyArray<Sensor>): Thermal => ({ status: "ok", sensors })
export const raidArray = (name: string, over: Partial<RaidArray> = {}): RaidArray => ({
  name,
  status: "active",
  active: 2,
  working: 2,
  failed: 0,
  health: "healthy",
  members: [{ name: "sda1", state: "up" }],
  ...over
})

export const arrivalOf = (over: Partial<Arrival> = {}): Arrival => ({
  ip: "203.0.113.9",
  wide: null,
  dropped: [],
  ...over
})

/** A checked report as numbers, in the layout of its own devices or in the one given. */
export const flattened = (report: NodeReport, layout = layoutIn(report)): Float64Array => {
  const vector = new Float64Array(layout.size)
  flatten(vector, layout, report)
  return vector
}
export const layoutIn = (report: NodeReport): Layout => layoutOf(freshDetails(report).layout)

/** The details of a report that is the first of its node. */
export const freshDetails = (report: NodeReport, arrival = arrivalOf()): Details =>
  changesIn(undefined, undefined, report, arrival) as Details

export interface Taken {
  readonly changes: Changes | undefined
  /** In the layout that the report brought, or in the one that was kept. */
  readonly vector: Float64Array
  readonly outcome: Outcome
}

/** Brings one report to a node's state on the way that its actor takes. */
export const take = (state: NodeState, report: NodeReport, receivedAt: number, arrival = arrivalOf()): Taken => {
  const changes = changesIn(state.details, state.layout, report, arrival)
  const layout = changes?.layout === undefined ? (state.layout as Layout) : layoutOf(changes.layout)
  const vector = flattened(report, layout)
  return { changes, vector, outcome: step(state, { _tag: "Sample", receivedAt, vector, changes }) }
}

export interface ViewOptions {
  readonly id?: number
  readonly receivedAt?: number
  readonly statics?: Static
  readonly arrival?: Arrival
}
/** 2026-06-14T08:21:34.500Z: a second after the contract's report was measured. */
export const receivedAt = Date.UTC(2026, 5, 14, 8, 21, 34, 500)

/** The view of a node after one report and, when given, its Static. */
export const viewOf = (report: NodeReport, options: ViewOptions = {}): NodeView => {
  const at = options.receivedAt ?? receivedAt
  const state = emptyState()
  const { vector } = take(state, report, at, options.arrival)
  if (options.statics !== undefined) step(state, { _tag: "StaticReceived", receivedAt: at, body: options.statics })
  const { details, layout, statics, version } = state
  const id = NodeId.make(options.id ?? 7)
  return { id, receivedAt: at, layout, details, vector, statics, version, faults: faultsOf(state, at), revision: 1 }
}

export const titled = (over: Partial<Titled> = {}): Titled => ({ name: "edge-a", tags: [], displayOrder: 0, ...over })
