// One polling loop: asks, waits as long as it was told, backs off after failures, pauses while nobody looks.

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `retryAtMs` on the clock given to the poller; null while the retry runs. */
  | { readonly kind: "reconnecting"; readonly retryAtMs: number | null; readonly failures: number }
  | { readonly kind: "paused" }

export interface PollerPorts {
  /** One round; answers how long to wait until the next, in ms. Rejects when the service was not reached. */
  readonly load: (signal: AbortSignal) => Promise<number>
  readonly onChange: (connection: Connection) => void
  /** Monotonic ms. */
  readonly now: () => number
  /** 0..1 */
  readonly random: () => number
}

/** A round that takes longer is given up: the next one has fresher figures anyway. */
export const roundTimeoutMs = 10_000
/** Waits after the first, second, third and every later failure in a row. */
export const backoffMs = [3_000, 6_000, 12_000, 30_000] as const
/** Each wait is spread by this share to both sides, so that many tabs do not come back at once. */
const jitter = 0.2
/** Bounds on what a frame may ask for: no hot loop, no tab that looks dead. */
const pollMsMin = 200
const pollMsMax = 60_000

export class Poller {
  readonly #ports: PollerPorts
  #timer: ReturnType<typeof setTimeout> | undefined
  #abort: AbortController | null = null
  #failures = 0
  #isRunning = false
  #isPaused = false

  constructor(ports: PollerPorts) {
    this.#ports = ports
  }

  start(paused: boolean): void {
    this.#isRunning = true
    this.#isPaused = paused
    if (paused) this.#ports.onChange({ kind: "paused" })
    else {
      this.#ports.onChange({ kind: "connecting" })
      this.#round()
    }
  }

  stop(): void {
    this.#isRunning = false
    this.#clear()
  }

  pause(): void {
    if (!this.#isRunning || this.#isPaused) return
    this.#isPaused = true
    this.#clear()
    this.#ports.onChange({ kind: "paused" })
  }

  resume(): void {
    if (!this.#isRunning || !this.#isPaused) return
    this.#isPaused = false
    this.#ports.onChange(this.#failures === 0 ? { kind: "connecting" } : this.#waiting(null))
    this.#round()
  }

  /** Asks now instead of at the end of the wait: the network came back, or the viewer changed. */
  poke(): void {
    if (!this.#isRunning || this.#isPaused) return
    if (this.#failures > 0) this.#ports.onChange(this.#waiting(null))
    this.#clear()
    this.#round()
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.#abort = null
  }

  #round(): void {
    const abort = new AbortController()
    this.#abort = abort
    const deadline = setTimeout(() => abort.abort(), roundTimeoutMs)
    const isCurrent = (): boolean => this.#abort === abort
    this.#ports.load(abort.signal).then(
      (pollMs) => {
        clearTimeout(deadline)
        if (!isCurrent()) return
        this.#failures = 0
        this.#ports.onChange({ kind: "live" })
        this.#wait(Math.min(pollMsMax, Math.max(pollMsMin, pollMs)))
      },
      () => {
        clearTimeout(deadline)
        if (!isCurrent()) return
        const base = backoffMs[Math.min(this.#failures, backoffMs.length - 1)] ?? pollMsMax
        const waitMs = base * (1 - jitter + 2 * jitter * this.#ports.random())
        this.#failures++
        this.#ports.onChange(this.#waiting(this.#ports.now() + waitMs))
        this.#wait(waitMs)
      }
    )
  }

  #wait(ms: number): void {
    this.#abort = null
    this.#timer = setTimeout(() => {
      if (this.#failures > 0) this.#ports.onChange(this.#waiting(null))
      this.#round()
    }, ms)
  }

  #waiting(retryAtMs: number | null): Connection {
    return { kind: "reconnecting", retryAtMs, failures: this.#failures }
  }
}
