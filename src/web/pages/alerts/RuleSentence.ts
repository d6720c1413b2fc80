// An alert rule in plain words.
import type { Rule } from "../../../../schema/Alerts.ts"
import { metricName } from "../../text/Metrics.ts"
import type { AlertsCatalogue } from "./AlertsEnglish.ts"
import { shownFigure } from "./Metrics.ts"
import { spanText } from "./Spans.ts"

export type Said = Pick<
  Rule,
  | "metric"
  | "operator"
  | "threshold"
  | "duration_sec"
  | "cooldown_min"
  | "threshold_mode"
  | "threshold_offset"
  | "clear_threshold"
  | "keep_firing_sec"
>

export interface Tongue {
  readonly text: AlertsCatalogue
  readonly metrics: Readonly<Record<string, string>>
  readonly localeName: string
}

/** "CPU usage at least 90 % for 1 minute; again after 5 minutes at the earliest; closes below 80 %". */
export const sentenceOf = (rule: Said, { localeName, metrics, text }: Tongue): string => {
  const { clears, operators, sentenceParts: parts } = text.rules
  const span = (sec: number): string => spanText(sec, localeName)
  const figure = (value: number): string => shownFigure(rule.metric, value, localeName)
  const level = (value: number): string => {
    if (rule.threshold_mode !== "core_plus") return figure(value)
    const sum = value + rule.threshold_offset
    if (sum === 0) return parts.coresOnly
    return sum > 0 ? parts.coresPlus(figure(sum)) : parts.coresMinus(figure(-sum))
  }
  const metric = metricName(metrics, rule.metric)
  // A node is offline or not; there is no figure to tell.
  const condition =
    rule.metric === "node.offline" ? metric : parts.condition(metric, operators[rule.operator], level(rule.threshold))
  const said = [rule.duration_sec === 0 ? parts.atOnce(condition) : parts.lasting(condition, span(rule.duration_sec))]
  if (rule.cooldown_min > 0) said.push(parts.again(span(rule.cooldown_min * 60)))
  // Equality has no calm side.
  if (rule.clear_threshold !== null && rule.operator !== "==" && rule.operator !== "!=") {
    const where = clears[rule.operator](level(rule.clear_threshold))
    said.push(rule.keep_firing_sec === 0 ? parts.closes(where) : parts.closesKept(where, span(rule.keep_firing_sec)))
  } else if (rule.keep_firing_sec > 0) said.push(parts.closesLater(span(rule.keep_firing_sec)))
  return said.join(parts.glue)
}

const common = {
  operator: ">=",
  threshold: 1,
  duration_sec: 0,
  threshold_mode: "static",
  threshold_offset: 0,
  clear_threshold: null,
  keep_firing_sec: 0
} as const

/** What the service brings along (contract, built-in rules). */
export const builtInRules = [
  { id: -1, name: "node_offline", metric: "node.offline", cooldown_min: 0, ...common },
  { id: -2, name: "raid_failed", metric: "raid.failed", cooldown_min: 30, ...common },
  { id: -3, name: "smart_failed", metric: "disk.smart.failed", cooldown_min: 30, ...common },
  {
    id: -4,
    name: "smart_nvme_critical_warning",
    metric: "disk.smart.nvme.critical_warning",
    cooldown_min: 30,
    ...common
  }
] as const

/** Built-in rules have names for machines; here they have names for people. */
export const ruleName = (id: number, name: string, builtIns: Readonly<Record<string, string>>): string =>
  id < 0 && Object.hasOwn(builtIns, name) ? (builtIns[name] ?? name) : name
