// The administrator's list of nodes and groups, and every change to it.
import type { Group } from "../../../../schema/Group.ts"
import type { CycleMode, DirectionMode, Node } from "../../../../schema/Node.ts"
import { Failure } from "../../api/Failure.ts"
import { session } from "../../state/Session.svelte.ts"
import { explain, report } from "./Explain.ts"

/** The members of a node that this app changes; all others keep their value. */
export interface NodeChange {
  readonly name?: string
  readonly is_guest_visible?: boolean
  readonly tags?: ReadonlyArray<string>
  readonly group_ids?: ReadonlyArray<number>
  readonly secret?: string
  readonly traffic_p95_enabled?: boolean
  readonly traffic_direction_mode?: DirectionMode
  readonly traffic_cycle_mode?: CycleMode
  readonly traffic_billing_start_day?: number
  readonly traffic_billing_anchor_date?: string
  readonly traffic_billing_timezone?: string
}

const nodesPath = "/api/admin/nodes/"
/** The service takes no more at once. */
const bulkIdsMax = 10_000

export class NodeBook {
  nodes = $state.raw<ReadonlyArray<Node>>([])
  groups = $state.raw<ReadonlyArray<Group>>([])
  status = $state<"loading" | "ready" | "failed">("loading")
  /** Why the list could not be loaded. */
  reason = $state("")
  /** The order still to be sent while an earlier one is on its way. */
  #nextOrder: ReadonlyArray<number> | null = null
  #isOrdering = false

  async load(): Promise<void> {
    try {
      const [nodes, groups] = await Promise.all([
        session.client.get<ReadonlyArray<Node>>(nodesPath),
        session.client.get<ReadonlyArray<Group>>("/api/admin/groups/")
      ])
      this.nodes = nodes
      this.groups = groups
      this.status = "ready"
    } catch (thrown) {
      this.reason = explain(thrown).text
      if (this.status === "loading") this.status = "failed"
      else report(thrown)
    }
  }

  /** Answers the id of the new node, named by the `Location` of the answer. */
  async create(): Promise<number> {
    const { headers } = await session.client.call("POST", nodesPath)
    const id = Number(/\/(\d+)\/?$/.exec(headers.get("location") ?? "")?.[1])
    if (!Number.isInteger(id)) throw new Failure(204, "invalid_json_response", "The answer names no node.")
    return id
  }

  async patch(id: number, change: NodeChange): Promise<void> {
    await session.client.call("PATCH", `${nodesPath}${id}`, { body: change })
  }

  async remove(id: number): Promise<void> {
    await session.client.call("DELETE", `${nodesPath}${id}`)
    this.nodes = this.nodes.filter((node) => node.id !== id)
  }

  /** Shown at once and taken back when the service refuses. */
  async setVisible(node: Node, isVisible: boolean): Promise<void> {
    this.#put(node.id, { is_guest_visible: isVisible })
    try {
      await this.patch(node.id, { is_guest_visible: isVisible })
    } catch (thrown) {
      this.#put(node.id, { is_guest_visible: !isVisible })
      report(thrown)
    }
  }

  /** Whether the percentile of these nodes is told; all of one call or none. Answers how many were switched. */
  async switchP95(ids: ReadonlyArray<number>, enabled: boolean): Promise<number> {
    let done = 0
    try {
      for (; done < ids.length; done += bulkIdsMax) {
        const part = ids.slice(done, done + bulkIdsMax)
        await session.client.call("PATCH", `${nodesPath}traffic-p95`, { body: { ids: part, enabled } })
      }
    } catch (thrown) {
      report(thrown)
    }
    const switched = new Set(ids.slice(0, done))
    this.nodes = this.nodes.map((node) => (switched.has(node.id) ? { ...node, traffic_p95_enabled: enabled } : node))
    return switched.size
  }

  /** Shown at once. Quick moves are sent as one list after the one that is on its way. */
  async move(from: number, to: number): Promise<void> {
    this.nodes = moved(this.nodes, from, to)
    this.#nextOrder = this.nodes.map((node) => node.id)
    if (this.#isOrdering) return
    this.#isOrdering = true
    try {
      while (this.#nextOrder !== null) {
        const ids: ReadonlyArray<number> = this.#nextOrder
        this.#nextOrder = null
        await session.client.call("PUT", `${nodesPath}display-order`, { body: { ids } })
      }
    } catch (thrown) {
      this.#nextOrder = null
      report(thrown)
      await this.load()
    } finally {
      this.#isOrdering = false
    }
  }

  #put(id: number, change: Partial<Node>): void {
    this.nodes = this.nodes.map((node) => (node.id === id ? { ...node, ...change } : node))
  }
}

/** The list with one element taken from one place to another. */
export const moved = <A>(list: ReadonlyArray<A>, from: number, to: number): ReadonlyArray<A> => {
  const rest = list.filter((_, index) => index !== from)
  return [...rest.slice(0, to), ...list.slice(from, from + 1), ...rest.slice(to)]
}
