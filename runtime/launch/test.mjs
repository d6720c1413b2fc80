// Owns `npm test`: installs and builds what the tests need, runs them, and closes with one line "N passed, N failed".
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ensureBrowser } from "./browser.mjs"
import { install, requireNode, root, run, say } from "./install.mjs"
import { buildIfStale } from "./stamp.mjs"

const NOTHING_RAN = { passed: 0, failed: 1, skipped: 0 }

/** The last line of the run; the exit code is 0 exactly where it says "0 failed". */
const close = ({ passed, failed, skipped }) => {
  if (skipped > 0) say(`${skipped} skipped`)
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exitCode = failed > 0 ? 1 : 0
}

// The environment the tests see: which Chromium to drive, or that there is none. Undefined where CI lacks one.
const browserEnv = () => {
  const browser = ensureBrowser()
  if (browser !== undefined) return { CHROMIUM: browser }
  if (process.env.CI === "true") return undefined
  say("no Chromium found and none can be installed from here, so browser tests are skipped; set CHROMIUM to its path")
  return { WATCHPOST_NO_BROWSER: "1" }
}

// vitest's exit code also covers what no test reports, such as a worker that died, so it can only add a failure.
const readSummary = (file, code) => {
  try {
    const summary = JSON.parse(readFileSync(file, "utf8"))
    return code !== 0 && summary.failed === 0 ? { ...summary, failed: 1 } : summary
  } catch {
    return NOTHING_RAN
  }
}

const runTests = (env) => {
  const folder = mkdtempSync(join(tmpdir(), "watchpost-test-"))
  const file = join(folder, "summary.json")
  const reporters = ["--reporter=default", `--reporter=${join(root, "runtime/launch/reporter.mjs")}`]
  const args = ["run", "--config", "test/vitest.config.ts", ...reporters, ...process.argv.slice(2)]
  try {
    const code = run(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], {
      env: { ...process.env, ...env, WATCHPOST_TEST_SUMMARY: file }
    })
    return readSummary(file, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const test = () => {
  if (buildIfStale() !== 0) return NOTHING_RAN
  const env = browserEnv()
  if (env !== undefined) return runTests(env)
  say("CI needs a Chromium for the browser tests and none could be found or installed")
  return NOTHING_RAN
}

requireNode()
install()
close(test())
