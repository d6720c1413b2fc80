// A thread with a connection of its own, asked one thing at a time: what SQLite does there holds up nobody else.
import { Data, Deferred, Effect, Exit, FiberId } from "effect"
import { Worker } from "node:worker_threads"

/** SQLite in the thread could not do it; the thread goes on. */
export class ThreadFailed extends Data.TaggedError("ThreadFailed")<{ readonly message: string }> {}
export class ThreadEnded extends Data.TaggedError("ThreadEnded")<{ readonly message: string }> {}

export type Outcome<Answer> = Exit.Exit<Answer, ThreadFailed | ThreadEnded>
type Reply = { readonly answer: unknown } | { readonly error: string }

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
  /** Megabytes of JavaScript's objects at most, old ones. */
  readonly heapMb?: number
}

/** Where SQLite does the work: with so little a thread takes 9 MB in all. */
const leastHeapMb = 8

/** Answers, whose types stand under the names of the questions, come in the order of these. */
export class SqlThread<Answers extends object> {
  private readonly worker: Worker
  private readonly awaited: Array<(outcome: Outcome<unknown>) => void> = []
  private cause = "it ended by itself"
  private readonly task: string
  hasEnded = false
  /** Its first word, once the library is loaded. */
  readonly ready = Deferred.unsafeMake<unknown, ThreadFailed | ThreadEnded>(FiberId.none)

  constructor({ commands, data, file, heapMb = leastHeapMb, library, task }: ThreadOptions) {
    this.task = task
    this.awaited.push((outcome) => Deferred.unsafeDone(this.ready, outcome))
    this.worker = new Worker(program(commands), {
      eval: true,
      workerData: { ...data, library, file },
      // Neither loaders nor settings of this process: the text needs none of them, and they take memory.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: heapMb / 8 }
    })
    this.worker.on("message", (reply: Reply) =>
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

  /** `settle` is called once, later. False, and it is not, when the thread has ended. */
  send<Name extends keyof Answers & string>(
    name: Name,
    input: unknown,
    settle: (outcome: Outcome<Answers[Name]>) => void
  ): boolean {
    if (this.hasEnded) return false
    this.awaited.push((outcome) => settle(outcome as Outcome<Answers[Name]>))
    this.worker.postMessage([name, input])
    return true
  }

  /** The answer comes even if nobody waits for it any more; the next question is answered after it. */
  readonly ask = <Name extends keyof Answers & string>(
    name: Name
  ): Effect.Effect<Deferred.Deferred<Answers[Name], ThreadFailed | ThreadEnded>, ThreadEnded> =>
    Effect.suspend(() => {
      const answer = Deferred.unsafeMake<Answers[Name], ThreadFailed | ThreadEnded>(FiberId.none)
      const isSent = this.send(name, undefined, (outcome) => Deferred.unsafeDone(answer, outcome))
      return isSent ? Effect.succeed(answer) : Effect.fail(this.ended())
    })

  /** After what SQLite is doing; the thread's connection is closed by then. */
  readonly end: Effect.Effect<void> = Effect.promise(() => this.worker.terminate())
}
