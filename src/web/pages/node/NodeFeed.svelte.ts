// The loop of one node's page: its full snapshot and its last minutes.
import type { Recent } from "../../../../schema/Live.ts"
import type { Snapshot } from "../../../../schema/Snapshot.ts"
import { failureOf } from "../../api/Failure.ts"
import { link } from "../../state/Link.svelte.ts"
import { session } from "../../state/Session.svelte.ts"

/** About the pace of reports; both reads are small. */
const pollMs = 3000

export class NodeFeed {
  readonly id: string
  snapshot = $state.raw<Snapshot | null>(null)
  recent = $state.raw<Recent | null>(null)
  status = $state<"loading" | "found" | "missing">("loading")
  #etag: string | null = null

  constructor(id: string) {
    this.id = id
  }

  run(): () => void {
    this.#etag = null
    return link.run((signal) => this.#load(signal, true))
  }

  async #load(signal: AbortSignal, mayRepeat: boolean): Promise<number> {
    const { token } = session
    const asked = session.client.call("GET", `/api/front/metrics?ids=${this.id}`, { signal, etag: this.#etag })
    // Both at once, but not for a node that may turn out to be nobody's business.
    const early = this.status === "found" ? this.#recent(signal) : null
    const [metrics] = await Promise.all([asked, early])
    signal.throwIfAborted()
    link.syncHeader(metrics.headers)
    if (metrics.status !== 304) {
      const [snapshot] = metrics.body as ReadonlyArray<Snapshot>
      // A token that is no longer good gets the guest's view, where a hidden node does not exist.
      if (snapshot === undefined && session.isAdmin && mayRepeat && (await session.recover(token)))
        return this.#load(signal, false)
      this.#etag = metrics.headers.get("etag")
      this.snapshot = snapshot ?? null
      this.status = snapshot === undefined ? "missing" : "found"
    }
    if (this.status === "found") this.recent = await (early ?? this.#recent(signal))
    return pollMs
  }

  /** Null where the service keeps no last minutes of this node for this viewer. */
  async #recent(signal: AbortSignal): Promise<Recent | null> {
    try {
      return await session.client.get<Recent>(`/api/front/recent?server_id=${this.id}`, { signal })
    } catch (thrown) {
      if (failureOf(thrown).status === 0) throw thrown
      return null
    }
  }
}
