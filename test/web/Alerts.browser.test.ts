// @vitest-environment node
// Alerts in a real browser: events, rules in words, the past of a rule, the matrix of mounts, and what is open elsewhere.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { auditPage, Browser, builtPage, hasBrowser, overflowOf } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"

let api: FakeApi
let browser: Browser
const hourMs = 3_600_000

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
const alertsOn = (...metrics: ReadonlyArray<readonly [number, string]>): void => {
  for (const [node, metric] of metrics) api.alerts.open(api.fleet, node, metric, api.now(), hourMs)
}
const writes = (): ReadonlyArray<string> => api.calls.filter((call) => /^(POST|PUT|PATCH|DELETE) .*alerts/.test(call))

describe.skipIf(!hasBrowser)("the alert pages", { timeout: 60_000 }, () => {
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

  it("ask nothing about alerts for a guest and lead to the sign-in", async () => {
    const page = await browser.open(`${api.origin}/`)
    await page.locator("[data-index]").first().waitFor()
    expect([
      await page.getByTestId("alert-strip").count(),
      await page.getByRole("link", { name: /Alerts/ }).count()
    ]).toEqual([0, 0])
    await page.goto(`${api.origin}/nodes/1`)
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.goto(`${api.origin}/admin/alerts/rules`)
    await page.getByLabel("Password", { exact: true }).waitFor()
    expect(page.url()).toContain("next=%2Fadmin%2Falerts%2Frules")
    expect(api.calls.filter((call) => call.includes("alerts"))).toEqual([])
  })

  it("are calm when nothing is open", async () => {
    const page = await open("/admin/alerts", ".empty")
    await page.getByRole("heading", { name: "All is well" }).waitFor()
    expect([await page.locator("header .count").count(), await auditPage(page), browser.faults]).toEqual([0, [], []])
  })

  it("say that the list could not be read and read it again", async () => {
    const page = await open("/admin/alerts", ".empty")
    await page.route("**/alerts/events?*", (route) => route.abort())
    await page.getByRole("button", { name: "Closed", exact: true }).click()
    await page.getByText("This could not be loaded").waitFor()
    await page.unroute("**/alerts/events?*")
    await page.getByRole("button", { name: "Try again" }).click()
    await page.getByText("No alert fits these filters.").waitFor()
  })

  it("list what is open with node, figure and time, narrow it, and find the past page by page", async () => {
    alertsOn([1, "cpu.usage_ratio"], [2, "node.offline"])
    for (let i = 0; i < 60; i++) api.alerts.open(api.fleet, 3, "mem.used_ratio", api.now(), (i + 2) * hourMs, hourMs)
    const page = await open("/admin/alerts", "[data-event]")
    const entries = page.locator("[data-event]")
    const cpu = entries.filter({ hasText: "CPU usage" })
    expect(await cpu.textContent()).toContain("97.3 %, threshold 90 %")
    expect(await cpu.getByRole("link").first().getAttribute("href")).toBe("/nodes/1")
    expect(await entries.filter({ hasText: "Node is offline" }).textContent()).not.toContain("threshold")
    await page.getByLabel("Metric").selectOption({ label: "CPU usage" })
    await until(() => entries.count(), 1)
    expect(page.url()).toContain("metric=cpu.usage_ratio")
    await page.getByRole("button", { name: "Clear filters" }).click()
    await until(() => entries.count(), 2)
    await page.getByRole("button", { name: "Closed", exact: true }).click()
    await until(() => entries.count(), 50)
    expect(await entries.first().textContent()).toContain("the condition no longer holds")
    await page.getByRole("button", { name: "Show more" }).click()
    await until(() => entries.count(), 60)
    expect(await page.getByRole("button", { name: "Show more" }).count()).toBe(0)
    await page.getByLabel("From", { exact: true }).fill(new Date(api.now() - 4.5 * hourMs).toISOString().slice(0, 16))
    await until(() => entries.count(), 3)
    expect(browser.faults).toEqual([])
  })

  it("count what is open in the bar, in a line above the fleet and on the node, without moving the fleet", async () => {
    alertsOn([1, "cpu.usage_ratio"], [1, "mem.used_ratio"], [2, "node.offline"])
    const page = await open("/", "[data-index]")
    const strip = page.getByTestId("alert-strip")
    await strip.getByText("3 open alerts").waitFor()
    expect(
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Alerts" }).textContent()
    ).toContain("3 open alerts")
    const top = (): Promise<number | undefined> =>
      page
        .locator(".list")
        .boundingBox()
        .then((box) => box?.y)
    const before = await top()
    api.alerts.events = []
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await strip.getByText("No open alerts").waitFor()
    expect(await top()).toBe(before)
    await until(() => page.locator("header .count").count(), 0)
    alertsOn([1, "cpu.usage_ratio"], [1, "mem.used_ratio"])
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await strip.getByRole("link", { name: /Memory usage/ }).click()
    const badge = page.getByTestId("node-alerts")
    await badge.waitFor()
    expect((await badge.textContent())?.replace(/\s+/g, " ").trim()).toBe("2 open alerts: Memory usage, CPU usage")
    await badge.click()
    await until(() => page.locator("[data-event]").count(), 2)
    expect([await page.getByLabel("Node", { exact: true }).inputValue(), browser.faults]).toEqual(["1", []])
  })

  it("say a rule in words while it is typed, name what is wrong, and save it", async () => {
    const page = await open("/admin/alerts/rules", "[data-rule]")
    await page.getByRole("button", { name: "Add a rule" }).click()
    const dialog = page.getByRole("dialog")
    const sentence = dialog.getByTestId("sentence")
    const name = dialog.getByLabel("Name", { exact: true })
    await dialog.getByLabel("Threshold").fill("lots")
    await page.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("Enter a number.").waitFor()
    await dialog.getByText("Enter a name of at most 128 characters in one line.").waitFor()
    expect([await name.getAttribute("aria-invalid"), await auditPage(page), writes()]).toEqual(["true", [], []])
    await dialog.getByLabel("Threshold").fill("92.5")
    await dialog.getByLabel("Close only at a calmer value").check()
    await dialog.getByLabel("Closes beyond").fill("80")
    await until(
      () => sentence.textContent(),
      "CPU usage at least 92.5 % for 1 minute; again after 5 minutes at the earliest; closes below 80 %"
    )
    await name.fill("busy")
    await page.keyboard.press("Enter")
    await page.getByText("“busy” was added. Mount it on nodes to make it watch.").waitFor()
    expect(api.alerts.rules[0]).toMatchObject({
      name: "busy",
      metric: "cpu.usage_ratio",
      threshold: 0.925,
      clearThreshold: 0.8,
      durationSec: 60,
      cooldownMin: 5
    })
    await page.locator("[data-rule]").filter({ hasText: "busy" }).waitFor()
    expect(browser.faults).toEqual([])
  })

  it("change only what was changed, switch and delete a rule, and keep the built-in ones", async () => {
    const page = await open("/admin/alerts/rules", "[data-rule]")
    await until(() => page.locator("[data-rule]").count(), 8)
    expect(await page.getByRole("button", { name: "Edit Node is offline" }).count()).toBe(0)
    await page.getByRole("button", { name: "Edit cpu_load1_high" }).click()
    const dialog = page.getByRole("dialog")
    await until(
      () => dialog.getByTestId("sentence").textContent(),
      "Load over 1 minute at least the number of cores + 1 for 1 minute"
    )
    await dialog.getByLabel("How long it must hold", { exact: true }).fill("2")
    await dialog.getByLabel("How long it must hold: unit").selectOption("minute")
    await page.getByRole("button", { name: "Save" }).click()
    await until(() => dialog.count(), 0)
    expect(api.alerts.rules.find((rule) => rule.id === 2)).toMatchObject({
      durationSec: 120,
      thresholdMode: "core_plus"
    })
    api.alerts.isReadOnly = true
    const enabled = page.getByRole("switch", { name: "mem_used_high is enabled" })
    await enabled.click()
    await page.getByText("The service cannot reach its storage. Try again in a moment.").waitFor()
    expect(await enabled.isChecked()).toBe(true)
    api.alerts.isReadOnly = false
    await enabled.click()
    await until(() => api.alerts.rules.find((rule) => rule.id === 4)?.enabled, false)
    await page.getByRole("button", { name: "Delete mem_used_high" }).click()
    await page.getByRole("button", { name: "Delete rule" }).click()
    await until(() => page.locator("[data-rule]").count(), 7)
  })

  it("try a rule on the past of a node before it is saved", async () => {
    api.alerts.episodes = [
      [5 * hourMs, 4 * hourMs],
      [hourMs, null]
    ]
    const page = await open("/admin/alerts/rules", "[data-rule]")
    await page.getByRole("button", { name: "Edit cpu_usage_high" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Try it" }).click()
    await dialog.getByText("Choose a node of the list.").waitFor()
    await dialog.getByLabel("Node", { exact: true }).fill(`${api.fleet.nodes[0]?.title} · #1`)
    await dialog.getByRole("button", { name: "Try it" }).click()
    await dialog.getByText("2 alerts").waitFor()
    await dialog.getByText("still open at the end").waitFor()
    expect([await dialog.locator("rect").count(), await auditPage(page)]).toEqual([2, []])
    await dialog.getByLabel("Threshold").fill("10")
    await dialog.getByText("The rule was changed since.").waitFor()
    api.alerts.episodes = []
    await dialog.getByRole("button", { name: "Try it" }).click()
    await dialog.getByText("It would have stayed quiet.").waitFor()
    expect(writes()).toEqual(Array(2).fill("POST /api/admin/alerts/rules/preview"))
    await dialog.getByLabel("Metric").selectOption("raid.failed")
    await dialog.getByText("No history is kept of this metric, so it cannot be tried.").waitFor()
    expect(await dialog.getByRole("button", { name: "Try it" }).isDisabled()).toBe(true)
  })

  it("mount rules cell by cell with the keyboard and take back what was refused", async () => {
    const page = await open("/admin/alerts/mounts", "[data-node]")
    const [first, second] = api.fleet.nodes
    const cell = (rule: string, node: string | undefined) =>
      page.getByRole("checkbox", { name: `${rule} watches ${node}` })
    expect(await cell("Node is offline", first?.title).isChecked()).toBe(true)
    await cell("Node is offline", first?.title).focus()
    await page.keyboard.press("End")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Space")
    await until(() => api.alerts.isMounted(1, 2), true)
    const mounted = cell("cpu_usage_high", second?.title)
    expect(await mounted.isChecked()).toBe(true)
    api.alerts.isReadOnly = true
    await page.keyboard.press("Space")
    await page.getByText("The service cannot reach its storage. Try again in a moment.").waitFor()
    expect([await mounted.isChecked(), api.alerts.isMounted(1, 2)]).toEqual([true, true])
    expect(await page.getByRole("grid").locator("[tabindex='0']").count()).toBe(1)
  })

  it("mount a rule on all nodes that search and group leave", async () => {
    const page = await open("/admin/alerts/mounts?rule=4", "[data-node]")
    await page.getByLabel("Group", { exact: true }).selectOption({ label: "Europe" })
    const europe = api.fleet.nodes.filter((node) => node.groups.includes(2))
    await until(() => page.getByTestId("shown").textContent(), `${europe.length} of 12 nodes`)
    expect(await page.getByLabel("Rule", { exact: true }).inputValue()).toBe("4")
    await page.getByRole("button", { name: `Mount on ${europe.length} shown` }).click()
    await page.getByText(`Mounted on ${europe.length} nodes.`).waitFor()
    expect(api.fleet.nodes.filter((node) => api.alerts.isMounted(4, node.id))).toEqual(europe)
    await page.getByLabel("Search nodes").fill(europe[0]?.title ?? "")
    await page.getByRole("button", { name: "Take off 1 shown" }).click()
    await until(() => api.alerts.isMounted(4, europe[0]?.id ?? 0), false)
    await page.getByLabel("Search nodes").fill("no such node")
    await page.getByText("No node fits this search.").waitFor()
    expect([writes().length, await auditPage(page), browser.faults]).toEqual([2, [], []])
  })

  it("keep only the rows of the matrix that are seen in the document", async () => {
    api.reset(3000)
    const page = await open("/admin/alerts/mounts", "[data-node]")
    expect(await page.locator("[data-node]").count()).toBeLessThan(60)
    await page.getByRole("checkbox").first().focus()
    await page.keyboard.press("PageDown")
    await page.keyboard.press("PageDown")
    await until(() => page.evaluate("Number(document.activeElement.dataset.cell.split(':')[0]) > 15"), true)
    await page.evaluate("document.querySelector('[role=grid]').scrollTop = 1e9")
    await page.locator(`[data-node="3000"]`).waitFor()
  })

  for (const [colours, width] of [
    ["light", 320],
    ["dark", 1280]
  ] as const) {
    it(`break no rule of accessibility and fit at ${width} px in ${colours} colours`, async () => {
      alertsOn([1, "cpu.usage_ratio"], [2, "node.offline"])
      const page = await open("/", "[data-index]", { width, colours })
      await page.getByTestId("alert-strip").getByText("2 open alerts").waitFor()
      expect([await overflowOf(page), await auditPage(page)]).toEqual([0, []])
      for (const [path, ready] of [
        ["/nodes/1", "[data-testid=node-alerts]"],
        ["/admin/alerts/events", "[data-event]"],
        ["/admin/alerts/rules", "[data-rule]"],
        ["/admin/alerts/mounts", "[data-node]"]
      ] as const) {
        await page.goto(api.origin + path)
        await page.locator(ready).first().waitFor()
        expect([path, await overflowOf(page), await auditPage(page)]).toEqual([path, 0, []])
      }
      await page.goto(`${api.origin}/admin/alerts/rules`)
      await page.getByRole("button", { name: "Edit cpu_load1_high" }).click()
      await page.getByRole("dialog").getByLabel("Close only at a calmer value").check()
      expect([await overflowOf(page), await auditPage(page), browser.faults]).toEqual([0, [], []])
    })
  }

  it("speak Chinese", async () => {
    alertsOn([1, "cpu.usage_ratio"])
    const page = await open("/admin/alerts/rules", "[data-rule]")
    await page.getByLabel("Language").selectOption("zh")
    await page.getByText("CPU 使用率不低于 90 %,持续 1分钟").waitFor()
    await page.getByRole("link", { name: "事件" }).click()
    await page.getByText("97.3 %,阈值 90 %").waitFor()
  })
})
