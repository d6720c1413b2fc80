// Logo, page title and bar text as the administrator set them.
import type { Brand } from "../../../schema/System.ts"

export const defaultLogo = "/brandlogo.svg"
const storageKey = "brand"

const isBrand = (value: unknown): value is Brand =>
  typeof value === "object" &&
  value !== null &&
  ["logo_url", "page_title", "topbar_text"].every((name) => typeof Reflect.get(value, name) === "string")

/** The brand of the last visit, so that a reload does not flash the default one. */
const remembered = (): Brand => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "null")
    if (isBrand(stored)) return stored
  } catch {
    // Somebody else's text under our key: the default does.
  }
  return { logo_url: defaultLogo, page_title: "Monitor Dashboard", topbar_text: "Monitor Control" }
}

class BrandState {
  brand = $state.raw<Brand>(remembered())

  /** Best effort: without it the page stands under its default name. */
  async start(): Promise<void> {
    const response = await fetch("/api/front/brand").catch(() => null)
    const body: unknown = response?.ok ? await response.json().catch(() => null) : null
    if (!isBrand(body)) return
    this.brand = body
    localStorage.setItem(storageKey, JSON.stringify(body))
  }
}

export const branding = new BrandState()
