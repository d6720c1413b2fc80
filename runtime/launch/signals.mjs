// Owns how often a stop signal counts. Loaded into the server before its program.
// One Ctrl-C reaches it up to three times (the terminal signals the whole group, npm and start.mjs forward it), and the
// program's own listener goes away with the first, so the second would end it in the middle of its orderly stop.
import { constants } from "node:os"

// The copies of one key press arrive within milliseconds; a person who means "now" needs longer to press again.
const SAME_REQUEST_MS = 1_000

let firstAtMs

const onSignal = (signal) => {
  const code = 128 + constants.signals[signal]
  if (process.listenerCount(signal) === 1 && firstAtMs === undefined) process.exit(code)
  const nowMs = performance.now()
  firstAtMs ??= nowMs
  if (nowMs - firstAtMs > SAME_REQUEST_MS) process.exit(code)
}

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, onSignal)
