// A node's snapshot for the front page, built from its published view and its record.
import type { PressureView, RaidView, Snapshot, ThermalView } from "../../schema/Snapshot.ts"
import { uptimeText } from "./Details.ts"
import { diskOf } from "./DiskView.ts"
import { Heat, heatSize, Host, Nic, nicSize } from "./Layout.ts"
import type { NodeView } from "./NodeView.ts"

/** What the record adds to a view. */
export interface Titled {
  readonly name: string
  readonly tags: ReadonlyArray<string>
  readonly displayOrder: number
}

/** The years 0 to 9999: RFC 3339 has four digits for them, and an offset may carry an agent's time past the end. */
const firstMs = -62_167_219_200_000
const lastMs = 253_402_300_799_999

/** RFC 3339 UTC with whole seconds. */
export const instant = (ms: number): string =>
  `${new Date(Math.min(Math.max(ms, firstMs), lastMs)).toISOString().slice(0, 19)}Z`

/** Configured threshold in seconds, or four report intervals of the node, whichever is larger (decision 29). */
export const staleAfterSec = (view: NodeView, thresholdSec = 14): number =>
  Math.min(Math.max(thresholdSec, 4 * (view.statics?.body.report_interval_seconds ?? 3)), Number.MAX_SAFE_INTEGER)

export const osFamily = (os: string): Snapshot["system"]["os_family"] => {
  const word = os.toLowerCase()
  if (word.includes("windows")) return "windows"
  if (word.includes("linux")) return "linux"
  return word.includes("darwin") || word.includes("mac") ? "darwin" : "unknown"
}

const at = (view: NodeView, series: number): number => view.vector[series] ?? 0
const maybe = <K extends string, V>(name: K, value: V | undefined | null | "" | 0): { readonly [P in K]?: V } =>
  value === undefined || value === null || value === "" || value === 0
    ? {}
    : ({ [name]: value } as { readonly [P in K]?: V })
const present = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : value

const searchText = (view: NodeView, titled: Titled): ReadonlyArray<string> => {
  const system = view.statics?.body.system
  const words = [titled.name, system?.os ?? "", system?.platform ?? "", system?.arch ?? "", ...titled.tags]
  return [...new Set(words.map((word) => word.trim()).filter((word) => word !== ""))]
}

const observationOf = (view: NodeView): Snapshot["observation"] => {
  const reportedAt = at(view, Host.reportedAt)
  return {
    received_at: instant(view.receivedAt),
    observed_at: instant(reportedAt),
    sent_at: instant(reportedAt),
    stale_after_sec: staleAfterSec(view)
  }
}

const systemOf = (view: NodeView): Snapshot["system"] => {
  const system = view.statics?.body.system
  return {
    os_family: osFamily(system?.os ?? ""),
    platform: system?.platform ?? "",
    platform_version: system?.platform_version ?? "",
    kernel_version: system?.kernel_version ?? "",
    ...maybe("arch", system?.arch),
    uptime_text: view.details?.uptime || uptimeText(at(view, Host.uptimeSec))
  }
}

const cpuOf = (view: NodeView): Snapshot["cpu"] => {
  const info = view.statics?.body.cpu?.info
  return {
    usage_ratio: at(view, Host.cpuUsage),
    load: { l1: at(view, Host.load1), l5: at(view, Host.load5), l15: at(view, Host.load15) },
    ...maybe("model_name", info?.model_name),
    ...maybe("cores_physical", info?.cores_physical),
    ...maybe("cores_logical", info?.cores_logical),
    sockets: Math.max(1, info?.sockets ?? 1)
  }
}

const memoryOf = (view: NodeView): Snapshot["memory"] => {
  const told = view.statics?.body.memory
  return {
    total_bytes: present(view.vector[Host.memTotal]) ?? told?.total ?? 0,
    used_bytes: at(view, Host.memUsed),
    available_bytes: at(view, Host.memAvailable),
    buffers_bytes: at(view, Host.memBuffers),
    cached_bytes: at(view, Host.memCached),
    used_ratio: at(view, Host.memUsedRatio),
    swap_total_bytes: present(view.vector[Host.swapTotal]) ?? told?.swap_total ?? 0,
    swap_used_bytes: at(view, Host.swapUsed)
  }
}

const networkOf = (view: NodeView): Snapshot["network"] => {
  const { layout, vector } = view
  const interfaces = (layout?.nics ?? []).map((name, i) => {
    const from = (layout?.nicsAt ?? 0) + i * nicSize
    return {
      name,
      bytes_recv: vector[from + Nic.recv] as number,
      bytes_sent: vector[from + Nic.sent] as number,
      recv_bps: vector[from + Nic.recvRate] as number,
      sent_bps: vector[from + Nic.sentRate] as number
    }
  })
  return {
    total: {
      bytes_recv: at(view, Host.netRecv),
      bytes_sent: at(view, Host.netSent),
      recv_bps: at(view, Host.netRecvRate),
      sent_bps: at(view, Host.netSentRate)
    },
    ...(interfaces.length === 0 ? {} : { by_interface: interfaces })
  }
}

