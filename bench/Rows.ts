// What the journal writes: rows per second with everything it can get, and how long it holds the loop at fleet rate.
import { message, stop } from "./Children.ts"
import { type Fleet, intervalMs } from "./Fleet.ts"
import type { Result } from "./Figures.ts"
import { seed } from "./Seed.ts"
import { newHome, removeHome, startProgram } from "./Workshop.ts"

const defaultSec = 24

export interface RowsOrder {
  readonly home: string
  readonly nodes: number
  /** Of the flood. */
  readonly floodMs: number
  /** Of the fleet rate. */
  readonly steadyMs: number
  readonly rowsPerSec: number
}
export interface RowsResult {
  readonly floodRows: number
  readonly floodMs: number
  readonly steadyRows: number
  /** Longest delay of a due timer beyond its own millisecond. */
  readonly blockMs: number
  readonly blockP99Ms: number
  readonly commitMsMax: number
  readonly commits: number
}

export const rows = async (fleet: Fleet, seconds = defaultSec): Promise<Result> => {
  const home = newHome()
  await seed(home, fleet)
  const floodMs = (seconds * 1000) / 3
  const rowsPerSec = (fleet.count * 1000) / intervalMs
  const order: RowsOrder = { home, nodes: fleet.count, floodMs, steadyMs: seconds * 1000 - floodMs, rowsPerSec }
  const child = startProgram("Rows", order)
  const found = await message<RowsResult>(child, seconds * 1000 + 60_000, "the journal")
  await stop(child)
  removeHome(home)
  const rate = (found.floodRows * 1000) / found.floodMs
  return {
    figures: [
      { name: "journal.rows_per_s", value: rate, unit: "1/s" },
      { name: "journal.block_ms", value: found.blockMs, unit: "ms" }
    ],
    notes: [
      `${found.floodRows} rows of 800-byte vectors in ${(found.floodMs / 1000).toFixed(1)} s, offered as long as there was room; every 40th row of a node with a checkpoint`,
      `at ${rowsPerSec.toFixed(0)} rows/s for ${((seconds * 2) / 3).toFixed(0)} s: ${found.steadyRows} rows in ${found.commits} commits, longest ${found.commitMsMax.toFixed(1)} ms; 99 of 100 blocks below ${found.blockP99Ms.toFixed(1)} ms`
    ]
  }
}
