// A series that is another one divided by a fixed total: used and total make the ratio, which then costs only the total.
import { kept } from "./Column.ts"

/** Half a step of six decimals, and a little for what the division itself rounds. */
const half = 0.5e-6 * (1 + 1e-6)

/** Rows that must agree before a total is believed: fewer would be told as shortly by themselves. */
const rowsMin = 8

/** The whole number between two positive ones with the fewest bits set to one behind its first; 0 where none is. */
const roundest = (low: number, high: number): number => {
  for (let unit = 2 ** Math.floor(Math.log2(high)); unit >= 1; unit /= 2) {
    const total = Math.ceil(low / unit) * unit
    if (total <= high) return total
  }
  return 0
}

/** The ratio again, as history keeps it. */
export const quotientOf = (parts: Float64Array, total: number): Float64Array => parts.map((part) => kept(part / total))

/** Whether a series looks like a ratio worth a search: it changes, and its first rows need more than five decimals. */
export const isRatio = (values: Float64Array): boolean => {
  if (values.length < rowsMin) return false
  let isFine = false
  for (let i = 0; i < rowsMin; i++) {
    const tenths = (values[i] as number) * 1e5
    isFine ||= Math.abs(tenths - Math.round(tenths)) > 0.05
  }
  return isFine && values.some((value) => value !== values[0])
}

/** The total by which `parts` gives exactly the kept `ratios`, absent rows included; 0 where there is none. */
export const totalOf = (ratios: Float64Array, parts: Float64Array): number => {
  let low = 1
  let high = 2 ** 50
  for (let i = 0; i < ratios.length; i++) {
    const ratio = ratios[i] as number
    const part = parts[i] as number
    if (ratio !== ratio || part !== part) {
      if (ratio === ratio || part === part) return 0
      continue
    }
    if (part < 0 || ratio < 0) return 0
    low = Math.max(low, part / (ratio + half))
    if (ratio > half) high = Math.min(high, part / (ratio - half))
    if (low > high) return 0
  }
  const total = roundest(low, high)
  if (total === 0) return 0
  for (let i = 0; i < ratios.length; i++) {
    const ratio = ratios[i] as number
    if (ratio === ratio && kept((parts[i] as number) / total) !== ratio) return 0
  }
  return total
}
