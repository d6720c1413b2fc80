// The colour mode: cookie `theme` for a year, resolved to `data-theme` on the root element.

export const modes = ["system", "light", "dark"] as const
export type Mode = (typeof modes)[number]

const yearSec = 31_536_000

class Theme {
  mode = $state<Mode>(readMode(document.cookie))
  readonly #dark = matchMedia("(prefers-color-scheme: dark)")

  start(): void {
    this.#dark.addEventListener("change", () => this.#apply())
    this.#apply()
  }

  set(mode: Mode): void {
    this.mode = mode
    document.cookie = `theme=${mode}; Path=/; Max-Age=${yearSec}; SameSite=Lax`
    this.#apply()
  }

  next(): void {
    this.set(modes[(modes.indexOf(this.mode) + 1) % modes.length] ?? "system")
  }

  /** The browser's own frame takes the page's background. */
  #apply(): void {
    const isDark = this.mode === "dark" || (this.mode === "system" && this.#dark.matches)
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light"
    const meta = document.querySelector<HTMLMetaElement>("meta[name=theme-color]") ?? document.createElement("meta")
    meta.name = "theme-color"
    meta.content = getComputedStyle(document.documentElement).getPropertyValue("--mon-bg").trim()
    document.head.append(meta)
  }
}

function readMode(cookies: string): Mode {
  const text = /(?:^|;\s*)theme=(\w+)/.exec(cookies)?.[1]
  return modes.find((mode) => mode === text) ?? "system"
}

export const theme = new Theme()
