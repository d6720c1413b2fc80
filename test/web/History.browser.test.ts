// @vitest-environment node
// A node's history in a real browser: drawn, zoomed, read as a table, refused, failing, and open to everybody.
import type { Locator, Page } from "playwright-core"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { auditPage, Browser, builtPage, hasBrowser, overflowOf } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"

let api: FakeApi
let browser: Browser
let dist: string

const until = async <A>(read: () => Promise<A> | A, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}

const nodeId = (os: string): number => api.fleet.nodes.find((node) => node.os === os && node.isGuestVisible)?.id ?? 0
const address = (search = "", os = "linux"): string => `${api.origin}/nodes/${nodeId(os)}?view=history${search}`
const chart = (page: Page, name: string): Locator => page.getByRole("region", { name, exact: true })
const reads = (text: string): ReadonlyArray<string> =>
  api.calls.filter((call) => call.includes("/api/metrics/history?") && call.includes(text))
const params = (page: Page): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams)

const opened = async (search = "", visit: Parameters<Browser["open"]>[1] = {}): Promise<Page> => {
  const page = await browser.open(address(search), visit)
  await page.waitForSelector(".uplot canvas")
  return page
}

const drag = async (page: Page, plot: Locator, from: number, to: number): Promise<void> => {
  await plot.scrollIntoViewIfNeeded()
  const box = await plot.boundingBox()
  if (box === null) throw new Error("the plot is not there")
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + box.width * from, y)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 4 })
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 })
  await page.mouse.up()
}