const raidOf = (view: NodeView): RaidView | undefined => {
  const raid = view.details?.raid
  if (raid === undefined || !(raid.supported || raid.available || raid.arrays.length > 0)) return undefined
  const arrays = raid.arrays.map((array) => ({
    name: array.name,
    status: array.status,
    health: array.health,
    active: array.active ?? 0,
    working: array.working ?? 0,
    failed: array.failed ?? 0,
    members: array.members,
    ...maybe("sync_status", array.sync_status),
    ...maybe("sync_progress", array.sync_progress)
  }))
  return { supported: raid.supported ?? false, available: raid.available ?? false, arrays }
}

/** Sensors without a temperature above zero are left out, with their limits at or below zero. */
const thermalOf = ({ details, layout, vector }: NodeView): ThermalView | undefined => {
  const words = details?.thermal
  if (words === undefined || words === null) return undefined
  const updatedAt = present(vector[Host.thermalAt])
  const sensors = (layout?.sensors ?? []).flatMap((sensor, i) => {
    const from = (layout?.sensorsAt ?? 0) + i * heatSize
    const temp = present(vector[from + Heat.temp])
    if (temp === undefined) return []
    const { key, ...names } = sensor
    return {
      kind: names.kind,
      name: names.name,
      sensor_key: key,
      source: names.source,
      status: words[i + 1] ?? "",
      temp_c: temp,
      ...maybe("high_c", present(vector[from + Heat.high])),
      ...maybe("critical_c", present(vector[from + Heat.critical]))
    }
  })
  return { status: words[0] ?? "", ...(updatedAt === undefined ? {} : { updated_at: instant(updatedAt) }), sensors }
}

const pressureOf = ({ vector }: NodeView): PressureView | undefined => {
  const stall = (group: number) => {
    const from = Host.pressure + group * 4
    const [avg10, avg60, avg300, total] = [0, 1, 2, 3].map((i) => present(vector[from + i]))
    if (avg10 === undefined) return undefined
    return { avg10, avg60: avg60 ?? 0, avg300: avg300 ?? 0, total: total ?? 0 }
  }
  const resource = (group: number) => {
    const some = stall(group)
    const full = stall(group + 1)
    return some === undefined && full === undefined ? undefined : { ...maybe("some", some), ...maybe("full", full) }
  }
  const found = { ...maybe("cpu", resource(0)), ...maybe("memory", resource(2)), ...maybe("io", resource(4)) }
  return Object.keys(found).length === 0 ? undefined : found
}

/** The snapshot of a node that has reported. Guests get it without serial numbers; hostname and address are in none. */
export const snapshotOf = (view: NodeView, titled: Titled, guest: boolean): Snapshot => ({
  node: {
    id: String(view.id),
    ...maybe("order", titled.displayOrder),
    title: titled.name,
    search_text: searchText(view, titled),
    ...(titled.tags.length === 0 ? {} : { tags: titled.tags })
  },
  observation: observationOf(view),
  system: systemOf(view),
  cpu: cpuOf(view),
  memory: memoryOf(view),
  disk: diskOf(view, guest),
  network: networkOf(view),
  processes: { count: at(view, Host.processes) },
  connections: { tcp: at(view, Host.tcp), udp: at(view, Host.udp) },
  ...maybe("raid", raidOf(view)),
  ...maybe("thermal", thermalOf(view)),
  ...maybe("pressure", pressureOf(view))
})

/** Stands for an exact counter until the text is made. Matched with its key, so that no name can pose as one. */
const exactMark = "\u0001exact:"
const exactPattern = /"(bytes_recv|bytes_sent)":"\\u0001exact:(\d+)"/g

/** The JSON text of a snapshot. Counters past 2^53 are written with every digit. */
export const snapshotText = (view: NodeView, titled: Titled, guest: boolean): string => {
  const snapshot = snapshotOf(view, titled, guest)
  const wide = view.details?.wide
  if (wide === undefined || wide === null) return JSON.stringify(snapshot)
  const exact = (snapshot.network.by_interface ?? []).map((nic) => {
    // Counters read back from the journal have a prototype; an interface may be named like one of its members.
    const digits = Object.hasOwn(wide, nic.name) ? wide[nic.name] : undefined
    return digits === undefined ? nic : { ...nic, bytes_recv: exactMark + digits[0], bytes_sent: exactMark + digits[1] }
  })
  return JSON.stringify({ ...snapshot, network: { ...snapshot.network, by_interface: exact } }).replace(
    exactPattern,
    '"$1":$2'
  )
}
