// Alerts: what rules cost a report, half a fleet falling silent at once, and a channel that hangs beside one that does not.
import { message, stop } from "./Children.ts"
import type { Fleet } from "./Fleet.ts"
import { median, quantile, type Result } from "./Figures.ts"
import { resent, storm } from "./alerts/Storm.ts"
import { longestOf } from "./Turns.ts"
import { newHome, removeHome, startProgram } from "./Workshop.ts"

const defaultSec = 6

export interface EvalOrder {
  readonly rules: number
  readonly seconds: number
}
export interface EvalResult {
  /** Nanoseconds per report, by round: no condition holds; and with one alert open and one waiting. */
  readonly calmNs: ReadonlyArray<number>
  readonly busyNs: ReadonlyArray<number>
}

const evaluated = async (seconds: number): Promise<EvalResult & { readonly rules: number }> => {
  const order: EvalOrder = { rules: 20, seconds }
  const child = startProgram("Eval", order)
  const found = await message<EvalResult>(child, seconds * 1000 + 60_000, "the rules")
  await stop(child)
  return { ...found, rules: order.rules }
}

export const alerts = async (fleet: Fleet, seconds = defaultSec): Promise<Result> => {
  const { busyNs, calmNs, rules } = await evaluated(seconds)
  const home = newHome()
  const seen = await storm(home, fleet)
  const again = await resent(seen)
  await seen.close()
  removeHome(home)
  const sorted = (values: ReadonlyArray<number>) => [...values].sort((a, b) => a - b)
  const lags = sorted(seen.lagsMs)
  const waits = sorted(again)
  const longest = longestOf(seen.block)
  return {
    figures: [
      { name: "alerts.eval_us_per_report_20_rules", value: median(busyNs) / 1000, unit: "us" },
      { name: "alerts.offline_lag_ms", value: quantile(lags, 0.99), unit: "ms" },
      { name: "alerts.storm_block_ms", value: longest.heldMs, unit: "ms" },
      { name: "alerts.deliveries_per_s", value: seen.deliveriesPerSec, unit: "1/s" },
      { name: "alerts.healthy_channel_p99_ms", value: quantile(waits, 0.99), unit: "ms" }
    ],
    notes: [
      `${rules} rules on a report: ${(median(calmNs) / 1000).toFixed(2)} us while no condition holds, ${(median(busyNs) / 1000).toFixed(2)} us with one alert open and one waiting`,
      `${seen.silent} of ${seen.nodes} nodes fell silent within an interval while the others went on: ${lags.length} events, from the deadline (last report and 14 s) to the event: half within ${quantile(lags, 0.5).toFixed(0)} ms, last ${quantile(lags, 1).toFixed(0)} ms`,
      `longest block meanwhile ${longest.heldMs.toFixed(1)} ms (computing ${longest.cpuMs.toFixed(1)}); with waiting for a core ${seen.block.maxMs.toFixed(1)} ms; the closing of their sockets before had held it for ${longestOf(seen.closing).heldMs.toFixed(1)} ms; generator and receivers on the same cores`,
      `${seen.delivered} webhooks to a receiver on loopback, one at a time, each settled on disk before the next, while the other half reports: every step of a delivery waits its turn behind commits`,
      `healthy channel: ${waits.length} notifications, from the request for one to its arrival, beside a channel that never answers and has ${seen.silent} waiting; half within ${quantile(waits, 0.5).toFixed(0)} ms`
    ]
  }
}
