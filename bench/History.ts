// History: what it costs to seal, store and read, and what it takes from everything else, with a month behind it.
import type { Fleet } from "./Fleet.ts"
import type { Result } from "./Figures.ts"
import { block } from "./history/Block.ts"
import { filled, sizes } from "./history/Filling.ts"
import { loss } from "./history/Loss.ts"
import { queries } from "./history/Queries.ts"
import { sealTime } from "./history/SealTime.ts"
import { newHome, removeHome } from "./Workshop.ts"

/** Of each timed part; filling the database comes on top. The last takes a minute's seals and a backup. */
const defaultSec = { seal: 8, queries: 24, loss: 80, block: 120 }

/** `seconds` is the length of every timed part. Parts that need a history share one home, the gentle ones first. */
export const history = async (fleet: Fleet, seconds?: number): Promise<Result> => {
  const home = newHome()
  const parts: Array<Result> = [await sealTime(fleet, seconds ?? defaultSec.seal)]
  const found = await filled(home, fleet)
  parts.push(sizes(found))
  parts.push(await queries(home, found, seconds ?? defaultSec.queries))
  parts.push(await loss(home, fleet, found, seconds ?? defaultSec.loss))
  parts.push(await block(home, fleet, found, seconds ?? defaultSec.block))
  removeHome(home)
  return { figures: parts.flatMap(({ figures }) => figures), notes: parts.flatMap(({ notes }) => notes) }
}
