// A backup: one file with the database of one moment, the key and the install id, made beside a service that goes on.
import Sqlite from "better-sqlite3"
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync
} from "node:fs"
import { dirname } from "node:path"
import { parseKey } from "../auth/Vault.ts"
import { draftOf, removeAbandoned, removeDraft, touchDraft } from "./Draft.ts"
import { filesOf, flushFile, flushFolder } from "./Home.ts"
import * as Integrity from "./Integrity.ts"

/** Told of every step: what is done, and how much of it, 0 to 1. */
export type Progress = (what: string, done: number) => void

/** A sentence for a person; nothing of ours is left behind when it is thrown. */
export class SnapshotRefused extends Error {}

const carriedTable = "backup_contents"
/**
 * 256 kB at a time, each flushed: a commit of the service waits for whatever the disk was given before it. One of a
 * thousand flushes beside this took 12 ms, beside portions of 2 MB 12 to 17, and 26 without flushing. At 32 MB/s
 * the log, which cannot begin anew during a backup, grew to 420 MB, and turns of the service's loop became no shorter.
 */
const pagesAtOnce = 64

export interface Carried {
  readonly key: Uint8Array
  /** Text of the key file. */
  readonly keyText: string
  /** Text of the install id's file, when there was one. */
  readonly installId: string | undefined
  /** Milliseconds since 1970. */
  readonly madeAt: number
}

/**
 * Copies a database of one moment into an existing empty file. A read transaction holds that moment: without it SQLite
 * begins anew after every commit of the service, which never stops committing.
 */
const copyPages = async (source: string, target: string, progress: Progress): Promise<void> => {
  const db = new Sqlite(source, { readonly: true, fileMustExist: true, timeout: 5000 })
  const written = openSync(target, "r")
  try {
    db.exec("BEGIN")
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    await db.backup(target, {
      progress: ({ remainingPages, totalPages }) => {
        fdatasyncSync(written)
        progress("copying", totalPages === 0 ? 1 : 1 - remainingPages / totalPages)
        return pagesAtOnce
      }
    })
  } finally {
    db.close()
    closeSync(written)
  }
}

/** Puts the key and the id into the copy, and makes it one file without a log. */
const carry = (target: string, home: string, madeAt: number): void => {
  const { installId, key } = filesOf(home)
  const db = new Sqlite(target)
  try {
    db.pragma("journal_mode = DELETE")
    db.exec(`CREATE TABLE ${carriedTable} (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`)
    const put = db.prepare(`INSERT INTO ${carriedTable} (name, value) VALUES (?, ?)`)
    put.run("secret.key", readFileSync(key, "utf8"))
    if (existsSync(installId)) put.run("install_id", readFileSync(installId, "utf8"))
    put.run("made_at", String(madeAt))
  } finally {
    db.close()
  }
}

/** What the backup carries besides its tables; throws when it carries no key. */
export const carriedIn = (db: Sqlite.Database, file: string): Carried => {
  const exists = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(carriedTable) !== undefined
  const rows = exists
    ? (db.prepare(`SELECT name, value FROM ${carriedTable}`).raw().all() as Array<[string, string]>)
    : []
  const values = new Map(rows)
  const keyText = values.get("secret.key")
  if (keyText === undefined) throw new SnapshotRefused(`${file} holds no key: it was not made by watchpost backup`)
  return {
    key: parseKey(keyText, file),
    keyText,
    installId: values.get("install_id"),
    madeAt: Number(values.get("made_at") ?? 0)
  }
}

/** Takes what is carried out again, leaving none of its bytes, and makes the log the service's kind. */
export const uncarry = (file: string): void => {
  const db = new Sqlite(file)
  try {
    db.pragma("secure_delete = ON")
    db.exec(`DROP TABLE IF EXISTS ${carriedTable}`)
    db.pragma("journal_mode = WAL")
  } finally {
    db.close()
  }
}

/** Checks a whole backup, table by table; throws `SnapshotRefused` with what is wrong first. */
export const proved = async (
  file: string,
  expected: Integrity.Shape,
  progress: Progress,
  pause: () => Promise<void>
): Promise<Carried> => {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    const demand = (faults: ReadonlyArray<string>) => {
      if (faults[0] !== undefined) throw new SnapshotRefused(`${file} is damaged: ${faults[0]}`)
    }
    demand(Integrity.fileFaults(file))
    demand(Integrity.cutFaults(db, file))
    const version = Integrity.versionOf(db)
    if (version === 0) throw new SnapshotRefused(`${file} holds no tables of watchpost`)
    if (version > expected.version) {
      throw new SnapshotRefused(
        `${file} was made by a newer version of watchpost (schema ${version}, this program knows ${expected.version})`
      )
    }
    demand(Integrity.shapeFaults(db, expected))
    const carried = carriedIn(db, file)
    const tables = Integrity.tablesIn(db)
    for (const [i, table] of tables.entries()) {
      progress(`checking ${table}`, i / tables.length)
      await pause()
      demand(Integrity.tableFaults(db, table))
      if (table === "journal" || table === "checkpoints") demand(Integrity.rowFaults(db, table))
    }
    demand(Integrity.keyFaults(db, carried.key))
    progress("checking", 1)
    return carried
  } finally {
    db.close()
  }
}

/** Gives the file its name unless the name is taken by now. */
const place = (draft: string, file: string): void => {
  flushFile(draft)
  try {
    linkSync(draft, file)
    rmSync(draft)
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : ""
    // Some network and memory-card file systems know no links.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(String(code)) || existsSync(file)) throw cause
    renameSync(draft, file)
  }
  flushFolder(dirname(file))
}

export interface SnapshotOptions {
  readonly home: string
  readonly file: string
  readonly expected: Integrity.Shape
  readonly madeAt: number
  readonly progress: Progress
  readonly pause: () => Promise<void>
}

/** Makes and proves a backup; gives its size in bytes. On a failure no file is left. */
export const snapshot = async ({ expected, file, home, madeAt, pause, progress }: SnapshotOptions): Promise<number> => {
  const { database, key, ready } = filesOf(home)
  if (existsSync(file)) throw new SnapshotRefused(`${file} exists already`)
  if (existsSync(ready)) throw new SnapshotRefused(`a restore of ${home} was cut short; start the service first`)
  for (const needed of [database, key]) {
    if (!existsSync(needed)) throw new SnapshotRefused(`there is nothing to back up: ${needed} does not exist`)
  }
  const [fault] = Integrity.fileFaults(database)
  if (fault !== undefined) throw new SnapshotRefused(`${database} is damaged: ${fault}`)
  removeAbandoned(dirname(file))
  const draft = draftOf(file)
  closeSync(openSync(draft, "wx", 0o600))
  const checking: Progress = (what, done) => {
    touchDraft(draft)
    progress(what, done)
  }
  try {
    await copyPages(database, draft, progress)
    carry(draft, home, madeAt)
    await proved(draft, expected, checking, pause)
    place(draft, file)
    return statSync(file).size
  } catch (cause) {
    if (cause instanceof SnapshotRefused) throw new SnapshotRefused(cause.message.replaceAll(draft, database))
    throw cause
  } finally {
    removeDraft(draft)
  }
}
