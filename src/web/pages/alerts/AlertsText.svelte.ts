// The texts of the alert pages in the language of the page.
import type { LocaleName } from "../../state/Locale.svelte.ts"
import { alertsEnglish, type AlertsCatalogue } from "./AlertsEnglish.ts"

const load: Record<LocaleName, () => Promise<AlertsCatalogue>> = {
  en: () => Promise.resolve(alertsEnglish),
  zh: async () => (await import("./AlertsChinese.ts")).alertsChinese
}

class AlertsText {
  text = $state.raw<AlertsCatalogue>(alertsEnglish)

  /** A catalogue that cannot be loaded leaves the texts as they are. */
  async use(name: LocaleName): Promise<void> {
    const text = await load[name]().catch(() => null)
    if (text !== null) this.text = text
  }
}

export const alertsText = new AlertsText()
