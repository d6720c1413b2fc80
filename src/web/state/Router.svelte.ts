// The current address as signals, moved by the History API; links of the page go through it.
import { tick } from "svelte"
import { routeOf } from "./Routes.ts"

/** Scroll positions kept for the way back; older ones start at the top. */
const positionsMax = 50

class Router {
  path = $state(location.pathname)
  search = $state(location.search)
  /** Raised by a real navigation (not by a change of filters), for focus and scroll. */
  visits = $state(0)
  route = $derived(routeOf(this.path))
  params = $derived(new URLSearchParams(this.search))
  /** The overview with the filters it had last. */
  overview = $state("/")
  #key = 0
  #positions = new Map<number, number>()

  start(): () => void {
    history.scrollRestoration = "manual"
    this.#key = readKey()
    history.replaceState({ key: this.#key }, "")
    this.#read()
    const onPop = (): void => {
      this.#remember()
      this.#key = readKey()
      this.#read()
      void this.#restore()
    }
    addEventListener("popstate", onPop)
    document.addEventListener("click", this.#onClick)
    return () => {
      removeEventListener("popstate", onPop)
      document.removeEventListener("click", this.#onClick)
    }
  }

  /** Another page: new entry (or `replace`), scroll to the top, focus to the page's heading. */
  go(to: string, options: { readonly replace?: boolean } = {}): void {
    this.#remember()
    this.#write(to, options.replace === true)
    this.visits++
    scrollTo(0, 0)
  }

  /** The same page with another query; `replace` while somebody is typing. */
  setSearch(search: string, replace: boolean): void {
    if (search === this.search) return
    // Back returns to this place of the page, as it does after a link.
    if (!replace) this.#remember()
    this.#write(this.path + search, replace)
  }

  #write(to: string, replace: boolean): void {
    if (replace) history.replaceState({ key: this.#key }, "", to)
    else history.pushState({ key: ++this.#key }, "", to)
    this.#read()
  }

  #read(): void {
    if (this.path !== location.pathname) this.path = location.pathname
    this.search = location.search
    if (this.route.name === "overview") this.overview = `/${location.search}`
  }

  #remember(): void {
    this.#positions.set(this.#key, scrollY)
    const oldest = this.#positions.keys().next()
    if (this.#positions.size > positionsMax && oldest.done !== true) this.#positions.delete(oldest.value)
  }

  async #restore(): Promise<void> {
    await tick()
    scrollTo(0, this.#positions.get(this.#key) ?? 0)
  }

  #onClick = (event: MouseEvent): void => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest("a") : null
    if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return
    if (link.pathname === location.pathname && link.hash !== "") return
    event.preventDefault()
    this.go(link.pathname + link.search)
  }
}

const readKey = (): number => {
  const state: unknown = history.state
  return typeof state === "object" && state !== null && "key" in state && typeof state.key === "number" ? state.key : 0
}

export const router = new Router()
