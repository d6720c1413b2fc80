// The service's clock as seen from here: the time of the last contact carried on by a monotonic counter.

export class ServerClock {
  #serverMs = 0
  #seenAtMs = 0

  /** `serverMs` was read just now; `nowMs` is the monotonic counter of the client. */
  sync(serverMs: number, nowMs: number): void {
    this.#serverMs = serverMs
    this.#seenAtMs = nowMs
  }

  /** True once a contact gave a time. */
  get isKnown(): boolean {
    return this.#serverMs > 0
  }

  /**
   * Server time in ms. Without contact it stands still at the last one: a browser that lost the service
   * knows nothing of the nodes and must not call them offline.
   */
  read(nowMs: number, inContact: boolean): number {
    return inContact && this.isKnown ? this.#serverMs + (nowMs - this.#seenAtMs) : this.#serverMs
  }
}
