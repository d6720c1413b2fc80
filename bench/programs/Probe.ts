// Loaded into the service before it starts: measures how long its event loop was held, and tells its parent when asked.
import { openSync, readSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { type Blocks, overMs, type Turn } from "../Turns.ts"

const resolutionMs = 1
/** Every look reads the scheduler's account of the main thread, some 5 µs. */
const lookMs = 2

const loop = monitorEventLoopDelay({ resolution: resolutionMs })
loop.enable()

const block = (ns: number): number => Math.max(0, ns / 1e6 - resolutionMs)

const account = openSync("/proc/self/schedstat", "r")
const text = Buffer.alloc(128)
/** Milliseconds that the main thread computed, and that it stood ready while others had the cores. */
const spent = (): { readonly cpuMs: number; readonly queuedMs: number } => {
  const [cpu, queued] = text.toString("latin1", 0, readSync(account, text, 0, 128, 0)).split(" ")
  return { cpuMs: Number(cpu) / 1e6, queuedMs: Number(queued) / 1e6 }
}

let longest: Turn = { heldMs: 0, cpuMs: 0, queuedMs: 0 }
let over = 0
let lookedAt = performance.now()
let before = spent()
setInterval(() => {
  const now = performance.now()
  const { cpuMs, queuedMs } = spent()
  const waited = queuedMs - before.queuedMs
  const heldMs = Math.max(0, now - lookedAt - lookMs - waited)
  if (heldMs > overMs) over++
  if (heldMs > longest.heldMs) longest = { heldMs, cpuMs: cpuMs - before.cpuMs, queuedMs: waited }
  lookedAt = now
  before = { cpuMs, queuedMs }
}, lookMs).unref()

/** Every message is answered with what was seen since the last one. */
process.on("message", () => {
  const found: Blocks = {
    maxMs: block(loop.max),
    p99Ms: block(loop.percentile(99)),
    p999Ms: block(loop.percentile(99.9)),
    over,
    longest
  }
  over = 0
  longest = { heldMs: 0, cpuMs: 0, queuedMs: 0 }
  loop.reset()
  process.send?.(found)
})
// The service ends when it is told to, whether its parent listens or not.
process.channel?.unref()
