// What the journal does after a commit that failed: tries until the disk answers again, or gives up on a damaged file.
import { Clock, Context, Effect, Either, Schedule } from "effect"
import { restoreHint } from "../src/store/Inspection.ts"
import { isDamageCode } from "../src/store/Integrity.ts"
import type { JournalStore } from "../src/store/Journal.ts"
import { noteFailure, type Watch } from "./FiberStatus.ts"

/** How long an admin transaction may stand between two attempts to commit. */
const busyRetryMs = 1

/** The part of the writer that a failure changes. */
interface Broken {
  seq: number
  /** Why writes are refused, or undefined when they are taken. */
  failure: string | undefined
  readonly failureCode: string
}

/** From a quarter of a second to five: space may come back any moment, and a probe is cheap. */
const repairPolicy = Schedule.exponential("250 millis").pipe(Schedule.union(Schedule.spaced("5 seconds")))

/** Rest before the disk is looked at after a failed sync. */
const restMs = 1000

/** Waits out an administrator's transaction. */
export const idle = (store: Context.Tag.Service<typeof JournalStore>) =>
  Effect.gen(function* () {
    while (store.busy()) yield* Effect.sleep(busyRetryMs)
  })

/** Begins every reason that only a person can put an end to. */
const damaged = "the database is damaged"

/** Whether `closed` tells of damage, which no repair of ours ends. */
export const isDamage = (reason: string): boolean => reason.startsWith(damaged)

/** SQLite's error code, or "". */
export const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "")

/** Says on the status page and in the log that the journal cannot write. */
const report = (watch: Watch, sentence: string, cause: string) =>
  Effect.gen(function* () {
    noteFailure(watch, cause, yield* Clock.currentTimeMillis)
    yield* Effect.logError(sentence).pipe(Effect.annotateLogs({ cause }))
  })

/** Writing to a damaged file spreads the damage: the journal stays closed until the program is started anew. */
const giveUp = (writer: Broken, watch: Watch, cause: string) =>
  Effect.gen(function* () {
    writer.failure = `${damaged} and nothing more is written to it; stop the service and run: ${restoreHint}`
    yield* report(watch, writer.failure, cause)
    watch.state = "parked"
    return yield* Effect.never
  })

/**
 * After a failed sync the system forgets what it could not write, so a second one would say that all is well. What was
 * committed stands in the database, and nobody knows how much of it is on the disk: nothing more may be written behind
 * it. Waits until the disk takes a file again, however long that takes.
 */
export const outlast = (writer: Broken, store: Context.Tag.Service<typeof JournalStore>, watch: Watch) =>
  Effect.gen(function* () {
    const sentence = "the disk failed while the log was synced; reports are refused until the service has started anew"
    yield* report(watch, sentence, writer.failure ?? "unknown")
    yield* Effect.try(() => store.probeBeside()).pipe(
      // A disk that takes files and fails in syncs would otherwise have the service start anew without a rest.
      Effect.delay(restMs),
      Effect.retry(repairPolicy),
      Effect.orDie
    )
  })

/** Brings the writer back once `prove` writes without throwing, however long that takes; never to a damaged file. */
export const repair = (
  writer: Broken,
  store: Context.Tag.Service<typeof JournalStore>,
  watch: Watch,
  prove: () => void
) =>
  Effect.gen(function* () {
    const message = writer.failure ?? "unknown"
    if (isDamageCode(writer.failureCode)) return yield* giveUp(writer, watch, message)
    yield* report(watch, "the journal cannot write; reports are refused until it can", message)
    const attempt = Effect.try(() => {
      // A full disk leaves the connection sound; after an I/O error SQLite's view of the file cannot be trusted.
      if (writer.failureCode !== "SQLITE_FULL") store.reopen()
      prove()
    })
    // Opened again under an administrator's transaction, what is left of it would be written without one.
    const repaired = yield* Effect.andThen(idle(store), attempt).pipe(
      Effect.retry({ schedule: repairPolicy, while: ({ error }) => !isDamageCode(codeOf(error)) }),
      Effect.either
    )
    if (Either.isLeft(repaired)) return yield* giveUp(writer, watch, String(repaired.left.error))
    writer.seq = Math.max(writer.seq, store.lastSeq())
    writer.failure = undefined
    watch.state = "running"
    yield* Effect.logInfo("the journal writes again")
  })
