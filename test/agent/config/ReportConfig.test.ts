import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  formatConfig,
  loadConfig,
  parseConfig,
  type ReportTarget,
  saveConfig,
  secretFault
} from "../../../src/agent/config/ReportConfig.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "config-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const path = () => join(folder, "report.yaml")

const target: ReportTarget = { id: "1", url: "https://h/api/node/metrics", key: "secret-one", installId: "server_1" }
const item = (more: string, id = "1"): string =>
  `version: 1\ntargets:\n  - id: "${id}"\n    url: "https://h/api/node/metrics"\n    key: "k"\n${more}`

describe("parseConfig", () => {
  it.each([
    ["no version", "targets: []\n", "version must be 1"],
    ["another version", "version: 2\ntargets: []\n", "version must be 1"],
    ["a version in quotes", 'version: "1"\n', "version must be 1"],
    ["an unknown key", "version: 1\ninterval: 3\n", "unknown key interval"],
    ["an unknown list", "version: 1\nservers: []\n", "unknown key servers"],
    ["an unknown key of a target", item('    secret: "x"\n'), "target 1: unknown key secret"],
    ["a target without a URL", 'version: 1\ntargets:\n  - id: "1"\n    key: "k"\n', "target 1: url is missing"],
    ["a blank id", item("", " "), "target 1: id is missing"],
    ["a blank install id", item('    server_install_id: ""\n'), "server_install_id is missing"],
    ["a URL that does not end with /metrics", item("").replace("/metrics", "/x"), "url must end with /metrics"],
    ["a secret that fits no header", item("").replace('"k"', '"a\\nb"'), "key must be plain ASCII"],
    [
      "two targets of one id",
      `${item("")}  - id: "1"\n    url: "https://g/metrics"\n    key: "k"\n`,
      "two targets share one id"
    ],
    [
      "two targets of one install id",
      `${item('    server_install_id: "s"\n')}  - id: "2"\n    url: "https://g/metrics"\n    key: "k"\n` +
        '    server_install_id: "s"\n',
      "two targets share one server_install_id"
    ],
    [
      "too many targets",
      formatConfig(Array.from({ length: 33 }, (_, n) => ({ ...target, id: String(n), installId: null }))),
      "more than 32 targets"
    ]
  ])("refuses %s", (_, text, fault) => {
    expect(() => parseConfig(text)).toThrow(fault)
  })

  it("reads back what was formatted", () => {
    const texts = fc.stringMatching(/^[\x21-\x7e]{1,20}$/)
    fc.assert(
      fc.property(fc.uniqueArray(texts, { maxLength: 5 }), texts, fc.boolean(), (ids, key, isKnown) => {
        const targets = ids.map((id) => ({ ...target, id, key, installId: isKnown ? `server_${id}` : null }))
        expect(parseConfig(formatConfig(targets))).toEqual(targets)
      })
    )
  })
})

describe("loadConfig", () => {
  it("has no targets without a file", () => {
    expect(loadConfig(path())).toEqual([])
  })

  it.each([[0o644], [0o640], [0o660], [0o400]])("refuses a file with mode %o", (mode) => {
    writeFileSync(path(), item(""))
    chmodSync(path(), mode)
    expect(() => loadConfig(path())).toThrow(/must have mode 0600 but has 0/)
  })

  it("refuses a folder and a file of absurd size", () => {
    expect(() => loadConfig(folder)).toThrow("is not a small regular file")
    writeFileSync(path(), `${item("")}#${"x".repeat(70_000)}`, { mode: 0o600 })
    expect(() => loadConfig(path())).toThrow("is not a small regular file")
  })

  it("names the file and the line of a fault", () => {
    writeFileSync(path(), "version: 1\n\toops\n", { mode: 0o600 })
    expect(() => loadConfig(path())).toThrow(`${path()}: line 2: `)
  })
})

describe("saveConfig", () => {
  it("leaves the old file and no remains when the new one cannot be put in place", () => {
    saveConfig(path(), [target])
    expect(() => saveConfig(folder, [target])).toThrow("cannot be written")
    expect(loadConfig(path())).toEqual([target])
    expect(readdirSync(folder)).toEqual(["report.yaml"])
  })

  it("writes mode 0600 into folders it makes, and replaces the file as a whole", () => {
    const deep = join(folder, "a", "b", "report.yaml")
    saveConfig(deep, [target])
    const before = statSync(deep).ino
    saveConfig(deep, [{ ...target, key: "secret-two" }])
    expect(statSync(deep).mode & 0o777).toBe(0o600)
    expect(statSync(deep).ino).not.toBe(before)
    expect(loadConfig(deep)).toEqual([{ ...target, key: "secret-two" }])
    expect(readdirSync(join(folder, "a", "b"))).toEqual(["report.yaml"])
  })

  it("writes a file that tells its shape", () => {
    saveConfig(path(), [target, { ...target, id: "2", installId: null }])
    expect(readFileSync(path(), "utf8")).toBe(
      'version: 1\ntargets:\n  - id: "1"\n    url: "https://h/api/node/metrics"\n    key: "secret-one"\n' +
        '    server_install_id: "server_1"\n' +
        '  - id: "2"\n    url: "https://h/api/node/metrics"\n    key: "secret-one"\n'
    )
  })
})

describe("secretFault", () => {
  it.each([[""], [" "], ["a b"], ["a\n"], ["ä"], ["x".repeat(257)]])("refuses %j", (secret) => {
    expect(secretFault(secret)).not.toBeNull()
  })

  it("accepts printable ASCII", () => {
    expect(secretFault("aZ09!~")).toBeNull()
  })
})
