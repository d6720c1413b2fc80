// Brings SQLite's log to the disk beside the event loop: a commit that does not wait for the disk owes this.
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs"

/** Called once; with what went wrong when the log may not be on the disk. */
export type Synced = (cause: Error | undefined) => void

const errorOf = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

/** The log of one connection, by a descriptor of its own: the system tells each of them of a failed write once. */
export class LogSync {
  /** Path of the log; undefined for a database in memory, which has none. */
  private readonly file: string | undefined
  private descriptor: number | undefined
  /** Syncs under way: their descriptor must not be closed, its number could mean another file by then. */
  private underWay = 0
  private isClosed = false

  constructor(file: string | undefined) {
    this.file = file
  }

  /** Opened late: SQLite makes the log with its first look at the database. */
  private opened(file: string): number {
    // For writing, because Windows flushes nothing that is open for reading.
    return (this.descriptor ??= openSync(file, "r+"))
  }

  /** Syncs all that is committed by now, in a thread of libuv's pool; at once where there is no file. Never throws. */
  begin(done: Synced): void {
    if (this.file === undefined) return done(undefined)
    try {
      fdatasync(this.opened(this.file), (cause) => {
        this.underWay--
        if (this.isClosed) this.close()
        done(cause ?? undefined)
      })
      this.underWay++
    } catch (cause) {
      done(errorOf(cause))
    }
  }

  /** The same while everything waits; throws what the system throws. */
  now(): void {
    if (this.file !== undefined) fdatasyncSync(this.opened(this.file))
  }

  /** After what is under way. */
  close(): void {
    this.isClosed = true
    if (this.underWay > 0 || this.descriptor === undefined) return
    closeSync(this.descriptor)
    this.descriptor = undefined
  }
}
