// A long list that the service hands out page by page.
import { session } from "../../state/Session.svelte.ts"
import { explain, report } from "../admin/Explain.ts"

interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  readonly next_cursor: string | null
  readonly has_more: boolean
}

const pageSize = 50
/** Nobody reads further, and all of them stand in the document. */
const itemsMax = 1000

export class Pages<Item> {
  items = $state.raw<ReadonlyArray<Item>>([])
  status = $state<"loading" | "ready" | "failed">("loading")
  reason = $state("")
  isBusy = $state(false)
  #cursor = $state<string | null>(null)
  hasMore = $derived(this.#cursor !== null && this.items.length < itemsMax)
  /** There are more, but not here. */
  isCut = $derived(this.#cursor !== null && this.items.length >= itemsMax)
  readonly #path: string
  #params: Readonly<Record<string, string>> = {}
  #asked = 0

  constructor(path: string) {
    this.#path = path
  }

  /** From the start; what is shown stays until the answer is there when `isQuiet`. */
  async start(params: Readonly<Record<string, string>>, isQuiet = false): Promise<void> {
    this.#params = params
    if (!isQuiet) this.status = "loading"
    const asked = ++this.#asked
    this.isBusy = false
    try {
      const page = await this.#read(null)
      if (asked !== this.#asked) return
      this.#cursor = page.has_more ? page.next_cursor : null
      this.items = page.items
      this.status = "ready"
    } catch (thrown) {
      if (asked !== this.#asked || (isQuiet && this.status === "ready")) return
      this.status = "failed"
      this.reason = explain(thrown).text
    }
  }

  /** The same question again, as far as one page shows it: whoever reads further down is left alone. */
  async again(): Promise<void> {
    if (this.status !== "loading" && this.items.length <= pageSize) await this.start(this.#params, true)
  }

  async more(): Promise<void> {
    const asked = this.#asked
    this.isBusy = true
    try {
      const page = await this.#read(this.#cursor)
      if (asked !== this.#asked) return
      this.#cursor = page.has_more ? page.next_cursor : null
      this.items = [...this.items, ...page.items]
    } catch (thrown) {
      if (asked === this.#asked) report(thrown)
    }
    if (asked === this.#asked) this.isBusy = false
  }

  /** Puts what is known anew in the place of what was shown. */
  replace(isMeant: (item: Item) => boolean, change: (item: Item) => Item): void {
    this.items = this.items.map((item) => (isMeant(item) ? change(item) : item))
  }

  #read(cursor: string | null): Promise<Page<Item>> {
    const query = new URLSearchParams({ ...this.#params, limit: String(pageSize) })
    if (cursor !== null) query.set("cursor", cursor)
    return session.client.get<Page<Item>>(`${this.#path}?${query}`)
  }
}
