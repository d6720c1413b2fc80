// The connection to the service as signals: one polling loop for whichever page is open, and the service's clock.
import { untrack } from "svelte"
import { Poller, type Connection } from "../live/Poller.ts"
import { ServerClock } from "../live/ServerClock.ts"

/** One shared timer renders every age and countdown. */
const tickMs = 1000

class Link {
  connection = $state.raw<Connection>({ kind: "connecting" })
  /** Service time in ms, moved once a second and at every contact; 0 before the first contact. */
  now = $state(0)
  /** Whole seconds until the next attempt while reconnecting. */
  retryInSec = $state(0)
  isLost = $derived(this.connection.kind === "reconnecting" && this.connection.failures > 1)
  readonly #clock = new ServerClock()
  #poller: Poller | null = null

  start(): void {
    setInterval(() => this.#tick(), tickMs)
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#poller?.pause()
      else this.#poller?.resume()
    })
    addEventListener("online", () => this.#poller?.poke())
  }

  /** Runs `load` as the page's loop until the returned function is called. Safe to call from an effect. */
  run(load: (signal: AbortSignal) => Promise<number>): () => void {
    return untrack(() => this.#run(load))
  }

  #run(load: (signal: AbortSignal) => Promise<number>): () => void {
    const poller = new Poller({
      load,
      now: () => performance.now(),
      random: Math.random,
      onChange: (connection) => {
        this.connection = connection
        this.#tick()
      }
    })
    this.#poller?.stop()
    this.#poller = poller
    poller.start(document.hidden)
    return () => {
      poller.stop()
      if (this.#poller === poller) this.#poller = null
    }
  }

  /** Asks again now. */
  poke(): void {
    this.#poller?.poke()
  }

  /** The service's clock, just read from an answer. */
  sync(serverMs: number): void {
    this.#clock.sync(serverMs, performance.now())
  }

  /** From the `Date` header, where the body has no time of its own. */
  syncHeader(headers: Headers): void {
    const date = Date.parse(headers.get("date") ?? "")
    if (!Number.isNaN(date)) this.sync(date)
  }

  #tick(): void {
    const nowMs = performance.now()
    this.now = this.#clock.read(nowMs, this.connection.kind === "live")
    const { connection } = this
    this.retryInSec =
      connection.kind === "reconnecting" && connection.retryAtMs !== null
        ? Math.max(0, Math.ceil((connection.retryAtMs - nowMs) / 1000))
        : 0
  }
}

export const link = new Link()
