// The real browser of the page tests: the built page, one Chromium with a profile of its own, and what went wrong in it.
import axe from "axe-core"
import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { chromium, type BrowserContext, type Page } from "playwright-core"
import { build } from "vite"

const webFolder = fileURLToPath(new URL("../../src/web/", import.meta.url))
const builtFolder = fileURLToPath(new URL("../../dist/web", import.meta.url))
const executable = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

/** False where the machine has no browser or was told not to use it. */
export const hasBrowser = process.env["WATCHPOST_NO_BROWSER"] !== "1" && existsSync(executable)

// The launch scripts are plain JavaScript, so their types are written down here.
const stampScript: string = new URL("../../runtime/launch/stamp.mjs", import.meta.url).href

/** The page of these very sources: what the build left, or one made once and shared by all test files of a run. */
export const builtPage = async (): Promise<string> => {
  const { isStale } = (await import(/* @vite-ignore */ stampScript)) as { readonly isStale: () => boolean }
  if (!isStale() && existsSync(join(builtFolder, "index.html"))) return builtFolder
  const hash = createHash("sha256")
  for (const entry of readdirSync(webFolder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)))
  }
  const folder = join(tmpdir(), `watchpost-web-${hash.digest("hex").slice(0, 16)}`)
  if (existsSync(folder)) return folder
  const fresh = mkdtempSync(join(tmpdir(), "watchpost-web-build-"))
  // The runner says "test", which would build the development flavour.
  process.env["NODE_ENV"] = "production"
  await build({
    configFile: join(webFolder, "vite.config.ts"),
    logLevel: "error",
    mode: "production",
    build: { outDir: fresh }
  })
  try {
    renameSync(fresh, folder)
  } catch {
    // Another test file was faster.
    rmSync(fresh, { recursive: true, force: true })
  }
  return folder
}

const policyScript = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`

export interface Visit {
  readonly width?: number
  readonly height?: number
  readonly colours?: "light" | "dark"
}

/** A browser with one throw-away profile; `open` gives a page whose faults are collected. */
export class Browser {
  /** Console errors, page errors, dialogs and breaches of the content policy. */
  readonly faults: Array<string> = []
  readonly #context: BrowserContext
  readonly #profile: string

  private constructor(context: BrowserContext, profile: string) {
    this.#context = context
    this.#profile = profile
  }

  static async launch(): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), "watchpost-browser-"))
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: executable,
      headless: true,
      locale: "en-GB",
      timezoneId: "UTC",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync"
      ]
    })
    context.setDefaultTimeout(10_000)
    await context.addInitScript(policyScript)
    return new Browser(context, profile)
  }

  async open(url: string, visit: Visit = {}): Promise<Page> {
    const page = await this.#context.newPage()
    page.on("console", (message) => {
      if (message.type() === "error") this.faults.push(message.text())
    })
    page.on("pageerror", (error) => this.faults.push(String(error)))
    page.on("dialog", (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await page.setViewportSize({ width: visit.width ?? 1280, height: visit.height ?? 800 })
    await page.emulateMedia({ colorScheme: visit.colours ?? "light" })
    await page.goto(url)
    return page
  }

  /** Closes every page and forgets the session. */
  async clear(): Promise<void> {
    const [first, ...others] = this.#context.pages()
    for (const page of others) await page.close()
    if (first !== undefined && first.url().startsWith("http")) {
      await first.evaluate("localStorage.clear(), sessionStorage.clear()")
      await first.goto("about:blank")
    }
    await this.#context.clearCookies()
    this.faults.length = 0
  }

  async close(): Promise<void> {
    await this.#context.close()
    rmSync(this.#profile, { recursive: true, force: true })
  }
}

// What runs inside the page stands here as text: this program has no DOM types.
const settleScript = `Promise.all(document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().iterations !== Infinity)
  .map((one) => one.finished.catch(() => null)))`
const auditScript = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] }).then(({ violations }) =>
  violations.flatMap((one) => one.nodes.map((node) => one.id + ": " + node.target.join(" ") + " " + node.failureSummary)))`

/** Breaches of WCAG 2 A and AA as `rule: selector`, none when all is well. Waits for running fades first. */
export const auditPage = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(settleScript)
  await page.evaluate(axe.source)
  return page.evaluate<ReadonlyArray<string>>(auditScript)
}

/** How far the page can be scrolled sideways, in px; 0 when it fits. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)")
