// One read of the service that a panel stands on: its value, or why there is none yet.
import { explain, report } from "../admin/Explain.ts"

export class Loaded<A> {
  /** Null until the first answer. */
  value = $state.raw<A | null>(null)
  /** Why there is no value. */
  reason = $state("")
  readonly #read: () => Promise<A>
  #asked = 0

  constructor(read: () => Promise<A>) {
    this.#read = read
  }

  /** Never rejects; a value that was had once stays when reading it again fails. */
  load = async (): Promise<void> => {
    const asked = ++this.#asked
    try {
      const value = await this.#read()
      if (asked !== this.#asked) return
      this.value = value
      this.reason = ""
    } catch (thrown) {
      if (asked !== this.#asked) return
      if (this.value === null) this.reason = explain(thrown).text
      else report(thrown)
    }
  }
}
