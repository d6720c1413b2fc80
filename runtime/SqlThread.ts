// A thread with a connection of its own, asked one thing at a time: what SQLite does there holds up nobody else.
import { Data, Deferred, Effect, Exit, FiberId } from "effect"
import { Worker } from "node:worker_threads"

/** SQLite in the thread could not do it; the thread goes on. */
export class ThreadFailed extends Data.TaggedError("ThreadFailed")<{ readonly message: string }> {}
export class ThreadEnded extends Data.TaggedError("ThreadEnded")<{ readonly message: string }> {}

type Outcome<Answer> = Exit.Exit<Answer, ThreadFailed | ThreadEnded>
type Reply<Answer> = { readonly answer: Answer } | { readonly error: string }

/**
 * What each thread runs, as text: a file of its own would have another place and language in a checkout and in the
 * bundle. The text of a kind of thread defines `commands`, functions by name; `file` and `Sqlite` are there.
 */
const program = (commands: string): string => `
const { parentPort, workerData } = require("node:worker_threads")
const Sqlite = require(workerData.library)
const { file } = workerData
${commands}
parentPort.on("message", ([name, input]) => {
  try {
    parentPort.postMessage({ answer: commands[name](input) })
  } catch (cause) {
    parentPort.postMessage({ error: String(cause) })
  }
})
parentPort.postMessage({ answer: undefined })
`

export interface ThreadOptions {
  /** What it does, for its last words: "copies the log". */
  readonly task: string
  /** Text that defines `commands`. */
  readonly commands: string
  /** Path of better-sqlite3, which the thread loads by itself. */
  readonly library: string
  readonly file: string
  /** What else the text finds in \`workerData\`. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** Answers come in the order of the questions. */
export class SqlThread<Name extends string, Answer> {
  private readonly worker: Worker
  private readonly awaited: Array<(outcome: Outcome<Answer>) => void> = []
  private cause = "it ended by itself"
  private readonly task: string
  hasEnded = false
  /** Its first word, once the library is loaded. */
  readonly ready: Deferred.Deferred<Answer, ThreadFailed | ThreadEnded>

  constructor({ commands, data, file, library, task }: ThreadOptions) {
    this.task = task
    this.ready = this.expect()
    this.worker = new Worker(program(commands), {
      eval: true,
      workerData: { ...data, library, file },
      // Neither loaders nor settings of this process: the text needs none of them, and they take memory.
      execArgv: [],
      env: {},
      // The pages are SQLite's; with these limits a thread takes 9 MB in all.
      resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 }
    })
    this.worker.on("message", (reply: Reply<Answer>) =>
      this.awaited.shift()?.(
        "error" in reply ? Exit.fail(new ThreadFailed({ message: reply.error })) : Exit.succeed(reply.answer)
      )
    )
    this.worker.on("error", (cause) => {
      this.cause = String(cause)
    })
    this.worker.on("exit", () => {
      this.hasEnded = true
      for (const settle of this.awaited.splice(0)) settle(Exit.fail(this.ended()))
    })
  }

  private ended(): ThreadEnded {
    return new ThreadEnded({ message: `the thread that ${this.task} ended: ${this.cause}` })
  }

  private expect() {
    const answer = Deferred.unsafeMake<Answer, ThreadFailed | ThreadEnded>(FiberId.none)
    this.awaited.push((outcome) => Deferred.unsafeDone(answer, outcome))
    return answer
  }

  /** `settle` is called once, later. False, and it is not, when the thread has ended. */
  send(name: Name, input: unknown, settle: (outcome: Outcome<Answer>) => void): boolean {
    if (this.hasEnded) return false
    this.awaited.push(settle)
    this.worker.postMessage([name, input])
    return true
  }

  /** The answer comes even if nobody waits for it any more; the next question is answered after it. */
  readonly ask = (name: Name): Effect.Effect<Deferred.Deferred<Answer, ThreadFailed | ThreadEnded>, ThreadEnded> =>
    Effect.suspend(() => {
      if (this.hasEnded) return Effect.fail(this.ended())
      const answer = this.expect()
      this.worker.postMessage([name, undefined])
      return Effect.succeed(answer)
    })

  /** After what SQLite is doing; the thread's connection is closed by then. */
  readonly end: Effect.Effect<void> = Effect.promise(() => this.worker.terminate())
}
