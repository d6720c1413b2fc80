// The log read as bytes: power cuts and kills leave no fault, lost commits do.
import Sqlite from "better-sqlite3"
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { isBeforeBoot, readLog } from "../../src/store/LogFile.ts"

const folder = mkdtempSync(join(tmpdir(), "watchpost-log-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
/** With few pages between checkpoints the log is emptied and used anew every few commits. */
const opened = (checkpointPages: number) => {
  const file = join(folder, `${count++}.db`)
  const db = new Sqlite(file)
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.pragma(`wal_autocheckpoint = ${checkpointPages}`)
  db.exec("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)")
  const put = db.prepare("INSERT INTO things (text) VALUES (?)")
  return { file, db, put: () => void put.run("x".repeat(3000)) }
}
/** What a kill leaves, without the index when the machine stopped as well. */
const copyOf = (file: string, isPowerCut = false): string => {
  const copy = join(folder, `${count++}.db`)
  for (const suffix of isPowerCut ? ["", "-wal"] : ["", "-wal", "-shm"]) {
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
  }
  return copy
}
const frameBytes = 24 + 4096

describe("a log", { timeout: 30_000 }, () => {
  it("shows no fault at any moment of a writer's life, nor when its end is torn by a power cut", () => {
    const { db, file, put } = opened(24)
    for (let i = 0; i < 120; i++) {
      const before = readFileSync(`${file}-wal`)
      put()
      expect(readLog(file).fault).toBeUndefined()
      expect(readLog(copyOf(file)).fault).toBeUndefined()
      const cut = copyOf(file, true)
      const after = readFileSync(`${cut}-wal`)
      expect(readLog(cut).fault).toBeUndefined()
      // Any of the sectors of the last commit may be missing; the header is synced by itself.
      for (let at = 512; at < after.length; at += 512) {
        if (!after.subarray(at, at + 512).equals(before.subarray(at, at + 512)) && (at / 512 + i) % 3 === 0) {
          after.fill(0, at, Math.min(at + 512, after.length))
          if (at < before.length) before.copy(after, at, at, Math.min(at + 512, before.length))
        }
      }
      writeFileSync(`${cut}-wal`, after)
      expect(readLog(cut).fault, `commit ${i}`).toBeUndefined()
    }
    db.close()
    expect(readLog(file).fault).toBeUndefined()
  })

  it("that lost a commit after a kill is told, wherever it was cut or flipped, or that it is gone", () => {
    const { db, file, put } = opened(1000)
    for (let i = 0; i < 9; i++) put()
    const { frames } = readLog(file)
    expect(frames).toBeGreaterThan(9)
    for (let frame = 0; frame < frames; frame++) {
      const cut = copyOf(file)
      truncateSync(`${cut}-wal`, 32 + frame * frameBytes + (frame % 2) * 100)
      expect(readLog(cut).fault, `cut at ${frame}`).toBeDefined()
      const flipped = copyOf(file)
      const bytes = readFileSync(`${flipped}-wal`)
      const at = 32 + frame * frameBytes + ((frame * 977) % frameBytes)
      bytes[at] = (bytes[at] ?? 0) ^ 4
      writeFileSync(`${flipped}-wal`, bytes)
      expect(readLog(flipped).fault, `flipped at ${at}`).toBeDefined()
    }
    const gone = copyOf(file)
    rmSync(`${gone}-wal`)
    expect(readLog(gone).fault).toBeDefined()
    db.close()
  })

  it("may be shorter than its index tells when the machine itself has stopped since", () => {
    const { db, file, put } = opened(1000)
    for (let i = 0; i < 9; i++) put()
    const { frames } = readLog(file)
    const cut = copyOf(file)
    truncateSync(`${cut}-wal`, 32 + (frames - 1) * frameBytes)
    expect(readLog(cut).fault).toBeDefined()
    utimesSync(`${cut}-shm`, 1_000_000_000, 1_000_000_000)
    expect(readLog(cut)).toMatchObject({ fault: undefined })
    db.close()
  })

  it("takes an index for one of before the machine's start by its age and the machine's", () => {
    const now = 1_700_000_000_000
    expect(isBeforeBoot(now - 60_000, now, 59_000)).toBe(true)
    expect(isBeforeBoot(now - 60_000, now, 61_000)).toBe(false)
  })

  it("may lack parts of two transactions at its end, which were not synced when the power went, but of no third", () => {
    const { db, file, put } = opened(1000)
    const sizes: Array<number> = []
    for (let i = 0; i < 6; i++) {
      put()
      sizes.push(readLog(file).frames)
    }
    const faultOf = (whole: number) => {
      const copy = copyOf(file, true)
      const bytes = readFileSync(`${copy}-wal`)
      // A sector of the first frame behind the whole ones.
      const at = 32 + (sizes[whole - 1] as number) * frameBytes + 1024
      bytes.fill(0, at, at + 512)
      bytes[at] = 1
      writeFileSync(`${copy}-wal`, bytes)
      return readLog(copy).fault
    }
    expect([faultOf(5), faultOf(4)]).toEqual([undefined, undefined])
    expect(faultOf(3)).toContain("broken in front of commits")
    db.close()
  })

  it("that is broken in the middle is told without its index as well", () => {
    const { db, file, put } = opened(1000)
    for (let i = 0; i < 9; i++) put()
    const copy = copyOf(file, true)
    const bytes = readFileSync(`${copy}-wal`)
    bytes[32 + 3 * frameBytes + 2000] = 1
    writeFileSync(`${copy}-wal`, bytes)
    expect(readLog(copy).fault).toBeDefined()
    db.close()
  })
})
