// A thread that reads from the disk what others are about to read; when it cannot, they go on without it.
import { Effect, Either } from "effect"
import type { Look } from "../src/store/ReadAhead.ts"
import { KeptThread } from "./KeptThread.ts"
import { SqlThread } from "./SqlThread.ts"

/** Bundles of looks that a thread is asked for at once; who comes then reads by itself. */
export const waitingMax = 64
/** So long one waits, and then reads by itself: a disk that takes longer is in trouble, and everything shall tell so. */
const waitMsMax = 5000

/**
 * Reads one after the other in transactions of their own: they shall not keep the log from being begun anew. A
 * connection that met an error is not used again. What it reads is for the system's cache, its own may be small. The
 * texts are those of src/store/ReadAhead.ts, some twenty.
 */
const commands = `
const { closeSync, openSync, readSync } = require("node:fs")
const { descriptor } = workerData
let db
let prepared = new Map()
const statement = (sql) => {
  let found = prepared.get(sql)
  if (found === undefined) prepared.set(sql, (found = db.prepare(sql).raw()))
  return found
}
/* The file's head and the first bytes of such a page are as SQLite's file format has them, for good. */
const free = (count) => {
  const head = Buffer.alloc(36)
  readSync(descriptor, head, 0, 36, 0)
  const size = head.readUInt16BE(16) === 1 ? 65536 : head.readUInt16BE(16)
  let page = head.readUInt32BE(32)
  for (let i = 0; i < count && page > 0; i++) {
    if (readSync(descriptor, head, 0, 4, (page - 1) * size) < 4) return
    page = head.readUInt32BE(0)
  }
}
const pieces = Buffer.alloc(262_144)
/* Unlike the database's, this file has no locks that closing it would take away. */
const log = (bytes) => {
  const opened = openSync(file + "-wal", "r")
  try {
    for (let at = 0; at < bytes; at += pieces.length) {
      if (readSync(opened, pieces, 0, pieces.length, at) < pieces.length) return
    }
  } finally {
    closeSync(opened)
  }
}
const commands = {
  read(looks) {
    if (db === undefined) {
      db = new Sqlite(file, { readonly: true, fileMustExist: true })
      db.pragma("cache_size = -1024")
    }
    try {
      for (const { freePages, logBytes, sql, values } of looks) {
        if (sql !== undefined) statement(sql).get(...values)
        else if (freePages !== undefined) free(freePages)
        else log(logBytes)
      }
    } catch (cause) {
      prepared = new Map()
      const failed = db
      db = undefined
      failed.close()
      throw cause
    }
  }
}
`

/** What the thread has done. */
export interface AheadFigures {
  /** Bundles of looks that were brought. */
  brought: number
  /** Bundles that were refused, took too long, or failed. */
  passed: number
}

interface ReaderOptions {
  readonly file: string
  readonly descriptor: number | undefined
  /** Path of better-sqlite3, which the thread loads by itself. */
  readonly library: string
  readonly trouble: (message: string) => void
}

/** The thread that reads. */
export const readThread = ({ descriptor, file, library, trouble }: ReaderOptions): KeptThread<{ read: void }> =>
  new KeptThread<{ read: void }>({
    start: () => new SqlThread({ task: "reads ahead", commands, library, file, data: { descriptor } }),
    waitingMax,
    waitMsMax,
    trouble
  })

/** Has the thread bring it; who is refused, or waits too long, reads by himself. */
export const bringing =
  (thread: KeptThread<{ read: void }>, figures: AheadFigures) =>
  (looks: ReadonlyArray<Look>): Effect.Effect<void> =>
    looks.length === 0
      ? Effect.void
      : Effect.async<void>((resume) =>
          thread.ask("read", looks, (answer) => {
            figures[Either.isRight(answer) ? "brought" : "passed"]++
            resume(Effect.void)
          })
        )
