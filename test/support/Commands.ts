// Owns the program's other commands as child processes, and homes with acknowledged reports in them.
import { type ChildProcess, spawn } from "node:child_process"
import { cpSync } from "node:fs"
import { fileURLToPath } from "node:url"
import Sqlite from "better-sqlite3"
import { Fleet, seedHome } from "./Fleet.ts"
import { makeHome, sleep, start } from "./Program.ts"

/** `npm test` builds it before any test runs. */
const programFile = fileURLToPath(new URL("../../dist/watchpost.mjs", import.meta.url))

export interface Said {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}
export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Said>
}

/** Starts `watchpost` with these words on this home; `fileKilobytesMax` is the largest file it may write. */
export const begin = (home: string, words: ReadonlyArray<string>, fileKilobytesMax?: number): Running => {
  const env = { PATH: process.env["PATH"], NO_COLOR: "1", WATCHPOST_HOME: home }
  const line = [process.execPath, programFile, ...words]
  const child =
    fileKilobytesMax === undefined
      ? spawn(line[0] as string, line.slice(1), { env, stdio: ["ignore", "pipe", "pipe"] })
      : spawn("bash", ["-c", `trap '' XFSZ; ulimit -f ${fileKilobytesMax}; exec "$@"`, "limited", ...line], {
          env,
          stdio: ["ignore", "pipe", "pipe"]
        })
  let [stdout, stderr] = ["", ""]
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  const ended = new Promise<Said>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return { child, ended }
}

/** The same, to its end. */
export const command = (home: string, words: ReadonlyArray<string>, fileKilobytesMax?: number): Promise<Said> =>
  begin(home, words, fileKilobytesMax).ended

/** Everything acknowledged that lies in a database, as text that can be compared. */
export const contentsOf = (file: string) => {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    const all = (sql: string) => db.prepare(sql).raw().all() as ReadonlyArray<ReadonlyArray<unknown>>
    return {
      journal: all("SELECT seq, node_id, received_at, hex(vector), details FROM journal ORDER BY seq").map(String),
      checkpoints: all("SELECT node_id, seq, received_at, hex(vector), details FROM checkpoints").map(String),
      nodes: all("SELECT id, secret_digest, deleted_at FROM nodes ORDER BY id").map(String)
    }
  } finally {
    db.close()
  }
}

/** A home whose service took reports of some agents and was then ended by the signal. */
export const usedHome = async (signal: NodeJS.Signals, agents = 20, forMs = 1500): Promise<string> => {
  const home = makeHome()
  await seedHome(home, agents)
  const fleet = new Fleet({ agents, paceMs: 20, chance: Math.random })
  const program = start(home)
  fleet.run(await program.url)
  await sleep(forMs)
  program.kill(signal)
  await program.ended
  await fleet.stop()
  return home
}

/** A home like another one, as a kill at this moment would leave it. */
export const twinOf = (home: string): string => {
  const twin = makeHome()
  cpSync(home, twin, { recursive: true })
  return twin
}
