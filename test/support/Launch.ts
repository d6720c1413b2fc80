// Owns small throw-away repositories for the tests of the launch scripts: the real scripts over tiny programs.
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What a finished script left behind; `code` is null where a signal ended it. */
export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** One throw-away repository. */
export interface Repository {
  readonly root: string
  /** Writes one file, making its folders. */
  readonly write: (path: string, text: string) => void
  /** Starts `node runtime/launch/<script>` with a bare environment plus `env`. */
  readonly start: (script: string, options?: StartOptions) => Running
  /** Starts a script and waits for its end. */
  readonly run: (script: string, options?: StartOptions) => Promise<Outcome>
  readonly remove: () => void
}

export interface StartOptions {
  readonly args?: ReadonlyArray<string>
  readonly nodeArgs?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

/** A started script: `said` resolves once its standard output contains a text, `ended` when it is over. */
export interface Running {
  readonly child: ChildProcess
  readonly said: (text: string) => Promise<void>
  readonly ended: Promise<Outcome>
}

const COPIED = [
  "runtime/launch",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "test/vitest.config.ts",
  "test/support/LongestFirst.ts"
]

/** Makes a repository of the real launch scripts and `files`; its packages are this repository's own, by a link. */
export const makeRepository = (files: Readonly<Record<string, string>>, linkPackages = true): Repository => {
  const folder = mkdtempSync(join(tmpdir(), "watchpost-launch-"))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const path of COPIED) cpSync(join(root, path), join(folder, path), { recursive: true })
  if (linkPackages) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir")
  for (const [path, text] of Object.entries(files)) write(path, text)
  const start = (script: string, options: StartOptions = {}): Running => launch(folder, script, options)
  return {
    root: folder,
    write,
    start,
    run: (script, options) => start(script, options).ended,
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

const launch = (folder: string, script: string, { args = [], env = {}, nodeArgs = [] }: StartOptions): Running => {
  const child = spawn(process.execPath, [...nodeArgs, join(folder, "runtime/launch", script), ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder, ...env }
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
  const said = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => (stdout.includes(text) ? resolve() : undefined)
      look()
      child.stdout.on("data", look)
      child.on("close", () => reject(new Error(`ended without saying ${text}:\n${stdout}${stderr}`)))
    })
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })
  return { child, said, ended }
}
