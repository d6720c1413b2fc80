// Owns the processes that a run starts: each ends with the run, whatever ends the run.
import { type ChildProcess, spawn } from "node:child_process"

/** The last bytes of what a process said, for the message when it fails. */
const saidMax = 4000

const running = new Set<ChildProcess>()

/** Kills whatever still runs; synchronous, so that it also serves at exit. */
export const killAll = (): void => {
  for (const child of running) child.kill("SIGKILL")
}

export interface Child {
  readonly process: ChildProcess
  readonly pid: number
  /** Resolves when the process is over, with how it ended. */
  readonly ended: Promise<string>
  /** The end of its output so far, both streams. */
  readonly said: () => string
  /** Calls back with each piece of standard output. */
  readonly onOutput: (use: (text: string) => void) => void
}

export interface StartOptions {
  readonly nodeArgs?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Opens a message channel; the child is to end when it closes. */
  readonly ipc?: boolean
}

/** Starts a script under this Node with nothing in its environment but PATH and `env`. */
export const start = (file: string, args: ReadonlyArray<string>, options: StartOptions = {}): Child => {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), file, ...args], {
    stdio: ["ignore", "pipe", "pipe", ...(options.ipc === true ? (["ipc"] as const) : [])],
    env: { PATH: process.env["PATH"], ...options.env }
  })
  if (child.pid === undefined) throw new Error(`${file} could not be started`)
  running.add(child)
  let tail = ""
  const keep = (text: string): void => {
    tail = (tail + text).slice(-saidMax)
  }
  child.stdout?.setEncoding("utf8").on("data", keep)
  child.stderr?.setEncoding("utf8").on("data", keep)
  const ended = new Promise<string>((resolve) => {
    child.on("exit", (code, signal) => {
      running.delete(child)
      resolve(signal ?? `code ${code}`)
    })
    child.on("error", (cause) => resolve(cause.message))
  })
  return {
    process: child,
    pid: child.pid,
    ended,
    said: () => tail,
    onOutput: (use) => void child.stdout?.on("data", use)
  }
}

export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends a process in order, with its profile written if it writes one; by force after `graceMs`. */
export const stop = async (child: Child, graceMs = 10_000): Promise<void> => {
  child.process.kill("SIGTERM")
  const over = await Promise.race([child.ended.then(() => true), delay(graceMs).then(() => false)])
  if (!over) await kill(child)
}

export const kill = async (child: Child): Promise<void> => {
  child.process.kill("SIGKILL")
  await child.ended
}

/** Waits for `value` at most `limitMs`; fails when the child ends first, with the end of what it said. */
export const before = async <A>(child: Child, limitMs: number, what: string, value: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${limitMs / 1000} s\n${child.said()}`)), limitMs)
  })
  const died = child.ended.then((how) => {
    throw new Error(`${what}: the process ended with ${how}\n${child.said()}`)
  })
  try {
    return await Promise.race([value, late, died])
  } finally {
    clearTimeout(timer)
  }
}

/** The child's next message. */
export const message = <A>(child: Child, limitMs: number, what: string): Promise<A> =>
  before(child, limitMs, what, new Promise<A>((resolve) => child.process.once("message", (sent) => resolve(sent as A))))
