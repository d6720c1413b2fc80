// All rules of one node: what a report or a consideration changes in their states, and what is to be told about it.
import { conditionOf, coresOf, effective, isBeyond, type Measured, valueOf } from "./Measures.ts"
import { type AlertRule, isKnown, type RuleLabel } from "./Rule.ts"
import { type CloseReason, type Condition, type Firing, type Moment, type RuleState, step } from "./RuleState.ts"

export interface Transition {
  /** A beat is the heartbeat of an open event, at most every 60 s; unmuted: told now because the silence ended. */
  readonly transition: "opened" | "closed" | "beat" | "unmuted"
  readonly eventId: number
  /** As it was when it opened. */
  readonly rule: RuleLabel
  readonly atMs: number
  /** Null where there is none, or where the rule is no longer evaluated. */
  readonly value: number | null
  /** Effective: with cores and offset; null where the rule is no longer evaluated. */
  readonly threshold: number | null
  readonly reason: CloseReason | null
  /** Who is told. */
  readonly channelIds: ReadonlyArray<number>
  readonly isMuted: boolean
}

export interface Considered {
  readonly states: ReadonlyArray<RuleState>
  readonly isChanged: boolean
  readonly transitions: ReadonlyArray<Transition>
}

/** What is known of a node when its rules are considered. */
export interface Consideration {
  readonly nowMs: number
  /** Receive time of the report behind `measured`; `nowMs` when it is being received. */
  readonly observedMs: number
  /** What the last applied report says; undefined before the first. */
  readonly measured: Measured | undefined
  /** Silent for longer than its threshold; never while a report is received. */
  readonly isStale: boolean
  /** False during the first minute after a start. */
  readonly canOpen: boolean
  /** Channels that are told of an opening. */
  readonly channelIds: ReadonlyArray<number>
  readonly isSilenced: (ruleId: number) => boolean
  readonly nextEventId: () => number
  /** Any rule as it is now, mounted here or not; undefined when it is deleted. */
  readonly ruleOf: (ruleId: number) => AlertRule | undefined
}

/**
 * Considers all `rules`: those that are mounted on the node and watched (`Rule.isWatched`). A state whose rule is not
 * among them, or is of another generation, ends: firing ones close with the reason why, the others vanish. While nothing
 * changes the answer has the `states` it was given; in peace, one answer serves all reports.
 */
export const considered = (
  states: ReadonlyArray<RuleState>,
  rules: ReadonlyArray<AlertRule>,
  input: Consideration
): Considered => {
  if (states.length === 0 && isQuiet(rules, input)) return quiet
  const transitions: Array<Transition> = []
  const next: Array<RuleState> = []
  let isChanged = false
  for (const state of states) {
    if (rules.some((rule) => isOf(state, rule))) continue
    isChanged = true
    if (state._tag !== "Firing") continue
    transitions.push(closedWithout(state, reasonOf(state, input.ruleOf(state.ruleId)), input.nowMs))
  }
  for (const rule of rules) {
    const state = states.find((one) => isOf(one, rule))
    const judged = judge(rule, input)
    const stepped = step(state, rule, judged.condition, momentOf(rule, input))
    const after = stepped === undefined ? state : stepped.state
    if (after !== undefined) next.push(after)
    if (stepped === undefined) continue
    isChanged = true
    if (stepped.effect === "none") continue
    // An effect without a firing state before it is an opening, which has one after it.
    const event = (stepped.effect === "closed" ? state : stepped.state) as Firing
    transitions.push({
      transition: stepped.effect,
      ...told(event, input.nowMs),
      value: judged.value,
      threshold: judged.threshold,
      reason: stepped.reason
    })
  }
  return isChanged ? { states: next, isChanged, transitions } : { states, isChanged, transitions }
}

/** A deleted node closes whatever is open. */
export const dissolved = (states: ReadonlyArray<RuleState>, nowMs: number): Considered => ({
  states: [],
  isChanged: states.length > 0,
  transitions: states.flatMap((state) =>
    state._tag === "Firing" ? [closedWithout(state, "server_deleted", nowMs)] : []
  )
})

const quiet: Considered = { states: [], isChanged: false, transitions: [] }

const isOf = (state: RuleState, rule: AlertRule): boolean =>
  state.ruleId === rule.id && state.generation === rule.generation

const told = (event: Firing, atMs: number) => ({
  eventId: event.eventId,
  rule: event.rule,
  atMs,
  channelIds: event.channelIds,
  isMuted: event.isMuted
})

/** The close of an event whose rule is no longer evaluated. */
const closedWithout = (event: Firing, reason: CloseReason, atMs: number): Transition => ({
  transition: "closed",
  ...told(event, atMs),
  value: null,
  threshold: null,
  reason
})

/** Why a rule is not considered any more in the generation of the state. */
const reasonOf = (state: RuleState, rule: AlertRule | undefined): CloseReason => {
  if (rule === undefined) return "rule_deleted"
  if (!isKnown(rule)) return "rule_invalid"
  if (!rule.enabled) return "rule_disabled"
  return rule.generation === state.generation ? "rule_unmounted" : "rule_updated"
}

/** Offline is told by silence as it is now, everything else by the last report. */
const momentOf = (rule: AlertRule, input: Consideration): Moment => ({
  nowMs: input.nowMs,
  observedMs: rule.metric === "node.offline" ? input.nowMs : Math.min(input.observedMs, input.nowMs),
  canOpen: input.canOpen,
  isSilenced: input.isSilenced(rule.id),
  channelIds: input.channelIds,
  nextEventId: input.nextEventId
})

const valueIn = (rule: AlertRule, { isStale, measured }: Consideration): number | undefined => {
  if (measured === undefined) return undefined
  if (rule.metric === "node.offline") return isStale ? 1 : 0
  return isStale ? undefined : valueOf(rule.metric, measured)
}

/** Cores are asked for only where they count. */
const coresIn = (rule: AlertRule, { measured }: Consideration): number =>
  rule.thresholdMode === "static" ? 0 : coresOf(measured?.statics)

/** Whether no condition holds, told without allocating. */
const isQuiet = (rules: ReadonlyArray<AlertRule>, input: Consideration): boolean => {
  for (const rule of rules) {
    const value = valueIn(rule, input)
    if (value === undefined) continue
    if (isBeyond(value, rule.operator, effective(rule, rule.threshold, coresIn(rule, input)))) return false
  }
  return true
}

interface Judged {
  readonly condition: Condition
  readonly value: number | null
  readonly threshold: number
}

const judge = (rule: AlertRule, input: Consideration): Judged => {
  const value = valueIn(rule, input)
  const cores = coresIn(rule, input)
  const threshold = effective(rule, rule.threshold, cores)
  if (value !== undefined) return { condition: conditionOf(rule, value, cores), value, threshold }
  const isSilent = input.isStale || input.measured === undefined
  // A node without a snapshot is neither offline nor back.
  const condition = rule.metric === "node.offline" ? "unknown" : isSilent ? "stale" : "clear"
  return { condition, value: null, threshold }
}
