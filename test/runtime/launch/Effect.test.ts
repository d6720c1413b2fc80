// Owns the proof of which Effect diagnostics fail the check.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

interface Verdict {
  readonly ok: boolean
  readonly output: string
}

// The launch scripts are plain JavaScript, so their types are written down here.
const script: string = new URL("../../../runtime/launch/effect.mjs", import.meta.url).href
const { judge } = (await import(script)) as { readonly judge: (json: string) => Verdict }

const report = (name: string, path: string, code: string, filesChecked = 1): string => {
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url))
  const start = readFileSync(file, "utf8").indexOf(code)
  const finding = { file, start, length: code.length, line: 1, column: 1, name, message: "said" }
  return JSON.stringify({ diagnostics: [finding], summary: { filesChecked } })
}

const here = "test/runtime/launch/Effect.test.ts"

describe("Effect's diagnostics", () => {
  it.each([
    ["a report that is no report", "no files"],
    ["a report about no file", JSON.stringify({ diagnostics: [], summary: { filesChecked: 0 } })],
    ["a floating effect in a test", report("floatingEffect", here, "import")],
    ["a clock inside Effect in a test", report("globalDateInEffect", here, "import")],
    ["a clock in the server", report("globalDate", "runtime/launch/build.mjs", "Date.now()")]
  ])("fail on %s", (_, json) => {
    expect(judge(json).ok).toBe(false)
  })

  it("name the place and the rule", () => {
    expect(judge(report("newPromise", "runtime/launch/check.mjs", "new Promise")).output).toBe(
      "runtime/launch/check.mjs:1:1 newPromise: said"
    )
  })

  it.each([
    ["a timer in a test", report("globalTimers", here, "import")],
    ["a converted date", report("globalDate", here, "new Date(0)")],
    ["a date converted inside Effect", report("globalDateInEffect", here, "new Date(0)")]
  ])("pass %s", (_, json) => {
    expect(judge(json)).toEqual({ ok: true, output: "" })
  })
})
