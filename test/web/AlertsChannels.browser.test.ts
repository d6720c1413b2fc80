// @vitest-environment node
// Who is told, in a real browser: channels with their secrets, tests and logins, the settings, the ledger, silences.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { ChannelConfig } from "../../src/core/alert/Channel.ts"
import { auditPage, Browser, builtPage, hasBrowser, overflowOf } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"
import { Refused } from "./FakeRecords.ts"

let api: FakeApi
let browser: Browser
const hourMs = 3_600_000
const hook: ChannelConfig = {
  type: "webhook",
  url: "https://hook.test/alerts",
  headers: { "x-token": "hidden-token" },
  secret: "hidden-secret"
}
const account: ChannelConfig = {
  type: "telegram",
  mode: "mtproto",
  apiId: 12,
  apiHash: "hidden-hash",
  phone: "+49 1",
  chatId: "self",
  session: "",
  username: ""
}

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
const writes = (): ReadonlyArray<string> => api.calls.filter((call) => /^(POST|PUT|DELETE) .*alerts/.test(call))

describe.skipIf(!hasBrowser)("the pages about who is told", { timeout: 60_000 }, () => {
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

  it("name every field of a channel that is wrong, and what the service refuses at its field", async () => {
    const page = await open("/admin/alerts/channels", ".empty")
    await page.getByRole("button", { name: "Add a channel" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Type").selectOption({ label: "E-mail" })
    await save(page)
    await dialog.getByText("Enter the name or address of the mail server.").waitFor()
    expect(await dialog.locator("[aria-invalid=true]").count()).toBe(4)
    expect([await auditPage(page), writes()]).toEqual([[], []])
    await dialog.getByLabel("Type").selectOption({ label: "Webhook" })
    await dialog.getByLabel("Name", { exact: true }).fill("ops")
    await dialog.getByLabel("URL").fill("https://hook.test/x")
    await dialog.getByRole("button", { name: "Add a header" }).click()
    await page.keyboard.type("Host")
    await dialog.getByLabel("Value of header 1").fill("x")
    await save(page)
    await dialog.getByText("This value was refused: must not set host").waitFor()
    expect(await dialog.getByLabel("Value of header 1").getAttribute("aria-invalid")).toBe("true")
    await dialog.getByLabel("Name of header 1").fill("X-Token")
    await save(page)
    await until(() => dialog.count(), 0)
    expect(api.alerts.channels[0]?.config).toEqual({
      type: "webhook",
      url: "https://hook.test/x",
      headers: { "x-token": "x" },
      secret: ""
    })
  })

  it("never show a secret, and keep those that were left empty", async () => {
    api.alerts.addChannel("ops", hook)
    const page = await open("/admin/alerts/channels", "[data-channel]")
    await page.getByRole("button", { name: "Edit ops" }).click()
    const dialog = page.getByRole("dialog")
    expect([
      await dialog.getByLabel("Secret").inputValue(),
      await dialog.getByLabel("Value of header 1").inputValue(),
      await dialog.getByLabel("Name of header 1").inputValue()
    ]).toEqual(["", "", "x-token"])
    expect(await page.content()).not.toContain("hidden-")
    await dialog.getByLabel("URL").fill("https://hook.test/other")
    await save(page)
    await until(() => dialog.count(), 0)
    expect(api.alerts.channels[0]?.config).toEqual({ ...hook, url: "https://hook.test/other" })
    await page.getByRole("button", { name: "Edit ops" }).click()
    await dialog.getByLabel("URL").fill("https://elsewhere.test/")
    await save(page)
    await dialog.getByText("This value was refused: must not be blank").waitFor()
  })

  it("say of a test why it failed or that it was sent, and switch and delete a channel", async () => {
    const { id } = api.alerts.addChannel("ops", hook)
    const page = await open("/admin/alerts/channels", "[data-channel]")
    await page.getByText("not used").first().waitFor()
    const told = page.locator("[data-channel] [role=status]")
    const test = page.getByRole("button", { name: "Send a test to ops" })
    api.alerts.testFault = new Refused(503, "notify_error", "refused_address: 10.0.0.1 is private")
    await test.click()
    await until(
      () => told.textContent(),
      "The address is private, and private targets are not allowed under Settings. (10.0.0.1 is private)"
    )
    api.alerts.testFault = new Refused(503, "notify_error", "something new")
    await test.click()
    await until(() => told.textContent(), "The notification could not be sent. (something new)")
    api.alerts.testFault = null
    await test.click()
    await until(() => told.textContent(), "The test was sent.")
    await page.getByRole("switch", { name: "ops is enabled" }).click()
    await until(() => api.alerts.channels[0]?.enabled, false)
    await page.getByRole("button", { name: "Delete ops" }).click()
    await page.getByRole("button", { name: "Delete channel" }).click()
    await page.getByRole("heading", { name: "Nobody is told yet" }).waitFor()
    expect(writes().at(-1)).toBe(`DELETE /api/admin/alerts/channels/${id}`)
  })

  it("log a Telegram account in by code and password, and check it", async () => {
    api.alerts.addChannel("me", account)
    const page = await open("/admin/alerts/channels", "[data-channel]")
    await page.getByText("not logged in").waitFor()
    await page.getByRole("button", { name: "Check the login of me" }).click()
    await page.getByText("Nobody has logged in to the Telegram account.").waitFor()
    await page.getByRole("button", { name: "Log in me" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Send the code" }).click()
    await dialog.getByLabel("Code").fill("1")
    await page.keyboard.press("Enter")
    await dialog.getByText("The code is not right.").waitFor()
    expect(await auditPage(page)).toEqual([])
    await dialog.getByLabel("Code").fill("12345")
    await page.keyboard.press("Enter")
    await dialog.getByLabel("Password of the account").fill("wrong")
    await page.keyboard.press("Enter")
    await dialog.getByText("The password is not right.").waitFor()
    await dialog.getByLabel("Password of the account").fill("deep")
    await page.keyboard.press("Enter")
    await page.getByText("logged in as watcher").waitFor()
    await page.getByRole("button", { name: "Check the login of me" }).click()
    await page.getByText("The login works.").waitFor()
  })

  it("refuse settings out of their bounds, order the channels, and save what was changed", async () => {
    const [a, b] = [api.alerts.addChannel("first", hook), api.alerts.addChannel("second", hook)]
    const page = await open("/admin/alerts/settings", "form")
    const after = page.getByLabel("A node is offline after, seconds")
    await after.fill("2")
    await page.getByText("Enter a whole number from 3 to 3600.").waitFor()
    expect([await page.getByRole("button", { name: "Save" }).isDisabled(), await auditPage(page)]).toEqual([true, []])
    await after.fill("30")
    await page.getByRole("checkbox", { name: "first" }).check()
    await page.getByRole("checkbox", { name: "second" }).check()
    await page.getByRole("button", { name: "Move second up" }).focus()
    await page.keyboard.press("Enter")
    await page.getByText("second is now at place 1.").waitFor()
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Move second up")
    await page.getByRole("switch", { name: "Private addresses are allowed" }).click()
    await save(page)
    await page.getByText("Saved", { exact: true }).waitFor()
    expect(api.alerts.settings).toMatchObject({
      channel_ids: [b.id, a.id],
      offline_after_sec: 30,
      allow_private_targets: true,
      group_offline: true
    })
    await page.reload()
    await until(
      () =>
        page
          .locator("ol li")
          .first()
          .textContent()
          .then((text) => text?.trim()),
      "second"
    )
  })

  it("show of every notification how it went, each attempt, and send it again", async () => {
    const channel = api.alerts.addChannel("ops", hook)
    const event = api.alerts.open(api.fleet, 1, "cpu.usage_ratio", api.now(), hourMs)
    const other = api.alerts.open(api.fleet, 2, "cpu.usage_ratio", api.now(), hourMs)
    api.alerts.deliver(event, channel, "failed", "timeout")
    const sent = api.alerts.deliver(other, channel, "sent")
    api.alerts.attempts = [
      {
        at: "2026-05-01T12:00:00Z",
        latency_ms: 15_000,
        outcome: "failed",
        reason: "timeout",
        message: "no answer in 15 seconds",
        notifications: 2
      }
    ]
    const page = await open(`/admin/alerts/events`, "[data-event]")
    const told = page.locator(`[data-event="${event.id}"]`).getByRole("link", { name: /^Who was told/ })
    await told.click()
    await until(() => page.locator("[data-delivery]").count(), 1)
    const entry = page.locator("[data-delivery]").first()
    expect(await entry.textContent()).toContain("The other side did not answer in time.")
    await entry.getByRole("button", { name: /^1 attempt/ }).click()
    await entry.getByText("15,000 ms").waitFor()
    expect(await entry.locator("ul").textContent()).toContain("2 in one message")
    expect(await auditPage(page)).toEqual([])
    await entry.getByRole("button", { name: /^Send again/ }).click()
    await entry.getByText("Waiting").waitFor()
    await page.getByRole("button", { name: "Clear filters" }).click()
    await until(() => page.locator("[data-delivery]").count(), 2)
    await page.getByLabel("Status").selectOption({ label: "Sent" })
    await until(() => page.locator("[data-delivery]").getAttribute("data-delivery"), String(sent.id))
    expect(browser.faults).toEqual([])
  })

  it("make a silence for a node, a group or a built-in rule, and end it", async () => {
    const page = await open("/admin/alerts/silences", ".empty")
    await page.getByRole("button", { name: "Add a silence" }).click()
    const dialog = page.getByRole("dialog")
    await save(page)
    await dialog.getByText("Choose a node of the list.").waitFor()
    await dialog.getByLabel("Node", { exact: true }).fill("#7")
    await dialog.getByLabel("For how long").selectOption("own")
    await dialog.getByLabel("Ends").fill("2020-01-01T00:00")
    await dialog.getByText("Choose a moment ahead, within a year.").waitFor()
    expect([await auditPage(page), writes()]).toEqual([[], []])
    await dialog.getByLabel("For how long").selectOption("h4")
    await dialog.getByLabel("Comment").fill("new disks")
    await save(page)
    await page.locator("[data-silence]").filter({ hasText: "new disks" }).waitFor()
    expect(api.alerts.silences[0]).toMatchObject({ scope: "node", target_id: 7, comment: "new disks" })
    const leftMs = Date.parse(api.alerts.silences[0]?.until ?? "") - api.now()
    expect(Math.abs(leftMs - 4 * hourMs)).toBeLessThan(60_000)
    await page.getByRole("button", { name: "Add a silence" }).click()
    await dialog.getByLabel("For", { exact: true }).selectOption("rule")
    await dialog.getByLabel("Rule").selectOption({ label: "RAID has failed members" })
    await save(page)
    await until(() => api.alerts.silences[0]?.target_id, -2)
    await page.getByRole("button", { name: "End now: the silence of RAID has failed members" }).click()
    await until(() => page.locator("[data-silence]").count(), 1)
    expect(browser.faults).toEqual([])
  })

  for (const [colours, width] of [
    ["light", 320],
    ["dark", 1280]
  ] as const) {
    it(`break no rule of accessibility and fit at ${width} px in ${colours} colours`, async () => {
      const channel = api.alerts.addChannel("ops-with-a-rather-long-name-of-its-own", hook)
      api.alerts.addChannel("me", account)
      const event = api.alerts.open(api.fleet, 1, "cpu.usage_ratio", api.now(), hourMs)
      api.alerts.deliver(event, channel, "failed", "expired")
      api.alerts.settings = { ...api.alerts.settings, channel_ids: [channel.id] }
      const until = new Date(api.now() + hourMs).toISOString()
      api.alerts.silences = [
        { id: 1, scope: "group", target_id: 2, until, active: true, comment: "x".repeat(80), created_at: until }
      ]
      const page = await open("/admin/alerts/channels", "[data-channel]", { width, colours })
      expect([await overflowOf(page), await auditPage(page)]).toEqual([0, []])
      for (const [path, ready] of [
        ["settings", "form"],
        ["deliveries", "[data-delivery]"],
        ["silences", "[data-silence]"]
      ] as const) {
        await page.goto(`${api.origin}/admin/alerts/${path}`)
        await page.locator(ready).first().waitFor()
        expect([path, await overflowOf(page), await auditPage(page)]).toEqual([path, 0, []])
      }
      await page.goto(`${api.origin}/admin/alerts/channels`)
      await page.getByRole("button", { name: "Edit ops" }).click()
      await page.getByRole("dialog").getByLabel("URL").waitFor()
      expect([await overflowOf(page), await auditPage(page), browser.faults]).toEqual([0, [], []])
    })
  }
})
