// The current cycle of many nodes: read a few at a time, those on screen first, all of them when they are to be ranked.
import { untrack } from "svelte"
import { SvelteMap } from "svelte/reactivity"
import type { TrafficIfaces, TrafficSummary } from "../../../../schema/Traffic.ts"
import { Lane } from "../../api/Lane.ts"
import { busiestOf, candidatesOf } from "./Interfaces.ts"
import { readTraffic } from "./TrafficReads.ts"

export interface Usage {
  readonly names: ReadonlyArray<string>
  /** Of the chosen interface, else of the busiest; null when the node has none, or when it could not be read. */
  readonly summary: TrafficSummary | null
  readonly isFailed: boolean
  readonly readAtMs: number
}

/** A browser keeps six connections per host; the live figures need theirs. */
const readsAtOnce = 4
/** Each takes several reads, one after another. */
const nodesAtOnce = 3
/** A slot of the ledger; before the next one closes there is nothing new. */
const freshMs = 300_000
const lookMs = 15_000

export class UsageBoard {
  readonly usages = new SvelteMap<number, Usage>()
  /** Raised whenever nothing is left to read. */
  settled = $state(0)
  readonly #lane = new Lane(readsAtOnce)
  readonly #abort = new AbortController()
  /** Nodes on screen, with how many rows want each. */
  readonly #wanted = new Map<number, number>()
  readonly #busy = new Set<number>()
  readonly #chosen = new Map<number, string>()
  #all: ReadonlyArray<number> = []

  /** Reads until the returned function is called. */
  run(): () => void {
    const timer = setInterval(() => {
      if (!document.hidden) this.#pump()
    }, lookMs)
    return () => {
      clearInterval(timer)
      this.#abort.abort()
    }
  }

  /** A row of this node is on screen until the returned function is called. */
  want(id: number): () => void {
    this.#wanted.set(id, (this.#wanted.get(id) ?? 0) + 1)
    untrack(() => this.#pump())
    return () => {
      const left = (this.#wanted.get(id) ?? 1) - 1
      if (left > 0) this.#wanted.set(id, left)
      else this.#wanted.delete(id)
    }
  }

  /** All of these are to be known, once; those on screen stay fresh. */
  wantAll(ids: ReadonlyArray<number>): void {
    this.#all = ids
    untrack(() => this.#pump())
  }

  choose(id: number, iface: string): void {
    this.#chosen.set(id, iface)
    void this.#start(id)
  }

  /** What failed is asked for again. */
  retry(): void {
    for (const [id, usage] of this.usages) if (usage.isFailed) this.usages.delete(id)
    this.#pump()
  }

  #next(): number | undefined {
    const isDue = (id: number): boolean => {
      const usage = this.usages.get(id)
      return !this.#busy.has(id) && (usage === undefined || performance.now() - usage.readAtMs >= freshMs)
    }
    for (const id of this.#wanted.keys()) if (isDue(id)) return id
    return this.#all.find((id) => !this.usages.has(id) && !this.#busy.has(id))
  }

  #pump(): void {
    while (this.#busy.size < nodesAtOnce && !this.#abort.signal.aborted) {
      const id = this.#next()
      if (id === undefined) return
      void this.#start(id)
    }
  }

  async #start(id: number): Promise<void> {
    this.#busy.add(id)
    const chosen = this.#chosen.get(id)
    const usage = await this.#read(id, chosen)
    this.#busy.delete(id)
    if (this.#abort.signal.aborted) return
    // Another interface was chosen meanwhile: its figures are on their way.
    if (chosen === this.#chosen.get(id)) this.usages.set(id, usage)
    this.#pump()
    if (this.#busy.size === 0) this.settled++
  }

  async #read(id: number, chosen: string | undefined): Promise<Usage> {
    const { signal } = this.#abort
    const server_id = String(id)
    let names: ReadonlyArray<string> = this.usages.get(id)?.names ?? []
    try {
      const ifaces = await this.#lane.run(() => readTraffic<TrafficIfaces>("ifaces", { server_id }, signal), signal)
      names = ifaces.map((one) => one.name)
      const wanted = chosen !== undefined && names.includes(chosen) ? [chosen] : candidatesOf(names)
      const summaries = await Promise.all(
        wanted.map((iface) =>
          this.#lane.run(() => readTraffic<TrafficSummary>("summary", { server_id, iface }, signal), signal)
        )
      )
      return { names, summary: busiestOf(summaries) ?? null, isFailed: false, readAtMs: performance.now() }
    } catch {
      return { names, summary: null, isFailed: true, readAtMs: performance.now() }
    }
  }
}
