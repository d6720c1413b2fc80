import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it } from "vitest"
import { parseArguments } from "../../src/agent/Arguments.ts"
import { type Environment, runAgent } from "../../src/agent/Program.ts"
import { type Receiver, startReceiver, until } from "./support/Receiver.ts"

const run = async (argv: ReadonlyArray<string>, env: Environment = {}) => {
  const written = { out: "", err: "" }
  const code = await runAgent(argv, env, {
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    ask: null,
    signal: AbortSignal.abort(),
    platform: process.platform,
    arch: process.arch,
    ca: null
  })
  return { code, ...written }
}

describe("parseArguments", () => {
  it.each([
    [[]],
    [["bogus"]],
    [["push", "0"]],
    [["push", "1.5"]],
    [["push", "-3"]],
    [["push", "86401"]],
    [["push", "3", "4"]],
    [["push", "--nett", "a"]],
    [["push", "--net"]],
    [["push", "--net", ","]],
    [["report"]],
    [["report", "install", "url"]],
    [["report", "install", "url", "secret", "more"]],
    [["report", "remove"]],
    [["report", "remove", "1", "--require-https"]],
    [["report", "update", "1"]],
    [["report", "list", "all"]]
  ])("does not understand %j", (argv) => {
    expect(parseArguments(argv).kind).toBe("fault")
  })

  it("does not repeat a secret that looks like an option", () => {
    expect(JSON.stringify(parseArguments(["report", "update", "1", "--s3cret"]))).not.toContain("s3cret")
  })

  it("reads push with all options in any order", () => {
    expect(parseArguments(["push", "--debug", "--net", "eth1, eth0", "10", "--require-https"])).toEqual({
      kind: "push",
      intervalSeconds: 10,
      interfaces: ["eth1", "eth0"],
      isDebug: true,
      requireHttps: true
    })
    expect(parseArguments(["push", "--net=lo"])).toMatchObject({ intervalSeconds: 3, interfaces: ["lo"] })
    expect(parseArguments(["push"])).toMatchObject({ interfaces: null, isDebug: false, requireHttps: false })
  })
})

describe("runAgent", () => {
  it("answers 2 and one line to what it does not understand", async () => {
    const { code, err, out } = await run(["push", "often"])
    expect([code, out]).toEqual([2, ""])
    expect(err).toMatch(/^monitor-node: [^\n]+\n$/)
  })

  it("answers 2 to half a target in the environment", async () => {
    expect((await run(["push"], { MONITOR_NODE_TARGET_URL: "http://h/metrics" })).code).toBe(2)
    expect((await run(["push"], { MONITOR_NODE_TARGET_SECRET: "s3cret" })).code).toBe(2)
  })

  it("answers 1 and one line when there is no target, or one it must not use", async () => {
    const none = await run(["push"], { MONITOR_NODE_CONFIG: "/nonexistent/report.yaml" })
    expect(none.code).toBe(1)
    expect(none.err).toMatch(/^monitor-node: \/nonexistent\/report\.yaml: no targets[^\n]*\n$/)
    const env = { MONITOR_NODE_TARGET_URL: "http://h/metrics", MONITOR_NODE_TARGET_SECRET: "s3cret" }
    const plain = await run(["push", "--require-https"], env)
    expect(plain.code).toBe(1)
    expect(plain.err).not.toContain("s3cret")
  })

  it("answers 1 to a file that others can read", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agent-"))
    const path = join(folder, "report.yaml")
    writeFileSync(path, "version: 1\ntargets: []\n", { mode: 0o644 })
    const { code, err } = await run(["report", "list"], { MONITOR_NODE_CONFIG: path })
    rmSync(folder, { recursive: true })
    expect(code).toBe(1)
    expect(err).toContain("must have mode 0600")
  })

  it("prints version and help", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, out: "0.3.0\n", err: "" })
    expect((await run(["push", "--help"])).out).toContain("monitor-node report install <url> <secret>")
  })

  it("ends a push with 0 when it was told to stop", async () => {
    const env = { MONITOR_NODE_TARGET_URL: "http://127.0.0.1:1/metrics", MONITOR_NODE_TARGET_SECRET: "s" }
    expect(await run(["push"], env)).toEqual({ code: 0, out: "", err: "" })
  })
})

describe("the program", () => {
  const main = fileURLToPath(new URL("../../src/agent/main.ts", import.meta.url))
  const children: Array<ChildProcess> = []
  let service: Receiver | null = null
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL")
    await service?.close()
  })

  const startChild = async (more: Environment = {}) => {
    const receiver = await startReceiver()
    service = receiver
    const env = { ...process.env, MONITOR_NODE_TARGET_URL: receiver.url, MONITOR_NODE_TARGET_SECRET: "s3cret", ...more }
    const child = spawn(process.execPath, ["--import", "tsx", main, "push", "1"], { env, stdio: "pipe" })
    children.push(child)
    const ended = new Promise<{ readonly code: number | null; readonly afterMs: number }>((resolve) => {
      child.on("exit", (code) => resolve({ code, afterMs: performance.now() - stoppedAtMs }))
    })
    let stoppedAtMs = 0
    await until(() => receiver.bodiesFor("/metrics").length >= 1)
    const stop = async (act: () => void) => {
      stoppedAtMs = performance.now()
      act()
      return await ended
    }
    return { child, receiver, stop }
  }

  it.each(["SIGTERM", "SIGINT"] as const)("reports, and ends with 0 within a second of %s", async (signal) => {
    const { child, receiver, stop } = await startChild()
    const { afterMs, code } = await stop(() => void child.kill(signal))
    expect(code).toBe(0)
    expect(afterMs).toBeLessThan(1000)
    expect(receiver.bodiesFor("/static")).toHaveLength(1)
  })

  it("ends when the parent it watches is gone", async () => {
    const { child, stop } = await startChild({ MONITOR_NODE_PARENT_WATCH: "1" })
    const { afterMs, code } = await stop(() => void child.stdin?.end())
    expect(code).toBe(0)
    expect(afterMs).toBeLessThan(1000)
  })

  it("does not mind a closed standard input unless told to", async () => {
    const { child, receiver, stop } = await startChild()
    child.stdin?.end()
    const before = receiver.bodiesFor("/metrics").length
    await until(() => receiver.bodiesFor("/metrics").length > before)
    expect((await stop(() => void child.kill("SIGTERM"))).code).toBe(0)
  })
})
