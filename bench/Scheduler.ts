// What the system's scheduler says of the main thread of this process.
import { openSync, readSync } from "node:fs"

const account = openSync("/proc/self/schedstat", "r")
const state = openSync("/proc/self/stat", "r")
const text = Buffer.alloc(1024)
const readText = (file: number): string => text.toString("latin1", 0, readSync(file, text, 0, text.length, 0))

/** Milliseconds that it computed, and that it stood ready while others had the cores; some 5 µs. */
export const spent = (): { readonly cpuMs: number; readonly queuedMs: number } => {
  const [cpu, queued] = readText(account).split(" ")
  return { cpuMs: Number(cpu) / 1e6, queuedMs: Number(queued) / 1e6 }
}

/** Where the core stands among the fields behind the name. */
const coreField = 36

/** The core it runs on; some 15 µs. */
export const core = (): number => {
  const line = readText(state)
  return Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[coreField])
}

const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** Milliseconds on the machine's own clock, the same in all its processes. */
export const machineMs = (): number => performance.now() + offsetMs
