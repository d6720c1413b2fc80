// Alerts on the wire as far as an administrator sets them: rules, mounts, settings, silences and a rule's preview.
import { Schema } from "effect"

const { Array: Arr, Boolean: Bool, Int, Literal, NullOr, Number: Num, optional, String: Str, Struct } = Schema

/** RFC 3339 in UTC and whole seconds. */
const Instant = Str
const given = <A, I>(schema: Schema.Schema<A, I>) => optional(NullOr(schema))

export const Rule = Struct({
  id: Int,
  name: Str,
  enabled: Bool,
  metric: Str,
  operator: Literal(">", ">=", "<", "<=", "==", "!="),
  threshold: Num,
  duration_sec: Int,
  cooldown_min: Int,
  threshold_mode: Literal("static", "core_plus"),
  threshold_offset: Num,
  /** Null: the threshold itself. */
  clear_threshold: NullOr(Num),
  keep_firing_sec: Int,
  created_at: Instant,
  updated_at: Instant
}).annotations({ identifier: "AlertRule" })
export type Rule = typeof Rule.Type

/** Write form; `src/core/alert/RuleWrite` judges the values. */
export const RuleWrite = Struct({
  name: given(Str),
  enabled: given(Bool),
  metric: given(Str),
  operator: given(Str),
  threshold: given(Num),
  duration_sec: given(Num),
  cooldown_min: given(Num),
  threshold_mode: given(Str),
  threshold_offset: given(Num),
  clear_threshold: given(Num),
  keep_firing_sec: given(Num)
}).annotations({
  identifier: "AlertRuleWrite",
  description:
    "A new rule needs `name`, `metric`, `operator` and `threshold`; a change takes any subset and the merged rule is judged. `duration_sec`: 0 to 86400. `threshold_mode` core_plus, for cpu.load1, cpu.load5 and cpu.load15 only, adds the number of cores and `threshold_offset`. `clear_threshold`: the alert closes only where the value is not beyond this one (null: the threshold). `keep_firing_sec`: it must have been clear for so long before it closes."
})
export type RuleWrite = typeof RuleWrite.Type

/** A rule and the past of one node. */
export const RulePreviewWrite = Struct({
  rule: RuleWrite,
  server_id: Int,
  from: given(Str),
  to: given(Str)
}).annotations({
  identifier: "AlertRulePreviewWrite",
  description: "`from` and `to`: RFC 3339; the last day when left out."
})
export type RulePreviewWrite = typeof RulePreviewWrite.Type

/** When the rule would have opened and closed; null: still open at the end. */
export const RulePreview = Struct({
  server_id: Int,
  from: Instant,
  to: Instant,
  /** How far apart the values are that it was run over. */
  step_sec: Int,
  items: Arr(Struct({ opened_at: Instant, closed_at: NullOr(Instant) }))
}).annotations({ identifier: "AlertRulePreview" })
export type RulePreview = typeof RulePreview.Type

const MountOfRule = Struct({ rule_id: Int, mounted: Bool })

/** Every rule for every node; built-in rules come first and have negative ids. */
export const Mounts = Struct({
  rules: Arr(Struct({ id: Int, name: Str, metric: Str, builtin: Bool, enabled: Bool, default_mounted: Bool })),
  nodes: Arr(
    Struct({
      id: Int,
      name: Str,
      hostname: Str,
      ip: optional(Str),
      group_ids: Arr(Int),
      mounts: Arr(MountOfRule)
    })
  )
}).annotations({ identifier: "AlertMounts" })
export type Mounts = typeof Mounts.Type

export const MountsWrite = Struct({
  rule_ids: given(Arr(Num)),
  server_ids: given(Arr(Num)),
  mounted: given(Bool)
}).annotations({ identifier: "AlertMountsWrite", description: "Every rule on every node, or nothing." })
export type MountsWrite = typeof MountsWrite.Type

export const AlertSettings = Struct({
  enabled: Bool,
  channel_ids: Arr(Int),
  group_offline: Bool,
  group_offline_over: Int,
  group_offline_window_sec: Int,
  offline_after_sec: Int,
  allow_private_targets: Bool,
  created_at: Instant,
  updated_at: Instant
}).annotations({ identifier: "AlertSettings" })
export type AlertSettings = typeof AlertSettings.Type

/** `src/store/alert/AlertSettings` judges the values. */
export const AlertSettingsWrite = Struct({
  enabled: given(Bool),
  channel_ids: given(Arr(Num)),
  group_offline: given(Bool),
  group_offline_over: given(Num),
  group_offline_window_sec: given(Num),
  offline_after_sec: given(Num),
  allow_private_targets: given(Bool)
}).annotations({
  identifier: "AlertSettingsWrite",
  description:
    "`enabled` and `channel_ids` are required; what else is left out stays as it is. `group_offline`: more than `group_offline_over` nodes that fall silent within `group_offline_window_sec` (5 to 300) are told to people in one message. `offline_after_sec`: 3 to 3600. `allow_private_targets`: webhooks and mail servers may have private addresses."
})
export type AlertSettingsWrite = typeof AlertSettingsWrite.Type

const SilenceScope = Literal("node", "group", "rule")

export const Silence = Struct({
  id: Int,
  scope: SilenceScope,
  /** Of the node, the group or the rule; built-in rules have negative ids. */
  target_id: Int,
  until: Instant,
  /** Whether it holds now. */
  active: Bool,
  comment: Str,
  created_at: Instant
}).annotations({ identifier: "AlertSilence" })
export type Silence = typeof Silence.Type

/** `src/store/alert/Silences` judges the values. */
export const SilenceWrite = Struct({
  scope: SilenceScope,
  target_id: Int,
  until: Str,
  comment: given(Str)
}).annotations({
  identifier: "AlertSilenceWrite",
  description:
    "`until`: RFC 3339, ahead of now, at most 366 days. Alerts that open meanwhile are recorded and told when the silence ends, if they are still open then."
})
export type SilenceWrite = typeof SilenceWrite.Type
