// Owns the proof of `npm start`: when it builds, what it passes on, and how a stop request reaches the program.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import type { Repository } from "../../support/Launch.ts"
import { makeRepository } from "../../support/Launch.ts"

const repositories: Array<Repository> = []

const repositoryOf = (main: string): Repository => {
  const repository = makeRepository({ "runtime/main.ts": main, "src/agent/main.ts": "process.stdout.write('agent')" })
  repositories.push(repository)
  return repository
}

afterEach(() => {
  for (const repository of repositories.splice(0)) repository.remove()
})

// Like Effect's runMain: the first signal begins an orderly stop and takes the listener away.
const stopping = (finish: string): string => `
process.once("SIGINT", () => {
  process.stdout.write("stopping")
  ${finish}
})
setInterval(() => {}, 1000)
process.stdout.write("ready")
`

describe("npm start", () => {
  it("refuses a Node that is too old in one line", async () => {
    const old = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.18.3" } })`
    const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(old)}`]

    const { code, stderr, stdout } = await repositoryOf("").run("start.mjs", { nodeArgs })

    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toBe("watchpost: Watchpost needs Node 20.19 or newer, this is Node 20.18.3.\n")
  })

  it("leaves the last good build in place when a build fails", async () => {
    const repository = repositoryOf("process.stdout.write('good')")
    await repository.run("start.mjs")
    repository.write("runtime/main.ts", "const = broken")

    const { code, stderr, stdout } = await repository.run("start.mjs")

    expect(code).toBe(1)
    expect(stderr).toContain("runtime/main.ts:1:6")
    expect(stdout).not.toContain("good")
    expect(readFileSync(join(repository.root, "dist/watchpost.mjs"), "utf8")).toContain("good")
  })

  it("passes on arguments and the exit code", async () => {
    const main = "process.stdout.write(JSON.stringify(process.argv.slice(2))); process.exit(7)"

    const { code, stdout } = await repositoryOf(main).run("start.mjs", { args: ["--port", "8080"] })

    expect(code).toBe(7)
    expect(stdout).toContain('["serve","--port","8080"]')
  })

  it("builds once, and again after a source file changed, came or went", async () => {
    const repository = repositoryOf("process.stdout.write('first')")
    const builds = async (): Promise<boolean> => (await repository.run("start.mjs")).stdout.includes("building")

    const seen = [await builds(), await builds()]
    repository.write("runtime/main.ts", "process.stdout.write('other')")
    seen.push(await builds(), await builds())
    repository.write("schema/New.ts", "export {}")
    seen.push(await builds(), await builds())

    expect(seen).toEqual([true, false, true, false, true, false])
    expect(existsSync(join(repository.root, "dist/monitor-node.mjs"))).toBe(true)
  })

  it("tells both programs their version and lets them require Node's modules", async () => {
    const main = `
      declare const __WATCHPOST_VERSION__: string
      process.stdout.write(__WATCHPOST_VERSION__ + " " + typeof require("node:fs").readFileSync)`
    const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
      version: string
    }

    const { stdout } = await repositoryOf(main).run("start.mjs")

    expect(stdout).toContain(`${version} function`)
  })

  it("counts the copies of one Ctrl-C as one", async () => {
    const finish = 'setTimeout(() => { process.stdout.write("stopped in order"); process.exit(0) }, 300)'
    const running = repositoryOf(stopping(finish)).start("start.mjs")
    await running.said("ready")

    running.child.kill("SIGINT")
    await running.said("stopping")
    running.child.kill("SIGINT")
    const { code, stdout } = await running.ended

    expect(code).toBe(0)
    expect(stdout).toContain("stopped in order")
  })

  it("ends a program that hangs in its stop when asked again later", async () => {
    const running = repositoryOf(stopping("")).start("start.mjs")
    await running.said("ready")

    const asking = setInterval(() => running.child.kill("SIGINT"), 100)
    const { code } = await running.ended.finally(() => clearInterval(asking))

    expect(code).toBe(130)
  })

  it("lets a program without a listener die of the signal", async () => {
    const running = repositoryOf("setInterval(() => {}, 1000); process.stdout.write('ready')").start("start.mjs")
    await running.said("ready")

    running.child.kill("SIGTERM")

    expect((await running.ended).code).toBe(143)
  })
})
