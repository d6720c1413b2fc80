// One read of a page: what came last, why nothing came, and that figures of something else are not shown.
import { failureOf, type Failure } from "../../api/Failure.ts"
import { readTraffic, type Params } from "./TrafficReads.ts"

export class Reading<A> {
  value = $state.raw<A | null>(null)
  failure = $state.raw<Failure | null>(null)
  #about = ""

  /** What was read before stays on show while the same is read again, and goes when something else is asked for. */
  async load(kind: string, params: Params, signal: AbortSignal): Promise<void> {
    const about = JSON.stringify(params)
    if (about !== this.#about) this.value = this.failure = null
    this.#about = about
    try {
      const value = await readTraffic<A>(kind, params, signal)
      if (signal.aborted) return
      this.value = value
      this.failure = null
    } catch (thrown) {
      if (!signal.aborted) this.failure = failureOf(thrown)
    }
  }
}
