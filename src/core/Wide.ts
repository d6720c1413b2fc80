// Exact digits of byte counters past 2^53, which JSON.parse rounds: found again in the text of the report.
import type { WideCounters } from "./Details.ts"

const uint64Max = 18_446_744_073_709_551_615n

/** JSON strings are passed over; a bare run of 16 digits or more outside them becomes text that keeps every digit. */
const token = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])\d{16,20}(?![\d.eE])/g
const marked = (text: string): string =>
  text.replace(token, (found) => (found.startsWith('"') ? found : `"\\u0000${found}"`))

interface MarkedNic {
  readonly name?: unknown
  readonly bytes_recv?: unknown
  readonly bytes_sent?: unknown
}

const digits = (value: unknown): string | undefined => {
  if (typeof value === "number") return String(value)
  return typeof value === "string" && value.startsWith("\0") ? value.slice(1) : undefined
}

/**
 * The exact counters of every interface that has one past 2^53, or null when there is none.
 * `text` is the body of a report that was already checked. "overflow" when a counter passes 2^64 - 1.
 */
export const wideCounters = (text: string): WideCounters | null | "overflow" => {
  const body = JSON.parse(marked(text)) as { metrics: { network: ReadonlyArray<MarkedNic> } }
  // Without a prototype: interface names are a stranger's text.
  const found: Record<string, readonly [string, string]> = Object.create(null)
  for (const nic of body.metrics.network) {
    const recv = digits(nic.bytes_recv ?? 0)
    const sent = digits(nic.bytes_sent ?? 0)
    if (recv === undefined || sent === undefined || typeof nic.name !== "string") continue
    if (Number(recv) <= Number.MAX_SAFE_INTEGER && Number(sent) <= Number.MAX_SAFE_INTEGER) continue
    if (BigInt(recv) > uint64Max || BigInt(sent) > uint64Max) return "overflow"
    found[nic.name.trim()] = [recv, sent]
  }
  return Object.keys(found).length === 0 ? null : found
}
