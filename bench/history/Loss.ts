// What twenty queries a second take from the intake: the reports per second of CPU with them, by those without.
import { kill, message, stop } from "../Children.ts"
import type { Fleet } from "../Fleet.ts"
import { median, type Result } from "../Figures.ts"
import { connections, slice } from "../Ingest.ts"
import { startService } from "../Service.ts"
import { startProgram } from "../Workshop.ts"
import { asking, waitingMax, warmAsker } from "./Asking.ts"
import { pageQueries } from "./Asker.ts"
import type { FillResult } from "./Filling.ts"
import { roomy } from "./Room.ts"

const queriesPerSec = 20
/** Many short ones, summed up: single pairs differ by a tenth on a shared machine. */
const pairs = 20

const total = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0)

export const loss = async (home: string, fleet: Fleet, { series }: FillResult, seconds: number): Promise<Result> => {
  const service = await startService(home, { env: roomy })
  const load = startProgram("Load", fleet)
  await message(load, 30_000, "the generator")
  const asker = await warmAsker(service.port, series, waitingMax)
  const measureMs = (seconds * 1000) / (pairs * 2)
  const seen = { asked: 0, left: 0, taken: [] as Array<number> }
  const perCpu = { plain: [] as Array<number>, asked: [] as Array<number> }
  const plain = async (): Promise<void> => {
    perCpu.plain.push((await slice(load, service, perCpu.plain.length === 0, measureMs)).perCpu)
  }
  const asked = async (): Promise<void> => {
    const queries = asking(asker, queriesPerSec)
    perCpu.asked.push((await slice(load, service, false, measureMs)).perCpu)
    queries.stop()
    seen.asked += queries.figures.asked
    seen.left += queries.figures.left
    seen.taken.push(...queries.taken)
  }
  // Each comes first in half of the pairs, so that what grows meanwhile weighs on both alike.
  for (let i = 0; i < pairs; i++) for (const part of i % 2 === 0 ? [plain, asked] : [asked, plain]) await part()
  asker.close()
  await Promise.all([stop(service.child), kill(load)])
  const ratios = perCpu.asked.map((rate, i) => rate / (perCpu.plain[i] as number))
  const list = (values: ReadonlyArray<number>, digits: number) => values.map((one) => one.toFixed(digits)).join(", ")
  return {
    figures: [
      { name: "history.ingest_ratio_under_queries", value: total(perCpu.asked) / total(perCpu.plain), unit: "" }
    ],
    notes: [
      `the bare server of \`ingest\` stands in both ratios and cancels out; ${fleet.count} nodes, ${connections} connections, ${pairs} pairs of 2 x ${(measureMs / 1000).toFixed(1)} s, the service saturated throughout`,
      `all slices with queries by all without; each pair: ${list(ratios, 3)}; reports per second of CPU without ${list(perCpu.plain, 0)}, with ${list(perCpu.asked, 0)}`,
      `${seen.asked} queries at ${queriesPerSec}/s, ${pageQueries} in a row for a node and range, as a page asks; half of them answered within ${median(seen.taken).toFixed(0)} ms${seen.left === 0 ? "" : `; ${seen.left} left out because ${waitingMax} were waiting`}`
    ]
  }
}
