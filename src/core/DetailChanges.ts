// Which sections of what a report says beyond numbers differ from what is kept.
import { NodeReport, Raid, Smart, type Thermal } from "../../schema/Report.ts"
import { comparer, picker } from "./Compile.ts"
import { type Changes, type Details, gapMsOf, uptimeText, usualGapMs, type WideCounters } from "./Details.ts"
import { fits, type Layout, namesIn } from "./Layout.ts"

const sameSmart = comparer<Smart, typeof Smart.Encoded>(Smart)
const pickSmart = picker<Smart, typeof Smart.Encoded>(Smart)
const sameRaid = comparer<Raid, typeof Raid.Encoded>(Raid)
const pickRaid = picker<Raid, typeof Raid.Encoded>(Raid)

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
