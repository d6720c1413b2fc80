// A database file beside a checkpointer whose library can be told to wait or to fail, and what its log looks like.
import Sqlite from "better-sqlite3"
import { type Context, Effect, Layer, Logger, LogLevel } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import * as Checkpointer from "../../runtime/Checkpointer.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import type { Journal } from "../../runtime/Journal.ts"
import { pause } from "../../runtime/Pause.ts"
import { Database, layer as sqlLayer } from "../../src/store/Sql.ts"
import { type Disk, journalOn, makeDisk } from "./Disk.ts"
import { onDisk, pass } from "./Engine.ts"

const realLibrary = createRequire(import.meta.url).resolve("better-sqlite3")

export type Service = Context.Tag.Service<typeof Database>

/** Frames of the log, and how many of them are in the database. */
export const logOf = (database: Service) => {
  const [found] = database.handle().pragma("wal_checkpoint(NOOP)") as [{ log: number; checkpointed: number }]
  return { frames: found.log, copied: found.checkpointed }
}
export const autocheckpointOf = (database: Service) => database.handle().pragma("wal_autocheckpoint", { simple: true })

/** One commit of so many pages, as soon as the database is free: what the journal does. */
export const commit = (database: Service, pages: number) =>
  Effect.gen(function* () {
    while (database.busy()) yield* pause
    const db = database.handle()
    db.exec("CREATE TABLE IF NOT EXISTS things (page BLOB)")
    const put = db.prepare("INSERT INTO things VALUES (zeroblob(3900))")
    db.transaction(() => {
      for (let i = 0; i < pages; i++) put.run()
    })()
  })

/** A log that is due: more than the 1000 frames from which on it is copied. */
export const fill = (database: Service) => commit(database, 1200)

/** Somebody who needs the database as it is now until he closes. */
export const readerOf = (file: string) => {
  const reader = new Sqlite(file, { readonly: true })
  reader.exec("BEGIN")
  reader.prepare("SELECT count(*) FROM things").get()
  return reader
}

export const watched = Effect.map(FiberRegister, (register) => {
  const find = () => register.list().find(({ name }) => name === "Checkpointer")
  return () => find() as NonNullable<ReturnType<typeof find>>
})

/** Waits for what a thread does, while the checkpointer's own clock goes on. */
export const eventually = (what: string, holds: () => boolean) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    while (!holds()) {
      if (performance.now() - startedAt > 8000) return yield* Effect.dieMessage(`waited in vain for: ${what}`)
      yield* pass(50)
    }
  })

const capture = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
  )

export interface Room {
  readonly file: string
  /** What the journal writes to. It has a disk of its own, which fails when it is told to. */
  readonly disk: Disk
  readonly database: Service
  readonly logs: ReadonlyArray<string>
  /** Passes of a library that counts them. */
  readonly passes: () => number
}

/** What the thread loads: the real library, with `pass` as the body of every pass. `mark` is a file name of the test's. */
const libraryWith = (folder: string, pass: string) => {
  const library = join(folder, "library.cjs")
  writeFileSync(
    library,
    `const Real = require(${JSON.stringify(realLibrary)})
const { appendFileSync, existsSync } = require("node:fs")
const mark = ${JSON.stringify(join(folder, "mark"))}
let passes = 0
module.exports = class extends Real {
  pragma(text, options) {
    if (!text.startsWith("wal_checkpoint")) return super.pragma(text, options)
    passes++
    appendFileSync(${JSON.stringify(join(folder, "passes"))}, "x")
    const copy = () => super.pragma(text, options)
    ${pass}
  }
}
`
  )
  return library
}

/** Runs the body beside a checkpointer on a file; `pass` is what its library does in each pass. */
export const inRoom = <A, E>(
  body: (room: Room) => Effect.Effect<A, E, FiberRegister | Journal | Database>,
  { library, pass = "return copy()" }: { readonly library?: string; readonly pass?: string } = {}
) =>
  onDisk((file) => {
    const folder = dirname(file)
    const disk = makeDisk()
    const logs: Array<string> = []
    const counted = join(folder, "passes")
    const passes = () => (existsSync(counted) ? readFileSync(counted).length : 0)
    return Effect.flatMap(Database, (database) => body({ file, disk, database, logs, passes })).pipe(
      Effect.provide(
        Checkpointer.layerWith(library ?? libraryWith(folder, pass)).pipe(
          // The journal that fails on purpose says nothing, and would silence everyone else.
          Layer.provide([capture(logs), Logger.minimumLogLevel(LogLevel.Info)]),
          Layer.provideMerge(Layer.merge(journalOn(disk), sqlLayer(file)))
        )
      )
    )
  })

export const markOf = ({ file }: Room) => join(dirname(file), "mark")
