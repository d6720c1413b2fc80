// The names of nodes, groups and rules, for lists and forms that only know their numbers.
import type { Rule } from "../../../../schema/Alerts.ts"
import type { Group } from "../../../../schema/Group.ts"
import type { Node } from "../../../../schema/Node.ts"
import { session } from "../../state/Session.svelte.ts"
import { Loaded } from "./Loaded.svelte.ts"

export interface Named {
  readonly id: number
  readonly name: string
}

export class Directory {
  readonly nodes = new Loaded<ReadonlyArray<Named>>(async () =>
    (await session.client.get<ReadonlyArray<Node>>("/api/admin/nodes/")).map(({ id, name }) => ({ id, name }))
  )
  readonly groups = new Loaded<ReadonlyArray<Named>>(() =>
    session.client.get<ReadonlyArray<Group>>("/api/admin/groups/")
  )
  readonly rules = new Loaded<ReadonlyArray<Named>>(() =>
    session.client.get<ReadonlyArray<Rule>>("/api/admin/alerts/rules/")
  )
  readonly #nodeNames = $derived(namesOf(this.nodes.value))
  readonly #groupNames = $derived(namesOf(this.groups.value))
  readonly #ruleNames = $derived(namesOf(this.rules.value))

  async load(): Promise<void> {
    await Promise.all([this.nodes.load(), this.groups.load(), this.rules.load()])
  }

  /** Empty when it is not known. */
  nameOf(scope: "node" | "group" | "rule", id: number): string {
    return { node: this.#nodeNames, group: this.#groupNames, rule: this.#ruleNames }[scope].get(id) ?? ""
  }
}

const namesOf = (all: ReadonlyArray<Named> | null): ReadonlyMap<number, string> =>
  new Map<number, string>((all ?? []).map((one) => [one.id, one.name]))
