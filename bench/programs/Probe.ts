// Loaded into the service before it starts: measures how long its event loop was held, and tells its parent when asked.
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Blocks } from "../history/Block.ts"

const resolutionMs = 1

const loop = monitorEventLoopDelay({ resolution: resolutionMs })
loop.enable()

const block = (ns: number): number => Math.max(0, ns / 1e6 - resolutionMs)

/** Every message is answered with what was seen since the last one. */
process.on("message", () => {
  const found: Blocks = { maxMs: block(loop.max), p99Ms: block(loop.percentile(99)) }
  loop.reset()
  process.send?.(found)
})
// The service ends when it is told to, whether its parent listens or not.
process.channel?.unref()
