import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readAnswer } from "../../../src/agent/push/Answer.ts"
import { agreeOnUpdate, manifestFault, readManifest } from "../../../src/agent/push/Update.ts"

const manifest = {
  id: "0.4.0",
  version: "0.4.0",
  url: "https://watch.example/deploy/linux/node_linux_amd64",
  sha256: "ab".repeat(32),
  size: 4096
}

describe("agreeOnUpdate", () => {
  it("asks for nothing when no target does", () => {
    expect(agreeOnUpdate([], "0.3.0")).toEqual({ kind: "none" })
    expect(agreeOnUpdate([null, null], "0.3.0")).toEqual({ kind: "none" })
  })

  it.each([
    ["id", { ...manifest, id: "other" }],
    ["version", { ...manifest, version: "0.5.0" }],
    ["url", { ...manifest, url: "https://other.example/deploy/x" }],
    ["sha256", { ...manifest, sha256: manifest.sha256.toUpperCase() }],
    ["size", { ...manifest, size: 4097 }]
  ])("does nothing when two targets differ in %s", (_, other) => {
    expect(agreeOnUpdate([manifest, other], "0.3.0")).toEqual({ kind: "disagreed" })
  })

  it("drops manifests of the running version before it compares", () => {
    const running = { ...manifest, version: "0.3.0", size: -1 }
    expect(agreeOnUpdate([running, manifest, null], "0.3.0")).toEqual({ kind: "agreed", manifest })
    expect(agreeOnUpdate([running], "0.3.0")).toEqual({ kind: "none" })
  })

  it("refuses a manifest that all targets agree on but that is not valid", () => {
    const escaping = { ...manifest, version: "../evil" }
    expect(agreeOnUpdate([escaping, escaping], "0.3.0")).toEqual({ kind: "invalid", reason: "version" })
  })

  it("agrees whenever every asking target sends the same, in any order", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 8 }), (asking) => {
        const agreement = agreeOnUpdate(
          asking.map((asks) => (asks ? { ...manifest } : null)),
          "0.3.0"
        )
        expect(agreement.kind).toBe(asking.includes(true) ? "agreed" : "none")
      })
    )
  })
})

describe("manifestFault", () => {
  it.each([
    ["version", { version: " " }],
    ["version", { version: ".." }],
    ["version", { version: "a/b" }],
    ["version", { version: "a\\b" }],
    ["sha256", { sha256: "ab" }],
    ["sha256", { sha256: "zz".repeat(32) }],
    ["size", { size: 0 }],
    ["size", { size: 1.5 }],
    ["url", { url: "/deploy/linux/x" }],
    ["url", { url: "ftp://watch.example/deploy/x" }],
    ["url", { url: "https://" }]
  ])("finds a bad %s", (what, change) => {
    expect(manifestFault({ ...manifest, ...change })).toBe(what)
  })

  it("accepts a good one", () => {
    expect(manifestFault(manifest)).toBeNull()
  })
})

describe("readManifest", () => {
  it.each([[null], ["x"], [{}], [{ ...manifest, size: "4096" }], [{ ...manifest, id: 7 }]])("refuses %j", (value) => {
    expect(readManifest(value)).toBeNull()
  })

  it("ignores further members", () => {
    expect(readManifest({ ...manifest, signature: "x" })).toEqual(manifest)
  })
})

describe("readAnswer", () => {
  const json = (text: string | null, mediaType = "application/json") => readAnswer({ status: 200, mediaType, text })

  it("tells of JSON and of manifests it cannot read", () => {
    expect(json("{")).toEqual({ kind: "unreadable", what: "JSON" })
    expect(json('{"update":{"id":1}}')).toEqual({ kind: "unreadable", what: "update manifest" })
  })

  it.each([[""], ["ok"], [" \n"], ["{}"], ['{"ok":true,"update":null,"later":1}'], ["null"], [null]])(
    "hears nothing in %j",
    (text) => {
      expect(json(text)).toEqual({ kind: "silent" })
    }
  )

  it("does not look at other media types", () => {
    expect(json("{", "text/html")).toEqual({ kind: "silent" })
  })

  it("finds the manifest, also without ok", () => {
    expect(json(JSON.stringify({ update: manifest }))).toEqual({ kind: "update", manifest })
  })
})
