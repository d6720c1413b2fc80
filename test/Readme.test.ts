// The README stays true: its settings are the program's settings, and its invariants have tests that name them.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { catalogue } from "../runtime/Config.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const readme = readFileSync(join(root, "README.md"), "utf8")

const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(root, "test", name), "utf8"))
  .join("\n")

describe("the README", () => {
  it.each(catalogue.map(([name, fallback, meaning]) => ({ name, fallback, meaning })))(
    "documents $name with its default and meaning",
    ({ fallback, meaning, name }) => {
      const row = readme.split("\n").find((line) => line.startsWith(`| \`${name}\` |`))
      expect(row).toBeDefined()
      expect(row?.replaceAll("`", "")).toContain(`| ${fallback} |`)
      expect(row?.replaceAll("`", "")).toContain(meaning.replaceAll("`", ""))
    }
  )

  it("names no setting that the program does not know", () => {
    const known = new Set<string>(catalogue.map(([name]) => name))
    const named = [...readme.matchAll(/WATCHPOST_[A-Z_]+/g)].map(([name]) => name)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  // The third concerns alerts, which this version does not have.
  it.each([1, 2, 4, 5, 6, 7, 8, 9])("has a test that names invariant %i", (number) => {
    expect(readme).toMatch(new RegExp(`^${number}\\. \\*\\*`, "m"))
    expect(tests).toMatch(new RegExp(`Invariant ${number}\\b`, "i"))
  })

  it("shows a picture that is there", () => {
    const file = /!\[[^\]]*\]\(([^)]+)\)/.exec(readme)?.[1] ?? ""
    expect(readFileSync(join(root, file)).subarray(1, 4).toString()).toBe("PNG")
  })
})
