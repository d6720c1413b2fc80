// The one SQLite connection: its pragmas, the SqlClient that stores use, and the raw handle of the Journal.
import { Reactivity } from "@effect/experimental"
import { SqlClient, SqlError, Statement } from "@effect/sql"
import type { Connection } from "@effect/sql/SqlConnection"
import Sqlite from "better-sqlite3"
import { Context, Effect, Layer, Option, Scope } from "effect"
import { randomInt } from "node:crypto"
import { closeSync, openSync } from "node:fs"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { LogSync } from "./LogSync.ts"

/**
 * The raw handle. Synchronous statements on it are atomic towards every fiber, so the Journal writes one
 * transaction without a lock; it only has to wait while `busy()` says that a store's transaction is open.
 */
export class Database extends Context.Tag("store/Database")<
  Database,
  {
    readonly filename: string
    /** The open handle. It changes after `reopen`, so nobody keeps it, nor statements made from it, across a failure. */
    readonly handle: () => Sqlite.Database
    /**
     * The file for reading past SQLite; undefined in memory. To be closed by nobody else: when a process closes any
     * descriptor of a file, the system takes away all its locks on it, those of SQLite's connections too.
     */
    readonly descriptor: number | undefined
    /** The log of the open handle. */
    readonly log: () => LogSync
    /** A store's transaction is open, or `hold` is on: whoever wants to write waits a moment. */
    readonly busy: () => boolean
    /** Keeps commits of the Journal away for a moment, in which the rest of the log is copied by another connection. */
    readonly hold: (isHeld: boolean) => void
    /** Frames in the log at which a commit copies them itself, 0 for never: somebody else does it. Outlives `reopen`. */
    readonly autocheckpoint: (frames: number) => void
    /** Closes and opens again after an I/O error; throws what SQLite throws. */
    readonly reopen: () => void
  }
>() {}

/**
 * What a commit copies at most where nobody else does: 4 MB, 5 ms of a blocked loop at best and 50 on a slow disk; 16 MB
 * took 20 at best.
 */
export const autocheckpointFrames = 1000

/** To so much the file of the log is cut when it is begun anew after it grew: what it has, commits need not claim. */
export const logBytesKept = 67_108_864

/** Prepared statements kept per connection: the control plane has about sixty. */
const statementsMax = 200

const syncing = "PRAGMA synchronous = FULL"
/**
 * Everything else is as with FULL: SQLite still syncs the log before it copies pages from it and the database behind
 * that, and the head of a log that is begun anew. So a log cut by a loss of power ends with a whole commit, as ever.
 */
const notSyncing = "PRAGMA synchronous = NORMAL"

/** Commits of `run` are not on the disk when it returns, only once the log is synced; outside of transactions. */
export const withoutSync = (db: Sqlite.Database, run: () => void): void => {
  db.exec(notSyncing)
  try {
    run()
  } finally {
    // It refuses inside a transaction, one that could not be rolled back; that is not to hide what went wrong.
    if (!db.inTransaction) db.exec(syncing)
  }
}

const open = (filename: string, autocheckpoint: number): Sqlite.Database => {
  const db = new Sqlite(filename)
  // A number of its own, before there is a log: by it a log that belongs to another database can be told.
  if (db.pragma("application_id", { simple: true }) === 0) db.pragma(`application_id = ${randomInt(1, 0x7fffffff)}`)
  db.pragma("journal_mode = WAL")
  // A commit returns after its fsync, but for those of the Journal, which syncs the log by itself: `withoutSync`.
  db.exec(syncing)
  db.pragma("foreign_keys = ON")
  // Another process (backup, a shell) may hold the lock for a moment; longer than this is a fault.
  db.pragma("busy_timeout = 2000")
  // 8 MB of page cache: the tail is appended and seldom read, and the system caches the file as well.
  db.pragma("cache_size = -8192")
  db.pragma(`wal_autocheckpoint = ${autocheckpoint}`)
  db.pragma(`journal_size_limit = ${logBytesKept}`)
  return db
}

const logOf = (filename: string): LogSync => new LogSync(filename === ":memory:" ? undefined : `${filename}-wal`)

