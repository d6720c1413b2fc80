// A process that only wants to run every other millisecond, before all others: when it cannot, its core stands.
import { constants, setPriority } from "node:os"
import { core, machineMs, spent } from "../Scheduler.ts"
import type { Stop } from "../Turns.ts"

const everyMs = 2
/** Timers are late by up to a millisecond on a machine that is well; what is counted begins behind it. */
const slackMs = 1
/** Shorter ones are noise. */
const stopMsMin = 1
/** More than a machine in ruins would have between two questions. */
const stopsMax = 20_000

try {
  setPriority(constants.priority.PRIORITY_HIGHEST)
} catch {
  // Not everybody may: then the time in which it waited for its turn is still subtracted.
}

let stops: Array<Stop> = []
let last = machineMs()
let queued = spent().queuedMs
let on = core()
setInterval(() => {
  const now = machineMs()
  const { queuedMs } = spent()
  const fromMs = last + everyMs + slackMs
  const toMs = now - (queuedMs - queued)
  // The timer was set on the core on which this process ran before it slept.
  if (toMs - fromMs >= stopMsMin && stops.length < stopsMax) stops.push({ fromMs, toMs, core: on })
  on = core()
  queued = queuedMs
  last = machineMs()
}, everyMs)

process.on("message", () => {
  process.send?.(stops)
  stops = []
})
process.on("disconnect", () => process.exit())
