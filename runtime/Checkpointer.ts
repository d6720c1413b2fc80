// Copies SQLite's log into the database beside the event loop, in a thread, so that the log can always be begun anew.
import { Clock, type Context, Deferred, Effect, Exit, Layer, Option } from "effect"
import { createRequire } from "node:module"
import { autocheckpointFrames, Database } from "../src/store/Sql.ts"
import { FiberRegister, noteTrouble, supervised, type Watch } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { LogThread, type Standing } from "./LogThread.ts"
import { ThreadEnded, ThreadFailed } from "./SqlThread.ts"

/** A fleet of 10,000 makes 4 MB of log in a second, and asking SQLite costs 2 µs. */
const lookEveryMs = 100
/** Between two attempts that a reader in another process keeps from coming to an end. */
const restMsMax = 2000
/** From here on it is worth the work: 4 MB, in frames of one page. */
const framesMin = 1000
/** So few are left to the pass during which no commit is made: 1 MB. */
const framesFew = 256
/** For so long commits wait for the last pass; on a disk that is slower the next attempt may be luckier. */
const holdMsMax = 250
/**
 * From here on, 16 MB, as after a backup, the sync takes so long that a commit beside it would hold the event loop up for
 * tenths of a second. Commits rather wait, a little longer; at 5,000 rows a second the journal has room for that.
 */
const framesLarge = 4096
const holdLargeMsMax = 750
/** `logBytesKept` in frames: where beginning the log anew cuts it, and where commits step in if the thread cannot copy. */
const framesKept = 16_384
/** Threads that end one after the other without having copied anything; after these it is done without. */
const threadsMax = 3

interface Tools {
  readonly database: Context.Tag.Service<typeof Database>
  readonly journal: Context.Tag.Service<typeof Journal>
  /** Path of better-sqlite3, which the thread loads by itself. */
  readonly library: string
  readonly watch: Watch
  /** Started when there is something to copy for the first time. */
  thread: LogThread | undefined
  /** Threads that ended since the last pass that worked. */
  threadsLost: number
  /** Frames that are in the log alone, as of the last look. */
  behind: number
}

/**
 * As of now and without any work. Undefined where SQLite does not tell, in a transaction or without a connection, and
 * while the journal refuses: a disk that fails, and a file that is damaged, are left alone.
 */
const standingOf = ({ database, journal }: Tools): Effect.Effect<Standing | undefined, ThreadFailed> =>
  Effect.try({
    try: () => {
      if (journal.closed() !== undefined) return undefined
      const db = database.handle()
      if (!db.open || db.inTransaction) return undefined
      const [found] = db.pragma("wal_checkpoint(NOOP)") as ReadonlyArray<{ log: number; checkpointed: number }>
      return found && { frames: found.log, copied: found.checkpointed }
    },
    catch: (cause) => new ThreadFailed({ message: String(cause) })
  })

/** As before there were threads: whoever commits also copies. For good, because what is missing now is missing later. */
const goWithout = (tools: Tools, message: string) =>
  Effect.gen(function* () {
    tools.database.autocheckpoint(autocheckpointFrames)
    noteTrouble(tools.watch, message, yield* Clock.currentTimeMillis)
    tools.watch.state = "parked"
    yield* Effect.logWarning(
      "the database's log is copied between commits, which holds everything else up a little"
    ).pipe(Effect.annotateLogs({ cause: message }))
    return yield* Effect.never
  })

const threadOf = (tools: Tools) =>
  Effect.gen(function* () {
    if (tools.thread?.hasEnded === false) return tools.thread
    const { database, library } = tools
    const thread = yield* Effect.try({
      try: () => (tools.thread = new LogThread(library, database.filename)),
      catch: (cause) => new ThreadEnded({ message: `no thread can copy the log: ${String(cause)}` })
    })
    yield* Deferred.await(thread.ready)
    return thread
  }).pipe(Effect.catchAll(({ message }) => goWithout(tools, message)))

/** All is in the database, and the next commit would begin the file anew, cutting it first. */
const isOverlong = ({ copied, frames }: Standing): boolean => copied === frames && frames > framesKept

/**
 * While nobody commits, the thread can come to the end of the log; then the next commit begins it anew. After a backup
 * that commit took 45 to 75 ms for 160 MB: the thread makes one of its own instead.
 */
