// Checks the write form of an alert rule: what a create gives, and what a patch makes of a rule, judged as a whole.
import { Either } from "effect"
import type { RuleWrite } from "../../../schema/Alerts.ts"
import { InvalidFields, NoFields } from "../../../schema/Errors.ts"
import { lineOf } from "../Line.ts"
import {
  type AlertMetric,
  type AlertRule,
  metrics,
  type Operator,
  operators,
  takesCores,
  type ThresholdMode,
  thresholdModes
} from "./Rule.ts"

/** Everything of a rule that is written; identity, generation and times belong to whoever stores it. */
export type RuleFields = Omit<AlertRule, "id" | "generation" | "createdAt" | "updatedAt">

export const ruleNameMax = 128
export const durationSecMax = 86_400
/** A year: longer than that a rule is rather disabled. */
export const cooldownMinMax = 525_600

/** A rule to create: name, metric, operator and threshold are required (semantics 4.1). */
export const ruleOf = (write: RuleWrite): Either.Either<RuleFields, InvalidFields> =>
  Either.flatMap(requireAll(write), () => judged(write, defaults))

/**
 * What a rule becomes by a PATCH: any subset of the fields, at least one, the merged rule judged as a whole. Null
 * means "not given", but for `clear_threshold`, where it takes the hysteresis away. The generation grows with every
 * change that makes it another condition; a rename is none (semantics 4.3).
 */
export const changed = (
  rule: AlertRule,
  write: RuleWrite,
  nowMs: number
): Either.Either<AlertRule, InvalidFields | NoFields> =>
  Either.gen(function* () {
    const { clear_threshold, ...rest } = write
    if (clear_threshold === undefined && members.every((member) => (rest[member] ?? null) === null)) {
      return yield* Either.left(new NoFields({ message: "the body holds no field of a rule" }))
    }
    const after = yield* judged(write, rule)
    const isSame = conditions.every((field) => after[field] === rule[field]) && isNear(after.threshold, rule.threshold)
    return { ...rule, ...after, generation: isSame ? rule.generation : rule.generation + 1, updatedAt: nowMs }
  })

const members = [
  "name",
  "enabled",
  "metric",
  "operator",
  "threshold",
  "duration_sec",
  "cooldown_min",
  "threshold_mode",
  "threshold_offset",
  "keep_firing_sec"
] as const satisfies ReadonlyArray<keyof RuleWrite>

/** Any other value of these is another condition; the threshold has its tolerance. */
const conditions = [
  "enabled",
  "metric",
  "operator",
  "durationSec",
  "cooldownMin",
  "thresholdMode",
  "thresholdOffset",
  "clearThreshold",
  "keepFiringSec"
] as const satisfies ReadonlyArray<keyof RuleFields>

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9

/** Name, metric, operator and threshold stand for what a create has to give. */
const defaults: RuleFields = {
  name: "",
  enabled: true,
  metric: "cpu.usage_ratio",
  operator: ">=",
  threshold: 0,
  durationSec: 60,
  cooldownMin: 0,
  thresholdMode: "static",
  thresholdOffset: 0,
  clearThreshold: null,
  keepFiringSec: 0
}

const refuse = (member: keyof RuleWrite, why: string): InvalidFields =>
  new InvalidFields({ message: `${member} ${why}` })

const requireAll = (write: RuleWrite): Either.Either<void, InvalidFields> => {
  const missing = (["name", "metric", "operator", "threshold"] as const).find(
    (member) => (write[member] ?? null) === null
  )
  return missing === undefined ? Either.void : Either.left(refuse(missing, "is required"))
}

/** The fields given, laid over `before`. */
const judged = (write: RuleWrite, before: RuleFields): Either.Either<RuleFields, InvalidFields> =>
  Either.gen(function* () {
    const fields: RuleFields = {
      name: (write.name ?? null) === null ? before.name : yield* nameOf(write.name ?? ""),
      enabled: write.enabled ?? before.enabled,
      metric: yield* metricOf(write.metric ?? before.metric),
      operator: yield* oneOf<Operator>(operators, "operator", write.operator ?? before.operator),
      threshold: yield* finite("threshold", write.threshold ?? before.threshold),
      durationSec: yield* whole("duration_sec", write.duration_sec ?? before.durationSec, durationSecMax),
      cooldownMin: yield* whole("cooldown_min", write.cooldown_min ?? before.cooldownMin, cooldownMinMax),
      thresholdMode: yield* oneOf<ThresholdMode>(
        thresholdModes,
        "threshold_mode",
        write.threshold_mode ?? before.thresholdMode
      ),
      thresholdOffset: yield* finite("threshold_offset", write.threshold_offset ?? before.thresholdOffset),
      clearThreshold: yield* clearOf(
        write.clear_threshold === undefined ? before.clearThreshold : write.clear_threshold
      ),
      keepFiringSec: yield* whole("keep_firing_sec", write.keep_firing_sec ?? before.keepFiringSec, durationSecMax)
    }
    const wrong = breach(fields)
    return wrong === undefined ? fields : yield* Either.left(wrong)
  })

/** What no field tells alone. */
const breach = (fields: RuleFields): InvalidFields | undefined => {
  const { clearThreshold, metric, operator, threshold, thresholdMode, thresholdOffset } = fields
  if (thresholdMode === "core_plus" && !takesCores(metric)) {
    return refuse("threshold_mode", "may be core_plus only for cpu.load1, cpu.load5 and cpu.load15")
  }
  if (thresholdMode === "static" && thresholdOffset !== 0) {
    return refuse("threshold_offset", "must be 0 when threshold_mode is static")
  }
  if (clearThreshold === null) return undefined
  if (operator === "==" || operator === "!=")
    return refuse("clear_threshold", "must be null for the operators == and !=")
  const isAbove = operator === ">" || operator === ">="
  if (isAbove && clearThreshold > threshold)
    return refuse("clear_threshold", `must be at most the threshold for ${operator}`)
  if (!isAbove && clearThreshold < threshold)
    return refuse("clear_threshold", `must be at least the threshold for ${operator}`)
  return undefined
}

const nameOf = (text: string): Either.Either<string, InvalidFields> =>
  Either.mapLeft(lineOf(text, ruleNameMax), (why) => refuse("name", why))

const oneOf = <A extends string>(
  all: ReadonlyArray<A>,
  member: keyof RuleWrite,
  text: string
): Either.Either<A, InvalidFields> =>
  Either.fromNullable(
    all.find((one) => one === text.trim()),
    () => refuse(member, `must be one of ${all.join(", ")}`)
  )

/** Silence of a node is watched by a rule of its own, which is built in. */
const customMetrics = metrics.filter((metric) => metric !== "node.offline")

const metricOf = (text: string): Either.Either<AlertMetric, InvalidFields> => oneOf(customMetrics, "metric", text)

const finite = (member: keyof RuleWrite, value: number): Either.Either<number, InvalidFields> =>
  Number.isFinite(value) ? Either.right(value) : Either.left(refuse(member, "must be a finite number"))

const clearOf = (value: number | null): Either.Either<number | null, InvalidFields> =>
  value === null ? Either.right(null) : finite("clear_threshold", value)

const whole = (member: keyof RuleWrite, value: number, max: number): Either.Either<number, InvalidFields> =>
  Number.isInteger(value) && value >= 0 && value <= max
    ? Either.right(value)
    : Either.left(refuse(member, `must be a whole number from 0 to ${max}`))
