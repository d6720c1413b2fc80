// Brings what the event loop is about to read from the disk into memory first, in threads: a disk holds up no loop.
import { Clock, Context, Effect, Layer } from "effect"
import { createRequire } from "node:module"
import type { Look } from "../src/store/ReadAhead.ts"
import { Database } from "../src/store/Sql.ts"
import { FiberRegister, noteTrouble, type Watch } from "./FiberStatus.ts"
import { SqlThread } from "./SqlThread.ts"

/** Bundles of looks that a thread is asked for at once; who comes then reads by itself. */
const waitingMax = 64
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

export interface Lane {
  /**
   * Calls back when the pages that these looks need are in memory, or cannot be brought there: then whoever reads them
   * waits for the disk. At once where there is nothing to bring.
   */
  readonly begin: (looks: ReadonlyArray<Look>, done: () => void) => void
  readonly bring: (looks: ReadonlyArray<Look>) => Effect.Effect<void>
}

/** What both lanes have done. */
export interface AheadFigures {
  /** Bundles of looks that were brought. */
  brought: number
  /** Bundles that were refused, took too long, or failed. */
  passed: number
}

export class ReadAhead extends Context.Tag("runtime/ReadAhead")<
  ReadAhead,
  {
    /** For those whom a person waits for. */
    readonly answers: Lane
    /** For work that nobody waits for: it shall not stand before an answer. */
    readonly upkeep: Lane
    readonly figures: AheadFigures
  }
>() {}

const laneOf = (begin: Lane["begin"]): Lane => ({
  begin,
  bring: (looks) => Effect.async<void>((resume) => begin(looks, () => resume(Effect.void)))
})

/** For a database in memory. */
const nothingToBring = laneOf((_, done) => done())

interface Tools {
  readonly file: string
  readonly descriptor: number | undefined
  /** Path of better-sqlite3, which the threads load by themselves. */
  readonly library: string
  readonly watch: Watch
  readonly clock: Clock.Clock
  readonly figures: AheadFigures
}

/** One thread, started when there is something to read for the first time. */
class Reader {
  private thread: SqlThread<"read", void> | undefined
  /** Threads that ended since the last answer. */
  private lost = 0
  waiting = 0
  private readonly tools: Tools

  constructor(tools: Tools) {
    this.tools = tools
  }

  private note(message: string): void {
    noteTrouble(this.tools.watch, message, this.tools.clock.unsafeCurrentTimeMillis())
  }

  private usable(): SqlThread<"read", void> | undefined {
    if (this.thread?.hasEnded === false) return this.thread
    if (this.lost >= threadsMax) return undefined
    const { descriptor, file, library } = this.tools
    try {
      this.thread = new SqlThread({ task: "reads ahead", commands, library, file, data: { descriptor } })
    } catch (cause) {
      this.lost = threadsMax
      this.note(`no thread can read ahead: ${String(cause)}`)
    }
    return this.thread
  }

  readonly begin: Lane["begin"] = (looks, done) => {
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
    this.note(message)
  }

  readonly end = Effect.suspend(() => this.thread?.end ?? Effect.void)
}

/** `library` is the path of better-sqlite3, or what stands in for it. */
const makeWith = (library: string) =>
  Effect.gen(function* () {
    const figures: AheadFigures = { brought: 0, passed: 0 }
    const { descriptor, filename: file } = yield* Database
    if (file === ":memory:") return ReadAhead.of({ answers: nothingToBring, upkeep: nothingToBring, figures })
    const readers: Array<Reader> = []
    const watch = (yield* FiberRegister).register(
      "ReadAhead",
      () => readers.reduce((sum, { waiting }) => sum + waiting, 0),
      2 * waitingMax
    )
    const tools: Tools = { file, descriptor, library, watch, clock: yield* Effect.clock, figures }
    const lane = Effect.gen(function* () {
      const reader = new Reader(tools)
      readers.push(reader)
      // The service's own connection shall be the last one: its end copies what is left and removes the log.
      yield* Effect.addFinalizer(() => reader.end)
      return laneOf(reader.begin)
    })
    return ReadAhead.of({ answers: yield* lane, upkeep: yield* lane, figures })
  })

export const layerWith = (library: string) => Layer.scoped(ReadAhead, makeWith(library))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
