// Owns the look at a home before the service writes anything: a new one, one in good order, or data that must not be lost.
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { parseKey } from "../auth/Vault.ts"
import { filesOf } from "./Home.ts"
import * as Integrity from "./Integrity.ts"

/** What every message about damage ends with. */
export const restoreHint = "watchpost restore FILE"

/** A sentence for whoever must act on it; nothing has been written when this is said. */
export const refusal = (file: string, what: string): StorageUnavailable =>
  new StorageUnavailable({
    message: `${file} is damaged: ${what}. Nothing was changed. Put a backup in its place with: ${restoreHint}`
  })

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

/**
 * A kill during the very first change of mode leaves SQLite's rollback journal, which a reader may not apply. Applying
 * it is no change of ours: it takes back what was not finished.
 */
const settleRollback = (file: string): void => {
  if (sizeOf(file) === 0 || sizeOf(`${file}-journal`) === 0) return
  const db = new Sqlite(file)
  try {
    db.pragma("user_version")
  } finally {
    db.close()
  }
}

/** The first fault of an existing database, in words that end a sentence; throws what SQLite throws. */
const faultIn = (file: string, keyFile: string, expected: Integrity.Shape): string | undefined => {
  const [broken] = Integrity.fileFaults(file)
  if (broken !== undefined) return broken
  const db = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    return databaseFault(db, file, keyFile, expected)
  } finally {
    db.close()
  }
}

const databaseFault = (
  db: Sqlite.Database,
  file: string,
  keyFile: string,
  expected: Integrity.Shape
): string | undefined => {
  const [cut] = Integrity.cutFaults(db, file)
  if (cut !== undefined) return cut
  const [schema] = Integrity.tableFaults(db, "sqlite_schema")
  if (schema !== undefined) return schema
  const version = Integrity.versionOf(db)
  if (version > expected.version) throw newer(file, version, expected.version)
  const hasKey = existsSync(keyFile)
  // The key is written after the tables are made, so a home with a key had them.
  if (version === 0) return hasKey ? "it has no tables, but the key beside it says that it was in use" : undefined
  const [shape] = Integrity.shapeFaults(db, expected)
  if (shape !== undefined) return shape
  for (const table of Integrity.tablesIn(db)) {
    const [fault] = Integrity.isCold(table) ? [] : Integrity.tableFaults(db, table)
    if (fault !== undefined) return fault
  }
  const [row] = [...Integrity.rowFaults(db, "checkpoints"), ...Integrity.rowFaults(db, "journal")]
  if (row !== undefined) return row
  return keyFault(db, keyFile)
}

const keyFault = (db: Sqlite.Database, keyFile: string): string | undefined => {
  if (!existsSync(keyFile)) return Integrity.keyFaults(db, undefined)[0]
  try {
    return Integrity.keyFaults(db, parseKey(readFileSync(keyFile, "utf8"), keyFile))[0]
  } catch (cause) {
    return Integrity.messageOf(cause)
  }
}

export const newer = (file: string, version: number, known: number): StorageUnavailable =>
  new StorageUnavailable({
    message: `${file} was written by a newer version of watchpost (schema ${version}, this program knows ${known}). Nothing was changed. Run that version, or put an older backup in its place with: ${restoreHint}`
  })

const inspect = (home: string, expected: Integrity.Shape): void => {
  const { database, key } = filesOf(home)
  settleRollback(database)
  if (sizeOf(database) === 0) {
    if (existsSync(key)) throw refusal(database, "it is empty or gone, but the key beside it says that it was in use")
    // SQLite would throw the log away.
    if (sizeOf(`${database}-wal`) > 0) throw refusal(database, "it is empty or gone, but its log is not")
    return
  }
  const fault = faultIn(database, key, expected)
  if (fault !== undefined) throw refusal(database, fault)
}

const translated = (cause: unknown, file: string): StorageUnavailable => {
  if (cause instanceof StorageUnavailable) return cause
  const message = Integrity.messageOf(cause)
  if (!(cause instanceof Sqlite.SqliteError)) {
    return new StorageUnavailable({ message: `${file} cannot be checked: ${message}` })
  }
  const isFault = Integrity.isDamageCode(cause.code) || /^SQLITE_(ERROR|IOERR_SHORT_READ)$/.test(cause.code)
  return isFault
    ? refusal(file, message)
    : new StorageUnavailable({ message: `${file} cannot be opened: ${message} (${cause.code})` })
}

/** Fails with one sentence when the home holds data that is damaged, incomplete or newer; a new home passes. */
export const inspected = (home: string, expected: Integrity.Shape): Effect.Effect<void, StorageUnavailable> =>
  Effect.try({ try: () => inspect(home, expected), catch: (cause) => translated(cause, filesOf(home).database) })
