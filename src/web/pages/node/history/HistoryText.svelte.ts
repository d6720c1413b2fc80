// The history's texts and times in the language of the page.
import { locale, type LocaleName } from "../../../state/Locale.svelte.ts"
import { historyEnglish, type HistoryCatalogue } from "./HistoryEnglish.ts"
import { makeTimes } from "../../../charts/Times.ts"

const load: Record<LocaleName, () => Promise<HistoryCatalogue>> = {
  en: () => Promise.resolve(historyEnglish),
  zh: async () => (await import("./HistoryChinese.ts")).historyChinese
}

class HistoryText {
  text = $state.raw<HistoryCatalogue>(historyEnglish)
  times = $derived(makeTimes(locale.name))

  /** A catalogue that cannot be loaded leaves the texts as they are. */
  async use(name: LocaleName): Promise<void> {
    const text = await load[name]().catch(() => null)
    if (text !== null) this.text = text
  }
}

export const historyText = new HistoryText()
