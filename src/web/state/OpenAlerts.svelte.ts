// The open alerts by node as signals, asked for at a calm pace while an administrator is signed in.
import { untrack } from "svelte"
import type { AlertEventSummary } from "../../../schema/AlertEvents.ts"
import { session } from "./Session.svelte.ts"

export type NodeAlerts = AlertEventSummary["items"][number]

/** Whoever waits for an alert is told by a channel; here it only has to show up soon. */
const pollMs = 30_000

class OpenAlerts {
  /** Null until the first answer and without a session. */
  items = $state.raw<ReadonlyArray<NodeAlerts> | null>(null)
  /** The last question had no answer; what stands here may be old. */
  isFailed = $state(false)
  count = $derived((this.items ?? []).reduce((sum, one) => sum + one.open_count, 0))
  /** Changes whenever an alert opened or closed. */
  stamp = $derived(
    (this.items ?? []).map((one) => `${one.server_id}:${one.open_count}:${one.metrics.join()}`).join(" ")
  )
  readonly #byNode = $derived(new Map<number, NodeAlerts>((this.items ?? []).map((one) => [one.server_id, one])))

  /** What is open on a node; undefined when nothing is. */
  of(nodeId: number): NodeAlerts | undefined {
    return this.#byNode.get(nodeId)
  }

  /** Asks until the returned function is called; not while nobody looks. */
  run(): () => void {
    const abort = new AbortController()
    const look = (): void => {
      if (!document.hidden) void this.#load(abort.signal)
    }
    untrack(look)
    const timer = setInterval(look, pollMs)
    document.addEventListener("visibilitychange", look)
    return () => {
      abort.abort()
      clearInterval(timer)
      document.removeEventListener("visibilitychange", look)
      this.items = null
      this.isFailed = false
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    try {
      const summary = await session.client.get<AlertEventSummary>("/api/admin/alerts/events/summary", { signal })
      if (signal.aborted) return
      this.items = summary.items
      this.isFailed = false
    } catch {
      if (!signal.aborted) this.isFailed = true
    }
  }
}

export const openAlerts = new OpenAlerts()
