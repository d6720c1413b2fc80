// What a thread runs to read before others do, on a connection of its own. It is bundled into a text.
import type Sqlite from "better-sqlite3"
import { closeSync, openSync, readSync } from "node:fs"
import { atOnce } from "../src/core/Steps.ts"
import { nextTier } from "../src/core/Tier.ts"
import { type HistoryReader, historyReader } from "../src/store/HistoryReader.ts"
import type { Look } from "../src/store/ReadAhead.ts"
import { type FoldQuestion, foldSource, packed, type SealQuestion, sealSource } from "./CompactionSources.ts"
import { ofOneMoment, onConnection, openToRead } from "./ThreadConnection.ts"

/** What is read is for the system's cache, or for others: this one may be small. */
const cacheKb = 1024
const pieces = Buffer.alloc(262_144)

/** The file's head and the first bytes of such a page are as SQLite's file format has them, for good. */
const readFree = (descriptor: number, count: number): void => {
  const head = Buffer.alloc(36)
  readSync(descriptor, head, 0, 36, 0)
  const size = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16)
  let page = head.readUInt32BE(32)
  for (let i = 0; i < count && page > 0; i++) {
    if (readSync(descriptor, head, 0, 4, (page - 1) * size) < 4) return
    page = head.readUInt32BE(0)
  }
}

/** Unlike the database's, this file has no locks that closing it would take away. */
const readLog = (file: string, bytes: number): void => {
  const opened = openSync(`${file}-wal`, "r")
  try {
    for (let at = 0; at < bytes; at += pieces.length) {
      if (readSync(opened, pieces, 0, pieces.length, at) < pieces.length) return
    }
  } finally {
    closeSync(opened)
  }
}

const connectionTo = (Library: typeof Sqlite, file: string) =>
  onConnection(() => {
    const db = openToRead(Library, file, cacheKb)
    const prepared = new Map<string, Sqlite.Statement>()
    /** The texts are those of src/store/ReadAhead.ts, some twenty. */
    const statement = (sql: string): Sqlite.Statement => {
      let found = prepared.get(sql)
      if (found === undefined) prepared.set(sql, (found = db.prepare(sql).raw()))
      return found
    }
    return { db, statement, reader: historyReader(() => db) }
  })

/**
 * Looks are taken in transactions of their own: they shall not keep the log from being begun anew. Throws what SQLite
 * throws. `descriptor` is the service's own of the database file.
 */
export const commandsOf = (Library: typeof Sqlite, file: string, descriptor: number) => {
  const connection = connectionTo(Library, file)
  const reading = <A>(read: (reader: HistoryReader) => A): A =>
    connection((opened) => ofOneMoment(opened, () => read(opened.reader)))
  return {
    look: (looks: ReadonlyArray<Look>): void =>
      connection(({ statement }) => {
        for (const look of looks) {
          if ("sql" in look) statement(look.sql).get(...look.values)
          else if ("freePages" in look) readFree(descriptor, look.freePages)
          else readLog(file, look.logBytes)
        }
      }),
    /** With the pages that the seal will change. */
    seal: (question: SealQuestion) =>
      reading((reader) => {
        reader.touch("raw", question.id)
        return packed(atOnce(sealSource(reader, question)))
      }),
    /** With the pages that the fold will change. */
    fold: (question: FoldQuestion) =>
      reading((reader) => {
        reader.touch(nextTier[question.from], question.id)
        return atOnce(foldSource(reader, question))
      })
  }
}
