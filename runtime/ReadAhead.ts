// Brings what the event loop is about to read from the disk into memory first, in a thread: a disk holds up no loop.
import { Context, Effect, Layer } from "effect"
import { createRequire } from "node:module"
import type { Look } from "../src/store/ReadAhead.ts"
import { Database } from "../src/store/Sql.ts"
import { FiberRegister, noteTrouble } from "./FiberStatus.ts"
import { type AheadFigures, bringing, readThread, waitingMax } from "./ReadThread.ts"

export class ReadAhead extends Context.Tag("runtime/ReadAhead")<
  ReadAhead,
  {
    /** Done when the pages that these looks need are in memory, or cannot be brought there: then who reads them waits. */
    readonly bring: (looks: ReadonlyArray<Look>) => Effect.Effect<void>
    readonly figures: AheadFigures
  }
>() {}
export type Ahead = Pick<Context.Tag.Service<typeof ReadAhead>, "bring">

/** `library` is the path of better-sqlite3, or what stands in for it. */
const makeWith = (library: string) =>
  Effect.gen(function* () {
    const figures: AheadFigures = { brought: 0, passed: 0 }
    const { descriptor, filename: file } = yield* Database
    // What is in memory need not be brought there.
    if (file === ":memory:") return ReadAhead.of({ bring: () => Effect.void, figures })
    const watch = (yield* FiberRegister).register("ReadAhead", () => thread.waiting, waitingMax)
    const clock = yield* Effect.clock
    const trouble = (message: string) => noteTrouble(watch, message, clock.unsafeCurrentTimeMillis())
    const thread = readThread({ file, descriptor, library, trouble })
    // The service's own connection shall be the last one: its end copies what is left and removes the log.
    yield* Effect.addFinalizer(() => thread.end)
    return ReadAhead.of({ bring: bringing(thread, figures), figures })
  })

export const layerWith = (library: string) => Layer.scoped(ReadAhead, makeWith(library))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
