// Watches the machine itself: how long each of its cores stood, as a guest's cores do when the host has others to serve.
import { spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { type Child, kill, message } from "./Children.ts"
import type { Stop } from "./Turns.ts"
import { startProgram } from "./Workshop.ts"

/** Where they cannot be kept on their cores, the system puts them where it likes: with two for each hardly one is left out. */
const perCore = 2
/** Beyond this watching would be work; what is missed counts as the service's own. */
const pulsesMax = 16

export interface Pulses {
  /** The stops since the last time it was asked for. */
  readonly stops: () => Promise<ReadonlyArray<Stop>>
  readonly end: () => Promise<void>
}

/** Keeps a process on one core; false when the system has no command for it, or does not let us. */
const keptOn = (core: number, child: Child): boolean =>
  spawnSync("taskset", ["-a", "-c", "-p", String(core), String(child.process.pid)]).status === 0

/** One for each core; otherwise the system may put all of them on the same, and what happens to the others is missed. */
const started = (): ReadonlyArray<Child> => {
  const cores = Math.min(pulsesMax, availableParallelism())
  const children = Array.from({ length: cores }, () => startProgram("Pulse", {}))
  if (children.every((child, core) => keptOn(core, child))) return children
  const more = Math.min(pulsesMax, perCore * cores) - cores
  return [...children, ...Array.from({ length: more }, () => startProgram("Pulse", {}))]
}

export const startPulses = (): Pulses => {
  const children = started()
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
