// The overview's loop: asks for live frames and puts them into the one Fleet of this tab.
import { untrack } from "svelte"
import type { LiveFrame } from "../../../schema/Live.ts"
import { Failure } from "../api/Failure.ts"
import { Fleet } from "../fleet/Fleet.ts"
import { link } from "./Link.svelte.ts"
import { session } from "./Session.svelte.ts"

class Feed {
  readonly fleet = new Fleet()
  /** Raised with every applied frame; whoever shows the fleet reads it. */
  version = $state(0)
  /** Raised with every roster. */
  rosterVersion = $state(0)
  isLoaded = $state(false)
  /**
   * Service time in ms by which the fleet is judged. Until this run had its first contact it is the time of the last
   * frame: whoever comes back from another page must not see old figures turn stale for a moment.
   */
  now = $derived.by(() => (this.#isCurrent ? link.now : this.#frameNow))
  #isCurrent = $state(false)
  #frameNow = $state(0)
  #etag: string | null = null
  #pollMs = 3000
  #viewer = ""

  /** Starts polling; the returned function stops it. Another viewer starts from nothing. */
  run(viewer: string): () => void {
    untrack(() => {
      this.#isCurrent = false
      if (viewer !== this.#viewer) this.#reset()
    })
    this.#viewer = viewer
    return link.run((signal) => this.#load(signal, true))
  }

  async #load(signal: AbortSignal, mayRepeat: boolean): Promise<number> {
    const { seq } = this.fleet
    const { token } = session
    const answer = await session.client.call("GET", `/api/front/live${seq === null ? "" : `?since=${seq}`}`, {
      signal,
      etag: seq === null ? null : this.#etag
    })
    signal.throwIfAborted()
    if (answer.status === 304) {
      this.#isCurrent = true
      return this.#pollMs
    }
    const frame = answer.body as LiveFrame
    if (frame.viewer === "guest" && session.isAdmin) {
      if (mayRepeat && (await session.recover(token))) return this.#load(signal, false)
      if (session.isAdmin && !mayRepeat) session.expire()
      return this.#pollMs
    }
    signal.throwIfAborted()
    link.sync(frame.now)
    this.#etag = answer.headers.get("etag")
    this.#pollMs = frame.poll_ms
    const revision = this.fleet.rosterRevision
    if (!this.fleet.apply(frame)) {
      if (mayRepeat) return this.#load(signal, false)
      throw new Failure(answer.status, "invalid_json_response", "The frame does not fit its roster.")
    }
    this.#frameNow = frame.now
    this.#isCurrent = true
    this.isLoaded = true
    this.version++
    if (this.fleet.rosterRevision !== revision) this.rosterVersion++
    return frame.poll_ms
  }

  #reset(): void {
    this.fleet.reset()
    this.#etag = null
    this.isLoaded = false
    this.version++
    this.rosterVersion++
  }
}

export const feed = new Feed()
