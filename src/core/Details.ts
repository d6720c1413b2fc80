// What a report says beyond numbers, kept in sections so that a journal row carries only the sections that changed.
import { NodeReport, Raid, Smart, type Thermal } from "../../schema/Report.ts"
import { gapLimitMs } from "./Bucket.ts"
import { comparer, picker } from "./Compile.ts"
import { fits, type LayoutNames, namesIn, type Layout } from "./Layout.ts"

/** Exact decimal counters [received, sent] of an interface whose bytes a double cannot hold. */
export type WideCounters = Readonly<Record<string, readonly [string, string]>>

export interface Details {
  readonly layout: LayoutNames
  readonly hostname: string
  readonly version: string
  readonly ip: string
  /** The agent's own text, or "" when it says just what the seconds say. */
  readonly uptime: string
  /** Health word per logical volume, in layout order. */
  readonly health: ReadonlyArray<string>
  /** Status of the thermal piece, then of each sensor in layout order; null without the piece. */
  readonly thermal: ReadonlyArray<string> | null
  readonly smart: Smart | null
  readonly raid: Raid
  readonly wide: WideCounters | null
  /** The first few pieces that were dropped as malformed, readable. */
  readonly dropped: ReadonlyArray<string>
  /**
   * Longest distance to the report before that is no gap in traffic, milliseconds; absent until it was anything but the
   * usual. It follows from the Static, of which only the last is kept, so each report carries what held for it.
   */
  readonly gapMs?: number
}
export type Changes = Partial<Details>

const sameSmart = comparer<Smart, typeof Smart.Encoded>(Smart)
const pickSmart = picker<Smart, typeof Smart.Encoded>(Smart)
const sameRaid = comparer<Raid, typeof Raid.Encoded>(Raid)
const pickRaid = picker<Raid, typeof Raid.Encoded>(Raid)

/** `3d 4h 5m`, the form that agents send. */
export const uptimeText = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60)
  return `${Math.floor(minutes / 1440)}d ${Math.floor(minutes / 60) % 24}h ${minutes % 60}m`
}

const noWords: ReadonlyArray<string> = []
const sameWords = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

const healthIn = (report: NodeReport): ReadonlyArray<string> =>
  report.metrics.disk.logical.map((volume) => volume.health?.trim() ?? "")
const thermalIn = (thermal: Thermal): ReadonlyArray<string> => [
  thermal.status.trim(),
  ...thermal.sensors.map((sensor) => sensor.status.trim())
]

const sameHealth = (report: NodeReport, kept: ReadonlyArray<string>): boolean => {
  const volumes = report.metrics.disk.logical
  if (volumes.length !== kept.length) return false
  for (let i = 0; i < kept.length; i++) if ((volumes[i]?.health?.trim() ?? "") !== kept[i]) return false
  return true
}
const sameThermal = (thermal: Thermal | null | undefined, kept: ReadonlyArray<string> | null): boolean => {
  if (thermal === undefined || thermal === null || kept === null) return (thermal ?? null) === kept
  if (thermal.status.trim() !== kept[0] || thermal.sensors.length !== kept.length - 1) return false
  for (let i = 1; i < kept.length; i++) if (thermal.sensors[i - 1]?.status.trim() !== kept[i]) return false
  return true
}
const sameWide = (a: WideCounters | null, b: WideCounters | null): boolean =>
  a === b || (a !== null && b !== null && JSON.stringify(a) === JSON.stringify(b))

/** What the edge knows beside the report itself. */
export interface Arrival {
  readonly ip: string
  readonly wide: WideCounters | null
  readonly dropped: ReadonlyArray<string>
}

type Draft = { -readonly [K in keyof Details]?: Details[K] }

const scalarChanges = (draft: Draft, kept: Details | undefined, report: NodeReport, arrival: Arrival): void => {
  const { system } = report.metrics
  const hostname = report.hostname.trim()
  const uptime = system.uptime === uptimeText(system.uptime_seconds ?? 0) ? "" : system.uptime.trim()
  if (kept?.hostname !== hostname) draft.hostname = hostname
  if (kept?.version !== report.version) draft.version = report.version
  if (kept?.ip !== arrival.ip) draft.ip = arrival.ip
  if (kept?.uptime !== uptime) draft.uptime = uptime
  if (!sameWide(kept?.wide ?? null, arrival.wide) || kept === undefined) draft.wide = arrival.wide
  if (!sameWords(kept?.dropped ?? noWords, arrival.dropped) || kept === undefined) draft.dropped = arrival.dropped
}

/** For agents that report every 100 s or more often. */
const usualGapMs = gapLimitMs(0)

export const gapMsOf = (details: Details | undefined): number => details?.gapMs ?? usualGapMs

/**
 * The sections of a checked report that differ from what is kept; undefined when none does.
 * `layout` is the kept layout; without it, or when the devices differ, the new names are among the changes.
 */
export const changesIn = (
  kept: Details | undefined,
  layout: Layout | undefined,
  report: NodeReport,
  arrival: Arrival,
  gapMs: number = usualGapMs
): Changes | undefined => {
  const draft: Draft = {}
  const { disk, raid, thermal } = report.metrics
  scalarChanges(draft, kept, report, arrival)
  if (gapMs !== gapMsOf(kept)) draft.gapMs = gapMs
  if (layout === undefined || !fits(layout, report)) draft.layout = namesIn(report)
  if (kept === undefined || !sameHealth(report, kept.health)) draft.health = healthIn(report)
  if (kept === undefined || !sameThermal(thermal, kept.thermal)) draft.thermal = thermal ? thermalIn(thermal) : null
  const smart = disk.smart ?? null
  const keptSmart = kept?.smart ?? null
  if (
    kept === undefined ||
    (smart === null || keptSmart === null ? smart !== keptSmart : !sameSmart(smart, keptSmart))
  ) {
    draft.smart = smart === null ? null : pickSmart(smart)
  }
  if (kept === undefined || !sameRaid(raid, kept.raid)) draft.raid = pickRaid(raid)
  for (const _ in draft) return draft
  return undefined
}

const empty: Details = {
  layout: { nics: [], physical: [], logical: [], filesystems: [], baseIo: [], sensors: [] },
  hostname: "",
  version: "",
  ip: "",
  uptime: "",
  health: [],
  thermal: null,
  smart: null,
  raid: { arrays: [] },
  wide: null,
  dropped: []
}

/** What is kept after the changes. */
export const merged = (kept: Details | undefined, changes: Changes | undefined): Details =>
  changes === undefined ? (kept ?? empty) : { ...(kept ?? empty), ...changes }
