// What all charts of a node's history share: the view in the address, the stretch on show, reads, refusals and failures.
import { untrack } from "svelte"
import { SvelteMap, SvelteSet } from "svelte/reactivity"
import type { HistoryAgg, HistoryAnswer } from "../../../../../schema/History.ts"
import { failureOf, type Failure } from "../../../api/Failure.ts"
import { link } from "../../../state/Link.svelte.ts"
import { router } from "../../../state/Router.svelte.ts"
import { session } from "../../../state/Session.svelte.ts"
import type { Stretch } from "../../../charts/Times.ts"
import type { ChartSpec } from "./ChartSpecs.ts"
import { fit, narrow, parseView, printView, refreshMs, shift, stretchOf, type HistoryView } from "./HistoryView.ts"
import { Lane } from "../../../api/Lane.ts"

/** A browser keeps six connections per host; the live figures need theirs. */
const readsAtOnce = 4

export class HistoryBoard {
  readonly id: string
  view = $derived(parseView(router.search))
  /** What decides which figures are on show; changes with the address, not with time. */
  viewKey = $derived([this.view.range, this.view.zoom?.fromMs, this.view.zoom?.toMs, this.view.agg].join(" "))
  #reads = $state(0)
  /** Changes when charts have to read again. */
  key = $derived(`${this.viewKey} ${this.#reads}`)
  stretch = $derived.by((): Stretch => {
    void this.key
    return untrack(() => stretchOf(this.view, link.now))
  })
  /** By key of a chart that was read: whether there was any figure. */
  readonly #found = new SvelteMap<string, boolean>()
  /** Keys of charts that could not be read. */
  readonly failed = new SvelteSet<string>()
  failure = $state.raw<Failure | null>(null)
  /** History is not for this viewer; nothing more is asked. */
  isRefused = $state(false)
  readonly #lane = new Lane(readsAtOnce)
  #readAtMs = 0

  constructor(id: string) {
    this.id = id
  }

  /** Reads again as often as the step of the view gives new figures, while the page can be seen. */
  run(): () => void {
    this.#readAtMs = performance.now()
    untrack(() => this.failed.clear())
    const pauseMs = refreshMs(untrack(() => this.view))
    if (pauseMs === null) return () => undefined
    const look = (): void => {
      if (!document.hidden && performance.now() - this.#readAtMs >= pauseMs) this.again()
    }
    const timer = setInterval(look, 1000)
    document.addEventListener("visibilitychange", look)
    return () => {
      clearInterval(timer)
      document.removeEventListener("visibilitychange", look)
    }
  }

  again(): void {
    this.#readAtMs = performance.now()
    this.#reads++
  }

  aggOf(spec: ChartSpec): HistoryAgg {
    return this.view.agg ?? spec.agg
  }

  /** All series of a chart; rejects with the first failure or when `signal` aborts. */
  read(spec: ChartSpec, signal: AbortSignal): Promise<ReadonlyArray<HistoryAnswer>> {
    const { range, zoom } = this.view
    return Promise.all(
      spec.series.map(({ metric, device }) => {
        const params = new URLSearchParams({ server_id: this.id, metric, agg: this.aggOf(spec) })
        if (zoom === null) params.set("range", range)
        else {
          params.set("from", String(zoom.fromMs / 1000))
          params.set("to", String(zoom.toMs / 1000))
        }
        if (device !== null) params.set("device", device)
        return this.#lane.run(
          () => session.client.get<HistoryAnswer>(`/api/metrics/history?${params.toString()}`, { signal }),
          signal
        )
      })
    )
  }

  settle(spec: ChartSpec, isEmpty: boolean): void {
    this.failed.delete(spec.key)
    this.#found.set(spec.key, !isEmpty)
  }

  isEmpty(spec: ChartSpec): boolean {
    return this.#found.get(spec.key) === false
  }

  /** Until it was read, a chart has its place when the node reports such figures now. */
  hasCard(spec: ChartSpec): boolean {
    return this.#found.get(spec.key) ?? spec.isLikely
  }

  fail(spec: ChartSpec, thrown: unknown): void {
    const failure = failureOf(thrown)
    if (failure.status === 403) this.isRefused = true
    this.failure = failure
    this.failed.add(spec.key)
  }

  /** Puts another view into the address, as a step that the browser's back button undoes. */
  choose(change: Partial<HistoryView>): void {
    router.setSearch(printView({ ...this.view, ...change }), false)
  }

  zoom(fromMs: number, toMs: number): void {
    this.choose({ zoom: fit(fromMs, toMs, link.now) })
  }

  zoomIn(): void {
    this.choose({ zoom: narrow(this.stretch, link.now) })
  }

  zoomOut(): void {
    if (this.view.zoom !== null) this.choose({ zoom: null })
  }

  move(direction: -1 | 1): void {
    this.choose({ zoom: shift(this.stretch, direction, link.now) })
  }
}
