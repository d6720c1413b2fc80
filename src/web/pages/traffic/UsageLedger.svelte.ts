// One node's traffic: the view in the address, its interfaces, the cycle on show, and what stands behind it.
import { untrack } from "svelte"
import type { TrafficDaily, TrafficIfaces, TrafficMonthly, TrafficSummary } from "../../../../schema/Traffic.ts"
import type { TrafficExplain } from "../../../../schema/TrafficProof.ts"
import { failureOf, type Failure } from "../../api/Failure.ts"
import { link } from "../../state/Link.svelte.ts"
import { router } from "../../state/Router.svelte.ts"
import { busiestOf, candidatesOf } from "./Interfaces.ts"
import { Reading } from "./Reading.svelte.ts"
import { readTraffic } from "./TrafficReads.ts"
import { parseView, printView, type TrafficView } from "./TrafficView.ts"

/** The ledger moves every five minutes; this notices within half of one. */
const pollMs = 30_000

export class UsageLedger {
  readonly id: string
  view = $derived(parseView(router.search))
  status = $state<"loading" | "ready" | "empty" | "refused" | "missing" | "failed">("loading")
  /** Why the page shows nothing. */
  failure = $state.raw<Failure | null>(null)
  names = $state.raw<ReadonlyArray<string>>([])
  /** Of the current cycle. */
  summary = $state.raw<TrafficSummary | null>(null)
  readonly daily = new Reading<TrafficDaily>()
  readonly monthly = new Reading<TrafficMonthly>()
  readonly explain = new Reading<TrafficExplain>()
  #busiest = $state("")
  /** The interface on show; empty until one is known. */
  iface = $derived(this.view.iface === "" ? this.#busiest : this.view.iface)
  /** Figures of the same interface are read again when this changes. */
  stamp = $derived(
    this.summary === null
      ? ""
      : `${this.summary.iface} ${this.summary.usage_mode} ${this.summary.stats.covered_until} ${this.summary.cycle.start}`
  )
  /** The closed cycle right before the current one; null when nothing was measured in it, or while it is not known. */
  previous = $derived.by((): TrafficMonthly["items"][number] | null => {
    const start = Date.parse(this.summary?.cycle.start ?? "")
    return this.monthly.value?.items.find((item) => Date.parse(item.cycle.end) === start) ?? null
  })

  constructor(id: string) {
    this.id = id
  }

  /** Follows the current cycle until the returned function is called; again for every interface. */
  run(): () => void {
    return link.run((signal) => this.#round(signal))
  }

  choose(change: Partial<TrafficView>): void {
    router.setSearch(printView({ ...this.view, ...change }), false)
  }

  loadDaily(signal: AbortSignal): Promise<void> {
    return this.daily.load("daily", this.#of({ period: this.view.period }), signal)
  }

  loadMonthly(signal: AbortSignal): Promise<void> {
    const { months, since } = this.view
    return this.monthly.load("monthly", this.#of({ months: String(months), period: since }), signal)
  }

  loadExplain(signal: AbortSignal): Promise<void> {
    return this.explain.load("explain", this.#of({ period: this.view.period }), signal)
  }

  #of(params: Readonly<Record<string, string>>): Record<string, string> {
    return { server_id: this.id, iface: this.iface, ...params }
  }

  /** Rejects only where asking again may help. */
  async #round(signal: AbortSignal): Promise<number> {
    try {
      const server_id = this.id
      const ifaces = await readTraffic<TrafficIfaces>("ifaces", { server_id }, signal)
      const summaryOf = (iface: string) => readTraffic<TrafficSummary>("summary", { server_id, iface }, signal)
      const names = ifaces.map((one) => one.name)
      const wanted = untrack(() => this.iface)
      const summary =
        wanted === "" ? busiestOf(await Promise.all(candidatesOf(names).map(summaryOf))) : await summaryOf(wanted)
      signal.throwIfAborted()
      this.names = names
      this.failure = null
      if (summary === undefined) this.status = "empty"
      else {
        if (wanted === "") this.#busiest = summary.iface
        this.summary = summary
        this.status = "ready"
      }
    } catch (thrown) {
      signal.throwIfAborted()
      const failure = failureOf(thrown)
      this.failure = failure
      if (failure.status === 0 || failure.status >= 500) {
        if (this.status === "loading") this.status = "failed"
        throw failure
      }
      this.status = failure.status === 403 ? "refused" : failure.status === 404 ? "missing" : "failed"
    }
    return pollMs
  }
}
