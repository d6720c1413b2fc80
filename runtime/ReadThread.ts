// A thread that reads from the disk what others are about to read, until it cannot: then they go on without it.
import type { Look } from "../src/store/ReadAhead.ts"
import { SqlThread } from "./SqlThread.ts"

/** Bundles of looks that a thread is asked for at once; who comes then reads by itself. */
export const waitingMax = 64
/** So long one waits, and then reads by itself: a disk that takes longer is in trouble, and everything shall tell so. */
const waitMsMax = 5000
/** Threads that end one after the other without an answer; after these it is done without. */
const threadsMax = 3

/**
 * Reads one after the other in transactions of their own: they shall not keep the log from being begun anew. A
 * connection that met an error is not used again. What it reads is for the system's cache, its own may be small. The texts are those of src/store/ReadAhead.ts, some twenty.
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

/**
 * Calls back when the pages that these looks need are in memory, or cannot be brought there: then whoever reads them
 * waits for the disk. At once where there is nothing to bring.
 */
export type Begin = (looks: ReadonlyArray<Look>, done: () => void) => void

/** What both lanes have done. */
export interface AheadFigures {
  /** Bundles of looks that were brought. */
  brought: number
  /** Bundles that were refused, took too long, or failed. */
  passed: number
}

interface Tools {
  readonly file: string
  readonly descriptor: number | undefined
  /** Path of better-sqlite3, which the thread loads by itself. */
  readonly library: string
  readonly trouble: (message: string) => void
  readonly figures: AheadFigures
}

/** One thread, started when there is something to read for the first time. */
export class Reader {
  thread: SqlThread<"read", void> | undefined
  /** Threads that ended since the last answer. */
  private lost = 0
  waiting = 0
  private readonly tools: Tools

  constructor(tools: Tools) {
    this.tools = tools
  }

  private usable(): SqlThread<"read", void> | undefined {
    if (this.thread?.hasEnded === false) return this.thread
    if (this.lost >= threadsMax) return undefined
    const { descriptor, file, library } = this.tools
    try {
      this.thread = new SqlThread({ task: "reads ahead", commands, library, file, data: { descriptor } })
    } catch (cause) {
      this.lost = threadsMax
      this.tools.trouble(`no thread can read ahead: ${String(cause)}`)
    }
    return this.thread
  }

  readonly begin: Begin = (looks, done) => {
    const { figures } = this.tools
    if (looks.length === 0) return done()
    const thread = this.waiting < waitingMax ? this.usable() : undefined
    let isTold = false
    const tell = (isBrought: boolean): void => {
      if (isTold) return
      isTold = true
      clearTimeout(timer)
      figures[isBrought ? "brought" : "passed"]++
      done()
    }
    const timer = setTimeout(() => tell(false), waitMsMax)
    const isSent = thread?.send("read", looks, (outcome) => {
      this.waiting--
      if (outcome._tag === "Success") this.lost = 0
      else if (outcome.cause._tag === "Fail") this.failed(outcome.cause.error)
      tell(outcome._tag === "Success")
    })
    if (isSent === true) this.waiting++
    else tell(false)
  }

  private failed({ _tag, message }: { readonly _tag: string; readonly message: string }): void {
    // Of everything that waited for a thread the first to hear of its end counts.
    if (_tag === "ThreadEnded" && this.thread?.hasEnded === true) {
      this.thread = undefined
      this.lost++
    }
    this.tools.trouble(message)
  }
}
