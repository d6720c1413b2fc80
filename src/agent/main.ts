// The program monitor-node: wires arguments, environment, signals and terminal to runAgent.
import { createInterface } from "node:readline/promises"
import { type AgentIo, runAgent } from "./Program.ts"

/** Below the second within which a stop must be over, above what closing connections takes. */
const exitLimitMs = 500

const stop = new AbortController()
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort())

/** The parent holds the other end of our standard input; when it dies, however it dies, the pipe closes. */
const isWatchingParent = process.env["MONITOR_NODE_PARENT_WATCH"] === "1"
if (isWatchingParent) {
  for (const event of ["end", "close", "error"]) process.stdin.on(event, () => stop.abort())
  process.stdin.resume()
}

// A reader that went away must not turn a log line into a crash.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)

const ask = async (question: string): Promise<string> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await terminal.question(question, { signal: stop.signal })
  } finally {
    terminal.close()
  }
}

const io: AgentIo = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  ask: process.stdin.isTTY && !isWatchingParent ? ask : null,
  signal: stop.signal,
  platform: process.platform,
  arch: process.arch,
  ca: null
}

/**
 * Ends the process even when something keeps the event loop alive. The runtime waits for its threads at an exit, and a
 * thread may be stuck in a dead mount for ever; then only the default action of a signal ends the process in time.
 */
const leave = (code: number): void => {
  process.exitCode = code
  process.stdin.destroy()
  setTimeout(() => {
    const isStuck = process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"))
    if (!isStuck) process.exit(code)
    process.removeAllListeners("SIGTERM")
    process.kill(process.pid, "SIGTERM")
  }, exitLimitMs).unref()
}

leave(await runAgent(process.argv.slice(2), process.env, io))
