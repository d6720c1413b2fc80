// The path of a CPU sparkline.
import { sparkLength } from "./Fleet.ts"

export const sparkWidth = 58
export const sparkHeight = 18

/** A hair of room above and below so that the stroke is not cut. */
const inset = 1.5

/** SVG path over `size` per mille samples, newest at the right edge; empty below two samples. */
export const sparkPath = (samples: Int16Array, size: number): string => {
  if (size < 2) return ""
  const step = sparkWidth / (sparkLength - 1)
  const from = sparkWidth - (size - 1) * step
  let path = ""
  for (let i = 0; i < size; i++) {
    const ratio = Math.min(1000, Math.max(0, samples[i] ?? 0)) / 1000
    const y = sparkHeight - inset - ratio * (sparkHeight - 2 * inset)
    path += `${i === 0 ? "M" : "L"}${(from + i * step).toFixed(1)} ${y.toFixed(1)}`
  }
  return path
}
