// The thread in which SQLite's log is copied: a connection of its own, asked one thing at a time.
import { Data, Deferred, Effect, Exit, FiberId } from "effect"
import { Worker } from "node:worker_threads"
import { logBytesKept } from "../src/store/Sql.ts"

/** Frames in the log, and how many of them are in the database already. */
export interface Standing {
  readonly frames: number
  readonly copied: number
}
type Reply = { readonly standing: Standing } | { readonly error: string }

/** SQLite in the thread could not do it; the thread goes on. */
export class CopyFailed extends Data.TaggedError("CopyFailed")<{ readonly message: string }> {}
export class ThreadEnded extends Data.TaggedError("ThreadEnded")<{ readonly message: string }> {}

/**
 * What the thread runs, as text: a file of its own would have another place and language in a checkout and in the
 * bundle. Its connection stands only while there is something to copy, so that none outlives a `reopen` for long. It
 * renews a log by a commit that changes nothing: the first one after all was copied cuts the file and syncs its head.
 */
const program = `
const { parentPort, workerData } = require("node:worker_threads")
const Sqlite = require(workerData.library)
let db
const none = { frames: 0, copied: 0 }
const commands = {
  copy() {
    if (db === undefined) {
      db = new Sqlite(workerData.file, { fileMustExist: true })
      db.pragma("synchronous = FULL")
    }
    const [{ log, checkpointed }] = db.pragma("wal_checkpoint(PASSIVE)")
    return { frames: log, copied: checkpointed }
  },
  renew() {
    db.pragma("journal_size_limit = " + workerData.keptBytes)
    db.pragma("application_id = " + db.pragma("application_id", { simple: true }))
    return none
  },
  close() {
    if (db !== undefined) db.close()
    db = undefined
    return none
  }
}
parentPort.on("message", (command) => {
  try {
    parentPort.postMessage({ standing: commands[command]() })
  } catch (cause) {
    parentPort.postMessage({ error: String(cause) })
  }
})
parentPort.postMessage({ standing: none })
`

type Command = "copy" | "renew" | "close"
type Answer = Deferred.Deferred<Standing, CopyFailed | ThreadEnded>

/** One thread; only the checkpointer's fiber asks it. */
export class LogThread {
  private readonly worker: Worker
  private readonly awaited: Array<Answer> = []
  private cause = "it ended by itself"
  hasEnded = false
  /** Its first word, once the library is loaded. */
  readonly ready: Answer

  constructor(library: string, file: string) {
    this.ready = this.expect()
    this.worker = new Worker(program, {
      eval: true,
      workerData: { library, file, keptBytes: logBytesKept },
      // Neither loaders nor settings of this process: the text needs none of them, and they take memory.
      execArgv: [],
      env: {},
      // The pages are SQLite's; with these limits a thread takes 9 MB in all.
      resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 }
    })
    this.worker.on("message", (reply: Reply) =>
      this.settle("error" in reply ? Exit.fail(new CopyFailed({ message: reply.error })) : Exit.succeed(reply.standing))
    )
    this.worker.on("error", (cause) => {
      this.cause = String(cause)
    })
    this.worker.on("exit", () => {
      this.hasEnded = true
      while (this.awaited.length > 0) this.settle(Exit.fail(this.ended()))
    })
  }

  private ended(): ThreadEnded {
    return new ThreadEnded({ message: `the thread that copies the log ended: ${this.cause}` })
  }

  private expect(): Answer {
    const answer: Answer = Deferred.unsafeMake(FiberId.none)
    this.awaited.push(answer)
    return answer
  }

  private settle(exit: Exit.Exit<Standing, CopyFailed | ThreadEnded>): void {
    const answer = this.awaited.shift()
    if (answer !== undefined) Deferred.unsafeDone(answer, exit)
  }

  /** The answer comes even if nobody waits for it any more; the next question is answered after it. */
  readonly ask = (command: Command): Effect.Effect<Answer, ThreadEnded> =>
    Effect.suspend(() => {
      if (this.hasEnded) return Effect.fail(this.ended())
      const answer = this.expect()
      this.worker.postMessage(command)
      return Effect.succeed(answer)
    })

  /** After what SQLite is doing; the thread's connection is closed by then. */
  readonly end: Effect.Effect<void> = Effect.promise(() => this.worker.terminate())
}