describe.skipIf(!hasBrowser)("the history of a node", { timeout: 40_000 }, () => {
  beforeAll(async () => {
    dist = await builtPage()
    api = await new FakeApi({ dist, nodes: 30 }).start()
    browser = await Browser.launch()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })
  afterEach(async () => {
    await browser.clear()
    api.reset(30)
  })

  it("is one calm sentence where guests may not see it, without a storm of reads, and the reports stay", async () => {
    api.isHistoryOpen = false
    const page = await browser.open(address())
    await page.getByText("History is not shown to guests.").waitFor()
    expect(await page.locator(".uplot").count()).toBe(0)
    await page.getByText("Reports received: 96.4% of the last 24 h").waitFor()
    const asked = reads("").length
    await page.waitForTimeout(1500)
    expect([reads("").length, asked <= 8, await auditPage(page)]).toEqual([asked, true, []])

    await page.goto(`${api.origin}/login`)
    await page.getByLabel("Password", { exact: true }).fill(password)
    await page.keyboard.press("Enter")
    await page.waitForURL(`${api.origin}/`)
    await page.goto(address())
    await page.waitForSelector(".uplot canvas")
    // The browser itself notes every refused read.
    expect(browser.faults.filter((fault) => !fault.includes("403"))).toEqual([])
  })

  it("says once that reads fail, offers to try again, and then shows everything", async () => {
    api.isHistoryDown = true
    const page = await browser.open(address(), { height: 1400 })
    await page.getByText("Some charts could not be loaded.").waitFor()
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(2)
    api.isHistoryDown = false
    await chart(page, "Reports").getByRole("button", { name: "Try again" }).click()
    await page.getByRole("status").getByRole("button", { name: "Try again" }).click()
    await page.waitForSelector(".uplot canvas")
    await until(() => page.getByText("could not be loaded").count(), 0)
  })

  for (const [colours, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 320],
    ["dark", 360]
  ] as const) {
    it(`breaks no rule of accessibility and fits at ${width} px in ${colours} colours`, async () => {
      const page = await opened("&range=1h", { width, colours, height: 1100 })
      await until(() => page.locator(".chart .skeleton").evaluateAll((all) => all.length < 30), true)
      await chart(page, "CPU").getByText("Show as table").click()
      await chart(page, "CPU").getByRole("row").nth(3).waitFor()
      expect([await overflowOf(page), await auditPage(page), browser.faults]).toEqual([0, [], []])
    })
  }

  it("asks only for what can be seen, four reads at a time, and for more when it is scrolled to", async () => {
    const page = await opened("", { height: 700 })
    await until(() => reads("mem.used_ratio").length, 1)
    expect([reads("disk.temp_c").length, reads("cpu.usage_ratio")[0]?.includes("range=24h&")]).toEqual([0, false])
    expect(reads("cpu.usage_ratio")[0]).toContain("range=24h")
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    await until(() => reads("disk.temp_c").length, 2)
    // Reads run beside each other, in any order.
    expect([...reads("disk.temp_c")].sort()[0]).toMatch(/agg=max.*device=nvme0n1/)
    expect(api.historyPeak).toBeGreaterThan(1)
    expect(api.historyPeak).toBeLessThanOrEqual(4)
  })

  it("reads again after 15 s, not before, and not while it shows a stretch of the past", async () => {
    const page = await browser.open("about:blank", { height: 1000 })
    await page.clock.install()
    await page.goto(address("&range=30m"))
    await page.waitForSelector(".uplot canvas")
    await until(() => reads("cpu.usage_ratio").length, 1)
    await page.clock.runFor(10_000)
    expect(reads("cpu.usage_ratio").length).toBe(1)
    await page.clock.runFor(8000)
    await until(() => reads("cpu.usage_ratio").length, 2)
    await page.getByRole("button", { name: "Zoom in" }).click()
    await until(() => reads("from=").length > 3, true)
    const before = reads("cpu.usage_ratio").length
    await page.clock.runFor(60_000)
    expect(reads("cpu.usage_ratio").length).toBe(before)
  })

  it("moves nothing that stands on the page while its figures arrive, nor where there are none", async () => {
    const page = await browser.open(address("", "windows"), { height: 1400 })
    await until(async () => (await page.locator(".drawing").count()) > 4, true)
    await page.getByText("No data in this range").waitFor()
    const shift = await page.evaluate<number>(
      "new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().reduce((sum, one) => sum + one.value, 0))).observe({ type: 'layout-shift', buffered: true }) || setTimeout(() => done(0), 500))"
    )
    expect(shift).toBeLessThanOrEqual(0.02)
  })

  it("zooms by a drag into finer steps, keeps the zoom in the address, and goes back by every way back", async () => {
    const page = await opened()
    const plot = chart(page, "CPU").locator(".u-over")
    await drag(page, plot, 0.6, 0.7)
    await until(() => reads("from=").some((call) => call.includes("cpu.usage_ratio")), true)
    // Chromium tells of a new address a moment after the page has set it.
    await until(() => params(page)["from"] !== undefined, true)
    const zoomed = params(page)
    const hours = (Number(zoomed["to"]) - Number(zoomed["from"])) / 3600
    expect(hours).toBeGreaterThan(2.2)
    expect(hours).toBeLessThan(2.6)
    expect(await page.getByRole("button", { name: "24 h", pressed: true }).count()).toBe(1)
    await until(() => chart(page, "CPU").locator(".old").count(), 0)

    await page.reload()
    await page.waitForSelector(".uplot canvas")
    expect(params(page)).toEqual(zoomed)
    await chart(page, "CPU").locator(".u-over").dblclick()
    await until(() => params(page)["from"], undefined)
    await page.goBack()
    await until(() => params(page)["from"], zoomed["from"])
    await page.getByRole("button", { name: "Zoom out" }).click()
    await until(() => params(page)["from"], undefined)
    expect(browser.faults).toEqual([])
  })

  it("is reached and moved with the keyboard alone, with one cursor in all charts", async () => {
    const page = await opened("", { height: 1000 })
    await page.getByRole("group", { name: "Range", exact: true }).getByRole("button", { name: "7 d" }).focus()
    await page.keyboard.press("Enter")
    await until(() => params(page)["range"], "1w")
    expect(
      await page.getByRole("group", { name: "Range", exact: true }).getByRole("button", { pressed: true }).count()
    ).toBe(1)
    await page.getByRole("button", { name: "Zoom in" }).focus()
    await page.keyboard.press("Enter")
    await until(() => Number(params(page)["to"]) - Number(params(page)["from"]) > 300_000, true)
    await page.getByRole("button", { name: "Earlier" }).focus()
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Zoom out" }).click()

    await until(
      () =>
        page
          .locator(".drawing:not(.old) .uplot")
          .count()
          .then((count) => count > 2),
      true
    )
    const cpu = chart(page, "CPU").getByRole("img")
    expect(await cpu.getAttribute("aria-label")).toMatch(
      /^CPU\. Usage: lowest \d+\.\d%, highest \d+\.\d%, last \d+\.\d%\.$/
    )
    await cpu.focus()
    const moments = page.locator(".when.at")
    // Figures that arrive late are drawn anew, without a cursor.
    await until(async () => {
      await page.keyboard.press("Home")
      return (await moments.count()) > 2
    }, true)
    const first = await moments.first().textContent()
    await page.keyboard.press("Shift+ArrowRight")
    await until(async () => (await moments.first().textContent()) === first, false)
    expect(new Set(await moments.allTextContents()).size).toBe(1)
    await page.keyboard.press("Tab")
    await until(() => moments.count(), 0)
  })

  it("gives the same figures as a table, newest first, and names damaged stretches and charts without data", async () => {
    const page = await opened("&range=30m", { height: 1200 })
    const memory = chart(page, "Memory")
    await memory.getByText(/^Stored figures are damaged and left out: .+ – .+\.$/).waitFor()
    await memory.getByText("Show as table").click()
    await until(() => memory.getByRole("row").count(), 13)
    expect(await memory.getByRole("columnheader").allTextContents()).toEqual(["Time", "Memory", "Swap"])
    const newest = await memory.getByRole("row").nth(1).innerText()
    expect(newest).toMatch(/\d\d:\d\d:\d\d\s+\d+\.\d%\s+–/)
    const shown = await memory.locator(".legend strong").first().textContent()
    expect(newest).toContain(shown)

    await page.goto(address("", "windows"))
    await page.getByText(/^No data in this range: Temperature, Pressure, 10 s mean\.$/).waitFor()
    expect(await page.getByRole("region", { name: "Temperature", exact: true }).count()).toBe(0)
  })

  it("asks for the chosen aggregate and interface, and shows the reports of seven days", async () => {
    const page = await opened("&range=12h", { height: 1200 })
    await page.getByLabel("Values", { exact: true }).selectOption("max")
    await until(() => reads("cpu.usage_ratio").some((call) => call.includes("agg=max")), true)
    await page.getByLabel("Interface").selectOption("eth0")
    await until(() => reads("net.recv_bps").some((call) => call.includes("device=eth0")), true)
    const before = reads("cpu.usage_ratio").length
    await page.getByRole("group", { name: "Range of the reports" }).getByRole("button", { name: "7 d" }).click()
    await page.getByText(/^Reports received: .+ of the last 7 days$/).waitFor()
    expect(params(page)).toEqual({ view: "history", range: "12h", agg: "max", iface: "eth0", online: "7d" })
    expect(reads("cpu.usage_ratio").length).toBe(before)

    const strip = page.getByRole("img", { name: /^Reports received/ })
    expect(await strip.locator(".slot").count()).toBe(48)
    await strip.focus()
    await page.keyboard.press("Home")
    await page.getByText(/complete, 100\.0%, 4,200 of 4,200 reports$/).waitFor()
  })

  it("speaks Chinese, follows the colours of the theme, and comes back with its range from the other view", async () => {
    const page = await opened("&range=1h")
    const pixels = () =>
      chart(page, "CPU")
        .locator("canvas")
        .evaluate((canvas) => (canvas as unknown as { toDataURL: () => string }).toDataURL())
    const before = await pixels()
    await page.emulateMedia({ colorScheme: "dark" })
    await until(async () => (await pixels()) === before, false)
    await page.getByRole("link", { name: "Now" }).click()
    await page.waitForSelector(".area path.line-0")
    expect(params(page)).toEqual({})
    await page.getByRole("link", { name: "History" }).click()
    await until(() => params(page)["range"], "1h")
    await page.getByLabel("Language").selectOption("zh")
    await page.getByRole("button", { name: "放大" }).waitFor()
    await page.getByText("最近 24 小时收到的上报:96.4%").waitFor()
    expect(browser.faults).toEqual([])
  })

  it("loads its drawing code only when it is opened, and not much of it", () => {
    const assets = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".js"))
    const sizes = new Map(assets.map((name) => [name, gzipSync(readFileSync(join(dist, "assets", name))).length]))
    const drawing = assets.filter((name) => readFileSync(join(dist, "assets", name), "utf8").includes("uplot"))

    expect(drawing.length).toBe(1)
    expect(drawing[0]).toMatch(/^Plot/)
    expect(sizes.get(drawing[0] ?? "")).toBeLessThanOrEqual(45_000)
    expect(readFileSync(join(dist, "index.html"), "utf8")).not.toContain(drawing[0])
  })
})
