// Memory and swap, from /proc/meminfo.
import { counterOf, ratioOf } from "../Rate.ts"
import type { MemoryMetrics } from "../Report.ts"

export interface Memory {
  /** Bytes. */
  readonly total: number
  /** Bytes; 0 on a machine without swap. */
  readonly swapTotal: number
  readonly metrics: MemoryMetrics
}

export const unknownMemory: Memory = {
  total: 0,
  swapTotal: 0,
  metrics: {
    used: 0,
    available: 0,
    buffers: 0,
    cached: 0,
    used_ratio: 0,
    swap_used: 0,
    swap_free: 0,
    swap_used_ratio: 0
  }
}

const kibibyte = 1024

/**
 * Parses /proc/meminfo; throws when there is no total. Used is what is not available: memory of tmpfs and of shared
 * segments lies in the page cache but cannot be reclaimed. Kernels before 3.14 do not tell what is available; there
 * free, buffers and cache stand for it.
 */
export const parseMeminfo = (text: string): Memory => {
  const bytes = new Map<string, number>()
  for (const line of text.split("\n")) {
    const match = /^(\w+):\s+(\d+)/.exec(line)
    if (match !== null) bytes.set(match[1] ?? "", counterOf(match[2]) * kibibyte)
  }
  const of = (key: string): number => bytes.get(key) ?? 0
  const total = of("MemTotal")
  if (total === 0) throw new Error("no total in meminfo")
  const cached = of("Cached") + of("SReclaimable")
  const available = Math.min(total, bytes.get("MemAvailable") ?? of("MemFree") + of("Buffers") + cached)
  const used = total - available
  const swapTotal = of("SwapTotal")
  const swapFree = Math.min(swapTotal, of("SwapFree"))
  const metrics = {
    used,
    available,
    buffers: of("Buffers"),
    cached,
    used_ratio: ratioOf(used, total),
    swap_used: swapTotal - swapFree,
    swap_free: swapFree,
    swap_used_ratio: ratioOf(swapTotal - swapFree, swapTotal)
  }
  return { total, swapTotal, metrics }
}
