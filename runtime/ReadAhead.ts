// Brings what the event loop is about to read from the disk into memory first, in threads: a disk holds up no loop.
import { Context, Effect, Layer } from "effect"
import { createRequire } from "node:module"
import type { Look } from "../src/store/ReadAhead.ts"
import { Database } from "../src/store/Sql.ts"
import { FiberRegister, noteTrouble } from "./FiberStatus.ts"
import { type AheadFigures, type Begin, Reader, waitingMax } from "./ReadThread.ts"

/** The same with and without a fiber. */
export interface Lane {
  readonly begin: Begin
  readonly bring: (looks: ReadonlyArray<Look>) => Effect.Effect<void>
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

const laneOf = (begin: Begin): Lane => ({
  begin,
  bring: (looks) => Effect.async<void>((resume) => begin(looks, () => resume(Effect.void)))
})

/** For a database in memory. */
const nothingToBring = laneOf((_, done) => done())

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
    const clock = yield* Effect.clock
    const trouble = (message: string) => noteTrouble(watch, message, clock.unsafeCurrentTimeMillis())
    const lane = Effect.gen(function* () {
      const reader = new Reader({ file, descriptor, library, trouble, figures })
      readers.push(reader)
      // The service's own connection shall be the last one: its end copies what is left and removes the log.
      yield* Effect.addFinalizer(() => reader.thread?.end ?? Effect.void)
      return laneOf(reader.begin)
    })
    return ReadAhead.of({ answers: yield* lane, upkeep: yield* lane, figures })
  })

export const layerWith = (library: string) => Layer.scoped(ReadAhead, makeWith(library))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
