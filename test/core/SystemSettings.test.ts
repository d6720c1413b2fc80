// What a body of system settings means: what is refused and where, then what is kept.
import { Either } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { logoBytesMax, type SystemSettingsWrite } from "../../schema/System.ts"
import { logoOf, settingsChanges, settingsReplacement } from "../../src/core/SystemSettings.ts"

/** "code: message" of a refusal, or what is to be changed. */
const told = (result: ReturnType<typeof settingsChanges>) =>
  Either.isLeft(result) ? `${result.left.code}: ${result.left.message}` : result.right
const patch = (write: SystemSettingsWrite) => told(settingsChanges(write))
const put = (write: SystemSettingsWrite) => told(settingsReplacement(write))

const mode = "history_guest_access_mode"
const pixel = "data:image/png;base64,iVBORw0KGgo="

describe("a body of settings is refused", () => {
  it("as a PUT without the mode, whatever else it holds, and as a PATCH with nothing known", () => {
    const missing = `invalid_fields: ${mode} is required`

    expect([put({}), put({ [mode]: null }), put({ page_title: "Ours" })]).toEqual([missing, missing, missing])
    expect([patch({}), patch({ [mode]: null, logo_url: null, page_title: null })]).toEqual(
      Array(2).fill("no_fields: the body holds no system setting")
    )
  })

  it("for a mode that is not exactly one of the two", () => {
    for (const wrong of ["", " ", "enabled", "by-node", "Disabled", " by_node", "toString"]) {
      const why = `invalid_fields: ${mode} must be one of disabled, by_node`
      expect([wrong, put({ [mode]: wrong }), patch({ [mode]: wrong })]).toEqual([wrong, why, why])
    }
  })

  it("for a title or text that is too long or would break its line, by the name of the member", () => {
    const cases: ReadonlyArray<readonly [SystemSettingsWrite, string]> = [
      [{ page_title: "x".repeat(121) }, "page_title must be at most 120 characters"],
      [{ page_title: "a\nb" }, "page_title must not hold control characters"],
      [{ topbar_text: "🛰".repeat(65) }, "topbar_text must be at most 64 characters"],
      [{ topbar_text: "a\u0000" }, "topbar_text must not hold control characters"],
      [{ page_title: "fine", topbar_text: "\ud800" }, "topbar_text must not hold control characters"]
    ]
    for (const [body, why] of cases) {
      expect(patch(body)).toBe(`invalid_fields: ${why}`)
      expect(put({ [mode]: "disabled", ...body })).toBe(`invalid_fields: ${why}`)
    }
  })

  it("for a logo that is no picture by its beginning", () => {
    const wrong = [
      "logo.svg",
      "./logo.svg",
      "//evil.test/x.png",
      " //evil.test/x.png",
      "/\\evil.test/x.png",
      "\\\\evil.test\\x.png",
      "javascript:alert(1)",
      " JavaScript:alert(1)",
      "vbscript:x",
      "ftp://host/x.png",
      "file:///etc/passwd",
      "blob:https://host/1",
      "http:/host/x.png",
      "https://",
      "https:host/x.png",
      "data:text/html;base64,PHNjcmlwdD4=",
      "data:text/html,data:image/png;base64,AAAA",
      "data:image/svg+xml,<svg/>",
      "data:image/png,data:image/png;base64,AAAA",
      "data:image/;base64,AAAA",
      "data:image/png;base64,",
      `x${pixel}`
    ]
    for (const logo_url of wrong)
      expect([logo_url, String(patch({ logo_url }))]).toEqual([
        logo_url,
        expect.stringMatching(/^invalid_fields: logo_url must be a path/)
      ])
  })

  it("for a logo with a character that browsers leave out, which could hide a second slash", () => {
    for (const logo_url of ["/\t/evil.test/x.png", "/\n/evil.test", "https://a\r\nb/", `${pixel}\u0000`]) {
      expect([logo_url, patch({ logo_url })]).toEqual([
        logo_url,
        "invalid_fields: logo_url must not hold control characters"
      ])
    }
  })

  it("for a logo of more than 768 KiB, counted in bytes", () => {
    const why = `invalid_fields: logo_url must be at most ${logoBytesMax} bytes`

    expect(patch({ logo_url: pixel.padEnd(logoBytesMax + 1, "A") })).toBe(why)
    expect(patch({ logo_url: `/${"é".repeat(logoBytesMax / 2)}` })).toBe(why)
  })
})

describe("a body of settings", () => {
  it("keeps what was given, trimmed, and nothing else", () => {
    expect(patch({ page_title: " Ours ", topbar_text: null })).toEqual({ brand: { page_title: "Ours" } })
    expect(patch({ [mode]: "by_node" })).toEqual({ historyAccess: "by_node", brand: {} })
    expect(put({ [mode]: "disabled", logo_url: ` ${pixel}\n`, topbar_text: "🛰".repeat(64) })).toEqual({
      historyAccess: "disabled",
      brand: { logo_url: pixel, topbar_text: "🛰".repeat(64) }
    })
  })

  it("stands for the default where a member of the brand is blank", () => {
    expect(patch({ page_title: "", topbar_text: " \t", logo_url: "\n" })).toEqual({
      brand: { page_title: "", topbar_text: "", logo_url: "" }
    })
  })

  it("may name a picture in every form of the contract, in any case of letters", () => {
    const right = [
      "/brandlogo.svg",
      "/a",
      "/logo.png?x=//y",
      "http://host/x.png",
      "https://host/x.png",
      "HTTPS://host/x.png",
      pixel,
      "DATA:Image/SVG+xml;charset=utf-8;BASE64,PHN2Zy8+",
      pixel.padEnd(logoBytesMax, "A")
    ]
    for (const logo_url of right) expect(patch({ logo_url })).toEqual({ brand: { logo_url } })
  })

  it("never takes an address that no browser can read as a logo", () => {
    for (const logo of ["https://data:https:", "http://host:99999/x.png", "https://a b/x.png", "https://[::1/x.png"]) {
      expect(Either.isLeft(logoOf(logo))).toBe(true)
    }
  })

  it("never takes a logo that a browser would look for at another host by a path, or would run", () => {
    const piece = fc.constantFrom(
      "/",
      "\\",
      "\t",
      "\n",
      " ",
      ".",
      "javascript:",
      "data:",
      "evil.test",
      "https:",
      "image/png;base64,"
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const taken = logoOf(pieces.join(""))
        if (Either.isLeft(taken)) return
        const { host, protocol } = new URL(taken.right, "https://here.test/")
        if (taken.right.startsWith("/")) expect([protocol, host]).toEqual(["https:", "here.test"])
        else expect(["https:", "data:"]).toContain(protocol)
      }),
      { numRuns: 2000 }
    )
  })
})
