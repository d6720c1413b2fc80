// The look at a home before a start: what it refuses, what it lets pass, and that it changes nothing.
import Sqlite from "better-sqlite3"
import { Effect, Either } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { currentShape } from "../../runtime/Layers.ts"
import { homeLock } from "../../src/store/HomeLock.ts"
import { inspected } from "../../src/store/Inspection.ts"
import { seedHome } from "../support/Fleet.ts"

const folders: Array<string> = []
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "watchpost-inspection-"))
  folders.push(made)
  return made
}

/** The message of the refusal, or "" when the home may be used. */
const verdictOn = async (home: string): Promise<string> => {
  const shape = await Effect.runPromise(currentShape)
  const verdict = await Effect.runPromise(Effect.either(inspected(home, shape)))
  return Either.isLeft(verdict) ? verdict.left.message : ""
}

const edited = async (...statements: ReadonlyArray<string>): Promise<string> => {
  const home = folder()
  await seedHome(home, 2)
  const db = new Sqlite(join(home, "watchpost.db"))
  db.unsafeMode(true)
  db.pragma("writable_schema = ON")
  for (const statement of statements) db.exec(statement)
  db.close()
  return home
}

describe("a home", { timeout: 30_000 }, () => {
  it("is refused, in a sentence that names the way out, when something is wrong with its schema", async () => {
    const wrong = [
      ["DROP TABLE sessions", "the definition of sessions is gone"],
      ["UPDATE sqlite_schema SET sql = replace(sql, 'token_digest', 'tokem_digest')", "the definition of sessions"],
      ["DELETE FROM effect_sql_migrations WHERE migration_id > 1", "the record of its version is damaged"],
      ["INSERT INTO effect_sql_migrations (migration_id, name) VALUES (500, 'later')", "newer version of watchpost"]
    ] as const
    for (const [statement, words] of wrong) {
      const home = await edited(statement)
      const before = readFileSync(join(home, "watchpost.db"))
      const message = await verdictOn(home)
      expect(message).toContain(words)
      expect(message).toMatch(/Nothing was changed\..*watchpost restore FILE$/)
      expect(readFileSync(join(home, "watchpost.db")).equals(before)).toBe(true)
    }
  })

  it("is refused when the key is of another home, is no key, or is gone, as long as something is sealed with it", async () => {
    const [home, other] = [await edited(), await edited()]
    const key = join(home, "secret.key")
    writeFileSync(key, readFileSync(join(other, "secret.key")))
    expect(await verdictOn(home)).toContain("the key beside it is not the one")
    writeFileSync(key, "short\n")
    expect(await verdictOn(home)).toContain("does not hold a 32-byte key")
    rmSync(key)
    expect(await verdictOn(home)).toContain("is gone")
    expect(await verdictOn(await edited("UPDATE nodes SET secret_sealed = NULL"))).toBe("")
  })

  it("is refused when a log is there but no database, and passes when it is new", async () => {
    const home = folder()
    expect(await verdictOn(home)).toBe("")
    writeFileSync(join(home, "watchpost.db"), "")
    expect(await verdictOn(home)).toBe("")
    writeFileSync(join(home, "watchpost.db-wal"), "x")
    expect(await verdictOn(home)).toContain("its log is not")
    expect(existsSync(join(home, "secret.key"))).toBe(false)
  })

  it("is held by one at a time, also within a process, and free afterwards", async () => {
    const home = folder()
    const twice = Effect.scoped(Effect.zipRight(homeLock(home), Effect.either(Effect.scoped(homeLock(home)))))
    const second = await Effect.runPromise(twice)
    expect(Either.isLeft(second) && second.left.message).toContain("another watchpost is running")
    await Effect.runPromise(Effect.scoped(homeLock(home)))
  })
})
