// What an alert rule is: the metrics that can be watched, the rules that are built in and those of a first start.

/** Every metric a rule can watch, in the order of the contract (semantics 4.2). */
export const metrics = [
  "cpu.usage_ratio",
  "cpu.load1",
  "cpu.load5",
  "cpu.load15",
  "mem.used",
  "mem.used_ratio",
  "disk.usage.used_ratio",
  "net.recv_bps",
  "net.sent_bps",
  "conn.tcp",
  "raid.failed",
  "disk.smart.failed",
  "disk.smart.nvme.critical_warning",
  "disk.smart.attribute_failing",
  "disk.smart.max_temp_c",
  "thermal.max_temp_c",
  "node.offline"
] as const
export type AlertMetric = (typeof metrics)[number]

export const operators = [">", ">=", "<", "<=", "==", "!="] as const
export type Operator = (typeof operators)[number]

export const thresholdModes = ["static", "core_plus"] as const
export type ThresholdMode = (typeof thresholdModes)[number]

export interface AlertRule {
  /** Negative for what is built in. */
  readonly id: number
  /** From 1; grows with every change that makes it another condition. */
  readonly generation: number
  readonly name: string
  readonly enabled: boolean
  readonly metric: AlertMetric
  readonly operator: Operator
  readonly threshold: number
  /** How long the condition must hold; 0 to 86,400, whole. */
  readonly durationSec: number
  /** How long after a recovery nothing opens; whole, at most a year. */
  readonly cooldownMin: number
  readonly thresholdMode: ThresholdMode
  readonly thresholdOffset: number
  /**
   * Hysteresis: the alert is clear only where the value is not beyond this; null: the threshold itself. On the clear
   * side of the threshold, never with == and !=. With core_plus, cores and offset are added as to the threshold.
   */
  readonly clearThreshold: number | null
  /** Damping: how long it must have been clear before it closes; 0 closes at once. 0 to 86,400, whole. */
  readonly keepFiringSec: number
  /** Milliseconds. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** What is kept of a rule beside an open event, so that its close can be told after the rule is gone. */
export type RuleLabel = Pick<AlertRule, "id" | "generation" | "name" | "metric" | "operator" | "durationSec">

export const labelOf = ({ durationSec, generation, id, metric, name, operator }: AlertRule): RuleLabel => ({
  id,
  generation,
  name,
  metric,
  operator,
  durationSec
})

/** Load is the only metric that a number of cores means something to. */
export const takesCores = (metric: AlertMetric): boolean =>
  metric === "cpu.load1" || metric === "cpu.load5" || metric === "cpu.load15"

const common = {
  generation: 1,
  enabled: true,
  operator: ">=",
  thresholdMode: "static",
  thresholdOffset: 0,
  clearThreshold: null,
  keepFiringSec: 0,
  createdAt: 0,
  updatedAt: 0
} as const

const builtIn = (id: number, name: string, metric: AlertMetric, cooldownMin: number): AlertRule => ({
  ...common,
  id,
  name,
  metric,
  threshold: 1,
  durationSec: 0,
  cooldownMin
})

/** Mounted on every node unless unmounted; they cannot be changed (semantics 4.1). */
export const builtIns: ReadonlyArray<AlertRule> = [
  builtIn(-1, "node_offline", "node.offline", 0),
  builtIn(-2, "raid_failed", "raid.failed", 30),
  builtIn(-3, "smart_failed", "disk.smart.failed", 30),
  builtIn(-4, "smart_nvme_critical_warning", "disk.smart.nvme.critical_warning", 30)
]

const seed = (
  id: number,
  name: string,
  metric: AlertMetric,
  threshold: number,
  thresholdMode: ThresholdMode
): AlertRule => ({ ...common, id, name, metric, threshold, thresholdMode, durationSec: 60, cooldownMin: 0 })

/** The custom rules of a first start, mounted nowhere; whoever stores them sets their times. */
export const seeds: ReadonlyArray<AlertRule> = [
  seed(1, "cpu_usage_high", "cpu.usage_ratio", 0.9, "static"),
  seed(2, "cpu_load1_high", "cpu.load1", 1, "core_plus"),
  seed(3, "cpu_load5_high", "cpu.load5", 0, "core_plus"),
  seed(4, "mem_used_high", "mem.used_ratio", 0.9, "static")
]

const known: ReadonlySet<string> = new Set(metrics)

/** False for a rule that was stored under a metric which this version does not know. */
export const isKnown = (rule: AlertRule): boolean => known.has(rule.metric)

/** Whether a mounted rule is evaluated at all. */
export const isWatched = (rule: AlertRule): boolean => rule.enabled && isKnown(rule)
