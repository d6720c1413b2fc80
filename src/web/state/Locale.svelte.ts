// The language in use: its catalogue and number formats as signals. English is built in, others load when chosen.
import type { Catalogue } from "../text/Catalogue.ts"
import { english } from "../text/English.ts"
import { makeFormat } from "../text/Format.ts"

export const locales = ["en", "zh"] as const
export type LocaleName = (typeof locales)[number]
export const localeNames: Record<LocaleName, string> = { en: "English", zh: "中文" }

const storageKey = "locale"

const load: Record<LocaleName, () => Promise<Catalogue>> = {
  en: () => Promise.resolve(english),
  zh: async () => (await import("../text/Chinese.ts")).chinese
}

class Locale {
  name = $state<LocaleName>("en")
  text = $state.raw<Catalogue>(english)
  format = $derived(makeFormat(this.name, this.text.units))

  /** The stored choice, else the first known language of the browser. */
  async start(): Promise<void> {
    const wanted = [localStorage.getItem(storageKey), ...navigator.languages.map((tag) => tag.split("-")[0])]
    const name = wanted.map((one) => locales.find((known) => known === one)).find((one) => one !== undefined) ?? "en"
    await this.#use(name)
  }

  async set(name: LocaleName): Promise<void> {
    localStorage.setItem(storageKey, name)
    await this.#use(name)
  }

  /** A catalogue that cannot be loaded leaves the language as it is. */
  async #use(name: LocaleName): Promise<void> {
    const text = await load[name]().catch(() => null)
    if (text === null) return
    this.name = name
    this.text = text
    document.documentElement.lang = name === "zh" ? "zh-Hans" : name
  }
}

export const locale = new Locale()
