// Tells the reports of a node's own agent from repeated, late and foreign ones, so that nothing is applied twice.

/** Boot time is computed from two clocks of which one is whole seconds; NTP may slew it by a few more. */
const bootToleranceMs = 10_000
/** A rival heard again within this time means two agents, not a reboot. */
const rivalMemoryMs = 60_000
/** How long the fault stays shown after the last sign of it. */
export const conflictShownMs = 300_000
/** Reports that look late but keep coming in order are a clock that was set back together with a reboot. */
const staleStreakMax = 3

/** How a node's agent identifies itself over time. All times in milliseconds. */
export interface Origin {
  hostname: string
  bootAt: number
  reportedAt: number
  uptimeSec: number
  receivedAt: number
}

export interface OriginState {
  current: Origin | undefined
  rival: Origin | undefined
  conflictSince: number | undefined
  conflictSeenAt: number
  staleStreak: number
  staleReportedAt: number
  staleReceivedAt: number
}

export type Verdict = "apply" | "duplicate" | "stale" | "foreign"

export const emptyOrigin = (): OriginState => ({
  current: undefined,
  rival: undefined,
  conflictSince: undefined,
  conflictSeenAt: 0,
  staleStreak: 0,
  staleReportedAt: 0,
  staleReceivedAt: 0
})

export const originOf = (hostname: string, reportedAt: number, uptimeSec: number, receivedAt: number): Origin => ({
  hostname,
  bootAt: reportedAt - uptimeSec * 1000,
  reportedAt,
  uptimeSec,
  receivedAt
})

/** Same machine in the same boot: equal boot time, or uptime that advanced like our own clock (its clock was set). */
const sameBoot = (a: Origin, b: Origin): boolean => {
  if (a.hostname !== b.hostname) return false
  if (Math.abs(a.bootAt - b.bootAt) <= bootToleranceMs) return true
  const aged = b.receivedAt - a.receivedAt
  const advanced = (b.uptimeSec - a.uptimeSec) * 1000
  return advanced >= 0 && Math.abs(advanced - aged) <= bootToleranceMs
}

const judgeSameBoot = (state: OriginState, current: Origin, sent: Origin): Verdict => {
  if (sent.reportedAt === current.reportedAt && sent.uptimeSec === current.uptimeSec) return "duplicate"
  if (sent.reportedAt > current.reportedAt || sent.uptimeSec > current.uptimeSec) return "apply"
  const measured = sent.reportedAt - state.staleReportedAt
  // Late copies come all at once; an agent that is alive comes at its own pace.
  const isLive = measured > 0 && sent.receivedAt - state.staleReceivedAt >= measured / 2
  state.staleStreak = isLive ? state.staleStreak + 1 : 1
  state.staleReportedAt = sent.reportedAt
  state.staleReceivedAt = sent.receivedAt
  return state.staleStreak >= staleStreakMax ? "apply" : "stale"
}

/** Since when two agents are seen on one secret, while that is still worth showing. */
export const conflictAt = (state: OriginState, now: number): number | undefined =>
  state.conflictSince !== undefined && now - state.conflictSeenAt <= conflictShownMs ? state.conflictSince : undefined

const judgeOther = (state: OriginState, current: Origin, sent: Origin): Verdict => {
  const { rival } = state
  if (rival !== undefined && sameBoot(rival, sent) && sent.receivedAt - rival.receivedAt <= rivalMemoryMs) {
    // A, then B, then A again: two agents share the secret. The one in place stays; the other is heard, not applied.
    if (sent.receivedAt - current.receivedAt <= rivalMemoryMs) {
      state.rival = sent
      state.conflictSince = conflictAt(state, sent.receivedAt) ?? sent.receivedAt
      state.conflictSeenAt = sent.receivedAt
      return "foreign"
    }
  }
  state.rival = current
  return "apply"
}

/**
 * Decides about one report and remembers it. A reboot, a renamed host or a replaced machine is applied at once;
 * only a node that comes back from a rival within a minute is held to be a second agent.
 */
export const judge = (state: OriginState, sent: Origin): Verdict => {
  const { current } = state
  const verdict =
    current === undefined
      ? "apply"
      : sameBoot(current, sent)
        ? judgeSameBoot(state, current, sent)
        : judgeOther(state, current, sent)
  if (verdict === "apply") {
    // Written in place: a new object per report, kept until the next, would age into the old generation each time.
    if (current === undefined || state.rival === current) state.current = { ...sent }
    else Object.assign(current, sent)
    state.staleStreak = 0
    state.staleReportedAt = 0
  }
  return verdict
}
