// Watches the machine itself: how long each of its cores stood, as a guest's cores do when the host has others to serve.
import { availableParallelism } from "node:os"
import { type Child, kill, message } from "./Children.ts"
import type { Stop } from "./Turns.ts"
import { startProgram } from "./Workshop.ts"

/** The system puts them where it likes: with two for each core hardly one is left without. */
const perCore = 2
/** Beyond this watching would be work; what is missed counts as the service's own. */
const pulsesMax = 16

export interface Pulses {
  /** The stops since the last time it was asked for. */
  readonly stops: () => Promise<ReadonlyArray<Stop>>
  readonly end: () => Promise<void>
}

export const startPulses = (): Pulses => {
  const count = Math.min(pulsesMax, perCore * availableParallelism())
  const children: ReadonlyArray<Child> = Array.from({ length: count }, () => startProgram("Pulse", {}))
  return {
    stops: async () => {
      const asked = children.map((child) => {
        const told = message<ReadonlyArray<Stop>>(child, 30_000, "a pulse")
        child.process.send({})
        return told
      })
      return (await Promise.all(asked)).flat()
    },
    end: async () => {
      await Promise.all(children.map(kill))
    }
  }
}
