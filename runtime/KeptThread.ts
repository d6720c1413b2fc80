// A thread that is started when it is first asked something, and started again when it ended, a few times.
import { Effect } from "effect"
import type { Outcome, SqlThread } from "./SqlThread.ts"

/** Threads that end one after the other without an answer; after these it is done without. */
const threadsMax = 3

export interface KeptOptions<Answers extends object> {
  readonly start: () => SqlThread<Answers>
  /** Questions that wait at once; who comes then is refused. */
  readonly waitingMax: number
  /** Told of what the thread could not do, and that it ended. */
  readonly trouble: (message: string) => void
}

export class KeptThread<Answers extends object> {
  /** Questions asked and not answered. */
  waiting = 0
  private thread: SqlThread<Answers> | undefined
  /** Threads that ended since the last answer. */
  private lost = 0
  private readonly options: KeptOptions<Answers>

  constructor(options: KeptOptions<Answers>) {
    this.options = options
  }

  /** There will be no thread any more. */
  get isLost(): boolean {
    return this.lost >= threadsMax && this.thread?.hasEnded !== false
  }

  private usable(): SqlThread<Answers> | undefined {
    if (this.thread?.hasEnded === false) return this.thread
    if (this.lost >= threadsMax) return undefined
    try {
      this.thread = this.options.start()
    } catch (cause) {
      this.lost = threadsMax
      this.options.trouble(`no thread can be started: ${String(cause)}`)
    }
    return this.thread
  }

  /** `settle` is called once, later. False, and it is not, when too many wait or there is no thread. */
  ask<Name extends keyof Answers & string>(
    name: Name,
    input: unknown,
    settle: (outcome: Outcome<Answers[Name]>) => void
  ): boolean {
    const thread = this.waiting < this.options.waitingMax ? this.usable() : undefined
    const isSent = thread?.send(name, input, (outcome) => {
      this.waiting--
      if (outcome._tag === "Success") this.lost = 0
      else if (outcome.cause._tag === "Fail") this.failed(outcome.cause.error)
      settle(outcome)
    })
    if (isSent === true) this.waiting++
    return isSent === true
  }

  private failed({ _tag, message }: { readonly _tag: string; readonly message: string }): void {
    // Of everything that waited for a thread the first to hear of its end counts.
    if (_tag === "ThreadEnded" && this.thread?.hasEnded === true) {
      this.thread = undefined
      this.lost++
    }
    this.options.trouble(message)
  }

  /** Ends the thread after what SQLite is doing in it; its connection is closed by then. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => this.thread?.end ?? Effect.void)
}
