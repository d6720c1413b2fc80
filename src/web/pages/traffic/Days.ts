// Sums over the days of a cycle and the height of their bars.
import type { TrafficDaily } from "../../../../schema/Traffic.ts"
import { shareOf } from "./Usage.ts"

export interface DaySums {
  readonly inBytes: number
  readonly outBytes: number
  /** An amount as a share of the largest bar. */
  readonly share: (bytes: number) => number
}

export const sumDays = (days: TrafficDaily["items"]): DaySums => {
  let [inBytes, outBytes, most] = [0, 0, 0]
  for (const { stats } of days) {
    inBytes += stats.in_bytes
    outBytes += stats.out_bytes
    most = Math.max(most, stats.in_bytes, stats.out_bytes)
  }
  return { inBytes, outBytes, share: (bytes) => shareOf(bytes, most) }
}
