// The state of one rule on one node, and the one function that moves it (semantics 4.3).
import { type AlertRule, labelOf, type RuleLabel } from "./Rule.ts"

export interface Pending {
  readonly _tag: "Pending"
  readonly ruleId: number
  readonly generation: number
  /** Since when the condition has held, milliseconds. */
  readonly sinceMs: number
}
export interface Firing {
  readonly _tag: "Firing"
  readonly ruleId: number
  readonly generation: number
  readonly eventId: number
  readonly openedMs: number
  /** When the open event was last touched. */
  readonly beatMs: number
  /** Since when it has been clear without a break; null while it is not. */
  readonly clearSinceMs: number | null
  /** Channels that got the open. */
  readonly channelIds: ReadonlyArray<number>
  /** Opened under a silence, so that nobody was told yet. */
  readonly isMuted: boolean
  /** The rule as it was when it opened. */
  readonly rule: RuleLabel
}
export interface Cooldown {
  readonly _tag: "Cooldown"
  readonly ruleId: number
  readonly generation: number
  readonly untilMs: number
}
/** Absence of a state is the fourth one: nothing holds. */
export type RuleState = Pending | Firing | Cooldown

export type CloseReason =
  | "condition_cleared"
  | "snapshot_stale"
  | "rule_unmounted"
  | "rule_updated"
  | "rule_disabled"
  | "rule_deleted"
  | "rule_invalid"
  | "server_deleted"

/**
 * What is known of a rule's condition. `between`: no longer beyond the threshold, not yet clear. `clear`: also where
 * the metric is absent. `stale`: the node is silent or has nothing to show. `unknown`: whatever is, stays.
 */
export type Condition = "holds" | "between" | "clear" | "stale" | "unknown"

export interface Moment {
  readonly nowMs: number
  /** When the condition was observed: receive time of the report behind it, or `nowMs`. */
  readonly observedMs: number
  /** False while the service has just started: what would open stays pending. */
  readonly canOpen: boolean
  readonly isSilenced: boolean
  /** Who is told of an opening. */
  readonly channelIds: ReadonlyArray<number>
  /** The number of a new event; asked exactly once per opening. */
  readonly nextEventId: () => number
}

export interface Stepped {
  /** Undefined: nothing holds. */
  readonly state: RuleState | undefined
  readonly effect: "none" | "opened" | "closed" | "beat" | "unmuted"
  readonly reason: CloseReason | null
}

/** An open event is touched at most so often (semantics 4.3). */
export const beatMs = 60_000

/**
 * One consideration of one rule; undefined where nothing changes. `state` is of this rule and generation. A time that
 * lies behind `nowMs` can only stem from a clock that was set back; it is brought to `nowMs`.
 */
export const step = (
  state: RuleState | undefined,
  rule: AlertRule,
  condition: Condition,
  moment: Moment
): Stepped | undefined => {
  switch (state?._tag) {
    case undefined:
      return condition === "holds" ? begun(rule, moment, -Infinity) : undefined
    case "Pending":
      return stepPending(state, rule, condition, moment)
    case "Firing":
      return stepFiring(state, rule, condition, moment)
    case "Cooldown":
      return stepCooldown(state, rule, condition, moment)
  }
}

const ended: Stepped = { state: undefined, effect: "none", reason: null }
const kept = (state: RuleState): Stepped => ({ state, effect: "none", reason: null })

const hasLasted = (rule: AlertRule, sinceMs: number, { observedMs }: Moment): boolean =>
  rule.durationSec === 0 || observedMs - sinceMs >= rule.durationSec * 1000

/** The condition holds from no earlier than `floorMs`. */
const begun = (rule: AlertRule, moment: Moment, floorMs: number): Stepped => {
  const sinceMs = Math.min(moment.nowMs, Math.max(rule.updatedAt, moment.observedMs, floorMs))
  if (moment.canOpen && hasLasted(rule, sinceMs, moment)) return opened(rule, moment)
  return kept({ _tag: "Pending", ruleId: rule.id, generation: rule.generation, sinceMs })
}

const opened = (rule: AlertRule, { channelIds, isSilenced, nextEventId, nowMs }: Moment): Stepped => ({
  state: {
    _tag: "Firing",
    ruleId: rule.id,
    generation: rule.generation,
    eventId: nextEventId(),
    openedMs: nowMs,
    beatMs: nowMs,
    clearSinceMs: null,
    channelIds: isSilenced ? [] : channelIds,
    isMuted: isSilenced,
    rule: labelOf(rule)
  },
  effect: "opened",
  reason: null
})

const stepPending = (state: Pending, rule: AlertRule, condition: Condition, moment: Moment): Stepped | undefined => {
  if (condition !== "holds") return ended
  if (moment.canOpen && hasLasted(rule, state.sinceMs, moment)) return opened(rule, moment)
  return state.sinceMs > moment.nowMs ? kept({ ...state, sinceMs: moment.nowMs }) : undefined
}

const stepFiring = (state: Firing, rule: AlertRule, condition: Condition, moment: Moment): Stepped | undefined => {
  switch (condition) {
    case "unknown":
      return undefined
    case "stale":
      return { state: undefined, effect: "closed", reason: "snapshot_stale" }
    case "clear":
      return stepClear(state, rule, moment)
    case "holds":
    case "between":
      return stepOn(state, moment)
  }
}

const stepOn = (state: Firing, { canOpen, channelIds, isSilenced, nowMs }: Moment): Stepped | undefined => {
  const touched: Firing = { ...state, beatMs: nowMs, clearSinceMs: null }
  if (state.isMuted && !isSilenced && canOpen) {
    return { state: { ...touched, channelIds, isMuted: false }, effect: "unmuted", reason: null }
  }
  if (nowMs - state.beatMs >= beatMs || nowMs < state.beatMs) return { state: touched, effect: "beat", reason: null }
  return state.clearSinceMs === null ? undefined : kept({ ...state, clearSinceMs: null })
}

const stepClear = (state: Firing, rule: AlertRule, { nowMs, observedMs }: Moment): Stepped | undefined => {
  const sinceMs = Math.min(nowMs, state.clearSinceMs ?? observedMs)
  if (observedMs - sinceMs < rule.keepFiringSec * 1000) {
    return sinceMs === state.clearSinceMs ? undefined : kept({ ...state, clearSinceMs: sinceMs })
  }
  const cooldown: Cooldown = {
    _tag: "Cooldown",
    ruleId: rule.id,
    generation: rule.generation,
    untilMs: nowMs + rule.cooldownMin * 60_000
  }
  return { state: rule.cooldownMin > 0 ? cooldown : undefined, effect: "closed", reason: "condition_cleared" }
}

const stepCooldown = (state: Cooldown, rule: AlertRule, condition: Condition, moment: Moment): Stepped | undefined => {
  const latestMs = moment.nowMs + rule.cooldownMin * 60_000
  if (moment.nowMs < state.untilMs) return state.untilMs > latestMs ? kept({ ...state, untilMs: latestMs }) : undefined
  return condition === "holds" ? begun(rule, moment, state.untilMs) : ended
}
