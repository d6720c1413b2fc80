// Chooses the direction that counts for billing out of figures that are always kept for both.
import type { DirectionMode } from "../../schema/Node.ts"

/** The mode in effect: a node's `default` is already the global one. */
export type EffectiveDirection = Exclude<DirectionMode, "default">

/** Which side was selected; empty without data. */
export type Direction = "in" | "out" | "total" | ""

/** A figure per side. `both` is the sum for bytes, and the figure of the per-bucket sum for rates. */
export interface Sides {
  readonly in: number
  readonly out: number
  readonly both: number
}

export interface Selected {
  readonly value: number
  readonly direction: Direction
}
export interface SelectedRate {
  readonly value: number | null
  readonly direction: Direction
}

/** One figure by the mode; ties of `max` are out. */
export const selected = (mode: EffectiveDirection, sides: Sides): Selected => {
  switch (mode) {
    case "out":
      return { value: sides.out, direction: "out" }
    case "both":
      return { value: sides.both, direction: "total" }
    case "max":
      return sides.in > sides.out ? { value: sides.in, direction: "in" } : { value: sides.out, direction: "out" }
  }
}

/** What a cycle or a day comes to; `p95` is null unless it is available. */
export interface Usage {
  readonly bytes: Sides
  readonly peak: Sides
  readonly p95: Sides | null
}
export interface SelectedUsage {
  readonly bytes: Selected
  readonly peak: Selected
  readonly p95: SelectedRate
}

const none = { value: 0, direction: "" } as const
const noRate = { value: null, direction: "" } as const

/** The view of a usage, `undefined` being no data; bytes, peak and P95 choose independently and may differ. */
export const selectedUsage = (mode: EffectiveDirection, usage: Usage | undefined): SelectedUsage => {
  if (usage === undefined) return { bytes: none, peak: none, p95: noRate }
  return {
    bytes: selected(mode, usage.bytes),
    peak: selected(mode, usage.peak),
    p95: usage.p95 === null ? noRate : selected(mode, usage.p95)
  }
}
