// @vitest-environment node
// The traffic pages in a real browser: refused, failing, without days, ranked, explained, exported, on every width.
import type { Locator, Page } from "playwright-core"
import { readFileSync } from "node:fs"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { TrafficSummary } from "../../schema/Traffic.ts"
import { auditPage, Browser, builtPage, hasBrowser, overflowOf } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"
import type { FakeNode } from "./FakeFleet.ts"
import { fakeRule } from "./FakeTraffic.ts"

let api: FakeApi
let browser: Browser

const until = async <A>(read: () => Promise<A> | A, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}
const reads = (text: string): ReadonlyArray<string> =>
  api.calls.filter((call) => call.includes("/api/statistics/traffic/") && call.includes(text))
const params = (page: Page): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams)
const region = (page: Page, name: string | RegExp): Locator => page.getByRole("region", { name })
const refusal = "Traffic is not shown to guests. Administrators see it after signing in."

/** A visible node with several interfaces and the percentile switched on. */
const node = (): FakeNode => {
  const found = api.fleet.nodes.find((one) => one.id % 2 === 0 && one.id % 5 !== 4 && one.isGuestVisible && one.isP95On)
  if (found === undefined) throw new Error("no such node")
  return found
}
const signIn = async (page: Page): Promise<void> => {
  await page.goto(`${api.origin}/login`)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.keyboard.press("Enter")
  await page.waitForURL(`${api.origin}/`)
}
const opened = async (search = "", visit: Parameters<Browser["open"]>[1] = {}): Promise<Page> => {
  const page = await browser.open(`${api.origin}/traffic/${node().id}${search}`, visit)
  await page.waitForSelector(".uplot canvas")
  return page
}

