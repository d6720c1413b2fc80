// Puts a backup in the place of a home's files, so that a kill at any moment leaves the old state or the new one.
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync
} from "node:fs"
import { statSync } from "node:fs"
import { basename, join } from "node:path"
import { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { filesOf, flushFile, flushFolder, makeFolder, ownLike, writeWhole } from "./Home.ts"
import { type Carried, type Progress, uncarry } from "./Snapshot.ts"

/** Names the folder that the old files go to; stands in the prepared restore, so that a second try uses the same. */
const asideNote = "aside"

const copied = async (from: string, to: string, progress: Progress): Promise<void> => {
  const total = statSync(from).size
  let done = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      done += chunk.length
      progress("copying", done / total)
      callback(undefined, chunk)
    }
  })
  const target = createWriteStream(to, { flags: "wx", mode: 0o600, flush: true })
  await pipeline(createReadStream(from, { highWaterMark: 4_194_304 }), counted, target)
}

/** 2026-01-02T03-04-05-006Z: sorts by time, and every file system takes it. */
const stamp = (at: number): string => new Date(at).toISOString().replaceAll(/[:.]/g, "-")

/**
 * Brings a proved backup into the home under a name that nothing reads, and decides the restore by one rename.
 * Whatever ends before that leaves the old state as it was.
 */
export const prepare = async (home: string, file: string, carried: Carried, at: number, progress: Progress) => {
  const { draft, ready } = filesOf(home)
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  try {
    const into = filesOf(draft)
    ownLike(home, draft)
    await copied(file, into.database, progress)
    uncarry(into.database)
    ownLike(home, into.database)
    flushFile(into.database)
    writeWhole(into.key, carried.keyText)
    if (carried.installId !== undefined) writeWhole(into.installId, carried.installId)
    writeWhole(join(draft, asideNote), `before-restore-${stamp(at)}`)
    renameSync(draft, ready)
    flushFolder(home)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Moves the old file aside and the new one in; does what is left of it when it was cut short. */
const swap = (next: string, current: string, aside: string): void => {
  if (!existsSync(next)) return
  moveAside(current, aside)
  renameSync(next, current)
}
const moveAside = (current: string, aside: string): void => {
  const kept = join(aside, basename(current))
  if (existsSync(current) && !existsSync(kept)) renameSync(current, kept)
}

/**
 * Carries out a decided restore from wherever it stands, for the holder of the home's lock. Gives the folder that holds
 * the old files, or undefined when nothing was decided or there were none.
 */
export const finish = (home: string): string | undefined => {
  const { database, draft, installId, key, ready } = filesOf(home)
  rmSync(draft, { recursive: true, force: true })
  if (!existsSync(ready)) return undefined
  const next = filesOf(ready)
  // The note goes last, with its folder.
  const aside = join(home, readFileSync(join(ready, asideNote), "utf8"))
  makeFolder(aside)
  ownLike(home, aside)
  if (existsSync(next.database)) {
    // The log belongs to the old database and must never meet the new one; the index is made anew.
    moveAside(`${database}-wal`, aside)
    moveAside(`${database}-journal`, aside)
    rmSync(`${database}-shm`, { force: true })
  }
  swap(next.database, database, aside)
  swap(next.key, key, aside)
  swap(next.installId, installId, aside)
  flushFolder(aside)
  flushFolder(home)
  // Renamed first: cut short in the middle, a removal would leave a restore without its note.
  renameSync(ready, draft)
  rmSync(draft, { recursive: true, force: true })
  const isEmpty = readdirSync(aside).length === 0
  if (isEmpty) rmdirSync(aside)
  flushFolder(home)
  return isEmpty ? undefined : aside
}
