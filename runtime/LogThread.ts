// The thread in which SQLite's log is copied into the database.
import { logBytesKept } from "../src/store/Sql.ts"
import { SqlThread } from "./SqlThread.ts"

/** Frames in the log, and how many of them are in the database already. */
export interface Standing {
  readonly frames: number
  readonly copied: number
}

/**
 * Its connection stands only while there is something to copy, so that none outlives a `reopen` for long. It renews a
 * log by a commit that changes nothing: the first one after all was copied cuts the file and syncs its head.
 */
const commands = `
let db
const none = { frames: 0, copied: 0 }
const commands = {
  copy() {
    if (db === undefined) {
      db = new Sqlite(file, { fileMustExist: true })
      db.pragma("synchronous = FULL")
    }
    const [{ log, checkpointed }] = db.pragma("wal_checkpoint(PASSIVE)")
    return { frames: log, copied: checkpointed }
  },
  renew() {
    db.pragma("journal_size_limit = ${logBytesKept}")
    db.pragma("application_id = " + db.pragma("application_id", { simple: true }))
    return none
  },
  close() {
    if (db !== undefined) db.close()
    db = undefined
    return none
  }
}
`

/** One thread; only the checkpointer's fiber asks it. `library` is the path of better-sqlite3. */
export class LogThread extends SqlThread<Record<"copy" | "renew" | "close", Standing>> {
  constructor(library: string, file: string) {
    super({ task: "copies the log", commands, library, file })
  }
}
