// Owns the count of a vitest run, written as JSON to the file that WATCHPOST_TEST_SUMMARY names.

/**
 * Counts one run. A file that could not be loaded, a failing hook and an error outside every test are failures too,
 * though no test case carries them.
 * @returns {{ passed: number, failed: number, skipped: number }}
 */
export const count = (modules, errors) => {
  const summary = { passed: 0, failed: errors.length, skipped: 0 }
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      summary[state === "pending" ? "failed" : state] += 1
    }
    summary.failed += [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length
  }
  return summary
}

/** A vitest reporter that prints nothing. */
export default class Reporter {
  async onTestRunEnd(modules, errors) {
    const { writeFileSync } = await import("node:fs")
    const file = process.env.WATCHPOST_TEST_SUMMARY
    if (file) writeFileSync(file, JSON.stringify(count(modules, errors)))
  }
}
