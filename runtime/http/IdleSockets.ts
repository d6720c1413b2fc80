// Closes connections on which nothing was asked for a while. Node would do it with a timer of its own for each answer.
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** Kept on the socket itself: a map would be asked twice for every report. */
const usedKey = Symbol("used")
const openKey = Symbol("open")
interface Watched extends Socket {
  /** The sweep before its last request. */
  [usedKey]?: number
  /** Answers that may take long and are not out yet. */
  [openKey]?: number
}

/**
 * Connections are as old as they have been idle, counted in sweeps. Timers that live for the three seconds between two
 * reports of an agent outlive the young generation; they were a third of what full collections had to find.
 */
export class IdleSockets {
  private readonly sockets = new Set<Watched>()
  private readonly sweepsMax: number
  private sweeps = 0

  /** Those are closed on which nothing was asked for `sweepsMax` sweeps, and at most one more. */
  constructor(sweepsMax: number) {
    this.sweepsMax = sweepsMax
  }

  get size(): number {
    return this.sockets.size
  }

  watch(socket: Watched): void {
    this.sockets.add(socket)
    socket[usedKey] = this.sweeps
    socket.once("close", () => this.sockets.delete(socket))
  }

  /** A request came that is answered at once. */
  used(socket: Watched): void {
    socket[usedKey] = this.sweeps
  }

  /**
   * A request came whose answer may be long under way: its connection is not idle before that is out, but cut when
   * nothing moves on it for `stalledMs`, because the reader has gone to sleep.
   */
  answering(socket: Watched, response: ServerResponse, stalledMs: number): void {
    socket[openKey] = (socket[openKey] ?? 0) + 1
    response.setTimeout(stalledMs, () => socket.destroy())
    response.once("close", () => {
      const open = (socket[openKey] ?? 1) - 1
      socket[openKey] = open
      if (open === 0) socket.setTimeout(0)
      this.used(socket)
    })
  }

  readonly sweep: Effect.Effect<void> = Effect.sync(() => {
    this.sweeps++
    for (const socket of this.sockets) {
      const isOpen = (socket[openKey] ?? 0) > 0
      if (!isOpen && this.sweeps - (socket[usedKey] ?? 0) > this.sweepsMax) socket.destroy()
    }
  })
}
