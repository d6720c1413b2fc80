// Owns the proof of when packages are installed: a stand-in for npm writes down how it was called.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import type { Outcome, Repository } from "../../support/Launch.ts"
import { makeRepository } from "../../support/Launch.ts"

type Packages = Readonly<Record<string, object>>

const locked: Packages = {
  "": { name: "x" },
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/b-win32": { version: "1.0.0", optional: true }
}
const a = locked["node_modules/a"] ?? {}

// Fails like npm does where COMPLAINT is set, and otherwise installs what the lock asks for.
const NPM = `
const fs = require("node:fs")
fs.appendFileSync("calls", process.argv.slice(2).join(" ") + "\\n")
if (process.argv[2] === "ci" && process.env.COMPLAINT) {
  process.stderr.write(process.env.COMPLAINT)
  process.exit(1)
}
fs.mkdirSync("node_modules", { recursive: true })
fs.copyFileSync("package-lock.json", "node_modules/.package-lock.json")
`

let repository: Repository

const install = async (installed: Packages | undefined, complaint = ""): Promise<Outcome & { calls: string }> => {
  const files = {
    "package-lock.json": JSON.stringify({ packages: locked }),
    "npm-cli.js": NPM,
    "package.json": "{}",
    calls: ""
  }
  repository = makeRepository(files, false)
  if (installed) repository.write("node_modules/.package-lock.json", JSON.stringify({ packages: installed }))
  const env = { npm_execpath: join(repository.root, "npm-cli.js"), COMPLAINT: complaint }
  const outcome = await repository.run("install.mjs", { env })
  return { ...outcome, calls: readFileSync(join(repository.root, "calls"), "utf8") }
}

afterEach(() => repository.remove())

const CLEAN = "ci --no-audit --no-fund --include=dev\n"

describe("installing packages", () => {
  it("fails with npm's words where the lock file does not fit", async () => {
    const complaint = "npm error Missing: left-pad@1.3.0 from lock file\nnpm error Missing: c@ from lock file\n"

    const { calls, code, stderr } = await install(undefined, complaint)

    expect({ calls, code }).toEqual({ calls: CLEAN, code: 1 })
    expect(stderr).toBe(`${complaint}watchpost: npm ci failed, see above.\n`)
  })

  it("keeps to the locked versions where the registry only lacks packages of other platforms", async () => {
    const { calls, code } = await install(undefined, "npm error Missing: b-win32@ from lock file\n")

    expect(code).toBe(0)
    expect(calls).toBe(`${CLEAN}install --no-save --no-audit --no-fund --include=dev\n`)
  })

  it.each<[string, Packages | undefined]>([
    ["there is no node_modules", undefined],
    ["a package is missing", {}],
    ["a package has another version", { "node_modules/a": { ...a, version: "0.9.0" } }],
    ["a package has other contents", { "node_modules/a": { ...a, integrity: "sha512-z" } }]
  ])("runs npm ci where %s", async (_, installed) => {
    const { calls, code } = await install(installed)

    expect({ calls, code }).toEqual({ calls: CLEAN, code: 0 })
  })

  it("does nothing where only optional packages of other platforms are absent", async () => {
    const { calls, code, stdout } = await install({ "node_modules/a": a })

    expect({ calls, code, stdout }).toEqual({ calls: "", code: 0, stdout: "" })
  })

  it("does nothing a second time, and starts over for another Node", async () => {
    await install(undefined)
    const env = { npm_execpath: join(repository.root, "npm-cli.js") }

    const second = await repository.run("install.mjs", { env })
    repository.write("node_modules/.watchpost-abi", "linux-x64-1\n")
    const third = await repository.run("install.mjs", { env })

    expect([second.stdout, third.stdout.includes("installing")]).toEqual(["", true])
  })
})
