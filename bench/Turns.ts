// What the probe inside the service tells of its event loop.

/** What held the loop between two looks, milliseconds. */
export interface Turn {
  /** Without the time in which other processes had the cores. */
  readonly heldMs: number
  /** Computing; the rest waited for the disk. */
  readonly cpuMs: number
  /** Standing ready while others had the cores. */
  readonly queuedMs: number
}

/** What no turn should pass. */
export const overMs = 20

/** Since the last time it was asked for. */
export interface Blocks {
  /** Longest delay of a due timer beyond its own millisecond. */
  readonly maxMs: number
  readonly p99Ms: number
  /** 999 of 1,000 delays are below: a single stop of the machine does not show in it. */
  readonly p999Ms: number
  /** Turns that held the loop for longer than `overMs`. */
  readonly over: number
  readonly longest: Turn
}
