// Which nodes of the administrator's list are picked: one by one, a stretch with Shift, or all that are shown.
import { SvelteSet } from "svelte/reactivity"

export class Selection {
  readonly ids = new SvelteSet<number>()
  /** Where a stretch begins: the row that was picked last. */
  #last: number | null = null

  /** `shown` are the ids on show in their order; `isStretch` takes all rows since the last pick with it. */
  pick(shown: ReadonlyArray<number>, id: number, isOn: boolean, isStretch: boolean): void {
    const to = shown.indexOf(id)
    const from = isStretch && this.#last !== null ? shown.indexOf(this.#last) : -1
    const taken = from < 0 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1)
    for (const one of taken)
      if (isOn) this.ids.add(one)
      else this.ids.delete(one)
    this.#last = id
  }

  pickAll(shown: ReadonlyArray<number>, isOn: boolean): void {
    for (const id of shown)
      if (isOn) this.ids.add(id)
      else this.ids.delete(id)
    this.#last = null
  }

  clear(): void {
    this.ids.clear()
    this.#last = null
  }
}
