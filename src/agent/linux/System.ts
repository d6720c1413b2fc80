// Host name, distribution, kernel and uptime.
import { hostname as osHostname } from "node:os"
import { archName, shortened } from "../Collector.ts"
import type { SystemInfo } from "../Report.ts"
import { readTrimmed, type Roots } from "./Tree.ts"

/** Whole seconds since boot from /proc/uptime; throws when it holds no number. */
export const parseUptime = (text: string): number => {
  const seconds = Math.floor(Number(text.trim().split(/\s+/)[0]))
  if (!Number.isFinite(seconds) || seconds < 0 || text.trim() === "") throw new Error("no uptime")
  return seconds
}

/** Parses os-release; single and double quotes are taken off, other lines are passed over. */
export const parseOsRelease = (text: string): ReadonlyMap<string, string> => {
  const values = new Map<string, string>()
  for (const line of text.split("\n")) {
    const match = /^([A-Z][A-Z0-9_]*)=(?:"(.*)"|'(.*)'|(.*))$/.exec(line.trim())
    if (match !== null) values.set(match[1] ?? "", match[2] ?? match[3] ?? match[4] ?? "")
  }
  return values
}

/** Sent for what nobody tells: a blank would make the service refuse the whole description for good. */
const unknown = "unknown"

const filled = (text: string | null | undefined): string | null =>
  text === null || text === undefined || text.trim() === "" ? null : shortened(text.trim())

/** The host's name; `unknown` when it has none. */
export const readHostname = (roots: Roots): string =>
  filled(readTrimmed(roots.proc, "sys", "kernel", "hostname")) ?? filled(osHostname()) ?? unknown

/**
 * Distribution, version, kernel and architecture. Debian's point release is only in debian_version; rolling
 * distributions have a build identifier in place of a version.
 */
export const readSystem = (roots: Roots, nodeArch: string): SystemInfo => {
  const release = parseOsRelease(readTrimmed(roots.etc, "os-release") ?? "")
  const platform = filled(release.get("ID")) ?? "linux"
  const debianVersion = platform === "debian" ? filled(readTrimmed(roots.etc, "debian_version")) : null
  const point = debianVersion !== null && /^\d/.test(debianVersion) ? debianVersion : null
  const version = point ?? filled(release.get("VERSION_ID")) ?? filled(release.get("BUILD_ID"))
  return {
    hostname: readHostname(roots),
    os: "linux",
    platform,
    platform_version: version ?? filled(release.get("VERSION_CODENAME")) ?? unknown,
    kernel_version: filled(readTrimmed(roots.proc, "sys", "kernel", "osrelease")) ?? unknown,
    arch: archName(nodeArch)
  }
}
