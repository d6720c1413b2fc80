// Runs rules over reports the way a node's actor does, and tells what one report costs.
import { considered, type Consideration } from "../../src/core/alert/NodeAlerts.ts"
import { type AlertMetric, type AlertRule, builtIns } from "../../src/core/alert/Rule.ts"
import type { RuleState } from "../../src/core/alert/RuleState.ts"
import { Host, layoutOf } from "../../src/core/Layout.ts"
import { cpuRule, detailsOf, noNames, staticsOf } from "../../test/core/alert/AlertCases.ts"
import type { EvalOrder, EvalResult } from "../Alerts.ts"

const metrics: ReadonlyArray<AlertMetric> = [
  "cpu.usage_ratio",
  "cpu.load1",
  "cpu.load5",
  "cpu.load15",
  "mem.used_ratio",
  "mem.used",
  "disk.usage.used_ratio",
  "net.recv_bps",
  "net.sent_bps",
  "conn.tcp"
]
const reportsPerRound = 1000
/** Their code is not compiled yet. */
const roundsWarm = 20

/** The built-in rules and others that no report here fulfils. */
const rulesOf = (count: number): ReadonlyArray<AlertRule> => [
  ...builtIns,
  ...Array.from({ length: count - builtIns.length }, (_, i): AlertRule => {
    const metric = metrics[i % metrics.length] as AlertMetric
    return { ...cpuRule, id: i + 1, metric, threshold: 1e18, name: `rule ${i + 1}` }
  })
]

const run = (rules: ReadonlyArray<AlertRule>, seconds: number): ReadonlyArray<number> => {
  const layout = layoutOf({ ...noNames, nics: ["eth0", "eth1"] })
  const vector = Float64Array.from({ length: layout.size }, (_, i) => i + 1)
  const measured = { layout, vector, details: detailsOf(layout), statics: staticsOf() }
  const input = {
    nowMs: 1_000_000,
    observedMs: 1_000_000,
    measured,
    isStale: false,
    canOpen: true,
    channelIds: [1],
    isSilenced: () => false,
    nextEventId: () => 1,
    ruleOf: () => undefined
  }
  let states: ReadonlyArray<RuleState> = []
  const found: Array<number> = []
  const until = performance.now() + seconds * 1000
  for (let round = 0; performance.now() < until; round++) {
    const startedAt = performance.now()
    for (let i = 0; i < reportsPerRound; i++) {
      input.nowMs += 3000
      input.observedMs = input.nowMs
      vector[Host.cpuUsage] = 0.5 + (i % 100) / 1000
      states = considered(states, rules, input satisfies Consideration).states
    }
    if (round >= roundsWarm) found.push(((performance.now() - startedAt) * 1e6) / reportsPerRound)
  }
  return found
}

process.on("disconnect", () => process.exit())
const order = JSON.parse(process.argv[2] ?? "") as EvalOrder
const calm = rulesOf(order.rules)
/** One alert stays open, another one waits for its duration all the time. */
const busy = calm.map((rule) =>
  rule.id === 1
    ? { ...rule, threshold: 0.1, durationSec: 0 }
    : rule.id === 5
      ? { ...rule, threshold: 0, durationSec: 86_400 * 365 }
      : rule
)
const result: EvalResult = { calmNs: run(calm, order.seconds / 2), busyNs: run(busy, order.seconds / 2) }
process.send?.(result)
