// Runs the long work of a command so that a signal ends it between two steps, after it has cleaned up.
import { Data, Effect } from "effect"
import { setImmediate } from "node:timers/promises"
import { messageOf } from "../../src/store/Integrity.ts"
import { type Meter, meter } from "./Progress.ts"

/** A command that ends with code 1 and one line that says why. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

export interface Job extends Meter {
  /** Gives signals a turn; throws when one came. */
  readonly pause: () => Promise<void>
}

/** What a person can do something about, in plain words. */
const sentences: Readonly<Record<string, string>> = {
  ENOSPC: "there is no space left on the disk",
  SQLITE_FULL: "there is no space left on the disk",
  EFBIG: "the file would be larger than allowed here",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOENT: "no such file or folder"
}

const sentenceOf = (cause: unknown): string => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  const path = cause instanceof Error && "path" in cause && typeof cause.path === "string" ? `${cause.path}: ` : ""
  const known = sentences[code]
  if (known !== undefined) return path + known
  return code.startsWith("SQLITE_") ? `${messageOf(cause)} (${code})` : messageOf(cause)
}

/** Fails with one sentence, `what` in front. Interrupted, it waits until the work has ended at its next pause. */
export const job = <A>(what: string, run: (job: Job) => Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.async<A, CommandFailed>((resume) => {
    const progress = meter()
    let isEnding = false
    const check = () => {
      if (isEnding) throw new Error("interrupted")
    }
    const work = run({
      tell: (step, done) => {
        check()
        progress.tell(step, done)
      },
      clear: progress.clear,
      pause: async () => {
        await setImmediate()
        check()
      }
    }).then(
      (value) => {
        progress.clear()
        resume(Effect.succeed(value))
      },
      (cause: unknown) => {
        progress.clear()
        resume(Effect.fail(new CommandFailed({ message: `${what}: ${sentenceOf(cause)}` })))
      }
    )
    return Effect.promise(() => {
      isEnding = true
      return work
    })
  })
