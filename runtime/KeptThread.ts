// A thread that is started when it is first asked something, and started again when it ended, a few times.
import { Effect, Either, Exit } from "effect"
import { deadline } from "./Deadline.ts"
import type { Outcome, SqlThread } from "./SqlThread.ts"

/** Threads that end one after the other without an answer; after these it is done without. */
const threadsMax = 3

export interface KeptOptions<Answers extends object> {
  readonly start: () => SqlThread<Answers>
  /** Questions that wait at once; who comes then is refused. */
  readonly waitingMax: number
  /** So long one waits for an answer, milliseconds. */
  readonly waitMsMax: number
  /** Told of what the thread could not do, and that it ended. */
  readonly trouble: (message: string) => void
}

/** Why there is no answer: no thread any more, too many questions, too long a wait, or the thread failed. */
export type Miss = "lost" | "full" | "late" | "failed"

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

  /** `done` is called once, at once or later; the answer of who waited too long comes to nobody. */
  ask<Name extends keyof Answers & string>(
    name: Name,
    input: unknown,
    done: (answer: Either.Either<Answers[Name], Miss>) => void
  ): void {
    if (this.waiting >= this.options.waitingMax) return done(Either.left("full"))
    const thread = this.usable()
    if (thread === undefined) return done(Either.left("lost"))
    let isDone = false
    const tell = (answer: Either.Either<Answers[Name], Miss>): void => {
      if (isDone) return
      isDone = true
      callOff()
      done(answer)
    }
    const callOff = deadline(this.options.waitMsMax, () => tell(Either.left("late")))
    const isSent = thread.send(name, input, (outcome) => {
      this.settle(outcome)
      tell(Exit.isSuccess(outcome) ? Either.right(outcome.value) : Either.left("failed"))
    })
    if (isSent) this.waiting++
    else tell(Either.left("failed"))
  }

  private settle(outcome: Outcome<unknown>): void {
    this.waiting--
    if (outcome._tag === "Success") {
      this.lost = 0
      return
    }
    if (outcome.cause._tag !== "Fail") return
    const { _tag, message } = outcome.cause.error
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
