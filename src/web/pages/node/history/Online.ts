// The online strip: what each stretch is, and one figure for all of them.
import type { OnlineAnswer } from "../../../../../schema/History.ts"

export type OnlinePoint = OnlineAnswer["points"][number]
export type CellState = "whole" | "most" | "part" | "none" | "idle"

/** `idle` where nothing was due: the node was new or the service itself was away. */
export const cellState = (point: OnlinePoint): CellState => {
  if (point.expected === 0) return "idle"
  if (point.received === 0) return "none"
  return (["whole", "most", "part"] as const)[point.status]
}

/** Received of due reports, 0..1; null when none was due. A surplus in one stretch makes up for no other. */
export const shareOf = (points: ReadonlyArray<OnlinePoint>): number | null => {
  let received = 0
  let expected = 0
  for (const point of points) {
    received += Math.min(point.received, point.expected)
    expected += point.expected
  }
  return expected === 0 ? null : received / expected
}

/** Per cent with one digit, rounded down: what is not whole never reads as 100. */
export const floorPercent = (share: number): number => Math.floor(Math.min(1, share) * 1000 + 1e-9) / 10
