// Owns the reading of Effect's own diagnostics: which of them fail the check. Severities stand in tsconfig.json.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { root } from "./install.mjs"

const FOLDERS = ["schema", "src", "runtime", "test", "bench"]
// The page runs no Effect, and is checked by its own compiler.
const isLeft = (path) => /^(src|test)\/web\//.test(path)
const usesEffect = (path) => /from "(effect|@effect\/)/.test(readFileSync(join(root, path), "utf8"))

/**
 * Writes a project of the files that use Effect and gives its path. The diagnostics take longer than all other checks
 * together and find nothing in the rest: clock, timers and environment there are the architecture test's.
 */
export const projectOf = (cache) => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => `${folder}/${name.split(sep).join("/")}`)
      .filter((path) => path.endsWith(".ts") && !isLeft(path) && usesEffect(path))
  )
  mkdirSync(join(cache, "effect"), { recursive: true })
  const project = join(cache, "effect/tsconfig.json")
  const paths = files.map((path) => join(root, path))
  writeFileSync(project, JSON.stringify({ extends: join(root, "tsconfig.json"), files: paths, include: [] }))
  return project
}

// Programs outside the server own their clock, timers and environment: they run on plain Node, not inside Effect.
const PLAIN_NODE = /^(test|bench|src\/agent)\//
const NODE_GLOBALS = new Set(["globalDate", "globalTimers", "processEnv", "newPromise"])

// Where Effect meets Node's own callbacks: a deadline of a socket, a child process or an event-loop turn is not a fiber's.
const NODE_BORDER = new Set([
  "runtime/JournalWriter.ts",
  "runtime/LocalNode.ts",
  "runtime/http/Answer.ts",
  "runtime/http/Listener.ts"
])

// `new Date(x)` converts a time that was handed in; only the call without an argument reads the clock.
const isConversion = (finding, code) => finding.name.startsWith("globalDate") && /^new Date\(\s*[^)\s]/.test(code)

const isAllowed = (finding, path, code) =>
  (PLAIN_NODE.test(path) && NODE_GLOBALS.has(finding.name)) ||
  (NODE_BORDER.has(path) && finding.name === "globalTimers") ||
  (path === "runtime/Config.ts" && finding.name === "processEnv") ||
  isConversion(finding, code)

/**
 * Judges the JSON report of `effect-language-service diagnostics`.
 * @returns {{ ok: boolean, output: string }} not ok where an error stands or where no file was looked at
 */
export const judge = (json) => {
  let report
  try {
    report = JSON.parse(json)
  } catch {
    return { ok: false, output: `no report could be read:\n${json}` }
  }
  const lines = report.diagnostics.flatMap((finding) => {
    const path = relative(root, finding.file).split(sep).join("/")
    const code = readFileSync(finding.file, "utf8").slice(finding.start, finding.start + finding.length)
    return isAllowed(finding, path, code)
      ? []
      : [`${path}:${finding.line}:${finding.column} ${finding.name}: ${finding.message}`]
  })
  if (report.summary.filesChecked === 0) lines.push("no file was checked")
  return { ok: lines.length === 0, output: lines.join("\n") }
}