describe.skipIf(!hasBrowser)("the traffic pages", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    api = await new FakeApi({ dist: await builtPage(), nodes: 30 }).start()
    browser = await Browser.launch()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })
  afterEach(async () => {
    await browser.clear()
    api.revoke(true)
    api.reset(30)
  })

  it("are one calm sentence where guests may not see them, without a link and without a read", async () => {
    api.traffic.settings = { ...api.traffic.settings, guestAccess: "disabled" }
    const page = await browser.open(`${api.origin}/traffic`)
    await page.getByText(refusal).waitFor()
    expect(await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Traffic" }).count()).toBe(0)
    await page.waitForTimeout(600)
    expect([reads("").length, await auditPage(page), browser.faults]).toEqual([0, [], []])

    await page.goto(`${api.origin}/traffic/${node().id}`)
    await page.getByText(refusal).waitFor()
    await page.goto(`${api.origin}/nodes/${node().id}`)
    await page.waitForSelector(".area path.line-0")
    expect(await page.locator("main").getByRole("link", { name: "Traffic" }).count()).toBe(0)

    await signIn(page)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Traffic" }).click()
    await page.locator(".usage .use").first().waitFor()
  })

  it("say of a node that does not exist no more than of one that is hidden", async () => {
    const hidden = api.fleet.nodes.find((one) => !one.isGuestVisible)
    const texts: Array<string> = []
    for (const id of [hidden?.id ?? 0, 999]) {
      const page = await browser.open(`${api.origin}/traffic/${id}`)
      await page.getByText(refusal).waitFor()
      texts.push((await page.locator("main").innerText()).replace(String(id), "N"))
    }
    expect(texts[0]).toBe(texts[1])
    const page = await browser.open("about:blank")
    await signIn(page)
    await page.goto(`${api.origin}/traffic/999`)
    await page.getByRole("heading", { name: "No such node" }).waitFor()
  })

  it("say what could not be read, offer to try again, and then show it", async () => {
    api.traffic.isDown = true
    const page = await browser.open(`${api.origin}/traffic`)
    await page.getByText("25 nodes could not be read.").waitFor()
    api.traffic.isDown = false
    await page.getByRole("button", { name: "Try again" }).click()
    await page.locator(".usage .use").first().waitFor()
    await until(() => page.getByText("could not be read").count(), 0)

    api.traffic.isDown = true
    await page.goto(`${api.origin}/traffic/${node().id}`)
    await page.getByText("The service is not ready.").waitFor()
    api.traffic.isDown = false
    await page.getByRole("main").getByRole("button", { name: "Try again" }).click()
    await page.waitForSelector(".uplot canvas")
  })

  it("explain why there are no days in the lite mode, and lead administrators to the setting", async () => {
    api.traffic.settings = { ...api.traffic.settings, usageMode: "lite" }
    const page = await opened()
    await page.getByRole("heading", { name: "Days need the billing mode" }).waitFor()
    expect(await page.getByRole("link", { name: "To the traffic settings" }).count()).toBe(0)
    expect(
      await region(page, /2026|20\d\d/)
        .first()
        .getByText("No P95 in the lite mode")
        .count()
    ).toBe(1)
    expect([reads("daily").length, await region(page, "Why this figure").count()]).toEqual([0, 0])
    expect(await page.getByRole("button", { name: "Days" }).count()).toBe(0)
    await signIn(page)
    await page.goto(`${api.origin}/traffic/${node().id}`)
    await page.getByRole("link", { name: "To the traffic settings" }).click()
    await page.getByRole("radio", { name: "Lite" }).waitFor()
    expect(browser.faults).toEqual([])
  })

  it("show the explanation too when the service switched to lite behind the page", async () => {
    const page = await browser.open("about:blank")
    await page.route("**/traffic/daily?*", (route) =>
      route.fulfill({ status: 409, json: { code: "traffic_daily_requires_billing", message: "billing" } })
    )
    await page.goto(`${api.origin}/traffic/${node().id}`)
    await page.getByRole("heading", { name: "Days need the billing mode" }).waitFor()
  })

  for (const [colours, width] of [
    ["light", 1280],
    ["dark", 1000],
    ["light", 320],
    ["dark", 390]
  ] as const) {
    it(`break no rule of accessibility and fit at ${width} px in ${colours} colours`, async () => {
      const page = await browser.open(`${api.origin}/traffic`, { width, colours })
      await page.locator(".usage .use").nth(3).waitFor()
      expect([await overflowOf(page), await auditPage(page)]).toEqual([0, []])
      await page.goto(`${api.origin}/traffic/${node().id}`)
      await page.waitForSelector(".uplot canvas")
      await region(page, "Days").getByText("Show as table").click()
      await region(page, "Five-minute rates").getByText("Show as table").click()
      await page.getByText(/^Slots left out/).click()
      await region(page, "Five-minute rates").getByRole("row").nth(3).waitFor()
      expect([await overflowOf(page), await auditPage(page), browser.faults]).toEqual([0, [], []])
    })
  }

  it("rank nodes by use with the busiest interface of each, and let others be picked", async () => {
    const page = await browser.open(`${api.origin}/traffic`, { height: 1400 })
    await page.getByText("25 nodes", { exact: true }).waitFor()
    const uses = async (): Promise<ReadonlyArray<number>> =>
      (await page.locator(".row .col-use strong").allTextContents()).map((text) => {
        const [figure = "", unit = ""] = text.split(" ")
        return Number(figure) * { TB: 1000, GB: 1, MB: 0.001 }[unit]!
      })
    await until(async () => {
      const all = await uses()
      return all.length > 10 && all.every((one, i) => i === 0 || one <= (all[i - 1] ?? 0))
    }, true)
    const first = page.locator("[data-index='0']")
    const picker = first.getByRole("combobox")
    expect(await picker.inputValue()).toBe("eth1")
    const busiest = page.locator(`[data-id='${await first.getAttribute("data-id")}']`)
    const before = await busiest.locator(".col-use strong").textContent()
    await picker.selectOption("eth0")
    // It uses less there, and moves down the list.
    await until(async () => (await busiest.locator(".col-use strong").textContent()) === before, false)
    expect(await busiest.getByRole("link").getAttribute("href")).toContain("?iface=eth0")
    expect(await page.getByText("No interface has been counted yet.").count()).toBeGreaterThan(0)

    await page.getByLabel("Order").selectOption("name")
    await until(() => params(page)["sort"], "name")
    await page.getByLabel("Search nodes").fill("fra-edge")
    await until(() => page.locator("[data-index]").count(), 2)
    expect(reads("iface=all").length + reads("iface=lo").length + reads("iface=docker0").length).toBe(0)
  })

  it("read of a large fleet only what is seen, until somebody wants it ranked", async () => {
    api.reset(1200)
    const page = await browser.open(`${api.origin}/traffic`, { height: 700 })
    await page.locator(".usage .use").nth(3).waitFor()
    await page.waitForTimeout(1500)
    expect(reads("ifaces").length).toBeLessThan(60)
    expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(2500)
    await page.getByLabel("Order").selectOption("use")
    await page.getByText(/^\d+ of 1,000 nodes read$/).waitFor()
  })

  it("tell of thin coverage, of gaps and resets, and why there is no percentile", async () => {
    const told = api.traffic.read.bind(api.traffic)
    api.traffic.read = (kind, ...rest) => {
      const answer = told(kind, ...rest)
      if (kind !== "summary") return answer
      const summary = answer as TrafficSummary
      const thin = { coverage_ratio: 0.8049, p95_status: "disabled", selected_p95_bytes_per_sec: null } as const
      return { ...summary, stats: { ...summary.stats, ...thin } }
    }
    const page = await opened()
    await page.getByText("Based on 80% of the samples").waitFor()
    await page.getByText("P95 is switched off for this node").first().waitFor()
    await page
      .getByText(/^\d+ gaps? · \d+ counter resets?$/)
      .first()
      .waitFor()
    // The rule's result is told in the reasons, but no line is drawn.
    await page.getByText("this is what the rule would give").waitFor()
    expect(await region(page, "Five-minute rates").getByRole("img").getAttribute("aria-label")).not.toContain("P95")
  })

  it("say which slot decides, which are left out, and how much room the line has", async () => {
    const page = await opened()
    const why = region(page, "Why this figure")
    await why.getByText(/^The slot of .+ decides with \d+(\.\d)? MB\/s\.$/).waitFor()
    expect(await why.locator("q").textContent()).toBe(fakeRule)
    const rates = region(page, "Five-minute rates")
    const level = (await rates.locator(".legend strong").nth(1).textContent()) ?? ""
    expect(await rates.getByRole("img").getAttribute("aria-label")).toMatch(
      new RegExp(`^Out: lowest .+, highest .+, last .+\\. P95 line at ${level}\\.$`)
    )
    expect(await why.locator(".deciding").textContent()).toContain(level)
    await page.getByText(/more slots \(.+\) may lie above this line without raising it\.$/).waitFor()
    await why.getByText(/^Slots left out/).click()
    await until(() => why.getByRole("row").count(), 13)

    await rates.getByRole("button", { name: "In", exact: true }).click()
    await until(() => params(page)["side"], "in")
    await until(async () => (await rates.locator(".legend strong").nth(1).textContent()) === level, false)
    expect(browser.faults).toEqual([])
  })

  it("zoom into the slots, go to the cycle before and to more months, all of it in the address", async () => {
    const page = await opened()
    const plot = region(page, "Five-minute rates").locator(".u-over")
    await plot.scrollIntoViewIfNeeded()
    const box = await plot.boundingBox()
    if (box === null) throw new Error("the plot is not there")
    await page.mouse.move(box.x + 20, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + 60, box.y + 40, { steps: 3 })
    await page.mouse.move(box.x + 120, box.y + 40, { steps: 3 })
    await page.mouse.up()
    await until(() => "from" in params(page), true)
    await page.getByRole("button", { name: "Whole cycle" }).click()
    await until(() => params(page), {})

    await page.getByRole("button", { name: "Previous cycle" }).click()
    await page.getByText("The cycle is over", { exact: true }).waitFor()
    await page.waitForSelector(".uplot canvas")
    expect(reads("explain").at(-1)).toContain("period=previous")
    await region(page, "Cycles").getByLabel("Number of cycles").selectOption("24")
    await until(() => reads("months=24").length > 0, true)
    await region(page, "Cycles").getByLabel("From").selectOption("previous")
    await until(() => reads("monthly").some((call) => call.includes("period=previous")), true)
    expect(params(page)).toEqual({ period: "previous", months: "24", since: "previous" })
    await page.reload()
    await page.getByText("The cycle is over", { exact: true }).waitFor()
  })

  it("are read and moved with the keyboard", async () => {
    const page = await opened()
    await page.getByLabel("Interface").focus()
    await page.keyboard.press("ArrowUp")
    await until(() => params(page)["iface"], "eth0")
    await page.waitForSelector(".uplot canvas")
    const days = region(page, "Days")
    await days.getByRole("img").focus()
    await page.keyboard.press("Home")
    await days.getByText(/^[A-Z][a-z]+ 1: in .+, out .+$/).waitFor()
    const rates = region(page, "Five-minute rates")
    await rates.getByRole("img").focus()
    await page.keyboard.press("End")
    await until(async () => ((await rates.locator(".when").textContent()) ?? "").length > 8, true)
  })

  it("hand out files, also to administrators, whose token no link would carry", async () => {
    api.traffic.settings = { ...api.traffic.settings, guestAccess: "disabled" }
    const page = await browser.open("about:blank")
    await signIn(page)
    await page.goto(`${api.origin}/traffic/${node().id}`)
    await page.waitForSelector(".uplot canvas")
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("group", { name: "Download as CSV" }).getByRole("button", { name: "Slots" }).click()
    ])
    expect(download.suggestedFilename()).toMatch(/^traffic-\d+-eth1-facts-\d{4}-\d\d-\d\d\.csv$/)
    expect(readFileSync((await download.path()) ?? "", "utf8")).toBe("kind,period,months\r\nfacts,current,6\r\n")
    api.traffic.isDown = true
    await page.getByRole("group", { name: "Download as CSV" }).getByRole("button", { name: "Cycles" }).click()
    await page.getByText(/^The file could not be read\./).waitFor()
  })

  it("lead to the node and back, and speak Chinese", async () => {
    const page = await opened()
    await page.getByRole("link", { name: "To the node" }).click()
    await page.waitForSelector(".area path.line-0")
    await page.locator("main").getByRole("link", { name: "Traffic" }).click()
    await page.waitForSelector(".uplot canvas")
    expect(new URL(page.url()).pathname).toBe(`/traffic/${node().id}`)
    await page.getByLabel("Language").selectOption("zh")
    await page.getByRole("heading", { name: "数值依据" }).waitFor()
    await page.getByRole("link", { name: "全部流量" }).click()
    await page.getByRole("columnheader", { name: "计量" }).waitFor()
    expect(browser.faults).toEqual([])
  })
})
