// How an alert rule stands in its table.
import { Schema } from "effect"
import { type AlertRule, metrics, operators, thresholdModes } from "../../core/alert/Rule.ts"

/** SQLite has no booleans. */
export const Flag = Schema.transform(Schema.Number, Schema.Boolean, {
  strict: true,
  decode: (flag) => flag !== 0,
  encode: (flag) => (flag ? 1 : 0)
})

export const StoredRule = Schema.Struct({
  id: Schema.Int,
  generation: Schema.Int,
  name: Schema.String,
  enabled: Flag,
  metric: Schema.Literal(...metrics),
  operator: Schema.Literal(...operators),
  threshold: Schema.Number,
  durationSec: Schema.Int,
  cooldownMin: Schema.Int,
  thresholdMode: Schema.Literal(...thresholdModes),
  thresholdOffset: Schema.Number,
  clearThreshold: Schema.NullOr(Schema.Number),
  keepFiringSec: Schema.Int,
  createdAt: Schema.Number,
  updatedAt: Schema.Number
})

export const ruleOut = `id, generation, name, enabled, metric, operator, threshold, duration_sec AS "durationSec",
  cooldown_min AS "cooldownMin", threshold_mode AS "thresholdMode", threshold_offset AS "thresholdOffset",
  clear_threshold AS "clearThreshold", keep_firing_sec AS "keepFiringSec", created_at AS "createdAt",
  updated_at AS "updatedAt"`

export const columnsOf = (rule: Omit<AlertRule, "id">) => ({
  generation: rule.generation,
  name: rule.name,
  enabled: rule.enabled ? 1 : 0,
  metric: rule.metric,
  operator: rule.operator,
  threshold: rule.threshold,
  duration_sec: rule.durationSec,
  cooldown_min: rule.cooldownMin,
  threshold_mode: rule.thresholdMode,
  threshold_offset: rule.thresholdOffset,
  clear_threshold: rule.clearThreshold,
  keep_firing_sec: rule.keepFiringSec,
  created_at: rule.createdAt,
  updated_at: rule.updatedAt
})
