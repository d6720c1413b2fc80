// The texts of the traffic pages in the language of the page.
import { locale, type LocaleName } from "../../state/Locale.svelte.ts"
import { trafficEnglish, type TrafficCatalogue } from "./TrafficEnglish.ts"

const load: Record<LocaleName, () => Promise<TrafficCatalogue>> = {
  en: () => Promise.resolve(trafficEnglish),
  zh: async () => (await import("./TrafficChinese.ts")).trafficChinese
}

class TrafficText {
  text = $state.raw<TrafficCatalogue>(trafficEnglish)

  /** A catalogue that cannot be loaded leaves the texts as they are. */
  async use(name: LocaleName): Promise<void> {
    const text = await load[name]().catch(() => null)
    if (text !== null && locale.name === name) this.text = text
  }
}

export const trafficText = new TrafficText()
