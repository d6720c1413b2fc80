// Syncing the log beside the event loop, on real files.
import Sqlite from "better-sqlite3"
import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { LogSync } from "../../src/store/LogSync.ts"
import { withoutSync } from "../../src/store/Sql.ts"

const folder = mkdtempSync(join(tmpdir(), "watchpost-sync-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
const opened = () => {
  const file = join(folder, `${count++}.db`)
  const db = new Sqlite(file)
  db.pragma("journal_mode = WAL")
  db.exec("CREATE TABLE things (id INTEGER PRIMARY KEY)")
  return { db, log: `${file}-wal` }
}
const synced = (log: LogSync) => new Promise<Error | undefined>((resume) => log.begin(resume))

/** Descriptors of this process that are open on a file; undefined where the system does not tell. */
const descriptorsOf = (file: string): number | undefined => {
  if (process.platform !== "linux") return undefined
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file
    } catch {
      return false
    }
  }).length
}

describe("syncing the log", () => {
  it("ends without an error, again and again, also several at once and while everything waits", async () => {
    const { db, log } = opened()
    const sync = new LogSync(log)
    expect(await synced(sync)).toBeUndefined()
    db.exec("INSERT INTO things VALUES (1)")
    expect(await Promise.all([synced(sync), synced(sync), synced(sync)])).toEqual([undefined, undefined, undefined])
    sync.now()
    sync.close()
    db.close()
  })

  it("says what went wrong instead of throwing, and tells it in the call when there is no such file", () => {
    const sync = new LogSync(join(folder, "nowhere/log"))
    let told: Error | undefined
    sync.begin((cause) => (told = cause))
    expect(told?.message).toContain("ENOENT")
    expect(() => sync.now()).toThrow("ENOENT")
    sync.close()
  })

  it("has nothing to wait for in memory", () => {
    const sync = new LogSync(undefined)
    let isTold = false
    sync.begin((cause) => (isTold = cause === undefined))
    expect(isTold).toBe(true)
    sync.now()
    sync.close()
  })

  it("keeps its descriptor until what is under way has ended, and leaves none open", async () => {
    const { db, log } = opened()
    const before = descriptorsOf(log)
    const sync = new LogSync(log)
    const endings = [synced(sync), synced(sync)]
    sync.close()
    // Whoever opens a file now must not get the number that the sync still uses.
    const other = openSync(join(folder, "other"), "w")
    expect(await Promise.all(endings)).toEqual([undefined, undefined])
    closeSync(other)
    expect(descriptorsOf(log)).toBe(before)
    db.close()
  })
})

describe("a commit that does not wait", () => {
  const levelOf = (db: Sqlite.Database) => db.pragma("synchronous", { simple: true })
  const [normal, full] = [1, 2]

  it("is the only one: every other on the connection waits for the disk, also after one that failed", () => {
    const { db } = opened()
    db.pragma("synchronous = FULL")
    const levels: Array<unknown> = []
    withoutSync(db, () => void levels.push(levelOf(db)))
    expect(() =>
      withoutSync(db, () => {
        levels.push(levelOf(db))
        db.exec("INSERT INTO nowhere VALUES (1)")
      })
    ).toThrow("no such table")
    expect([...levels, levelOf(db)]).toEqual([normal, normal, full])
    db.close()
  })

  it("hides nothing of what went wrong when a transaction is left open", () => {
    const { db } = opened()
    db.pragma("synchronous = FULL")
    expect(() =>
      withoutSync(db, () => {
        db.exec("BEGIN")
        throw new Error("half way")
      })
    ).toThrow("half way")
    db.exec("ROLLBACK")
    withoutSync(db, () => undefined)
    expect(levelOf(db)).toBe(full)
    db.close()
  })
})
