// @vitest-environment node
// Traffic settings in a real browser: refusals at their field, a calendar before saving, overrides, P95 in bulk.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { auditPage, Browser, builtPage, hasBrowser, overflowOf } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"

let api: FakeApi
let browser: Browser

const until = async <A>(read: () => Promise<A> | A, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}
const open = async (path: string, ready: string, visit: Parameters<Browser["open"]>[1] = {}): Promise<Page> => {
  const page = await browser.open(`${api.origin}/login?next=${encodeURIComponent(path)}`, visit)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.keyboard.press("Enter")
  await page.locator(ready).first().waitFor()
  return page
}
const save = (page: Page): Promise<void> => page.getByRole("button", { name: "Save" }).click()
const writes = (): ReadonlyArray<string> => api.calls.filter((call) => call.startsWith("PATCH"))

describe.skipIf(!hasBrowser)("the traffic settings", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    api = await new FakeApi({ dist: await builtPage(), nodes: 12 }).start()
    browser = await Browser.launch()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })
  afterEach(async () => {
    await browser.clear()
    api.revoke(true)
    api.reset(12)
  })

  it("say at the field which value makes no calendar, and save none of it", async () => {
    const page = await open("/admin/traffic", ".preview ol")
    const zone = page.getByLabel("Time zone")
    await zone.fill("Mars/Base")
    await page.getByText("This time zone is not known.").waitFor()
    expect([await zone.getAttribute("aria-invalid"), await auditPage(page)]).toEqual(["true", []])
    await page.getByText("No calendar for these values.").waitFor()
    await save(page)
    await page.getByText("This time zone is not known.").waitFor()
    expect(api.traffic.settings.cycle.zone).toBe("")
    await page.getByLabel("Cycle", { exact: true }).selectOption("clamp_to_month_end")
    await zone.fill("Asia/Tokyo")
    await page.getByLabel("Start day").fill("32")
    await page.getByText("The start day must be 1 to 31.").waitFor()
  })

  it("switch off what a mode does not use and say why", async () => {
    const page = await open("/admin/traffic", ".preview ol")
    const day = page.getByLabel("Start day")
    const anchor = page.getByLabel("Anchor date")
    expect([await day.isDisabled(), await anchor.isDisabled()]).toEqual([true, true])
    expect(await page.getByText("Not used: a calendar month starts on the 1st.").count()).toBe(2)
    await page.getByLabel("Cycle", { exact: true }).selectOption("vendor_compatible")
    expect([await day.isDisabled(), await anchor.isDisabled()]).toEqual([false, false])
    await anchor.fill("2026-01-15")
    await page.getByText("Not used: the anchor date says it.").waitFor()
    expect([await day.isDisabled(), await day.inputValue()]).toEqual([true, "15"])
  })

  it("show the calendar and the difference before anything is saved, and save only that", async () => {
    const page = await open("/admin/traffic", ".preview ol")
    const current = page.locator(".preview .current strong")
    const before = await current.textContent()
    await page.getByLabel("Cycle", { exact: true }).selectOption("clamp_to_month_end")
    await page.getByLabel("Start day").fill("17")
    await until(async () => (await current.textContent())?.includes("17"), true)
    const after = await current.textContent()
    const differences = page.getByRole("region", { name: "What saving changes" })
    expect(await differences.locator("s").textContent()).toBe(before)
    expect(await differences.locator("strong").textContent()).toBe(after)
    expect(await page.locator(".preview ol").first().locator("li").count()).toBe(6)
    expect(writes()).toEqual([])
    await page.getByRole("radio", { name: "Lite" }).check()
    await page.getByRole("switch", { name: "Guests read traffic" }).click()
    await until(() => differences.locator("dt").count(), 3)
    await save(page)
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(api.traffic.settings).toMatchObject({
      guestAccess: "disabled",
      usageMode: "lite",
      cycle: { mode: "clamp_to_month_end", startDay: 17 },
      directionMode: "max"
    })
    expect([writes().length, await differences.count(), browser.faults]).toEqual([1, 0, []])
  })

  for (const [colours, width] of [
    ["light", 320],
    ["dark", 1280]
  ] as const) {
    it(`break no rule of accessibility and fit at ${width} px in ${colours} colours`, async () => {
      const page = await open("/admin/traffic", ".preview ol", { width, colours })
      await page.getByLabel("Cycle", { exact: true }).selectOption("vendor_compatible")
      await page.getByRole("region", { name: "What saving changes" }).waitFor()
      expect([await overflowOf(page), await auditPage(page)]).toEqual([0, []])
      await page.goto(`${api.origin}/admin/nodes`)
      await page.locator("[data-index] input[type=checkbox]").first().check()
      await page.getByRole("button", { name: "Switch P95 on" }).waitFor()
      expect([await overflowOf(page), await auditPage(page)]).toEqual([0, []])
      await page
        .getByRole("button", { name: /^Edit / })
        .first()
        .click()
      await page.getByTestId("effective").waitFor()
      expect([await overflowOf(page), await auditPage(page), browser.faults]).toEqual([0, [], []])
    })
  }

  it("switch the percentile of many nodes at once, a stretch with Shift, or all that are shown", async () => {
    const page = await open("/admin/nodes", "[data-index]")
    const pick = (index: number) => page.locator(`[data-index="${index}"] .col-pick input`)
    await pick(1).click()
    await pick(4).click({ modifiers: ["Shift"] })
    await page.getByText("4 picked").waitFor()
    await page.getByRole("button", { name: "Switch P95 off" }).click()
    await page.getByText("P95 is off for 4 nodes.").waitFor()
    expect(api.fleet.nodes.slice(1, 5).map((node) => node.isP95On)).toEqual([false, false, false, false])
    expect(api.fleet.nodes[0]?.isP95On).toBe(true)
    await page.getByLabel("Pick all shown").check()
    await page.getByRole("button", { name: "Switch P95 on" }).click()
    await page.getByText("P95 is on for 12 nodes.").waitFor()
    expect(api.fleet.nodes.every((node) => node.isP95On)).toBe(true)
    expect(writes().length).toBe(2)
    await page.getByRole("button", { name: "Pick none" }).click()
    await until(() => page.getByRole("button", { name: "Switch P95 on" }).count(), 0)
  })

  it("hold for a node until it has a cycle of its own, whose refusal stands at its field", async () => {
    api.traffic.change({ cycle_mode: "clamp_to_month_end", billing_start_day: 9 })
    const page = await open("/admin/nodes", "[data-index]")
    await page
      .getByRole("button", { name: /^Edit / })
      .first()
      .click()
    const dialog = page.getByRole("dialog")
    expect(await dialog.getByTestId("effective").textContent()).toBe(
      "In force: Start day, at most the last of the month, day 9, Europe/Berlin"
    )
    expect(await dialog.getByLabel("Start day").isDisabled()).toBe(true)
    await dialog.getByLabel("Cycle", { exact: true }).selectOption("clamp_to_month_end")
    await until(() => dialog.getByTestId("effective").count(), 0)
    await dialog.getByLabel("Start day").fill("0")
    await dialog.getByText("The start day must be 1 to 31.").waitFor()
    await save(page)
    await until(() => writes().length, 1)
    await dialog.getByText("The start day must be 1 to 31.").waitFor()
    await dialog.getByLabel("Start day").fill("21")
    await dialog.getByLabel("Time zone").fill("Asia/Tokyo")
    await dialog.getByText("30 days · Asia/Tokyo").or(dialog.getByText("31 days · Asia/Tokyo")).waitFor()
    await save(page)
    await until(() => dialog.count(), 0)
    const node = api.fleet.nodes[0]
    expect(node?.cycle).toEqual({ mode: "clamp_to_month_end", startDay: 21, anchorDate: "", zone: "Asia/Tokyo" })
  })

  it("speak Chinese", async () => {
    const page = await open("/admin/traffic", ".preview ol")
    await page.getByLabel("Language").selectOption("zh")
    await page.getByRole("heading", { name: "计费周期" }).waitFor()
    await page.getByText("未使用:自然月从 1 日开始。").first().waitFor()
  })
})
