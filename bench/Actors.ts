// What a node costs while nothing happens, and what one turn of it takes.
import { message, stop } from "./Children.ts"
import type { Fleet } from "./Fleet.ts"
import type { Result } from "./Figures.ts"
import { seed } from "./Seed.ts"
import { newHome, removeHome, startProgram } from "./Workshop.ts"

/** Of the turns; the memory takes what starting twice takes. */
const defaultSec = 10

export interface MemoryOrder {
  readonly kind: "memory"
  readonly home: string
}
export interface MemoryResult {
  readonly actors: number
  readonly heapUsed: number
  /** Memory behind typed arrays and buffers included. */
  readonly external: number
  readonly rss: number
}
export interface TurnsOrder {
  readonly kind: "turns"
  readonly fleet: Fleet
  readonly seconds: number
}
export interface TurnsResult {
  readonly turns: number
  /** Mean of one turn: changes, vector, step, offer. */
  readonly turnUs: number
  /** Mean of what follows its commit: the view is published and the agent answered. */
  readonly settleUs: number
  /** Mean of what comes before it: text to checked report. */
  readonly readUs: number
}

const perform = async <A>(order: MemoryOrder | TurnsOrder, limitMs: number): Promise<A> => {
  const child = startProgram("Actors", order, { nodeArgs: ["--expose-gc"] })
  const found = await message<A>(child, limitMs, "the actors")
  await stop(child)
  return found
}

const memory = async (fleet: Fleet): Promise<MemoryResult> => {
  const home = newHome()
  await seed(home, fleet)
  const found = await perform<MemoryResult>({ kind: "memory", home }, 60_000)
  removeHome(home)
  return found
}

export const actors = async (fleet: Fleet, seconds = defaultSec): Promise<Result> => {
  const none = await memory({ ...fleet, count: 0 })
  const all = await memory(fleet)
  if (all.actors !== fleet.count) throw new Error(`only ${all.actors} of ${fleet.count} actors run`)
  const order: TurnsOrder = { kind: "turns", fleet, seconds }
  const turns = await perform<TurnsResult>(order, seconds * 1000 + 60_000)
  const perNode = (part: (found: MemoryResult) => number): number => (part(all) - part(none)) / fleet.count
  const bytes = perNode(({ external, heapUsed }) => heapUsed + external)
  return {
    figures: [
      { name: "actors.bytes_per_node", value: bytes, unit: "B" },
      { name: "actors.turn_us", value: turns.turnUs, unit: "us" }
    ],
    notes: [
      `bytes: used heap and external memory after forced collection, ${fleet.count} nodes that never reported against none, roster included`,
      `by resident memory: ${perNode(({ rss }) => rss).toFixed(0)} B`,
      `${turns.turns} turns over ${fleet.count} nodes with a journal that keeps nothing; before each, reading and checking its text took ${turns.readUs.toFixed(1)} us; after its commit, publishing and answering took ${turns.settleUs.toFixed(2)} us`
    ]
  }
}
