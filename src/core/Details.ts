// What a report says beyond numbers, kept in sections so that a journal row carries only the sections that changed.
import type { Raid, Smart } from "../../schema/Report.ts"
import { gapLimitMs } from "./Bucket.ts"
import type { LayoutNames } from "./Layout.ts"

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

/** `3d 4h 5m`, the form that agents send. */
export const uptimeText = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60)
  return `${Math.floor(minutes / 1440)}d ${Math.floor(minutes / 60) % 24}h ${minutes % 60}m`
}

/** For agents that report every 100 s or more often. */
export const usualGapMs = gapLimitMs(0)

export const gapMsOf = (details: Details | undefined): number => details?.gapMs ?? usualGapMs

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
