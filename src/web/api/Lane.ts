// Lets only a few reads run at once; the others wait for their turn in the order they came.

export class Lane {
  readonly #width: number
  #running = 0
  /** As many as a page has series; whoever was aborted meanwhile passes the turn on at once. */
  readonly #waiting: Array<() => void> = []

  constructor(width: number) {
    this.#width = width
  }

  /** Rejects with the reason of `signal` when the turn comes too late. */
  async run<A>(task: () => Promise<A>, signal: AbortSignal): Promise<A> {
    if (this.#running < this.#width) this.#running++
    else await new Promise<void>((go) => this.#waiting.push(go))
    try {
      signal.throwIfAborted()
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
