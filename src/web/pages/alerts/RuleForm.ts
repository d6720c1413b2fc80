// An alert rule as a form: its fields as typed, what is wrong with them, and what is sent.
import type { Rule, RuleWrite } from "../../../../schema/Alerts.ts"
import type { Failure } from "../../api/Failure.ts"
import { figureOf, takesCores, typedOf } from "./Metrics.ts"
import { secondsOf, spanOf, type Span } from "./Spans.ts"

export interface RuleForm {
  readonly name: string
  readonly enabled: boolean
  readonly metric: string
  readonly operator: Rule["operator"]
  readonly threshold: string
  readonly isCorePlus: boolean
  readonly offset: string
  readonly duration: Span
  readonly cooldown: Span
  readonly isHysteretic: boolean
  readonly clear: string
  readonly keep: Span
}

export const operators = [">", ">=", "<", "<=", "==", "!="] as const satisfies ReadonlyArray<Rule["operator"]>

/** Members of the write form that can be wrong. */
export const ruleFields = [
  "name",
  "threshold",
  "threshold_offset",
  "duration_sec",
  "cooldown_min",
  "clear_threshold",
  "keep_firing_sec"
] as const
export type RuleField = (typeof ruleFields)[number]

/** Bounds of the service. */
const nameMax = 128
const daySec = 86_400
const yearMin = 525_600

export const newRule: RuleForm = {
  name: "",
  enabled: true,
  metric: "cpu.usage_ratio",
  operator: ">=",
  threshold: "90",
  isCorePlus: false,
  offset: "0",
  duration: spanOf(60, "second"),
  cooldown: spanOf(300, "minute"),
  isHysteretic: false,
  clear: "",
  keep: spanOf(0, "minute")
}

export const formOfRule = (rule: Rule): RuleForm => ({
  name: rule.name,
  enabled: rule.enabled,
  metric: rule.metric,
  operator: rule.operator,
  threshold: typedOf(rule.metric, rule.threshold),
  isCorePlus: rule.threshold_mode === "core_plus",
  offset: typedOf(rule.metric, rule.threshold_offset),
  duration: spanOf(rule.duration_sec, "second"),
  cooldown: spanOf(rule.cooldown_min * 60, "minute"),
  isHysteretic: rule.clear_threshold !== null,
  clear: rule.clear_threshold === null ? "" : typedOf(rule.metric, rule.clear_threshold),
  keep: spanOf(rule.keep_firing_sec, "minute")
})

/** Equality has no calm side. */
export const hasSides = (operator: Rule["operator"]): boolean => operator !== "==" && operator !== "!="

/** All that is written of a rule. */
export type WholeRule = Omit<Rule, "id" | "created_at" | "updated_at">

/** The whole rule, or the fields that are wrong. What does not belong to the metric or operator is left out. */
export const ruleOfForm = (
  form: RuleForm
): { readonly rule: WholeRule } | { readonly wrong: ReadonlyArray<RuleField> } => {
  const isCorePlus = form.isCorePlus && takesCores(form.metric)
  const isHysteretic = form.isHysteretic && hasSides(form.operator)
  const threshold = figureOf(form.metric, form.threshold)
  const offset = isCorePlus ? figureOf(form.metric, form.offset) : 0
  const durationSec = within(secondsOf(form.duration), daySec)
  const cooldownSec = within(secondsOf(form.cooldown), yearMin * 60)
  const keepSec = within(secondsOf(form.keep), daySec)
  const clear = isHysteretic ? figureOf(form.metric, form.clear) : null
  const name = form.name.trim()
  const wrong: Array<RuleField> = []
  if (name === "" || name.length > nameMax || [...name].some((one) => one < " ")) wrong.push("name")
  if (threshold === null) wrong.push("threshold")
  if (offset === null) wrong.push("threshold_offset")
  if (durationSec === null) wrong.push("duration_sec")
  if (cooldownSec === null || cooldownSec % 60 !== 0) wrong.push("cooldown_min")
  if (isHysteretic && (clear === null || !isCalm(form.operator, clear, threshold))) wrong.push("clear_threshold")
  if (keepSec === null) wrong.push("keep_firing_sec")
  if (wrong.length > 0 || threshold === null || offset === null || durationSec === null || cooldownSec === null)
    return { wrong }
  return {
    rule: {
      name,
      enabled: form.enabled,
      metric: form.metric,
      operator: form.operator,
      threshold,
      duration_sec: durationSec,
      cooldown_min: cooldownSec / 60,
      threshold_mode: isCorePlus ? "core_plus" : "static",
      threshold_offset: offset,
      clear_threshold: clear,
      keep_firing_sec: keepSec ?? 0
    }
  }
}

const within = (value: number | null, max: number): number | null => (value !== null && value <= max ? value : null)

const isCalm = (operator: Rule["operator"], clear: number, threshold: number | null): boolean =>
  threshold === null || (operator.startsWith(">") ? clear <= threshold : clear >= threshold)

/** What differs from the stored rule: another administrator's other changes stay. */
export const changedRule = (stored: Rule, rule: WholeRule): RuleWrite => {
  const names = Object.keys(rule) as ReadonlyArray<keyof WholeRule>
  return Object.fromEntries(names.filter((name) => rule[name] !== stored[name]).map((name) => [name, rule[name]]))
}

/** The field that the service refused, whose name its message begins with, and the rest of what it said. */
export const refusedMember = (failure: Failure): { readonly field: string; readonly why: string } | null => {
  if (failure.code !== "invalid_fields") return null
  const [, field, why] = /^([a-z0-9_.-]+) ([\s\S]+)$/i.exec(failure.message) ?? []
  return field === undefined || why === undefined ? null : { field, why }
}
