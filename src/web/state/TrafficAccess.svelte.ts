// Whether this viewer may read traffic at all, as a signal: administrators always, guests when the service says so.
import type { StatisticsAccess } from "../../../schema/Traffic.ts"
import { session } from "./Session.svelte.ts"

class TrafficAccess {
  /** `failed` until the service told; nothing is offered then. */
  guests = $state<"unknown" | "failed" | StatisticsAccess["traffic_guest_access_mode"]>("unknown")
  isOpen = $derived(session.isAdmin || (session.viewer === "guest" && this.guests === "by_node"))

  /** Asks once for a guest; only they need to know. */
  follow(viewer: typeof session.viewer): void {
    if (viewer === "guest") void this.load()
  }

  async load(): Promise<void> {
    try {
      this.guests = (await session.client.get<StatisticsAccess>("/api/statistics/access")).traffic_guest_access_mode
    } catch {
      this.guests = "failed"
    }
  }
}

export const trafficAccess = new TrafficAccess()
