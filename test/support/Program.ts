// Owns the built program as a child process: starts it on a home of its own, reads what it says, ends it.
import { spawn, type ChildProcess } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** `npm test` builds it before any test runs. */
const programFile = fileURLToPath(new URL("../../dist/watchpost.mjs", import.meta.url))

/** A start on a busy machine takes some seconds; past this something is wrong. */
const startMs = 20_000

export type Environment = Readonly<Record<string, string>>

/** How a program ended; exactly one of `code` and `signal` is null. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** One run of the program. */
export interface Program {
  readonly child: ChildProcess
  /** Origin it listens on; resolves once it says so, rejects when it ends before. */
  readonly url: Promise<string>
  readonly ended: Promise<Ended>
  /** Everything said so far. */
  readonly said: () => { readonly stdout: string; readonly stderr: string }
  readonly kill: (signal: NodeJS.Signals) => void
}

const started = new Set<Program>()

/** Starts `watchpost serve` with a bare environment: a free port on the loopback address, without its own node. */
export const start = (home: string, env: Environment = {}): Program => {
  const child = spawn(process.execPath, [programFile, "serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      NO_COLOR: "1",
      WATCHPOST_HOME: home,
      WATCHPOST_LISTEN: "127.0.0.1:0",
      WATCHPOST_LOCAL_NODE: "off",
      ...env
    }
  })
  const text = { stdout: "", stderr: "" }
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, ...text }))
  })
  const url = new Promise<string>((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error(`not listening after ${startMs} ms: ${JSON.stringify(text)}`)),
      startMs
    )
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text.stderr += chunk))
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text.stdout += chunk
      const found = /is listening: (http:\S+)\n/.exec(text.stdout)?.[1]
      if (found !== undefined) {
        clearTimeout(late)
        resolve(found)
      }
    })
    void ended.then(({ code, signal }) => {
      clearTimeout(late)
      reject(new Error(`ended with ${signal ?? code} before it listened: ${JSON.stringify(text)}`))
    })
  })
  // Whoever only waits for the end does not care.
  url.catch(() => {})
  const program: Program = { child, url, ended, said: () => ({ ...text }), kill: (signal) => void child.kill(signal) }
  started.add(program)
  void ended.then(() => started.delete(program))
  return program
}

/** Starts the program and waits for its end by itself. */
export const run = (home: string, env: Environment = {}): Promise<Ended> => start(home, env).ended

/** Kills whatever a failed test left running. */
export const killAll = async (): Promise<void> => {
  const left = [...started]
  for (const { kill } of left) kill("SIGKILL")
  await Promise.all(left.map(({ ended }) => ended))
}

const homes = new Set<string>()

/** An empty data folder of its own. */
export const makeHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), "watchpost-home-"))
  homes.add(home)
  return home
}

export const removeHomes = (): void => {
  for (const home of homes) rmSync(home, { recursive: true, force: true })
  homes.clear()
}

/** Database file of a home. */
export const databaseOf = (home: string): string => join(home, "watchpost.db")

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
