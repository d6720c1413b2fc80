// Whether a node is online, stale, offline or still awaited, from the age of its last report.

export const states = ["online", "stale", "offline", "waiting"] as const
export type State = (typeof states)[number]

/** A node stays stale, and its last values stay readable, for this many times its threshold. */
const staleFactor = 3

/**
 * The state at `nowMs` of the service's clock. `receivedAtMs` 0 means that the node never reported.
 * The thresholds themselves still belong to the better state.
 */
export const stateOf = (receivedAtMs: number, staleAfterSec: number, nowMs: number): State => {
  if (receivedAtMs === 0) return "waiting"
  const age = nowMs - receivedAtMs
  if (age <= staleAfterSec * 1000) return "online"
  return age <= staleAfterSec * 1000 * staleFactor ? "stale" : "offline"
}

/** How many nodes stand in each state. */
export type Census = Record<State, number>
