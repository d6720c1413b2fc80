// Which rule watches which node: read once, changed at once on the page and then at the service.
import type { Mounts, MountsWrite } from "../../../../schema/Alerts.ts"
import { session } from "../../state/Session.svelte.ts"
import { report } from "../admin/Explain.ts"
import { Loaded } from "./Loaded.svelte.ts"

const path = "/api/admin/alerts/mounts"

export interface MountNode {
  readonly id: number
  readonly name: string
  readonly groupIds: ReadonlyArray<number>
  /** What search looks in. */
  readonly text: string
}

interface Matrix {
  readonly rules: Mounts["rules"]
  readonly nodes: ReadonlyArray<MountNode>
  /** Per node the rules that watch it; not a signal, see `version`. */
  readonly mounted: ReadonlyMap<number, Set<number>>
}

export class MountBook {
  readonly matrix = new Loaded<Matrix>(async () => matrixOf(await session.client.get<Mounts>(path)))
  /** Raised with every change of a mount: ten thousand sets are no signals. */
  version = $state(0)
  isBusy = $state(false)

  isMounted(nodeId: number, ruleId: number): boolean {
    return this.version >= 0 && this.matrix.value?.mounted.get(nodeId)?.has(ruleId) === true
  }

  /** True when the service has taken it; else everything is as it was. */
  async put(ruleIds: ReadonlyArray<number>, nodeIds: ReadonlyArray<number>, isOn: boolean): Promise<boolean> {
    const before = nodeIds.map((id) => [id, new Set(this.matrix.value?.mounted.get(id))] as const)
    for (const id of nodeIds) for (const rule of ruleIds) this.#set(id, rule, isOn)
    this.version++
    const body: MountsWrite = { rule_ids: [...ruleIds], server_ids: [...nodeIds], mounted: isOn }
    try {
      await session.client.call("PUT", path, { body })
      return true
    } catch (thrown) {
      for (const [id, rules] of before) for (const rule of ruleIds) this.#set(id, rule, rules.has(rule))
      this.version++
      report(thrown)
      return false
    }
  }

  #set(nodeId: number, ruleId: number, isOn: boolean): void {
    const rules = this.matrix.value?.mounted.get(nodeId)
    if (isOn) rules?.add(ruleId)
    else rules?.delete(ruleId)
  }
}

const matrixOf = ({ nodes, rules }: Mounts): Matrix => ({
  rules,
  nodes: nodes.map((node) => ({
    id: node.id,
    name: node.name || node.hostname || `#${node.id}`,
    groupIds: node.group_ids,
    text: [node.name, node.hostname, node.ip ?? "", String(node.id)].join("\n").normalize("NFKC").toLowerCase()
  })),
  mounted: new Map(
    nodes.map((node) => [node.id, new Set(node.mounts.filter((one) => one.mounted).map((one) => one.rule_id))])
  )
})
