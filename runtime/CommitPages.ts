// Keeps in memory what commits change in place, a row of every node, and where free pages stand: none waits for the disk.
import { Effect, Layer, Schedule } from "effect"
import { commitAhead } from "../src/store/ReadAhead.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"
import { ReadAhead } from "./ReadAhead.ts"

/**
 * A node's checkpoint is written every 100 s, and a backup pushes 100 MB a second through the system's cache: what nobody
 * looks at for half a minute is gone by then. Looking at 10,000 nodes takes the thread some 10 ms.
 */
const every = Schedule.spaced("10 seconds")
/** Nodes looked at at once: others wait for the thread so long. */
const nodesAtOnce = 1000
/** Room for half a gigabyte: more than is written between two looks, and while a backup keeps the file as it is. */
const freePages = 128

const make = Effect.gen(function* () {
  const supervisor = yield* NodeSupervisor
  const { upkeep } = yield* ReadAhead
  const watch = (yield* FiberRegister).register("CommitPages", () => 0, 0)
  const round = Effect.gen(function* () {
    yield* upkeep.bring([{ freePages }])
    const ids = Array.from(supervisor.all(), ({ id }) => id).sort((a, b) => a - b)
    for (let at = 0; at < ids.length; at += nodesAtOnce) {
      const last = ids[Math.min(at + nodesAtOnce, ids.length) - 1]
      if (last !== undefined) yield* upkeep.bring(commitAhead(ids[at] ?? last, last))
    }
  })
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(round, every), Effect.never)))
})

export const layer = Layer.scopedDiscard(make)
