// One program per home: a lock that the system takes back when its holder dies, however it dies.
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { closeSync, openSync } from "node:fs"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { filesOf, makeFolder, ownLike } from "./Home.ts"

const isTaken = (cause: unknown): boolean =>
  cause instanceof Sqlite.SqliteError &&
  (cause.code.startsWith("SQLITE_BUSY") || cause.code.startsWith("SQLITE_LOCKED"))

/** A database of no tables whose exclusive lock is the home's; nothing is ever written to it. */
const lock = (home: string): Sqlite.Database => {
  makeFolder(home)
  const file = filesOf(home).lock
  closeSync(openSync(file, "a", 0o600))
  ownLike(home, file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    db.exec("BEGIN EXCLUSIVE")
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

/** Holds the home until the scope closes; fails at once, in a sentence, while another process holds it. */
export const homeLock = (home: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => lock(home),
      catch: (cause) =>
        new StorageUnavailable({
          message: isTaken(cause)
            ? `another watchpost is running on ${home}; stop it first`
            : `the data folder ${home} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`
        })
    }),
    (db) => Effect.sync(() => db.close())
  )
