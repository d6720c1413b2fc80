import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  type CommandContext,
  installTarget,
  listTargets,
  removeTarget,
  updateTarget
} from "../../../src/agent/config/ReportCommands.ts"
import { loadConfig, saveConfig } from "../../../src/agent/config/ReportConfig.ts"
import { makeLog } from "../../../src/agent/Log.ts"
import { type Answer, type Receiver, startReceiver } from "../support/Receiver.ts"

let folder = ""
let service: Receiver
let answer: Answer = {}
const output: Array<string> = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "report-"))
  output.length = 0
  answer = { body: JSON.stringify({ install_id: "server_abc", created: false }) }
  service = await startReceiver(() => answer)
})
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  await service.close()
})

const context = (ask: CommandContext["ask"] = null): CommandContext => ({
  configPath: join(folder, "report.yaml"),
  out: (text) => output.push(text),
  ask,
  log: makeLog(() => undefined, false),
  signal: new AbortController().signal,
  ca: null
})
const targets = () => loadConfig(join(folder, "report.yaml"))
const secret = "a-long-node-secret"

describe("report install", () => {
  it.each([
    ["an unknown secret", { status: 401 }, "does not know this secret (401)"],
    ["a fault of the service", { status: 503 }, "answered 503"],
    ["a redirect", { status: 301, headers: { Location: "http://127.0.0.1:1/" } }, "answered 301"],
    ["no JSON", { body: "<html>" }, "gave no install id"],
    ["a blank install id", { body: '{"install_id":" "}' }, "gave no install id"]
  ])("saves nothing after %s", async (_, reply, fault) => {
    answer = reply
    await expect(installTarget(service.url, secret, false, context())).rejects.toThrow(fault)
    expect(targets()).toEqual([])
  })

  it("asks nobody about a URL or a secret that cannot work", async () => {
    await expect(installTarget("http://h/api", secret, false, context())).rejects.toThrow("must end with /metrics")
    await expect(installTarget(service.url, secret, true, context())).rejects.toThrow("--require-https")
    await expect(installTarget(service.url, "two words", false, context())).rejects.toThrow("without spaces")
    expect(service.received).toEqual([])
  })

  it("says that a service cannot be reached, without the secret", async () => {
    await service.close()
    await expect(installTarget(service.url, secret, false, context())).rejects.toThrow(
      /^(?!.*a-long-node-secret).*cannot be reached \(ECONNREFUSED\)$/
    )
  })

  it("needs a terminal to replace a target of the same service", async () => {
    await installTarget(service.url, secret, false, context())
    await expect(installTarget(service.url, "another-secret", false, context())).rejects.toThrow("use a terminal")
    expect(targets().map(({ key }) => key)).toEqual([secret])
  })

  it("keeps or replaces a target of the same service as the operator says", async () => {
    await installTarget(service.url, secret, false, context())
    await installTarget(
      service.url,
      "another-secret",
      false,
      context(() => Promise.resolve("n"))
    )
    expect(targets().map(({ key }) => key)).toEqual([secret])
    await installTarget(
      service.url,
      "another-secret",
      false,
      context(() => Promise.resolve("y"))
    )
    expect(targets().map(({ id, key }) => [id, key])).toEqual([["1", "another-secret"]])
  })

  it("asks for the identity, saves the target and prints id, URL and install id", async () => {
    await installTarget(service.url, secret, false, context())
    expect(service.received).toMatchObject([
      { path: "/api/node/identity", body: "{}", headers: { "x-node-secret": secret } }
    ])
    expect(output).toEqual([`1\t${service.url}\tserver_abc\n`])
    expect(targets()).toEqual([{ id: "1", url: service.url, key: secret, installId: "server_abc" }])
  })

  it("prints a target it knows without asking anybody", async () => {
    await installTarget(service.url, secret, false, context())
    await installTarget(service.url, secret, false, context())
    expect(service.received).toHaveLength(1)
    expect(output).toHaveLength(2)
    expect(targets()).toHaveLength(1)
  })

  it("fills in the identity of a target that has none, and gives new ones the smallest free id", async () => {
    const url = "https://other.example/api/node/metrics"
    saveConfig(context().configPath, [
      { id: "2", url, key: "k", installId: "server_other" },
      { id: "1", url: service.url, key: secret, installId: null }
    ])
    await installTarget(service.url, secret, false, context())
    expect(targets().map(({ id, installId }) => [id, installId])).toEqual([
      ["2", "server_other"],
      ["1", "server_abc"]
    ])
    answer = { body: '{"install_id":"server_third"}' }
    await installTarget(service.url, "third-secret", false, context())
    expect(targets().map(({ id }) => id)).toEqual(["2", "1", "3"])
  })
})

describe("report remove, update and list", () => {
  beforeEach(() => installTarget(service.url, secret, false, context()))

  it("fail for an id that is not there", () => {
    expect(() => removeTarget("9", context())).toThrow("there is no target 9")
    expect(() => updateTarget("9", "x", context())).toThrow("there is no target 9")
    expect(targets()).toHaveLength(1)
  })

  it("refuse an empty secret", () => {
    expect(() => updateTarget("1", "", context())).toThrow("must not be empty")
  })

  it("change the secret and keep the rest", () => {
    updateTarget("1", "new-secret", context())
    expect(targets()).toEqual([{ id: "1", url: service.url, key: "new-secret", installId: "server_abc" }])
  })

  it("remove the target", () => {
    removeTarget("1", context())
    expect(targets()).toEqual([])
  })

  it("print no secret", () => {
    output.length = 0
    listTargets(context())
    expect(output).toEqual([`1\t${service.url}\tserver_abc\t****et\n`])
    updateTarget("1", "short", context())
    listTargets(context())
    expect(output.join("")).not.toContain("short")
    expect(output.at(-1)?.endsWith("\t****\n")).toBe(true)
  })
})
