// @vitest-environment node
// Signing in and out, sessions that end, and the administration, in a real browser.
import type { Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { Browser, builtPage, hasBrowser } from "../support/Browser.ts"
import { FakeApi, password } from "../support/FakeApi.ts"

let api: FakeApi
let browser: Browser

const until = async <A>(read: () => Promise<A> | A, expected: A): Promise<void> => {
  await expect.poll(read, { timeout: 8000, interval: 50 }).toEqual(expected)
}

const signIn = async (path: string): Promise<Page> => {
  const page = await browser.open(`${api.origin}/login?next=${encodeURIComponent(path)}`)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.waitForURL(api.origin + path)
  await page.waitForSelector("[data-index]")
  return page
}

const orderOf = (page: Page): Promise<ReadonlyArray<string>> =>
  page.locator("[data-index] .col-name a").allTextContents()
const titlesOf = (): ReadonlyArray<string> => api.fleet.nodes.map((node) => node.title)
const storedIn = (page: Page) => page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")

describe.skipIf(!hasBrowser)("an administrator", { timeout: 30_000 }, () => {
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

  it("is told that the password is wrong, at the field, and stays where they are", async () => {
    const page = await browser.open(`${api.origin}/login`)
    const field = page.getByLabel("Password", { exact: true })
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByText("Enter the password.").waitFor()
    await field.fill("wrong")
    await page.keyboard.press("Enter")
    await page.getByText("The password is not right.").waitFor()

    expect([await field.getAttribute("aria-invalid"), await page.evaluate("document.activeElement.id")]).toEqual([
      "true",
      "password"
    ])
    expect(page.url()).toBe(`${api.origin}/login`)
  })

  it("is led through the sign-in to the page that was asked for, and never to another site", async () => {
    const page = await browser.open(`${api.origin}/admin/groups`)
    await page.waitForURL(`${api.origin}/login?next=%2Fadmin%2Fgroups`)
    await page.goto(`${api.origin}/login?next=//evil.test/x`)
    await page.getByLabel("Password", { exact: true }).fill(password)
    await page.keyboard.press("Enter")

    await page.waitForURL(`${api.origin}/`)
  })

  it("sees hidden nodes and marks, keeps the session over a reload, and is a guest after signing out", async () => {
    api.fleet.add("newcomer")
    const page = await signIn("/")
    await until(() => page.getByTestId("shown").textContent(), "13 nodes")
    expect(await page.locator("[data-id='6']").getByText("Hidden from guests").count()).toBe(1)
    expect(await page.locator("[data-id='11']").getByText("Fault: Two agents").count()).toBe(1)
    expect(await page.locator("[data-id='9']").getByText("Agent is outdated").count()).toBe(1)
    expect(await page.locator("[data-id='13'] .col-state").innerText()).toBe("Waiting")
    expect(await storedIn(page)).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/)

    await page.reload()
    await until(() => page.getByTestId("shown").textContent(), "13 nodes")
    expect(api.calls.filter((call) => call === "POST /api/auth/refresh")).toHaveLength(1)
    await page.getByRole("button", { name: "Sign out" }).click()
    await until(() => page.getByTestId("shown").textContent(), "10 nodes")
    expect(await page.getByText("Hidden from guests").count()).toBe(0)
    expect(await storedIn(page)).not.toContain("auth.login_persistence")
    expect(browser.faults).toEqual([])
  })

  it("stays signed in without notice when only the access token ended, and is told when the session did", async () => {
    const page = await signIn("/")
    await until(() => page.getByTestId("shown").textContent(), "12 nodes")
    api.revoke(false)
    await until(() => api.calls.filter((call) => call === "POST /api/auth/refresh").length, 1)
    await page.waitForTimeout(500)
    expect(await page.getByText("Your session has expired").count()).toBe(0)
    expect(await page.getByTestId("shown").textContent()).toBe("12 nodes")

    api.revoke(true)
    await page.getByText("Your session has expired").waitFor()
    await until(() => page.getByTestId("shown").textContent(), "10 nodes")
    expect(api.calls.filter((call) => call === "POST /api/auth/refresh")).toHaveLength(2)
    await page.getByRole("link", { name: "Sign in again" }).click()
    await page.waitForURL(`${api.origin}/login`)
  })

  it("shares the session between tabs: one refresh serves both, and signing out ends both", async () => {
    const page = await signIn("/")
    const other = await browser.open(api.origin)
    await until(() => other.getByTestId("shown").textContent(), "12 nodes")
    api.revoke(false)
    await page.waitForTimeout(1200)
    for (const tab of [page, other]) expect(await tab.getByTestId("shown").textContent()).toBe("12 nodes")
    expect(api.calls.filter((call) => call === "POST /api/auth/refresh")).toHaveLength(1)

    await page.getByRole("button", { name: "Sign out" }).click()
    for (const tab of [page, other]) await until(() => tab.getByTestId("shown").textContent(), "10 nodes")
  })

  it("adds a node from the empty overview: name, two commands, first report, connected", async () => {
    api.reset(0)
    const page = await browser.open(`${api.origin}/login`)
    await page.getByLabel("Password", { exact: true }).fill(password)
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "Add a node" }).click()
    await page.getByLabel("Name", { exact: true }).fill("fra-new-01")
    await page.getByRole("button", { name: "Create" }).click()
    const dialog = page.getByRole("dialog", { name: "Connect fra-new-01" })
    await dialog.getByText("Waiting for the first report").waitFor()
    const [node] = api.fleet.nodes
    if (node === undefined) throw new Error("no node was made")
    expect(await dialog.locator("code").allTextContents()).toEqual([
      `node dist/monitor-node.mjs report install ${api.origin}/api/node/metrics ${node.secret}`,
      "node dist/monitor-node.mjs push"
    ])
    await dialog.getByRole("button", { name: "Copy" }).first().click()
    await dialog.getByRole("button", { name: /^Copied/ }).waitFor()
    expect(await page.evaluate("document.querySelector('dialog').contains(document.activeElement)")).toBe(true)

    node.receivedAtMs = api.now()
    await dialog.getByText("Node connected").waitFor()
    expect([await orderOf(page), node.isGuestVisible]).toEqual([["fra-new-01"], false])
    expect(browser.faults).toEqual([])
  })

  it("changes only what was changed, and reads at the field what was refused", async () => {
    const page = await signIn("/admin/nodes")
    const [node, second] = api.fleet.nodes
    if (node === undefined || second === undefined) throw new Error("no nodes")
    await page.getByRole("button", { name: `Edit ${node.title}` }).click()
    const dialog = page.getByRole("dialog", { name: "Edit node" })
    await dialog.getByLabel("Name", { exact: true }).fill(" ")
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("Enter a name of at most 64 characters.").waitFor()
    await dialog.getByLabel("Name", { exact: true }).fill("renamed")
    await dialog.getByLabel("Secret", { exact: true }).fill(second.secret)
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.getByText("Another node uses this secret already.").waitFor()
    await dialog.getByRole("button", { name: "Show secret" }).click()
    expect(await dialog.getByLabel("Secret", { exact: true }).getAttribute("type")).toBe("text")
    await dialog.getByLabel("Secret", { exact: true }).fill(node.secret)
    await dialog.getByLabel("Add a tag").fill("fresh, new")
    await page.keyboard.press("Enter")
    await dialog.getByLabel("Asia").check()
    await dialog.getByRole("button", { name: "Save" }).click()
    await dialog.waitFor({ state: "detached" })

    expect([node.title, node.tags.slice(-2), node.groups.includes(3)]).toEqual(["renamed", ["fresh", "new"], true])
    expect((await orderOf(page))[0]).toBe("renamed")
    await page.getByText("“renamed” was saved.").waitFor()
  })

  it("switches the view of guests at once and takes it back when the service refuses", async () => {
    const page = await signIn("/admin/nodes")
    const [node] = api.fleet.nodes
    if (node === undefined) throw new Error("no nodes")
    const toggle = page.getByRole("switch", { name: `Guests see ${node.title}` })
    await toggle.click()
    await until(() => node.isGuestVisible, false)
    api.fleet.nodes.shift()
    await toggle.click()
    await page.getByText("It no longer exists.").waitFor()
    expect(await toggle.isChecked()).toBe(false)
  })

  it("orders nodes with the focus on the moved one, several moves in a row", async () => {
    const page = await signIn("/admin/nodes")
    const [a = "", b = "", c = "", d = ""] = titlesOf()
    const down = page.getByRole("button", { name: `Move ${a} down` })
    await down.click()
    await until(() => page.evaluate("document.activeElement.getAttribute('aria-label')"), `Move ${a} down`)
    await page.keyboard.press("Enter")
    await until(async () => (await orderOf(page)).slice(0, 3), [b, c, a])
    await page.getByRole("button", { name: `Move ${d} to the top` }).click()
    await until(() => titlesOf().slice(0, 4), [d, b, c, a])
    expect((await orderOf(page)).slice(0, 4)).toEqual([d, b, c, a])
    await page.getByText(`${d} is now at place 1.`).waitFor()

    await page.getByLabel("Search nodes").fill(a)
    await until(async () => (await orderOf(page)).length, 1)
    expect(await page.getByRole("button", { name: `Move ${a} up` }).getAttribute("aria-disabled")).toBe("true")
  })

  it("deletes only after a confirmation", async () => {
    const page = await signIn("/admin/nodes")
    const [title = ""] = titlesOf()
    await page.getByRole("button", { name: `Delete ${title}` }).click()
    await page.keyboard.press("Escape")
    await until(() => page.evaluate("document.activeElement.getAttribute('aria-label')"), `Delete ${title}`)
    expect(titlesOf()).toContain(title)
    await page.getByRole("button", { name: `Delete ${title}` }).click()
    await page.getByRole("button", { name: "Delete node" }).click()
    await until(() => titlesOf().includes(title), false)
    await until(async () => (await orderOf(page)).includes(title), false)
  })

  it("keeps groups: adds, renames, deletes, never the default one", async () => {
    const page = await signIn("/admin/nodes")
    await page.getByRole("link", { name: "Groups" }).click()
    await page.getByRole("button", { name: "Add group" }).click()
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Enter a name of at most 64 characters.").waitFor()
    await page.getByLabel("Name", { exact: true }).fill("Africa")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("button", { name: "Edit Africa" }).click()
    await page.getByLabel("Name", { exact: true }).fill("Oceania")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("button", { name: "Delete Oceania" }).click()
    await page.getByRole("button", { name: "Delete group" }).click()
    await page.getByText("Group “Oceania” was deleted.").waitFor()

    expect([...api.fleet.groupNames.values()]).toEqual(["default", "Europe", "Asia"])
    expect(await page.getByRole("button", { name: "Delete default" }).count()).toBe(0)
  })

  it("reads the service's own status", async () => {
    const page = await signIn("/admin/nodes")
    await page.getByRole("link", { name: "Status" }).click()
    const row = page.getByRole("row", { name: /retention/ })
    await row.waitFor()

    expect(await row.innerText()).toContain("Parked")
    expect(await row.innerText()).toContain("database is locked")
    expect(await page.getByText("120,380").count()).toBe(1)
  })

  it("ends one session, then all of them, and is a guest again", async () => {
    await signIn("/admin/nodes").then((page) => page.close())
    await browser.clear()
    const page = await signIn("/admin/nodes")
    await page.getByRole("link", { name: "Sessions" }).click()
    const rows = page.getByRole("button", { name: /^Sign out session/ })
    await until(() => rows.count(), 2)
    await rows.last().click()
    await until(() => rows.count(), 1)
    await page.getByText("This browser").waitFor()
    await page.getByRole("button", { name: "Sign out everywhere" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click()

    await page.waitForURL(/\/login/)
  })
})
