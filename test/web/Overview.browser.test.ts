// @vitest-environment node
// The overview in a real browser: live updates, filters, keyboard, and every state it can be in.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { Browser, builtPage, hasBrowser } from "../support/Browser.ts"
import { FakeApi } from "../support/FakeApi.ts"

let api: FakeApi
let browser: Browser

const first = "[data-index='0']"
const titles = (page: Page): Promise<ReadonlyArray<string>> => page.locator("[data-index] a").allTextContents()
const shown = (page: Page) => page.getByTestId("shown")

/** Waits until `read` answers what is expected; the page moves by itself. */
const until = async <A>(read: () => Promise<A>, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}

describe.skipIf(!hasBrowser)("the overview", { timeout: 30_000 }, () => {
  beforeAll(async () => {
    api = await new FakeApi({ dist: await builtPage(), nodes: 50 }).start()
    browser = await Browser.launch()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })
  afterEach(async () => {
    await browser.clear()
    api.offsetMs = 0
    api.reset(50)
  })

  it("keeps the last figures under one banner while the service is away, and closes it on return", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const counts = await page.getByTestId("count-online").textContent()
    api.isDown = true
    await until(
      () =>
        page
          .getByTestId("pill")
          .textContent()
          .then((text) => /^Reconnecting in \d+ s$/.test(text ?? "")),
      true
    )
    expect(await page.getByText("The service cannot be reached").count()).toBe(0)
    await page.getByText("The service cannot be reached").waitFor({ timeout: 9000 })
    // A browser that lost the service knows nothing of the nodes: nobody turns stale or offline.
    expect(await page.getByTestId("count-online").textContent()).toBe(counts)
    expect(await page.locator("[data-index]").count()).toBeGreaterThan(5)
    expect(await page.evaluate("getComputedStyle(document.querySelector('.list')).filter")).toContain("grayscale")

    api.isDown = false
    await page.getByRole("button", { name: "Try now" }).click()
    await until(() => page.getByTestId("pill").textContent(), "Live")
    expect(await page.getByText("The service cannot be reached").count()).toBe(0)
    expect(browser.faults.filter((fault) => !fault.includes("ERR_EMPTY_RESPONSE"))).toEqual([])
  })

  it("shows rows of the final height while it loads, and shifts nothing when they come", async () => {
    api.isHeld = true
    const page = await browser.open(api.origin)
    await page.getByTestId("skeleton").waitFor()
    await page.evaluate(
      "window.shifts = 0, new PerformanceObserver((list) => list.getEntries().forEach((one) => (window.shifts += one.value))).observe({ type: 'layout-shift', buffered: true })"
    )
    api.isHeld = false
    await page.waitForSelector(first)
    await page.waitForTimeout(400)

    expect(await page.evaluate("window.shifts")).toBeLessThan(0.01)
    expect(browser.faults).toEqual([])
  })

  it("counts nodes that appear while it is open", async () => {
    api.reset(1)
    const page = await browser.open(api.origin)
    await until(() => shown(page).textContent(), "1 node")

    // Eight of the fifty are hidden from guests.
    api.reset(50)
    await until(() => shown(page).textContent(), "42 nodes")
    expect(browser.faults).toEqual([])
  })

  it("tells a guest that nothing is public when nothing is", async () => {
    api.reset(0)
    const page = await browser.open(api.origin)
    await page.getByRole("heading", { name: "Nothing public yet" }).waitFor()

    expect(await page.getByRole("link", { name: "Add a node" }).count()).toBe(0)
  })

  it("offers to clear the filters when nobody matches", async () => {
    const page = await browser.open(`${api.origin}/?q=nowhere&sort=cpu`)
    await page.getByRole("heading", { name: "No node matches" }).waitFor()
    await page.getByRole("button", { name: "Clear filters" }).first().click()

    await page.waitForSelector(first)
    expect(new URL(page.url()).search).toBe("?sort=cpu")
  })

  it("greys late nodes with their age, strikes silent ones, and counts both", async () => {
    const [late, silent] = api.fleet.nodes
    if (late === undefined || silent === undefined) throw new Error("no nodes")
    Object.assign(late, { isSilent: true, receivedAtMs: Date.now() - 20_000 })
    Object.assign(silent, { isSilent: true, receivedAtMs: Date.now() - 120_000 })
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const cell = (id: number, column: string) => page.locator(`[data-id='${id}'] .col-${column}`).innerText()

    expect([await cell(late.id, "state"), await cell(silent.id, "state")]).toEqual(["Stale", "Offline"])
    expect(await cell(late.id, "seen")).toMatch(/^2\ds ago$/)
    expect(await cell(late.id, "mem")).toMatch(/%$/)
    expect([await cell(silent.id, "mem"), await cell(silent.id, "recv"), await cell(silent.id, "seen")]).toEqual([
      "–",
      "–",
      "2m ago"
    ])
    expect(await page.getByTestId("count-stale").innerText()).toContain("1")
  })

  it("turns nodes stale and then offline by the service's clock when reports stop", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    api.isQuiet = true
    for (const [ageMs, state] of [
      [20_000, "stale"],
      [60_000, "offline"]
    ] as const) {
      api.offsetMs = ageMs
      api.fleet.touchRoster()
      await until(async () => Number((await page.getByTestId(`count-${state}`).innerText()).replace(/\D/g, "")), 42)
    }
  })

  it("moves by itself: new values, new nodes, changed names", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const before = await page.locator(`${first} .col-recv`).innerText()
    await until(async () => (await page.locator(`${first} .col-recv`).innerText()) !== before, true)
    await until(
      async () => ((await page.locator(`${first} .spark path`).getAttribute("d")) ?? "").split("L").length > 3,
      true
    )

    const [node] = api.fleet.nodes
    if (node === undefined) throw new Error("no nodes")
    node.title = "renamed"
    api.fleet.touchRoster()
    await until(async () => (await titles(page))[0], "renamed")
    expect(api.calls.filter((call) => call.startsWith("GET /api/front/live?since=")).length).toBeGreaterThan(2)
    expect(api.calls.filter((call) => call === "GET /api/front/live")).toHaveLength(1)
  })

  it("calls nobody late on the way back from another page before it has asked again", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    await page.locator(`${first} a`).click()
    await page.waitForSelector(".chart")
    api.isQuiet = true
    api.offsetMs = 60_000
    await page.getByText("Offline").waitFor({ timeout: 9000 })
    api.isHeld = true
    await page.goBack()
    await page.waitForSelector(first)
    expect(await page.locator(`${first} .col-state`).innerText()).toBe("Online")
    api.isHeld = false
    await until(() => page.locator(`${first} .col-state`).innerText(), "Offline")
  })

  it("asks nothing while its tab is hidden and goes on when it is shown", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true }), document.dispatchEvent(new Event("visibilitychange"))`
      )
    await hide(true)
    await until(() => page.getByTestId("pill").textContent(), "Paused")
    const before = api.calls.length
    await page.waitForTimeout(800)
    expect(api.calls.length - before).toBeLessThanOrEqual(1)
    await hide(false)
    await until(() => page.getByTestId("pill").textContent(), "Live")
  })

  it("filters by state, group, tag, system and words, keeps all of it in the address and gives it back", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    await until(() => shown(page).textContent(), "42 nodes")
    await page.getByTestId("count-online").click()
    await page.getByLabel("Group").selectOption("2")
    await page.getByLabel("Tag").selectOption("lab")
    await page.getByLabel("System", { exact: true }).selectOption({ index: 1 })
    await page.keyboard.press("Escape")
    await page.getByLabel("Search nodes").fill("a")
    const query = () => new URL(page.url()).searchParams
    await until(async () => query().get("q"), "a")
    expect([query().get("state"), query().get("group"), query().get("tag")]).toEqual(["online", "2", "lab"])
    expect(query().get("os")).not.toBeNull()
    const text = await shown(page).textContent()
    expect(text).toMatch(/^\d+ of 42 nodes$/)

    await page.reload()
    await until(() => shown(page).textContent(), text)
    expect(await page.getByLabel("Search nodes").inputValue()).toBe("a")
    expect(await page.getByTestId("count-online").getAttribute("aria-pressed")).toBe("true")
    await page.getByRole("button", { name: "Clear filters" }).first().click()
    await until(() => shown(page).textContent(), "42 nodes")
    await page.goBack()
    await until(() => shown(page).textContent(), text)
  })

  it("sorts by a column, back and off again, and holds still under the pointer", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const cpu = () => page.locator("[data-index] .col-cpu .number").allTextContents()
    const head = page.getByRole("columnheader", { name: "CPU" })
    await head.getByRole("button").click()
    await until(() => head.getAttribute("aria-sort"), "descending")
    await page.mouse.move(5, 5)
    // The focus stays on the column head: only pointer and focus on the rows hold the order.
    const sorted = (values: ReadonlyArray<string>) =>
      values.map((one) => parseInt(one)).every((one, i, all) => i === 0 || (all[i - 1] ?? 0) >= one)
    await until(async () => sorted(await cpu()), true)

    await page.locator("[data-index='2']").hover()
    const before = await titles(page)
    api.fleet.nodes.forEach((node, i) => (node.cpu = (i * 317) % 990))
    await page.waitForTimeout(1300)
    expect(await titles(page)).toEqual(before)
    await page.mouse.move(5, 5)
    await until(async () => sorted(await cpu()) && (await titles(page)).join() !== before.join(), true)

    await head.getByRole("button").click()
    await until(() => head.getAttribute("aria-sort"), "ascending")
    await head.getByRole("button").click()
    await until(() => head.getAttribute("aria-sort"), null)
    expect(new URL(page.url()).search).toBe("")
  })

  it("is worked with the keyboard: search, rows, opening, help, and a switch that turns the letters off", async () => {
    const page = await browser.open(api.origin)
    await page.waitForSelector(first)
    const focused = () =>
      page.evaluate("document.activeElement.closest('[data-index]')?.dataset.index ?? document.activeElement.type")
    await page.keyboard.press("/")
    expect(await focused()).toBe("search")
    await page.keyboard.type("j?")
    expect(await page.getByLabel("Search nodes").inputValue()).toBe("j?")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await until(() => shown(page).textContent(), "42 nodes")

    await page.keyboard.press("j")
    await until(focused, "0")
    await page.keyboard.press("j")
    await page.keyboard.press("ArrowDown")
    await until(focused, "2")
    await page.keyboard.press("End")
    await until(focused, "41")
    expect(
      await page
        .locator("[data-index='41']")
        .boundingBox()
        .then((box) => (box?.y ?? 999) + (box?.height ?? 0))
    ).toBeLessThan(801)
    await page.keyboard.press("k")
    await until(focused, "40")
    await page.keyboard.press("Home")
    await until(focused, "0")
    await page.keyboard.press("j")
    await until(focused, "1")
    await page.keyboard.press("Enter")
    await page.waitForURL(/\/nodes\/\d+$/)
    await page.goBack()
    await page.waitForSelector(first)

    await page.keyboard.press("?")
    const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" })
    await sheet.getByRole("switch").click()
    await page.keyboard.press("Escape")
    await sheet.waitFor({ state: "detached" })
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("?")
    await page.keyboard.press("j")
    expect([await page.getByRole("dialog").count(), await focused()]).toEqual([0, undefined])
  })
})
