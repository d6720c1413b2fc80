// Loaded into the service before it starts: measures how long its event loop was held, and tells its parent when asked.
import Sqlite from "better-sqlite3"
import { subscribe } from "node:diagnostics_channel"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { core, machineMs, spent } from "../Scheduler.ts"
import { type Blocks, longMs, type Slowest, type Turn } from "../Turns.ts"

const resolutionMs = 1
/** Every look asks the scheduler twice, some 20 µs. */
const lookMs = 2
/** More than a bench lasts; what is beyond is left out. */
const longMax = 20_000
const statementLengthMax = 80

const loop = monitorEventLoopDelay({ resolution: resolutionMs })
loop.enable()

const block = (ns: number): number => Math.max(0, ns / 1e6 - resolutionMs)

/** Milliseconds since the last look that statements of the database took, and portions of background work. */
let workedMs = 0
/** The statement that took longest since it was asked for. */
let slowest: Slowest = { ms: 0, statement: "" }
const took = (ms: number, source: unknown): void => {
  workedMs += ms
  if (ms > slowest.ms) slowest = { ms, statement: String(source).replace(/\s+/g, " ").slice(0, statementLengthMax) }
}
const timed = (target: object, name: string): void => {
  const was: unknown = Reflect.get(target, name)
  if (typeof was !== "function") throw new Error(`the library has no ${name}`)
  Reflect.set(target, name, function (this: { source?: unknown }, ...args: ReadonlyArray<unknown>): unknown {
    const from = performance.now()
    try {
      return Reflect.apply(was, this, args)
    } finally {
      took(performance.now() - from, this.source ?? args[0])
    }
  })
}
const empty = new Sqlite(":memory:")
for (const name of ["get", "all", "run"]) timed(Object.getPrototypeOf(empty.prepare("SELECT 1")) as object, name)
timed(Object.getPrototypeOf(empty) as object, "exec")
empty.close()
// A portion's own statements are counted twice: rather too much than too little.
subscribe("watchpost:portion", (ms) => {
  workedMs += Number(ms)
})

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
  if (heldMs > longMs && long.length < longMax) {
    const cores = [on, here]
    long.push({ fromMs: lookedAt, toMs: now, heldMs, cpuMs: cpuMs - before.cpuMs, queuedMs: waited, workedMs, cores })
  }
  workedMs = 0
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
    long,
    slowest
  }
  long = []
  slowest = { ms: 0, statement: "" }
  loop.reset()
  process.send?.(found)
  // The answer is this probe's own work.
  lookedAt = machineMs()
  before = spent()
  workedMs = 0
})
// The service ends when it is told to, whether its parent listens or not.
process.channel?.unref()
