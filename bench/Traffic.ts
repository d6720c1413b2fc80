// The traffic ledger: what a report costs, what a month of 10,000 interfaces takes to keep, to read and to make anew.
import { message } from "./Children.ts"
import { quantile, type Result } from "./Figures.ts"
import { newHome, removeHome, startProgram } from "./Workshop.ts"

/** Making a month of 10,000 interfaces takes minutes on a slow machine. */
const limitMs = 30 * 60_000
const defaultSec = 6

export interface TrafficOrder {
  readonly home: string
  readonly interfaces: number
  /** Days of facts that are on disk; the rest of the month reaches the tables as commits bring it. */
  readonly storedDays: number
  /** Of the ledger, of the summaries and of the months each. */
  readonly seconds: number
}
export interface TrafficResult {
  /** Nanoseconds per report and interface, by round. */
  readonly ledgerNs: ReadonlyArray<number>
  readonly ledgerFacts: number
  readonly written: { readonly facts: number; readonly ms: number; readonly bytes: number }
  readonly built: { readonly facts: number; readonly ms: number }
  readonly fed: { readonly facts: number; readonly ms: number; readonly p95Ms: number }
  readonly tableBytes: number
  readonly summaryMs: ReadonlyArray<number>
  readonly monthlyMs: ReadonlyArray<number>
  readonly samples: number
}

const p99 = (values: ReadonlyArray<number>): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.99
  )

export const traffic = async (seconds = defaultSec): Promise<Result> => {
  const home = newHome()
  const order: TrafficOrder = { home, interfaces: 10_000, storedDays: 0.25, seconds }
  const child = startProgram("Traffic", order, { nodeArgs: ["--expose-gc"] })
  const found = await message<TrafficResult>(child, limitMs, "the ledger")
  await child.ended
  removeHome(home)
  const { built, fed, ledgerNs, monthlyMs, summaryMs, written } = found
  const sorted = [...ledgerNs].sort((a, b) => a - b)
  const perSec = ({ facts, ms }: { readonly facts: number; readonly ms: number }) => (facts * 1000) / ms
  return {
    figures: [
      { name: "traffic.ledger_us_per_interface", value: quantile(sorted, 0.5) / 1000, unit: "us" },
      { name: "traffic.facts_per_s", value: perSec(written), unit: "1/s" },
      { name: "traffic.summary_p99_ms", value: p99(summaryMs), unit: "ms" },
      { name: "traffic.monthly_p99_ms", value: p99(monthlyMs), unit: "ms" },
      { name: "traffic.p95_update_us", value: (fed.p95Ms * 1000) / fed.facts, unit: "us" },
      { name: "traffic.rebuild_facts_per_s", value: perSec(built), unit: "1/s" },
      { name: "traffic.mb_per_10000_interfaces", value: found.tableBytes / 1e6, unit: "MB" }
    ],
    notes: [
      `ledger: reports of eight interfaces every 3 s through the ledger of a node, ${found.ledgerFacts} facts completed; slowest of ${ledgerNs.length} rounds ${((sorted.at(-1) ?? 0) / 1000).toFixed(2)} us`,
      `facts: ${written.facts} written by the journal's writer in transactions of one fact per 500 interfaces, synchronous=FULL; ${(written.bytes / written.facts).toFixed(0)} B each on disk`,
      `rebuild: ${built.facts} facts of ${order.interfaces} interfaces read back into both tables`,
      `the rest of the month, ${fed.facts} facts, was handed to both tables as commits hand them: ${((fed.ms * 1000) / fed.facts).toFixed(2)} us each in totals and percentiles`,
      `memory: heap and buffers of both tables after a collection, ${found.samples} samples per interface`,
      `${summaryMs.length} summaries and ${monthlyMs.length} answers of twelve months of random interfaces, from the query to the text of the answer, without HTTP; the months before are snapshots on disk`
    ]
  }
}
