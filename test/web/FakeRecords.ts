// What administrators read and write of the seeded fleet.
import type { Node } from "../../schema/Node.ts"
import type { SystemSettings, SystemStatus } from "../../schema/System.ts"
import type { FakeFleet, FakeNode } from "./FakeFleet.ts"

/** An answer `{code, message}` with its status. */
export class Refused {
  readonly status: number
  readonly code: string
  readonly message: string
  constructor(status: number, code: string, message = `refused: ${code}`) {
    this.status = status
    this.code = code
    this.message = message
  }
}

/** Applies a change as the service would, or refuses it. */
export const patch = (node: FakeNode, body: Record<string, unknown>, fleet: FakeFleet): void => {
  const { name, secret, tags, group_ids: groups, is_guest_visible: isVisible } = body
  if (name !== undefined && (typeof name !== "string" || name.trim() === "" || name.length > 64))
    throw new Refused(400, "invalid_name")
  if (fleet.nodes.some((other) => other !== node && other.secret === secret)) throw new Refused(409, "duplicate_secret")
  if (typeof name === "string") node.title = name.trim()
  if (typeof secret === "string") node.secret = secret
  if (Array.isArray(tags)) node.tags = tags.map(String)
  if (Array.isArray(groups)) node.groups = groups.map(Number)
  if (typeof isVisible === "boolean") node.isGuestVisible = isVisible
  patchTraffic(node, body)
}

const patchTraffic = (node: FakeNode, body: Record<string, unknown>): void => {
  const day = body["traffic_billing_start_day"]
  if (day !== undefined && !(Number(day) >= 1 && Number(day) <= 31))
    throw new Refused(400, "invalid_traffic_billing_start_day")
  if (typeof body["traffic_p95_enabled"] === "boolean") node.isP95On = body["traffic_p95_enabled"]
  if (body["traffic_direction_mode"] !== undefined) node.direction = String(body["traffic_direction_mode"])
  if (body["traffic_cycle_mode"] === undefined) return
  node.cycle = {
    mode: String(body["traffic_cycle_mode"]),
    startDay: Number(day),
    anchorDate: String(body["traffic_billing_anchor_date"]),
    zone: String(body["traffic_billing_timezone"])
  }
}

type Loose<T> = { [K in keyof T]: K extends "id" | "group_ids" ? unknown : T[K] }
export const nodeOf = (node: FakeNode): Loose<Node> => ({
  id: node.id,
  name: node.title,
  hostname: node.title,
  ip: "192.0.2.7",
  is_guest_visible: node.isGuestVisible,
  traffic_p95_enabled: node.isP95On,
  traffic_cycle_mode: (node.cycle.mode ?? "default") as Node["traffic_cycle_mode"],
  traffic_billing_start_day: node.cycle.startDay ?? 1,
  traffic_billing_anchor_date: node.cycle.anchorDate ?? "",
  traffic_billing_timezone: node.cycle.zone ?? "",
  traffic_direction_mode: node.direction as Node["traffic_direction_mode"],
  secret: node.secret,
  tags: node.tags,
  display_order: 1,
  group_ids: node.groups,
  version: { version: node.version, is_outdated: node.isOutdated, supports_auto_update: !node.isOutdated },
  faults: node.fault === "" ? [] : [{ kind: "two_agents", message: node.fault, since: "2031-03-04T05:06:07Z" }]
})

const historyStatus: SystemStatus["history"] = {
  tiers: [{ tier: "raw", chunks: 14_400, bytes: 31_500_000, bytes_max: 2_700_000_000, keep_sec: 86_400 }],
  behind: 0,
  seals: 14_400,
  folds: 960,
  sealed_values: 69_120_000,
  sealed_bytes: 31_500_000,
  damaged_chunks: 0,
  lost_rows: 0,
  dropped_by_age: 0,
  dropped_by_bytes: 0,
  answered_by_thread: 0,
  answered_on_loop: 0,
  questions_refused: 0
}

export const statusOf = (fleet: FakeFleet): SystemStatus => ({
  version: "0.1.0",
  started_at: "2026-03-04T05:06:07Z",
  ready: true,
  ready_reason: null,
  rss_bytes: 182_000_000,
  event_loop_block_ms: 3.2,
  intake: {
    received: 120_400,
    acknowledged: 120_380,
    refused: 12,
    rejected: 6,
    in_flight: 2,
    not_applied: 0,
    dropped_pieces: 4
  },
  journal: {
    rows: 240_760,
    commits: 9_120,
    failures: 0,
    commit_ms_last: 4.1,
    commit_ms_max: 38.5,
    database_bytes: 512_000_000
  },
  history: historyStatus,
  alerts: { pending: 0, sent: 3, retried: 1, failed: 0, overflowed: 0, channels: [] },
  nodes: { total: fleet.nodes.length, running: fleet.nodes.length - 1, restarting: 1, parked: 0 },
  fibers: [
    {
      name: "journal",
      state: "running",
      depth: 12,
      depth_max: 4096,
      restarts: 0,
      last_error: null,
      last_error_at: null
    },
    {
      name: "front-board",
      state: "running",
      depth: 0,
      depth_max: 1,
      restarts: 1,
      last_error: "Board: the frame was too large",
      last_error_at: "2026-03-04T06:06:07Z"
    },
    {
      name: "retention",
      state: "parked",
      depth: 0,
      depth_max: 1,
      restarts: 5,
      last_error: "SqlError: database is locked",
      last_error_at: "2026-03-04T07:06:07Z"
    }
  ]
})

export const defaultSettings: SystemSettings = {
  history_guest_access_mode: "disabled",
  logo_url: "/brandlogo.svg",
  page_title: "Watchpost",
  topbar_text: "Watchpost"
}

/** The settings after a PATCH as the service would apply it, or its refusal. */
export const settingsAfter = (settings: SystemSettings, body: Record<string, unknown>): SystemSettings => {
  const given = Object.entries(body).map(([name, value]) => [name, String(value).trim()] as const)
  for (const [name, value] of given) {
    if (name === "logo_url" && !/^(?:$|\/(?!\/)|https?:\/\/|data:image\/)/.test(value))
      throw new Refused(400, "invalid_fields", "logo_url must be a picture")
    if (name === "topbar_text" && value.length > 64)
      throw new Refused(400, "invalid_fields", "topbar_text must be at most 64 characters")
  }
  const defaults: Record<string, string> = { ...defaultSettings }
  return { ...settings, ...Object.fromEntries(given.map(([name, value]) => [name, value || defaults[name]])) }
}
