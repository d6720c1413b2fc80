// The administration's texts in the language of the page.
import type { LocaleName } from "../../state/Locale.svelte.ts"
import { adminEnglish, type AdminCatalogue } from "./AdminEnglish.ts"

const load: Record<LocaleName, () => Promise<AdminCatalogue>> = {
  en: () => Promise.resolve(adminEnglish),
  zh: async () => (await import("./AdminChinese.ts")).adminChinese
}

class AdminText {
  text = $state.raw<AdminCatalogue>(adminEnglish)

  /** A catalogue that cannot be loaded leaves the texts as they are. */
  async use(name: LocaleName): Promise<void> {
    const text = await load[name]().catch(() => null)
    if (text !== null) this.text = text
  }
}

export const adminText = new AdminText()
