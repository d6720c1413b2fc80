// A turn of the event loop: how long it works already, and how much more of what can wait it may take.
import { performance } from "node:perf_hooks"

/** A turn that has worked so long takes of everything that can wait only the least. */
const turnMs = 8
/** The least, so that nothing waits for ever on a machine whose turns are all long. */
export const leastMs = 1

/** Tells how many milliseconds ago somebody first asked in this turn. */
export interface LoopTurn {
  readonly spentMs: () => number
}

const { nodeTiming } = performance
let counted = -1
let beganAt = 0

/** The turns of this process's loop. libuv counts one before its sockets; timers after them are of the same turn. */
export const loopTurn: LoopTurn = {
  spentMs: () => {
    const { loopCount } = nodeTiming.uvMetricsInfo
    const now = performance.now()
    if (loopCount !== counted) {
      counted = loopCount
      beganAt = now
    }
    return now - beganAt
  }
}

/** For how many milliseconds a piece of work that can go on in a later turn may work now: `mostMs` in a young turn. */
export const portionMs = (mostMs: number, least = leastMs, turn: LoopTurn = loopTurn): number =>
  Math.max(least, Math.min(mostMs, turnMs - turn.spentMs()))
