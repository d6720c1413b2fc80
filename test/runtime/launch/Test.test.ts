// Owns the proof that `npm test` counts honestly and closes with its one line.
import { afterEach, describe, expect, it } from "vitest"
import type { Outcome, Repository } from "../../support/Launch.ts"
import { makeRepository } from "../../support/Launch.ts"

const programs = { "runtime/main.ts": "process.exit(0)", "src/agent/main.ts": "process.exit(0)" }

const PASSING = `
import { expect, it } from "vitest"
it("passes", () => expect(process.env.CHROMIUM).toBe("/bin/true"))
it.skip("is skipped", () => {})
it("knows the version", () => expect(typeof __WATCHPOST_VERSION__).toBe("string"))`

let repository: Repository

const test = (
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {}
): Promise<Outcome> => {
  repository = makeRepository({ ...programs, ...files })
  return repository.run("test.mjs", { env: { CHROMIUM: "/bin/true", ...env } })
}

const lastLine = ({ stdout }: Outcome): string | undefined => stdout.trimEnd().split("\n").at(-1)

afterEach(() => repository.remove())

// Each case starts a build and a second vitest.
describe("npm test", { timeout: 60_000 }, () => {
  it("counts failed tests, files that do not load, failing hooks and stray errors", async () => {
    const outcome = await test({
      "test/Good.test.ts": PASSING,
      "test/Bad.test.ts": `import { expect, it } from "vitest"\nit("fails", () => expect(1).toBe(2))`,
      "test/Broken.test.ts": `import "./Absent.ts"`,
      "test/Hook.test.ts": `import { afterAll, it } from "vitest"\nit("ok", () => {})\nafterAll(() => { throw new Error("x") })`,
      "test/Stray.test.ts": `import { it } from "vitest"\nit("ok", () => { Promise.reject(new Error("nobody waits")) })`
    })

    expect(lastLine(outcome)).toBe("4 passed, 4 failed")
    expect(outcome.code).toBe(1)
  })

  it("fails where no test was found", async () => {
    const outcome = await test({})

    expect([lastLine(outcome), outcome.code]).toEqual(["0 passed, 1 failed", 1])
  })

  it("fails before any test where the build fails", async () => {
    const outcome = await test({ "test/Good.test.ts": PASSING, "runtime/main.ts": "const = broken" })

    expect([lastLine(outcome), outcome.code]).toEqual(["0 passed, 1 failed", 1])
  })

  it("fails in CI where no Chromium runs", async () => {
    const outcome = await test({ "test/Good.test.ts": PASSING }, { CHROMIUM: "/nowhere/chromium", CI: "true" })

    expect([lastLine(outcome), outcome.code]).toEqual(["0 passed, 1 failed", 1])
    expect(outcome.stdout).toContain("CHROMIUM is /nowhere/chromium, which does not run")
  })

  it("tells tests outside CI that there is no Chromium", async () => {
    const file = `import { expect, it } from "vitest"\nit("x", () => expect(process.env.WATCHPOST_NO_BROWSER).toBe("1"))`

    const outcome = await test({ "test/Good.test.ts": file }, { CHROMIUM: "/nowhere/chromium" })

    expect([lastLine(outcome), outcome.code]).toEqual(["1 passed, 0 failed", 0])
  })

  it("passes where every test passes, and says what was skipped", async () => {
    const outcome = await test({ "test/Good.test.ts": PASSING })

    expect([lastLine(outcome), outcome.code]).toEqual(["2 passed, 0 failed", 0])
    expect(outcome.stdout).toContain("watchpost: 1 skipped\n")
  })
})
