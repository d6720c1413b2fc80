// What the push loop asks of a platform: fast samples, a slow refresh, and the static description.
import type { NodeReport, Static } from "./Report.ts"

export interface Collector {
  /** Takes one sample now, without waiting for anything. Never throws. */
  readonly sample: () => NodeReport
  /** Describes the node from what is known so far. Never throws. */
  readonly describe: () => Static
  /** Renews what may be slow (filesystems, storage, SMART cache). Never rejects; ends in bounded time. */
  readonly refresh: () => Promise<void>
}

/** What every collector needs to know of its run. */
export interface CollectorOptions {
  /** Seconds between two reports, a positive integer. */
  readonly intervalSeconds: number
  /** Interfaces named with --net; null selects them by rule. */
  readonly interfaces: ReadonlyArray<string> | null
  /** The cache file a root-side helper writes. */
  readonly smartCachePath: string
}

/** Process counts are taken at every eighth sample: listing every process is the dearest of the fast reads. */
export const processCountEvery = 8

/** Elements past these are left out: one report past them would be refused whole. */
export const volumesMax = 512
export const interfacesMax = 256
export const sensorsMax = 512
export const membersMax = 512
/** Characters of one text; longer ones would be refused. */
export const textLengthMax = 256

/** Cuts free text to what a report may carry. */
export const shortened = (text: string): string => text.slice(0, textLengthMax)

/** `12d 1h 0m`. */
export const uptimeText = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  return `${Math.floor(hours / 24)}d ${hours % 24}h ${minutes % 60}m`
}

/** Go-style architecture names, as the service's release folders use them. */
export const archName = (nodeArch: string): string => archNames[nodeArch] ?? nodeArch

const archNames: Record<string, string> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" }

const isFilled = (text: string): boolean => text.trim() !== ""

/**
 * True when every system text is filled and memory and core counts are positive; until then Static is sent again.
 * The physical core count is asked for on Linux only: elsewhere no source tells it.
 */
export const isComplete = (fixed: Static): boolean => {
  const { cores_logical, cores_physical, sockets } = fixed.cpu.info
  const coresKnown = cores_logical > 0 && sockets > 0 && (cores_physical > 0 || fixed.system.os !== "linux")
  return coresKnown && fixed.memory.total > 0 && Object.values(fixed.system).every(isFilled)
}
