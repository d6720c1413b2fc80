// What the agent says while it runs: plain lines, debug lines, and one line a minute from a target in trouble.
import type { Clock } from "./Clock.ts"

export interface Log {
  /** Said once or rarely. */
  readonly warn: (line: string) => void
  /** Said only with --debug. */
  readonly debug: (line: string) => void
}

/** Writes lines to standard error; the service manager adds the time. */
export const makeLog = (write: (text: string) => void, isDebug: boolean): Log => ({
  warn: (line) => write(`monitor-node: ${line}\n`),
  debug: (line) => {
    if (isDebug) write(`monitor-node: debug: ${line}\n`)
  }
})

/** Lets one line pass per `everyMs` and tells with the next one how many were left out. */
export const makeThrottle = (
  clock: Clock,
  everyMs: number,
  write: (line: string) => void
): ((line: string) => void) => {
  let nextMs = Number.NEGATIVE_INFINITY
  let leftOut = 0
  return (line) => {
    const nowMs = clock.monotonicMs()
    if (nowMs < nextMs) {
      leftOut += 1
      return
    }
    write(leftOut > 0 ? `${line} (${leftOut} more since the last line)` : line)
    nextMs = nowMs + everyMs
    leftOut = 0
  }
}
