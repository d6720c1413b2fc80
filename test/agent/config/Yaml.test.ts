import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parseYaml, writeYaml } from "../../../src/agent/config/Yaml.ts"

describe("parseYaml", () => {
  it.each([
    ["a tab", "version: 1\ntargets:\n\t- id: a\n", /line 3: only spaces/],
    ["a repeated key", "version: 1\nversion: 1\n", /line 2: the key version is repeated/],
    ["a repeated list", "targets: []\ntargets: []\n", /line 2: the key targets is repeated/],
    ["a repeated key of an item", 'targets:\n  - id: "a"\n    id: "b"\n', /line 3: the key id is repeated/],
    ["items that do not line up", "targets:\n  - id: a\n - id: b\n", /line 3/],
    ["keys that do not line up", "targets:\n  - id: a\n     url: b\n", /line 3/],
    ["an item after an inline list", "targets: []\n  - id: a\n", /line 2/],
    ["an indented key of nothing", "version: 1\n  more: 2\n", /line 2/],
    ["a nested list", "targets:\n  - id:\n      - a\n", /line 2: a value is missing/],
    ["an anchor", "version: &a 1\n", /line 1: a value must be quoted/],
    ["a flow map", "targets:\n  - {id: a}\n", /line 2/],
    ["a block scalar", "version: |\n  1\n", /line 1/],
    ["a plain null", "targets:\n  - id: null\n", /line 2: a value must be quoted/],
    ["a plain boolean", "targets:\n  - key: yes\n", /line 2: a value must be quoted/],
    ["a value with a colon", "version: a: b\n", /line 1/],
    ["an open quote", 'version: "1\n', /line 1: a quote is not closed/],
    ["text after a quote", 'version: "1" 2\n', /line 1/],
    ["an unknown escape", 'version: "\\x41"\n', /line 1: an escape/],
    ["a second document", "version: 1\n---\n", /line 2/],
    ["a bare word", "version\n", /line 1/]
  ])("refuses %s", (_, text, fault) => {
    expect(() => parseYaml(text)).toThrow(fault)
  })

  it("does not repeat what it refuses, which may be a secret", () => {
    expect(() => parseYaml("targets:\n  - key: 's3cret-value\n")).toThrow(/^(?!.*s3cret).*$/)
  })

  it("reads comments, blank lines, both quotes, plain values and either indentation of lists", () => {
    const text =
      "---\n# head\nversion: 1 # one\n\ntargets: # list\n- id: 1\n  url: http://h:8080/api/node/metrics\n" +
      "\n  # between\n- id: 'it''s'\n  url: \"a\\u0020\\\"b#\" # tail\n"
    const { lists, scalars } = parseYaml(text)
    expect(scalars.get("version")).toEqual({ text: "1", isQuoted: false })
    const items = lists.get("targets")?.map((item) => [...item].map(([key, value]) => [key, value.text]))
    expect(items).toEqual([
      [
        ["id", "1"],
        ["url", "http://h:8080/api/node/metrics"]
      ],
      [
        ["id", "it's"],
        ["url", 'a "b#']
      ]
    ])
  })

  it("takes a list without items as empty", () => {
    expect(parseYaml("targets:\n").lists.get("targets")).toEqual([])
    expect(parseYaml("targets: []\n").lists.get("targets")).toEqual([])
  })
})

describe("writeYaml", () => {
  it("is read back unchanged, whatever the texts contain", () => {
    const anyText = fc.string({ unit: "binary" })
    fc.assert(
      fc.property(fc.array(fc.tuple(anyText, anyText)), (pairs) => {
        const text = writeYaml(
          ["version", 1],
          [
            "targets",
            pairs.map(([id, key]) => [
              ["id", id],
              ["key", key]
            ])
          ]
        )
        const { lists, scalars } = parseYaml(text)
        expect(scalars.get("version")).toEqual({ text: "1", isQuoted: false })
        const items = (lists.get("targets") ?? []).map((item) => [item.get("id")?.text, item.get("key")?.text])
        expect(items).toEqual(pairs)
      })
    )
  })
})
