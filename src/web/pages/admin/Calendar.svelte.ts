// The calendar that a form would make, asked for a moment after the last change.
import { untrack } from "svelte"
import type { TrafficCalendar } from "../../../../schema/Traffic.ts"
import { failureOf } from "../../api/Failure.ts"
import { session } from "../../state/Session.svelte.ts"
import { errorText } from "../../text/ErrorTexts.ts"
import { refusedField, type CycleField } from "./CycleForm.ts"

/** Typing does not ask at every key. */
const restMs = 250

export class Calendar {
  value = $state.raw<TrafficCalendar | null>(null)
  /** The field that makes no calendar, empty for none, and why. */
  field = $state<CycleField | "">("")
  error = $state("")

  /** Asks until the returned function is called; what is on show stays until the answer comes. */
  ask(params: Readonly<Record<string, string>>): () => void {
    const abort = new AbortController()
    const timer = setTimeout(
      () => void this.#load(params, abort.signal),
      untrack(() => this.value) === null ? 0 : restMs
    )
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }

  async #load(params: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams(params).toString()
    try {
      const path = `/api/statistics/traffic/calendar${query === "" ? "" : `?${query}`}`
      const value = await session.client.get<TrafficCalendar>(path, { signal })
      if (signal.aborted) return
      this.value = value
      this.field = ""
      this.error = ""
    } catch (thrown) {
      if (signal.aborted) return
      const failure = failureOf(thrown)
      const refused = refusedField(failure)
      this.value = null
      this.field = refused?.field ?? ""
      this.error = errorText(refused?.failure ?? failure)
    }
  }
}
