// Owns `npm run check`: every static check of the repository, all of them run even where one fails.
import { spawn } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { judge, projectOf } from "./effect.mjs"
import { elapsed, install, requireNode, root } from "./install.mjs"

// Two cores are the smallest machine this is meant for; more processes at once would only take turns.
const PARALLEL = 2

const cache = join(root, "node_modules/.cache")

const run = (script, ...args) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, "node_modules", script), ...args], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text))
    child.on("error", (error) => resolve({ ok: false, stdout, output: String(error) }))
    child.on("close", (code) => resolve({ ok: code === 0, stdout, output: stdout + stderr }))
  })

const effect = async () => {
  const args = ["diagnostics", "--project", projectOf(cache), "--severity", "error", "--format", "json"]
  const { stdout, output } = await run("@effect/language-service/cli.js", ...args)
  return stdout === "" ? { ok: false, output } : judge(stdout)
}

const tsc = () =>
  run("typescript/bin/tsc", "--noEmit", "--incremental", "--tsBuildInfoFile", join(cache, "tsc/tsconfig.tsbuildinfo"))

const tscWeb = () => run("typescript/bin/tsc", "-p", "test/web", "--noEmit")
const svelte = () => run("svelte-check/bin/svelte-check", "--tsconfig", "src/web/tsconfig.json", "--fail-on-warnings")

// The longest first, so that the short ones fill the gap at the end.
const checks = [
  { name: "effect diagnostics", start: effect },
  { name: "tsc", start: tsc },
  { name: "tsc of the page's tests", start: tscWeb },
  { name: "svelte-check", start: svelte, needs: "src/web/index.html" },
  {
    name: "architecture",
    start: () =>
      run(
        "vitest/vitest.mjs",
        "run",
        "--config",
        "test/vitest.config.ts",
        "--reporter=dot",
        "test/architecture.test.ts"
      )
  },
  { name: "prettier", start: () => run("prettier/bin/prettier.cjs", "--check", "--log-level", "warn", ".") },
  { name: "oxlint", start: () => run("oxlint/bin/oxlint", "--deny-warnings") }
]

const perform = async ({ name, start, needs }) => {
  if (needs !== undefined && !existsSync(join(root, needs))) {
    process.stdout.write(`skip  ${name}: there is no ${needs}\n`)
    return true
  }
  const startedAt = performance.now()
  const { ok, output } = await start()
  process.stdout.write(`${ok ? "ok  " : "FAIL"}  ${name}  ${elapsed(startedAt)}\n`)
  if (!ok) process.stdout.write(`${output.trim().replace(/^/gm, "      ")}\n`)
  return ok
}

const performAll = async () => {
  const waiting = [...checks]
  const failed = []
  const work = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (!(await perform(check))) failed.push(check.name)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  return failed
}

requireNode()
install()
mkdirSync(cache, { recursive: true })
const startedAt = performance.now()
const failed = await performAll()
const verdict = failed.length === 0 ? "every check passed" : `failed: ${failed.join(", ")}`
process.stdout.write(`${verdict}  ${elapsed(startedAt)}\n`)
process.exitCode = failed.length === 0 ? 0 : 1
