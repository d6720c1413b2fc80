// @vitest-environment node
// The form of the system settings: files that are no logo, refusals at their field, and only what was changed.
import { Blob } from "node:buffer"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Failure } from "../../src/web/api/Failure.ts"
import {
  changedSettings,
  isKept,
  keptBytes,
  logoBytesMax,
  logoOfFile,
  refusedField
} from "../../src/web/pages/admin/SystemForm.ts"
import { logoBytesMax as served } from "../../schema/System.ts"
import { defaultSettings } from "./FakeRecords.ts"

const fileOf = (bytes: Uint8Array | string, type: string) => new Blob([bytes], { type }) as globalThis.Blob

describe("a file for the logo", () => {
  it("is refused when it is no picture, is empty, or would not fit into the settings", async () => {
    expect(await logoOfFile(fileOf("<script>", "text/html"))).toBe("notPicture")
    expect(await logoOfFile(fileOf("x", ""))).toBe("notPicture")
    expect(await logoOfFile(fileOf("x", "image/png,x"))).toBe("notPicture")
    expect(await logoOfFile(fileOf("", "image/png"))).toBe("notPicture")
    expect(await logoOfFile(fileOf(new Uint8Array((logoBytesMax / 4) * 3), "image/png"))).toBe("tooLarge")
  })

  it("becomes a data URL that holds every byte, up to the bound of the service", async () => {
    expect(logoBytesMax).toBe(served)
    const largest = await logoOfFile(fileOf(new Uint8Array((logoBytesMax / 4) * 3 - 18), "image/png"))
    expect(typeof largest === "string" ? largest : largest.logo.length).toBeLessThanOrEqual(logoBytesMax)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), async (bytes) => {
        const taken = await logoOfFile(fileOf(bytes, "image/svg+xml"))
        if (typeof taken === "string") throw new Error(taken)
        const [head, body = ""] = taken.logo.split(",")
        expect([head, isKept(taken.logo)]).toEqual(["data:image/svg+xml;base64", true])
        expect(Buffer.from(body, "base64").equals(Buffer.from(bytes))).toBe(true)
        expect(keptBytes(taken.logo)).toBe(bytes.length)
      })
    )
  })
})

describe("the settings form", () => {
  it("shows a refusal at the field that the service named, and any other at the form", () => {
    const refusal = (code: string, message: string) => refusedField(new Failure(400, code, message))

    expect(refusal("invalid_fields", "topbar_text must be at most 64 characters")).toBe("topbar_text")
    expect(refusal("invalid_fields", "history_guest_access_mode must be one of disabled, by_node")).toBe("")
    expect(refusal("db_error", "logo_url")).toBe("")
  })

  it("sends only what differs, trimmed, and a blank where the default is wanted", () => {
    expect(changedSettings(defaultSettings, { ...defaultSettings, page_title: " Watchpost " })).toEqual({})
    expect(
      changedSettings(defaultSettings, { ...defaultSettings, topbar_text: " ", history_guest_access_mode: "by_node" })
    ).toEqual({ topbar_text: "", history_guest_access_mode: "by_node" })
  })
})
