// @vitest-environment node
// The system settings in a real browser: refusals at their field, a logo from a file, and the brand that follows.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { auditPage, Browser, builtPage, hasBrowser } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"
import { defaultSettings } from "./FakeRecords.ts"

let api: FakeApi
let browser: Browser

const until = async <A>(read: () => Promise<A> | A, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}
const open = async (): Promise<Page> => {
  const page = await browser.open(`${api.origin}/login?next=%2Fadmin%2Fsystem`)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.keyboard.press("Enter")
  await page.getByLabel("Page title").waitFor()
  return page
}
const save = (page: Page): Promise<void> => page.getByRole("button", { name: "Save" }).click()
const writes = (): ReadonlyArray<string> => api.calls.filter((call) => call.startsWith("PATCH"))
const headerLogo = (page: Page): Promise<string | null> => page.locator("header img").getAttribute("src")
const picture = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>'
)

describe.skipIf(!hasBrowser)("the system settings", { timeout: 30_000 }, () => {
  beforeAll(async () => {
    api = await new FakeApi({ dist: await builtPage(), nodes: 1 }).start()
    browser = await Browser.launch()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })
  afterEach(async () => {
    await browser.clear()
    api.revoke(true)
    api.reset(1)
  })

  it("say at the field what was refused, and keep what was typed", async () => {
    const page = await open()
    const logo = page.getByLabel("Logo", { exact: true })
    await logo.fill("//evil.test/x.png")
    await page.getByLabel("Page title").fill("Ours")
    await save(page)
    await page.getByText("Enter a path that begins with one slash, or an http or https address.").waitFor()

    expect([await logo.getAttribute("aria-invalid"), await logo.inputValue()]).toEqual(["true", "//evil.test/x.png"])
    expect(await page.getByLabel("Page title").inputValue()).toBe("Ours")
    expect([api.settings, await auditPage(page)]).toEqual([defaultSettings, []])
    await page.getByText("Not saved yet").waitFor()
  })

  it("say so when the page cannot show the picture of an address", async () => {
    const page = await open()
    await page.getByLabel("Logo", { exact: true }).fill("/missing.png")
    await page.keyboard.press("Tab")
    await page.getByText("The page cannot show this picture.").waitFor()
    await page.getByRole("button", { name: "Use the default" }).click()

    await until(() => page.getByText("The page cannot show this picture.").count(), 0)
  })

  it("take no file that is no picture or too large", async () => {
    const page = await open()
    const file = page.locator("input[type=file]")
    await file.setInputFiles({ name: "a.html", mimeType: "text/html", buffer: Buffer.from("<script>") })
    await page.getByText("This file is not a picture.").waitFor()
    await file.setInputFiles({ name: "a.png", mimeType: "image/png", buffer: Buffer.alloc(700_000) })
    await page.getByText("The picture is too large.").waitFor()

    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
  })

  it("send only what was changed, and title, bar and logo follow at once and after a reload", async () => {
    const page = await open()
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)
    await page.getByLabel("Page title").fill(" Fleet of ours ")
    await page.getByLabel("Top bar text").fill("Fleet")
    await page
      .getByLabel("Choose a picture")
      .setInputFiles({ name: "a.svg", mimeType: "image/svg+xml", buffer: picture })
    await page.getByText("Not saved yet").waitFor()
    await until(() => page.getByLabel("Logo", { exact: true }).inputValue(), `A picture kept here, ${picture.length} B`)
    expect(await headerLogo(page)).toBe("/brandlogo.svg")
    await save(page)
    await page.getByText("Saved", { exact: true }).waitFor()

    const logo_url = `data:image/svg+xml;base64,${picture.toString("base64")}`
    expect(api.settings).toEqual({ ...defaultSettings, logo_url, page_title: "Fleet of ours", topbar_text: "Fleet" })
    for (const again of [() => Promise.resolve(), () => page.reload().then(() => {})]) {
      await again()
      await until(() => headerLogo(page), logo_url)
      await until(() => page.locator("header .brand").innerText(), "Fleet")
      await until(() => page.title(), "System · Fleet of ours")
    }
    // Drawn, not only named: the page's policy lets it through.
    expect(await page.evaluate<number>("document.querySelector('header img').naturalWidth")).toBe(8)
    expect([writes().length, browser.faults]).toEqual([1, []])
  })

  it("go back to the default logo and text", async () => {
    api.settings = { ...defaultSettings, logo_url: "data:image/gif;base64,R0lGODlhAQABAAAAACw=", topbar_text: "Fleet" }
    const page = await open()
    await page.getByRole("button", { name: "Use the default" }).click()
    await page.getByLabel("Top bar text").fill("")
    await save(page)
    await page.getByText("Saved", { exact: true }).waitFor()

    expect(api.settings).toEqual(defaultSettings)
    await until(() => headerLogo(page), "/brandlogo.svg")
    expect(await page.getByLabel("Top bar text").inputValue()).toBe("Watchpost")
  })

  it("open the history to guests only when that is saved, in words of both languages", async () => {
    const page = await open()
    await page.getByRole("switch", { name: "Guests read history" }).click()
    await page.getByText("Not saved yet").waitFor()
    expect(api.settings.history_guest_access_mode).toBe("disabled")
    await save(page)
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(api.settings.history_guest_access_mode).toBe("by_node")

    await page.getByLabel("Language").selectOption("zh")
    expect(await page.getByRole("switch", { name: "访客可查看历史" }).isChecked()).toBe(true)
    await page.getByRole("switch").click()
    await page.getByRole("button", { name: "保存" }).click()
    await until(() => api.settings.history_guest_access_mode, "disabled")
  })
})
