// @vitest-environment node
// The rules of the style sheets: colours only as tokens, no unknown token, enough contrast in both modes.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const web = fileURLToPath(new URL("../../src/web/", import.meta.url))
const sheets = readdirSync(web, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.(css|svelte)$/.test(path))
  .map((path) => {
    const text = readFileSync(join(web, path), "utf8")
    const css = path.endsWith(".css") ? text : (/<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? "")
    return { path, text, css: css.replace(/\/\*[\s\S]*?\*\//g, "") }
  })
const tokens = sheets.find(({ path }) => path.endsWith("tokens.css"))?.css ?? ""

const mode = (name: string): ReadonlyMap<string, string> => {
  const block = new RegExp(`\\[data-theme="${name}"\\] \\{([^}]*)\\}`).exec(tokens)?.[1] ?? ""
  return new Map([...block.matchAll(/(--mon-[\w-]+):\s*([^;]+);/g)].map((match) => [match[1] ?? "", match[2] ?? ""]))
}

const luminance = (hex: string): number => {
  const channels = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
  const [r = 0, g = 0, b = 0] = channels.map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const contrast = (a: string, b: string): number => {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (light + 0.05) / (dark + 0.05)
}

describe("the style sheets", () => {
  it("are there to be judged", () => {
    expect(sheets.length).toBeGreaterThan(20)
    expect(mode("light").size).toBeGreaterThan(30)
  })

  it("name colours nowhere but in the tokens", () => {
    const colour = /#[0-9a-f]{3,8}\b|\b(rgb|rgba|hsl|hsla|oklch|lab)\(/i
    const values = (css: string) => [...css.matchAll(/[\w-]+:\s*([^;{}]*);/g)].map((match) => match[1] ?? "")
    const offending = sheets.filter(
      ({ path, css }) => !path.endsWith("tokens.css") && values(css).some((one) => colour.test(one))
    )

    expect(values(tokens).some((one) => colour.test(one))).toBe(true)
    expect(offending.map(({ path }) => path)).toEqual([])
  })

  it("use no token that nobody defined, and define none that nobody uses", () => {
    const defined = new Set(
      sheets.flatMap(({ css }) => [...css.matchAll(/(--mon-[\w-]+)\s*:/g)].map((match) => match[1] ?? ""))
    )
    const used = new Set(
      sheets.flatMap(({ css }) => [...css.matchAll(/var\((--mon-[\w-]+)/g)].map((match) => match[1] ?? ""))
    )

    expect([...used].filter((name) => !defined.has(name))).toEqual([])
    expect([...defined].filter((name) => !used.has(name))).toEqual([])
  })

  it("define the same colours in both modes", () => {
    expect([...mode("dark").keys()]).toEqual([...mode("light").keys()])
  })

  it("keep text readable on every ground it stands on, in both modes", () => {
    const onGrounds = ["text", "text-2", "ok", "warn", "bad", "stale", "accent"]
    const grounds = ["bg", "surface", "surface-2", "hover"]
    const pairs = [
      ...onGrounds.flatMap((front) => grounds.map((back) => [front, back] as const)),
      ["accent-text", "accent"],
      ["accent-text", "accent-hover"],
      ...["ok", "warn", "bad", "accent"].map((one) => [one, `${one}-soft`] as const)
    ] as const
    const weak = ["light", "dark"].flatMap((name) => {
      const colours = mode(name)
      const of = (token: string): string => colours.get(`--mon-${token}`) ?? "#000000"
      return pairs
        .filter(([a, b]) => contrast(of(a), of(b)) < 4.5)
        .map(([a, b]) => `${name} ${a} on ${b}: ${contrast(of(a), of(b)).toFixed(2)}`)
    })

    expect(weak).toEqual([])
  })

  it("keep marks, bars and borders of controls visible, in both modes", () => {
    const marks = ["ok-dot", "warn-dot", "bad-dot", "control", "focus", "chart-1", "chart-2"]
    const weak = ["light", "dark"].flatMap((name) => {
      const colours = mode(name)
      const surface = colours.get("--mon-surface") ?? ""
      return marks
        .filter((mark) => contrast(colours.get(`--mon-${mark}`) ?? surface, surface) < 3)
        .map((mark) => `${name} ${mark}`)
    })

    expect(weak).toEqual([])
  })
})

describe("the templates", () => {
  it("never put text into the page as markup and never carry an inline style", () => {
    const offending = sheets.filter(({ text }) => /\{@html|\sstyle="|innerHTML|insertAdjacentHTML/.test(text))

    expect(offending.map(({ path }) => path)).toEqual([])
  })
})
