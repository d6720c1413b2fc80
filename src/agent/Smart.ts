// The SMART cache that a root-side helper writes and this agent only reads.
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs"
import { membersMax, shortened, volumesMax } from "./Collector.ts"
import type { FailingAttribute, Smart, SmartDevice } from "./Report.ts"

/** Used when the cache names none: the helper runs every five minutes. */
const ttlSecondsDefault = 300
/** 512 devices with every field filled stay far below this. */
const cacheBytesMax = 1024 * 1024

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string | null =>
  typeof value === "string" && value.trim() !== "" ? shortened(value.trim()) : null
const numberOf = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null)
const integerOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? Number(value) : null)
const healthOf = (value: unknown): "passed" | "failed" | null =>
  value === "passed" || value === "failed" ? value : null

/** The member when it has a value, nothing when it has not. */
const some = <K extends string, V>(key: K, value: V | null): Partial<Record<K, V>> => {
  const entry: Partial<Record<K, V>> = {}
  if (value !== null) entry[key] = value
  return entry
}

const failingOf = (value: unknown): ReadonlyArray<FailingAttribute> | null => {
  if (!Array.isArray(value)) return null
  const attributes = value.filter(isObject).flatMap((item) => {
    const name = textOf(item["name"])
    const whenFailed = textOf(item["when_failed"])
    if (name === null || whenFailed === null) return []
    return [{ ...some("id", integerOf(item["id"])), name, when_failed: whenFailed }]
  })
  return attributes.length === 0 ? null : attributes.slice(0, membersMax)
}

/** A device as sent; null when its name is missing. Members of a wrong type are left out. */
const deviceOf = (item: Json): SmartDevice | null => {
  const name = textOf(item["name"])
  if (name === null) return null
  return {
    name,
    source: textOf(item["source"]) ?? "smartctl",
    status: textOf(item["status"]) ?? "error",
    ...some("ref", textOf(item["ref"])),
    ...some("device_path", textOf(item["device_path"])),
    ...some("device_type", textOf(item["device_type"])),
    ...some("protocol", textOf(item["protocol"])),
    ...some("model", textOf(item["model"])),
    ...some("serial", textOf(item["serial"])),
    ...some("wwn", textOf(item["wwn"])),
    ...some("exit_status", integerOf(item["exit_status"])),
    ...some("health", healthOf(item["health"])),
    ...some("temp_c", numberOf(item["temp_c"])),
    ...some("power_on_hours", integerOf(item["power_on_hours"])),
    ...some("lifetime_used_percent", numberOf(item["lifetime_used_percent"])),
    ...some("critical_warning", integerOf(item["critical_warning"])),
    ...some("failing_attrs", failingOf(item["failing_attrs"]))
  }
}

/** The common status of the devices where they share one, else partial. */
const overall = (devices: ReadonlyArray<SmartDevice>): string => {
  const statuses = new Set(devices.map(({ status }) => status))
  if (statuses.size === 0) return "not_found"
  const [only] = statuses
  return statuses.size === 1 && only !== undefined ? only : "partial"
}

/** Reads the cache's text; a cache without a time, or past its time to live, is stale and keeps its devices. */
export const parseSmartCache = (text: string, now: Date): Smart => {
  let cache: unknown
  try {
    cache = JSON.parse(text)
  } catch {
    return { status: "error", devices: [] }
  }
  if (!isObject(cache)) return { status: "error", devices: [] }
  const items = Array.isArray(cache["devices"]) ? cache["devices"].filter(isObject) : []
  const devices = items
    .map(deviceOf)
    .filter((device) => device !== null)
    .slice(0, volumesMax)
  const updatedMs = typeof cache["updated_at"] === "string" ? Date.parse(cache["updated_at"]) : Number.NaN
  const told = integerOf(cache["ttl_seconds"])
  const ttlSeconds = told !== null && told > 0 ? told : ttlSecondsDefault
  const isFresh = now.getTime() - updatedMs <= ttlSeconds * 1000
  return {
    status: isFresh ? (textOf(cache["status"]) ?? overall(devices)) : "stale",
    ...some("updated_at", Number.isNaN(updatedMs) ? null : new Date(updatedMs).toISOString()),
    ttl_seconds: ttlSeconds,
    devices
  }
}

/** Reads the cache file; a missing file is `no_cache`, an unreadable one `no_permission` or `error`. Never throws. */
export const readSmartCache = (path: string, now: Date): Smart => {
  try {
    // Without O_NONBLOCK a pipe in the file's place would hold up the whole agent.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(file)
      if (!stat.isFile() || stat.size > cacheBytesMax) return { status: "error", devices: [] }
      return parseSmartCache(readFileSync(file, "utf8"), now)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : ""
    if (code === "ENOENT" || code === "ENOTDIR") return { status: "no_cache", devices: [] }
    return { status: code === "EACCES" || code === "EPERM" ? "no_permission" : "error", devices: [] }
  }
}

/** What systems without a helper send. */
export const unsupportedSmart: Smart = { status: "unsupported", devices: [] }
