// What one row of the overview says: fixed texts per roster, moving texts per frame and second.
import type { Catalogue } from "../text/Catalogue.ts"
import { unknown, type Format } from "../text/Format.ts"
import { systemOf } from "./Facets.ts"
import type { Fleet, ValueName } from "./Fleet.ts"
import { states, type State } from "./Freshness.ts"

/** `old` is a figure of a late node: it may have been urgent, but it no longer says so. */
export type Level = "calm" | "warn" | "bad" | "old"

export interface Gauge {
  /** Null when not known. */
  readonly ratio: number | null
  readonly text: string
  readonly level: Level
}

export interface FixedCells {
  readonly id: number
  readonly title: string
  readonly tags: ReadonlyArray<string>
  /** Tags beyond those shown. */
  readonly moreTags: number
  readonly system: string
  readonly arch: string
  readonly version: string
  readonly isOutdated: boolean
  readonly isHidden: boolean
  readonly fault: string
}

export interface MovingCells {
  readonly state: State
  readonly stateText: string
  readonly cpu: Gauge
  readonly mem: Gauge
  readonly disk: Gauge
  readonly recv: string
  readonly sent: string
  readonly load: string
  readonly uptime: string
  readonly seen: string
}

/** Tags of one row beyond these would push the name away. */
const tagsShown = 2
const perMille = 1000

/** From which share on a figure is worth a look, and from which it is urgent. */
const limits: Record<"cpu" | "mem" | "disk", readonly [number, number]> = {
  cpu: [0.8, 0.95],
  mem: [0.85, 0.95],
  disk: [0.8, 0.92]
}

const nothing: Gauge = { ratio: null, text: unknown, level: "calm" }

export const levelOf = (kind: keyof typeof limits, ratio: number): Level => {
  const [warn, bad] = limits[kind]
  return ratio >= bad ? "bad" : ratio >= warn ? "warn" : "calm"
}

export const fixedCells = (fleet: Fleet, row: number): FixedCells => {
  const { roster } = fleet
  const tags = roster.tags[row] ?? []
  return {
    id: roster.id[row] ?? 0,
    title: roster.title[row] ?? "",
    tags: tags.slice(0, tagsShown),
    moreTags: Math.max(0, tags.length - tagsShown),
    system: systemOf(roster, row),
    arch: roster.arch[row] ?? "",
    version: roster.version?.[row] ?? "",
    isOutdated: roster.outdated?.[row] === 1,
    isHidden: roster.guest_visible?.[row] === 0,
    fault: roster.fault?.[row] ?? ""
  }
}

export const movingCells = (
  fleet: Fleet,
  row: number,
  code: number,
  nowMs: number,
  text: Catalogue,
  format: Format
): MovingCells => {
  const state = states[code] ?? "online"
  const receivedAt = fleet.value("received_at", row)
  const ageMs = Math.max(0, nowMs - receivedAt)
  const seen =
    state === "waiting" ? text.overview.never : ageMs < 1000 ? text.overview.now : text.overview.ago(format.age(ageMs))
  if (state === "offline" || state === "waiting") return { ...blank, state, stateText: text.states[state], seen }
  const gauge = (kind: "cpu" | "mem" | "disk"): Gauge => {
    const made = gaugeOf(kind, fleet.value(kind, row) / perMille, format)
    return state === "stale" ? { ...made, level: "old" } : made
  }
  const rate = (name: ValueName): string => format.rate(fleet.value(name, row))
  const load = fleet.value("load1", row)
  return {
    state,
    stateText: text.states[state],
    cpu: gauge("cpu"),
    mem: gauge("mem"),
    disk: gauge("disk"),
    recv: rate("recv_bps"),
    sent: rate("sent_bps"),
    load: load < 0 ? unknown : format.decimal(load / 100, 2),
    uptime: format.duration(fleet.value("uptime_sec", row)),
    seen
  }
}

const gaugeOf = (kind: "cpu" | "mem" | "disk", ratio: number, format: Format): Gauge =>
  ratio < 0 ? nothing : { ratio: Math.min(1, ratio), text: format.percent(ratio), level: levelOf(kind, ratio) }

const blank = {
  cpu: nothing,
  mem: nothing,
  disk: nothing,
  recv: unknown,
  sent: unknown,
  load: unknown,
  uptime: unknown
} as const
