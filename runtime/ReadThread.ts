// A thread that reads from the disk what others are about to read; when it cannot, they go on without it.
import type { FoldSource, PackedSeal } from "./CompactionSources.ts"
import { KeptThread } from "./KeptThread.ts"
// What is imported is the text of the file, which has no default of its own.
// oxlint-disable-next-line import/default
import program from "./ReadProgram.ts?program"
import { SqlThread } from "./SqlThread.ts"

/** Bundles of looks that a thread is asked for at once; who comes then reads by itself. */
export const waitingMax = 64
/** So long one waits, and then reads by itself: a disk that takes longer is in trouble, and everything shall tell so. */
const waitMsMax = 5000
/** Megabytes of objects in the thread: the chunks and rows that it hands on are not among them. */
const heapMb = 16

/** What the thread answers, by the name of the question. */
export interface Answers {
  readonly look: void
  readonly seal: PackedSeal
  readonly fold: FoldSource
}

interface ReaderOptions {
  readonly file: string
  /** The service's own of the file. */
  readonly descriptor: number
  /** Path of better-sqlite3, which the thread loads by itself. */
  readonly library: string
  readonly trouble: (message: string) => void
}

const commands = `${program}\nconst commands = program.commandsOf(Sqlite, file, workerData.descriptor)`

/** The thread that reads. */
export const readThread = ({ descriptor, file, library, trouble }: ReaderOptions): KeptThread<Answers> =>
  new KeptThread<Answers>({
    start: () => new SqlThread({ task: "reads ahead", commands, library, file, data: { descriptor }, heapMb }),
    waitingMax,
    waitMsMax,
    trouble
  })