const makeDatabase = (filename: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        let frames = autocheckpointFrames
        let isHeld = false
        let db = open(filename, frames)
        let log = logOf(filename)
        const descriptor = filename === ":memory:" ? undefined : openSync(filename, "r")
        return Database.of({
          filename,
          descriptor,
          handle: () => db,
          log: () => log,
          busy: () => isHeld || db.inTransaction,
          hold: (wanted) => {
            isHeld = wanted
          },
          autocheckpoint: (wanted) => {
            frames = wanted
            // A database that could not be opened again has no connection to tell; the next one is told when it opens.
            if (db.open) db.pragma(`wal_autocheckpoint = ${frames}`)
          },
          reopen: () => {
            // A database in memory is its connection; there is no file to look at again.
            if (filename === ":memory:") return
            log.close()
            db.close()
            db = open(filename, frames)
            log = logOf(filename)
          }
        })
      },
      catch: (cause) => new StorageUnavailable({ message: `the database cannot be opened: ${String(cause)}` })
    }),
    (database) =>
      Effect.sync(() => {
        database.log().close()
        database.handle().close()
        // Now that no connection is left that has locks.
        if (database.descriptor !== undefined) closeSync(database.descriptor)
      })
  )

/**
 * A full disk or an I/O error has already rolled back when the client says ROLLBACK, which must not hide the error.
 * A COMMIT that failed may leave the transaction open; nobody would end it, and the Journal would wait for ever.
 */
const endTransaction = (db: Sqlite.Database, sql: string, statement: Sqlite.Statement): void => {
  if (sql.startsWith("ROLLBACK") && !db.inTransaction) return
  try {
    statement.run()
  } catch (cause) {
    if (sql === "COMMIT" && db.inTransaction) db.exec("ROLLBACK")
    throw cause
  }
}

const makeConnection = (database: Context.Tag.Service<typeof Database>): Connection => {
  let owner: Sqlite.Database | undefined
  const prepared = new Map<string, Sqlite.Statement>()
  const prepare = (sql: string): Sqlite.Statement => {
    const db = database.handle()
    if (db !== owner || prepared.size >= statementsMax) {
      prepared.clear()
      owner = db
    }
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = db.prepare(sql)
      prepared.set(sql, statement)
    }
    return statement
  }
  const run = <A>(sql: string, use: (statement: Sqlite.Statement) => A) =>
    Effect.try({
      try: () => use(prepare(sql)),
      catch: (cause) => new SqlError.SqlError({ cause, message: "Failed to execute statement" })
    })
  const rows = (sql: string, params: ReadonlyArray<unknown>) =>
    run(sql, (statement): ReadonlyArray<never> => {
      if (statement.reader) return statement.all(...params) as Array<never>
      statement.run(...params)
      return []
    })
  return {
    execute: (sql, params, transform) => (transform ? Effect.map(rows(sql, params), transform) : rows(sql, params)),
    executeRaw: (sql, params) =>
      run(sql, (statement) => (statement.reader ? statement.all(...params) : statement.run(...params))),
    executeValues: (sql, params) =>
      run(sql, (statement) => {
        if (!statement.reader) {
          statement.run(...params)
          return []
        }
        try {
          return statement.raw(true).all(...params) as Array<Array<never>>
        } finally {
          statement.raw(false)
        }
      }),
    // The client sends nothing but the borders of transactions here.
    executeUnprepared: (sql) =>
      run(sql, (statement) => {
        endTransaction(database.handle(), sql, statement)
        return []
      }),
    executeStream: () => Effect.dieMessage("rows of SQLite are paged by id, not streamed") as never
  }
}

const makeClient = Effect.gen(function* () {
  const database = yield* Database
  const connection = makeConnection(database)
  const turn = yield* Effect.makeSemaphore(1)
  const client = yield* SqlClient.make({
    acquirer: turn.withPermits(1)(Effect.succeed(connection)),
    transactionAcquirer: Effect.uninterruptibleMask((restore) =>
      Effect.as(
        Effect.zipRight(
          restore(turn.take(1)),
          Effect.tap(Effect.scope, (scope) => Scope.addFinalizer(scope, turn.release(1)))
        ),
        connection
      )
    ),
    beginTransaction: "BEGIN IMMEDIATE",
    compiler: Statement.makeCompilerSqlite(),
    spanAttributes: [["db.system.name", "sqlite"]]
  })
  const { withTransaction } = client
  // A failed COMMIT is a defect to the client; to the stores it is the database failing, like any other statement.
  return Object.assign(client, {
    withTransaction: <A, E, R>(body: Effect.Effect<A, E, R>) =>
      Effect.catchSomeDefect(withTransaction(body), (defect) =>
        defect instanceof SqlError.SqlError ? Option.some(Effect.fail(defect)) : Option.none()
      )
  })
})

/** Opens the database file (or ":memory:") and gives both views of the one connection. */
export const layer = (filename: string) =>
  Layer.effect(SqlClient.SqlClient, makeClient).pipe(
    Layer.provide(Reactivity.layer),
    Layer.provideMerge(Layer.scoped(Database, makeDatabase(filename)))
  )
