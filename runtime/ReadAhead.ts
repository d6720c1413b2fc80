// Reads from the disk what the event loop is about to need, in a thread and first: a disk holds up no loop.
import { Context, Effect, Either, Layer } from "effect"
import { createRequire } from "node:module"
import type { Look } from "../src/store/ReadAhead.ts"
import { Database } from "../src/store/Sql.ts"
import {
  type FoldQuestion,
  type FoldSource,
  type SealQuestion,
  type SealSource,
  unpacked
} from "./CompactionSources.ts"
import { FiberRegister, noteTrouble } from "./FiberStatus.ts"
import type { KeptThread } from "./KeptThread.ts"
import { type Answers, readThread, waitingMax } from "./ReadThread.ts"

/** What the thread has done. */
export interface AheadFigures {
  /** Bundles of looks, and sources, that were brought. */
  brought: number
  /** Those that were refused, took too long, or failed. */
  passed: number
}

export class ReadAhead extends Context.Tag("runtime/ReadAhead")<
  ReadAhead,
  {
    /** Done when the pages that these looks need are in memory, or cannot be brought there: then who reads them waits. */
    readonly bring: (looks: ReadonlyArray<Look>) => Effect.Effect<void>
    /** What a seal works on; undefined when it cannot be brought: then who needs it reads by himself. */
    readonly toSeal: (question: SealQuestion) => Effect.Effect<SealSource | undefined>
    /** What a fold works on; undefined as above. */
    readonly toFold: (question: FoldQuestion) => Effect.Effect<FoldSource | undefined>
    readonly figures: AheadFigures
  }
>() {}
export type Ahead = Pick<Context.Tag.Service<typeof ReadAhead>, "bring">

/** Whoever asks reads by himself. */
export const nothingAhead: Omit<Context.Tag.Service<typeof ReadAhead>, "figures"> = {
  bring: () => Effect.void,
  toSeal: () => Effect.succeed(undefined),
  toFold: () => Effect.succeed(undefined)
}

/** Has the thread do it; undefined for who is refused, or waits too long. */
const asking =
  (thread: KeptThread<Answers>, figures: AheadFigures) =>
  <Name extends keyof Answers>(name: Name, question: unknown): Effect.Effect<Answers[Name] | undefined> =>
    Effect.async((resume) =>
      thread.ask(name, question, (answer) => {
        figures[Either.isRight(answer) ? "brought" : "passed"]++
        resume(Effect.succeed(Either.getOrUndefined(answer)))
      })
    )

/** `library` is the path of better-sqlite3, or what stands in for it. */
const makeWith = (library: string) =>
  Effect.gen(function* () {
    const figures: AheadFigures = { brought: 0, passed: 0 }
    const { descriptor, filename: file } = yield* Database
    // What is in memory need not be brought there.
    if (descriptor === undefined) return ReadAhead.of({ ...nothingAhead, figures })
    const watch = (yield* FiberRegister).register("ReadAhead", () => thread.waiting, waitingMax)
    const clock = yield* Effect.clock
    const trouble = (message: string) => noteTrouble(watch, message, clock.unsafeCurrentTimeMillis())
    const thread = readThread({ file, descriptor, library, trouble })
    // The service's own connection shall be the last one: its end copies what is left and removes the log.
    yield* Effect.addFinalizer(() => thread.end)
    const ask = asking(thread, figures)
    return ReadAhead.of({
      bring: (looks) => (looks.length === 0 ? Effect.void : ask("look", looks)),
      toSeal: (question) => Effect.map(ask("seal", question), (source) => source && unpacked(question.id, source)),
      toFold: (question) => ask("fold", question),
      figures
    })
  })

export const layerWith = (library: string) => Layer.scoped(ReadAhead, makeWith(library))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
