// Answers questions about history in a thread, so that reading it holds up nobody; without a thread, on the event loop.
import { Context, Effect, Either, Exit, Layer } from "effect"
import { createRequire } from "node:module"
import { StorageUnavailable } from "../schema/Errors.ts"
import { HistoryStore } from "../src/store/History.ts"
import { Database } from "../src/store/Sql.ts"
import { FiberRegister, noteTrouble } from "./FiberStatus.ts"
import {
  chart,
  type ChartAnswer,
  type ChartQuestion,
  count,
  type CountAnswer,
  type CountQuestion,
  toolsOf
} from "./HistoryGathering.ts"
// What is imported is the text of the file, which has no default of its own.
// oxlint-disable-next-line import/default
import program from "./HistoryProgram.ts?program"
import { KeptThread, type Miss } from "./KeptThread.ts"
import { SqlThread } from "./SqlThread.ts"

/** Questions that wait at once: the charts of sixteen pages, which take half a second. */
const waitingMax = 256
/** So long one waits for an answer: a disk that takes longer is in trouble. */
const waitMsMax = 10_000

/** Megabytes of objects in the thread: what is known about 8 MB of chunks that are kept, and the rows of eight nodes. */
const heapMb = 64

/** Called once, later or at once: fails when too many wait or it takes too long, dies of what SQLite throws. */
export type Done<Answer> = (result: Exit.Exit<Answer, StorageUnavailable>) => void

export interface DeskFigures {
  /** Answers that the thread gave. */
  answered: number
  /** Given on the event loop, because there is no thread or it failed. */
  without: number
  /** Too many waited, or it took too long. */
  refused: number
}

export class HistoryDesk extends Context.Tag("runtime/HistoryDesk")<
  HistoryDesk,
  {
    readonly chart: (question: ChartQuestion, done: Done<ChartAnswer>) => void
    readonly count: (question: CountQuestion, done: Done<CountAnswer>) => void
    readonly figures: DeskFigures
  }
>() {}

/** What the thread answers, by the name of the question. */
interface Answers {
  readonly chart: ChartAnswer
  readonly count: CountAnswer
}
type Thread = KeptThread<Answers>

/** What who is refused is told; otherwise it is answered without the thread. */
const reasons: Partial<Record<Miss, string>> = {
  full: "too many questions about history wait already; ask again in a moment",
  late: "history gave no answer in time; the disk may be in trouble"
}

/** Has the thread answer; where it cannot, `local` does. */
const asking =
  <Name extends keyof Answers, Question>(
    thread: Thread | undefined,
    figures: DeskFigures,
    name: Name,
    local: (question: Question) => Answers[Name]
  ) =>
  (question: Question, done: Done<Answers[Name]>): void => {
    const without = (): void => {
      figures.without++
      let found: Answers[Name]
      try {
        found = local(question)
      } catch (cause) {
        return done(Exit.die(cause))
      }
      done(Exit.succeed(found))
    }
    if (thread === undefined) return without()
    thread.ask(name, question, (answer) => {
      if (Either.isRight(answer)) {
        figures.answered++
        return done(Exit.succeed(answer.right))
      }
      const message = reasons[answer.left]
      if (message === undefined) return without()
      figures.refused++
      done(Exit.fail(new StorageUnavailable({ message })))
    })
  }

const makeWith = (library: string, waitMs: number) =>
  Effect.gen(function* () {
    const { filename: file } = yield* Database
    const figures: DeskFigures = { answered: 0, without: 0, refused: 0 }
    const tools = toolsOf((yield* HistoryStore).reader)
    const deskOf = (thread: Thread | undefined) =>
      HistoryDesk.of({
        chart: asking(thread, figures, "chart", (question: ChartQuestion) => chart(tools, question)),
        count: asking(thread, figures, "count", (question: CountQuestion) => count(tools, question)),
        figures
      })
    // Nobody else can look into a database in memory.
    if (file === ":memory:") return deskOf(undefined)
    const watch = (yield* FiberRegister).register("HistoryDesk", () => thread.waiting, waitingMax)
    const clock = yield* Effect.clock
    const commands = `${program}\nconst commands = program.commandsOf(Sqlite, file)`
    const thread: Thread = new KeptThread<Answers>({
      start: () => new SqlThread({ task: "answers about history", commands, library, file, heapMb }),
      waitingMax,
      waitMsMax: waitMs,
      trouble: (message) => noteTrouble(watch, message, clock.unsafeCurrentTimeMillis())
    })
    // The service's own connection shall be the last one: its end copies what is left and removes the log.
    yield* Effect.addFinalizer(() => thread.end)
    return deskOf(thread)
  })

/** `library` is the path of better-sqlite3, or what stands in for it; `waitMs` is how long an answer may take. */
export const layerWith = (library: string, waitMs = waitMsMax) => Layer.scoped(HistoryDesk, makeWith(library, waitMs))

export const layer = layerWith(createRequire(import.meta.url).resolve("better-sqlite3"))
