// What sealing one node's stretch costs: from journal rows to a committed chunk, in the CPU time of its process.
import { message } from "../Children.ts"
import type { Fleet } from "../Fleet.ts"
import { median, quantile, type Result } from "../Figures.ts"
import { seed } from "../Seed.ts"
import { newHome, removeHome, startProgram } from "../Workshop.ts"
import { recordingFile } from "./Filling.ts"
import { kinds } from "./Nodes.ts"

/** Rows of a stretch: four minutes of reports every three seconds. */
export const stretchRows = 80

export interface SealOrder {
  readonly home: string
  readonly recording: string
  readonly seconds: number
}
export interface SealResult {
  /** Milliseconds of CPU of each seal: rows read, gathered and encoded. */
  readonly seals: ReadonlyArray<number>
  /** Mean of one chunk's share of its transaction, by round. */
  readonly writes: ReadonlyArray<number>
  readonly values: number
  readonly bytes: number
}

export const sealTime = async (fleet: Fleet, seconds: number): Promise<Result> => {
  const home = newHome()
  await seed(home, { ...fleet, count: kinds })
  const order: SealOrder = { home, recording: recordingFile, seconds }
  const child = startProgram("Seal", order)
  const found = await message<SealResult>(child, seconds * 1000 + 120_000, "the seals")
  await child.ended
  removeHome(home)
  const seal = median(found.seals)
  const write = median(found.writes)
  const sorted = [...found.seals].sort((a, b) => a - b)
  return {
    figures: [{ name: "history.seal_ms", value: seal + write, unit: "ms" }],
    notes: [
      `${found.seals.length} stretches of ${stretchRows} rows, ${(found.values / found.seals.length / stretchRows).toFixed(0)} series and ${(found.bytes / found.seals.length).toFixed(0)} B on average: ${seal.toFixed(2)} ms to read, gather and encode (99 of 100 within ${quantile(sorted, 0.99).toFixed(2)}), ${write.toFixed(2)} ms of a transaction over ${kinds}`
    ]
  }
}