const lastPass = ({ database }: Tools, thread: LogThread, holdMs: number) =>
  Effect.acquireUseRelease(
    Effect.sync(() => database.hold(true)),
    () =>
      Effect.gen(function* () {
        const answer = yield* thread.ask("copy")
        const done = yield* Effect.timeoutOption(Deferred.await(answer), holdMs)
        if (Option.exists(done, isOverlong)) yield* Effect.flatMap(thread.ask("renew"), Deferred.await)
        return answer
      }),
    () => Effect.sync(() => database.hold(false))
  ).pipe(Effect.flatMap(Deferred.await))

const passes = (tools: Tools, thread: LogThread, before: Standing) =>
  Effect.gen(function* () {
    const isLarge = before.frames - before.copied >= framesLarge
    let { copied } = before
    let left = Number.POSITIVE_INFINITY
    for (;;) {
      const done = yield* Effect.flatMap(thread.ask("copy"), Deferred.await)
      tools.threadsLost = 0
      tools.database.autocheckpoint(0)
      // A reader still needs the pages as they are; holding up commits would not help.
      if (done.copied <= copied) return done
      const { frames } = (yield* standingOf(tools)) ?? done
      const leftBefore = left
      left = frames - done.copied
      // At its end, or even begun anew meanwhile.
      if (left <= 0 && !isOverlong(done)) return done
      if (left <= 0 || (isLarge && left <= framesFew)) break
      // Each pass leaves what was committed during it, and SQLite syncs the database only in one that leaves nothing.
      // The second is short, so it often does: 4 MB shall not be synced while commits wait. From then on a writer that
      // is as fast as the copying is made to wait.
      if (leftBefore < Number.POSITIVE_INFINITY && (left <= framesFew || left > leftBefore / 2)) break
      copied = done.copied
    }
    return yield* lastPass(tools, thread, isLarge ? holdLargeMsMax : holdMsMax)
  }).pipe(
    // At shutdown the thread ends as a whole, and nobody waits for what it does.
    Effect.onExit((exit) =>
      Exit.isInterrupted(exit) ? Effect.void : Effect.ignore(Effect.flatMap(thread.ask("close"), Deferred.await))
    ),
    Effect.tapErrorTag("ThreadEnded", ({ message }) =>
      ++tools.threadsLost < threadsMax ? Effect.void : goWithout(tools, message)
    )
  )

/**
 * What fails here is no reason to refuse a report: that is for the Journal to say, whose commits go to the same disk.
 * A thread that never can is no reason to let the log grow without end, though.
 */
const noted = (tools: Tools, { message }: ThreadFailed) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    noteTrouble(tools.watch, `the log cannot be copied: ${message}`, now)
    tools.database.autocheckpoint(framesKept)
    return 0
  })

/** Copies what is in the log; gives how far it came, 0 when it failed. */
const emptied = (tools: Tools, before: Standing) =>
  threadOf(tools).pipe(
    Effect.flatMap((thread) => passes(tools, thread, before)),
    Effect.map(({ copied }) => copied),
    Effect.catchTag("ThreadFailed", (failure) => noted(tools, failure))
  )

const watchLog = (tools: Tools) =>
  Effect.gen(function* () {
    let restMs = lookEveryMs
    for (;;) {
      yield* Effect.sleep(restMs)
      const log = yield* Effect.catchAll(standingOf(tools), (failure) => Effect.as(noted(tools, failure), undefined))
      tools.behind = log === undefined ? tools.behind : log.frames - log.copied
      if (log === undefined || log.frames < framesMin || log.copied === log.frames) {
        restMs = lookEveryMs
        continue
      }
      // A reader lets nothing be copied until it has ended, and nobody tells when that is.
      restMs = (yield* emptied(tools, log)) > log.copied ? lookEveryMs : Math.min(restMsMax, restMs * 2)
    }
  })

/** `library` is the path of better-sqlite3, or what stands in for it. */
const makeWith = (library: string) =>
  Effect.gen(function* () {
    const database = yield* Database
    // In memory there is no log.
    if (database.filename === ":memory:") return
    const register = yield* FiberRegister
    const watch = register.register("Checkpointer", () => tools.behind, 0)
    const journal = yield* Journal
    const tools: Tools = { database, journal, library, watch, thread: undefined, threadsLost: 0, behind: 0 }
    yield* Effect.acquireRelease(
      Effect.sync(() => database.autocheckpoint(0)),
      () => Effect.sync(() => database.autocheckpoint(autocheckpointFrames))
    )
    // The service's own connection shall be the last one: its end copies what is left and removes the log.
    yield* Effect.addFinalizer(() => tools.thread?.end ?? Effect.void)
    yield* Effect.forkScoped(supervised(watch, Effect.orDie(watchLog(tools))))
  })

export const layerWith = (library: string) => Layer.scopedDiscard(makeWith(library))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
