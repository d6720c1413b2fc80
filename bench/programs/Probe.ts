// Loaded into the service before it starts: measures how long its event loop was held, and tells its parent when asked.
import { monitorEventLoopDelay } from "node:perf_hooks"
import { core, machineMs, spent } from "../Scheduler.ts"
import { type Blocks, longMs, type Turn } from "../Turns.ts"

const resolutionMs = 1
/** Every look asks the scheduler twice, some 20 µs. */
const lookMs = 2
/** More than a bench lasts; what is beyond is left out. */
const longMax = 20_000

const loop = monitorEventLoopDelay({ resolution: resolutionMs })
loop.enable()

const block = (ns: number): number => Math.max(0, ns / 1e6 - resolutionMs)

let long: Array<Turn> = []
let lookedAt = machineMs()
let before = spent()
let on = core()
setInterval(() => {
  const now = machineMs()
  const { cpuMs, queuedMs } = spent()
  const waited = queuedMs - before.queuedMs
  const heldMs = now - lookedAt - lookMs - waited
  const here = core()
  if (heldMs > longMs && long.length < longMax)
    long.push({ fromMs: lookedAt, toMs: now, heldMs, cpuMs: cpuMs - before.cpuMs, queuedMs: waited, cores: [on, here] })
  on = here
  lookedAt = now
  before = { cpuMs, queuedMs }
}, lookMs).unref()

/** Every message is answered with what was seen since the last one. */
process.on("message", () => {
  const found: Blocks = {
    maxMs: block(loop.max),
    p99Ms: block(loop.percentile(99)),
    p999Ms: block(loop.percentile(99.9)),
    long
  }
  long = []
  loop.reset()
  process.send?.(found)
  // The answer is this probe's own work.
  lookedAt = machineMs()
  before = spent()
})
// The service ends when it is told to, whether its parent listens or not.
process.channel?.unref()
