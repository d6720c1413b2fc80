// The pieces of a notification that are the same in every language: harmless names, values, times, lengths.
import { isZone } from "../Zone.ts"
import type { AlertMetric } from "./Rule.ts"

/** UTF-16 units; every channel takes so much, Telegram at most 4096 for title and body together. */
export const titleMax = 200
export const bodyMax = 3500
/** Two names and the words around them fit into a title. */
const nameMax = 72

/**
 * Control characters and line breaks would forge headers and lines, bidirectional marks would turn the text around
 * them, a lone surrogate has no UTF-8 form.
 */
const harmful = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** A stranger's text as one line that says nothing but itself, at most `max` units long. */
export const harmless = (text: string, max: number = nameMax): string =>
  clipped(text.replace(harmful, " ").replace(/\s+/gu, " ").trim(), max)

/** At most `max` units, cut between characters and marked where something was cut. */
export const clipped = (text: string, max: number): string => {
  if (text.length <= max) return text
  let kept = ""
  for (const character of text) {
    if (kept.length + character.length > max - 1) break
    kept += character
  }
  return `${kept.trimEnd()}…`
}

/** How a node is called: its name, else its number. */
export const nodeTitle = (name: string, nodeId: number): string => harmless(name) || `server#${nodeId}`

/** A value with the unit of its metric; `-` for none (semantics 4.5). */
export const valueText = (metric: AlertMetric, value: number | null): string => {
  if (value === null) return "-"
  if (metric.endsWith("_ratio")) return `${(value * 100).toFixed(2)}%`
  if (metric.endsWith("_temp_c")) return `${value.toFixed(1)} C`
  if (metric.startsWith("mem.")) return `${Math.round(value)} B`
  if (metric.startsWith("net.")) return `${value.toFixed(2)} B/s`
  if (metric.startsWith("conn.")) return String(Math.round(value))
  return String(Number(value.toPrecision(4)))
}

/** When thousands of nodes fall silent, their messages name a few seconds over and over. */
const timesMax = 256
const times = new Map<string, string>()

/** `2025-11-21 18:35:00 UTC`: the clocks of the zone with its abbreviation; UTC for what is no zone. */
export const timeText = (atMs: number, zone: string): string => {
  const key = `${Math.floor(atMs / 1000)} ${zone}`
  const known = times.get(key)
  if (known !== undefined) return known
  if (times.size >= timesMax) times.clear()
  const text = timeIn(atMs, zone)
  times.set(key, text)
  return text
}

const timeIn = (atMs: number, zone: string): string => {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {}
  for (const { type, value } of formatOf(zone).formatToParts(atMs)) parts[type] = value
  const date = [parts.year, parts.month, parts.day].join("-")
  const time = [parts.hour, parts.minute, parts.second].join(":")
  return `${date} ${time} ${parts.timeZoneName}`
}

/** Days, hours, minutes and seconds of a span, those that are not 0; `0s` for less than a second. */
export const spanOf = (spanMs: number): ReadonlyArray<readonly [number, "d" | "h" | "m" | "s"]> => {
  const seconds = Math.max(0, Math.floor(spanMs / 1000))
  const all = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"]
  ] as const
  const some = all.filter(([count]) => count > 0)
  return some.length > 0 ? some : [[0, "s"]]
}

/** A service has one zone; a formatter takes long to make. */
let last: { readonly zone: string; readonly format: Intl.DateTimeFormat } | undefined

const formatOf = (zone: string): Intl.DateTimeFormat => {
  if (last?.zone === zone) return last.format
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: isZone(zone) ? zone : "UTC",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short"
  })
  last = { zone, format }
  return format
}
