// Keeps in memory what commits change in place, so that none of them waits for the disk to read it: a row of every node.
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

const make = Effect.gen(function* () {
  const supervisor = yield* NodeSupervisor
  const { upkeep } = yield* ReadAhead
  const watch = (yield* FiberRegister).register("CommitPages", () => 0, 0)
  const round = Effect.gen(function* () {
    const ids = Array.from(supervisor.all(), ({ id }) => id).sort((a, b) => a - b)
    for (let at = 0; at < ids.length; at += nodesAtOnce) {
      const last = ids[Math.min(at + nodesAtOnce, ids.length) - 1]
      if (last !== undefined) yield* upkeep.bring(commitAhead(ids[at] ?? last, last))
    }
  })
  yield* Effect.forkScoped(supervised(watch, Effect.andThen(Effect.repeat(round, every), Effect.never)))
})

export const layer = Layer.scopedDiscard(make)
