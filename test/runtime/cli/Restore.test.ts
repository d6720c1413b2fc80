// Backup, restore, check and the lock, with real processes on real homes, under load and under kills.
import Sqlite from "better-sqlite3"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  watch,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { begin, command, contentsOf, type Running, twinOf, usedHome } from "../../support/Commands.ts"
import { Fleet, seedHome } from "../../support/Fleet.ts"
import { twoAtOnce } from "../../support/Lanes.ts"
import { databaseOf, killAll, makeHome, removeHomes, run, sleep, start } from "../../support/Program.ts"

/** Homes that are only copied: one that was ended in order, one that was killed, and a backup of the first. */
let ended: string
let killed: string
let file: string

beforeAll(async () => {
  const homes = await Promise.all([usedHome("SIGTERM", 5, 500), usedHome("SIGKILL", 3, 500)])
  ;[ended, killed] = homes
  file = join(makeHome(), "b.db")
  expect((await command(ended, ["backup", file])).code).toBe(0)
}, 60_000)
afterEach(killAll)
afterAll(removeHomes)

const lines = (text: string) => text.trimEnd().split("\n")
const keyOf = (home: string) => readFileSync(join(home, "secret.key"), "utf8")
const asideIn = (home: string) => readdirSync(home).filter((name) => name.startsWith("before-restore-"))

describe("one home", { timeout: 120_000 }, () => {
  it("has one service: the second ends with code 1 and one line, and after a kill the next one starts", async () => {
    const home = makeHome()
    const first = start(home)
    await first.url
    const second = await run(home)
    expect([second.code, second.stdout, lines(second.stderr).length]).toEqual([1, "", 1])
    expect(second.stderr).toContain("another watchpost is running")
    first.kill("SIGKILL")
    await first.ended
    await start(home).url
  })

  it("is never made anew in the place of one that was in use", async () => {
    await twoAtOnce(["", Buffer.alloc(8192)], async (content) => {
      const home = twinOf(ended)
      writeFileSync(databaseOf(home), content)
      const { code, stderr } = await run(home)
      expect([code, lines(stderr).length]).toEqual([1, 1])
      expect(stderr).toContain("watchpost restore FILE")
      expect(keyOf(home)).toBe(keyOf(ended))
    })
  })

  it("refuses a database of a newer version, and a database whose key is gone", async () => {
    const keyless = twinOf(ended)
    rmSync(join(keyless, "secret.key"))
    const home = twinOf(ended)
    const db = new Sqlite(databaseOf(home))
    db.exec("INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9000, 'later')")
    db.close()
    const [gone, { code, stderr }] = await Promise.all([run(keyless), run(home)])
    expect(gone.stderr).toMatch(/key .* is gone.*watchpost restore FILE/)
    expect(existsSync(join(keyless, "secret.key"))).toBe(false)
    expect([code, lines(stderr).length]).toEqual([1, 1])
    expect(stderr).toContain("newer version of watchpost (schema 9000")
  })

  it("accepts what a kill at any moment of the very first start leaves", async () => {
    await twoAtOnce(Array.from({ length: 12 }).keys(), async (i) => {
      const home = makeHome()
      const first = start(home)
      // From before the first file to after the last one.
      while (i > 0 && i < 11 && !existsSync(join(home, i < 6 ? "watchpost.lock" : "watchpost.db"))) await sleep(1)
      await sleep((i % 6) * 8)
      first.kill("SIGKILL")
      await first.ended
      const next = start(home)
      await next.url
      next.kill("SIGKILL")
      await next.ended
    })
  })
})

describe("backup", { timeout: 120_000 }, () => {
  it("refuses in one line and leaves no file: no home, a name that is taken, a bad folder, a full disk", async () => {
    const target = makeHome()
    const file = join(target, "b.db")
    const failed = async (where: string, to: string, limit?: number) => {
      const { code, stderr } = await command(where, ["backup", to], limit)
      const said = lines(stderr).filter((line) => line.startsWith("watchpost:"))
      expect([code, said.length, /^\s+at /m.test(stderr)], stderr).toEqual([1, 1, false])
      return said[0]
    }
    const said = await Promise.all([failed(makeHome(), file), failed(ended, join(target, "none", "b.db"))])
    expect(said[0]).toContain("nothing to back up")
    expect(said[1]).toContain("no such file or folder")
    expect(await failed(ended, file, 64)).toMatch(/no space|larger than allowed|SQLITE_/)
    expect(readdirSync(target)).toEqual([])
    writeFileSync(file, "mine")
    expect(await failed(ended, file)).toContain("exists already")
    expect([readdirSync(target), readFileSync(file, "utf8")]).toEqual([["b.db"], "mine"])
  })

  it("ends on SIGINT in the middle, soon, and leaves no file", async () => {
    const home = twinOf(ended)
    const db = new Sqlite(databaseOf(home))
    // Only the size matters here, so the filling is written once and not through a log.
    db.exec(
      `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
       INSERT INTO history_raw (node_id, start_at, end_at, layout_id, format, checksum, bytes)
       WITH RECURSIVE counted(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM counted LIMIT 4000)
       SELECT 1, value, value + 1, 1, 1, 0, zeroblob(100000) FROM counted;
       PRAGMA journal_mode = WAL`
    )
    db.close()
    const target = makeHome()
    const backup = begin(home, ["backup", join(target, "b.db")])
    while (readdirSync(target).length === 0 && backup.child.exitCode === null) await sleep(2)
    await sleep(100)
    backup.child.kill("SIGINT")
    const { code, stdout } = await backup.ended
    expect([code, stdout, readdirSync(target)]).toEqual([130, "", []])
  })

  it("removes what a killed backup left in the folder, long after it, and nothing that somebody may still work on", async () => {
    const home = twinOf(ended)
    const target = makeHome()
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
    const left = (name: string, hours: number) => {
      writeFileSync(join(target, name), "half")
      utimesSync(join(target, name), hoursAgo(hours), hoursAgo(hours))
    }
    left(".old.db.7.watchpost-draft", 7)
    left(".old.db.7.watchpost-draft-journal", 7)
    left(".new.db.8.watchpost-draft", 5)
    left(".mine.draft", 700)
    // One that cannot be removed keeps no backup from being made.
    left(".stuck.db.9.watchpost-draft", 7)
    mkdirSync(join(target, ".stuck.db.9.watchpost-draft-journal"))
    left("theirs.watchpost-draft", 700)
    expect((await command(home, ["backup", join(target, "b.db")])).code).toBe(0)
    const kept = [".mine.draft", ".new.db.8.watchpost-draft", "b.db", "theirs.watchpost-draft"]
    expect(
      readdirSync(target)
        .filter((name) => !name.startsWith(".stuck"))
        .sort()
    ).toEqual(kept)
  })

  it("refuses a damaged database and leaves no file", async () => {
    const home = twinOf(ended)
    const bytes = readFileSync(databaseOf(home))
    bytes.fill(0x5a, 40_000, 44_000)
    writeFileSync(databaseOf(home), bytes)
    const target = makeHome()
    const { code, stderr } = await command(home, ["backup", join(target, "b.db")])
    expect([code, readdirSync(target)], stderr).toEqual([1, []])
    expect(stderr).toContain("is damaged")
  })

  it("of a service that takes reports all the time holds everything acknowledged before it, and restores elsewhere", async () => {
    const home = makeHome()
    await seedHome(home, 200)
    const fleet = new Fleet({ agents: 200, paceMs: 30, chance: Math.random })
    const program = start(home)
    fleet.run(await program.url)
    await sleep(1500)
    const before = new Map([...fleet.receipts.keys()].map((id) => [id, fleet.lastOf(id)]))
    const file = join(makeHome(), "b.db")
    const made = await command(home, ["backup", file])
    const [inUse, checked] = await Promise.all([command(home, ["restore", file]), command(home, ["check"])])
    const { acknowledged } = fleet
    await sleep(300)
    expect(fleet.acknowledged).toBeGreaterThan(acknowledged)
    await fleet.stop()

    expect([made.code, made.stdout.includes("encryption key")], made.stderr).toEqual([0, true])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect([inUse.code, inUse.stderr.includes("another watchpost is running")]).toEqual([1, true])
    expect([checked.code, checked.stdout.includes("all is well")], checked.stdout).toEqual([0, true])
    const elsewhere = makeHome()
    const restored = await command(elsewhere, ["restore", file])
    expect(restored.code, restored.stderr).toBe(0)
    expect([keyOf(elsewhere), asideIn(elsewhere)]).toEqual([keyOf(home), []])
    const { nodes } = contentsOf(databaseOf(elsewhere))
    expect(nodes).toEqual(contentsOf(databaseOf(home)).nodes)
    const again = start(elsewhere)
    const shown = (await (await fetch(`${await again.url}/api/front/metrics`)).json()) as ReadonlyArray<{
      readonly node: { readonly id: string }
      readonly observation: { readonly observed_at: string }
    }>
    const times = new Map(shown.map(({ node, observation }) => [Number(node.id), Date.parse(observation.observed_at)]))
    const behind = [...before].filter(([id, at]) => (times.get(id) ?? 0) < at)
    expect(behind).toEqual([])
    // The secrets of the nodes are known here as well.
    const moved = new Fleet({ agents: 200, paceMs: 30, chance: Math.random })
    moved.run(await again.url)
    await sleep(500)
    await moved.stop()
    expect([moved.acknowledged > 0, moved.surprises]).toEqual([true, []])
  })
})

/** Resolves as soon as a file of this name appears in the folder, or the command has ended without one. */
const appears = async (folder: string, name: string, command: Running): Promise<void> => {
  const watcher = watch(folder)
  const seen = new Promise<void>((resolve) => {
    watcher.on("change", (_, changed) => (changed === name ? resolve() : undefined))
    if (existsSync(join(folder, name))) resolve()
  })
  await Promise.race([seen, command.ended])
  watcher.close()
}

describe("restore", { timeout: 120_000 }, () => {
  it("refuses what is no backup, and leaves everything as it is", async () => {
    const cut = join(makeHome(), "cut.db")
    writeFileSync(cut, readFileSync(file).subarray(0, 50_000))
    const flipped = join(makeHome(), "flipped.db")
    const bytes = readFileSync(file)
    bytes.fill(0x5a, 45_000, 46_000)
    writeFileSync(flipped, bytes)
    const kept = (home: string) => readdirSync(home).filter((name) => !/-(wal|shm)$|lock$/.test(name))
    const other = twinOf(ended)
    const bads = [join(makeHome(), "nothing"), cut, flipped, databaseOf(other), join(other, "secret.key")]
    await twoAtOnce(bads, async (bad) => {
      const target = twinOf(ended)
      const { code, stderr } = await command(target, ["restore", bad])
      expect([code, /^\s+at /m.test(stderr)], `${bad} ${stderr}`).toEqual([1, false])
      expect(stderr).toContain("nothing was changed")
      expect(kept(target)).toEqual(kept(ended))
      expect(contentsOf(databaseOf(target))).toEqual(contentsOf(databaseOf(twinOf(ended))))
    })
  })

  it("keeps the old files aside whole, and does not apply the old log to the new database", async () => {
    const target = twinOf(killed)
    const [key, old] = [keyOf(target), contentsOf(databaseOf(twinOf(target)))]
    const { code, stderr, stdout } = await command(target, ["restore", file])
    expect(code, stderr).toBe(0)
    const [aside] = asideIn(target)
    expect(stdout).toContain(join(target, aside as string))
    expect(keyOf(join(target, aside as string))).toBe(key)
    expect(contentsOf(databaseOf(join(target, aside as string)))).toEqual(old)
    expect(contentsOf(databaseOf(target))).toEqual(contentsOf(databaseOf(twinOf(ended))))
    expect(readFileSync(databaseOf(target)).includes(keyOf(ended).trim())).toBe(false)
  })

  it("brings back a home whose database is damaged", async () => {
    const target = twinOf(ended)
    writeFileSync(databaseOf(target), "no database at all")
    expect((await run(target)).code).toBe(1)
    expect((await command(target, ["restore", file])).code).toBe(0)
    expect((await command(target, ["check"])).code).toBe(0)
    await start(target).url
  })

  it("leaves the old state or the new one when it is killed at any moment", async () => {
    const [oldNodes, newNodes] = [killed, ended].map((home) => contentsOf(databaseOf(twinOf(home))).nodes)
    expect(oldNodes).not.toEqual(newNodes)
    const outcomes = new Set<string>()
    await twoAtOnce(Array.from({ length: 16 }).keys(), async (i) => {
      const target = twinOf(killed)
      const restore = begin(target, ["restore", file])
      await appears(target, ["watchpost.lock", "restore.draft", "restore.ready"][i % 3] as string, restore)
      await sleep((i / 3) | 0)
      restore.child.kill("SIGKILL")
      await restore.ended
      const program = start(target)
      await program.url
      program.kill("SIGKILL")
      await program.ended
      const { nodes } = contentsOf(databaseOf(target))
      expect([oldNodes, newNodes]).toContainEqual(nodes)
      expect(readdirSync(target).filter((name) => name.startsWith("restore."))).toEqual([])
      outcomes.add(JSON.stringify(nodes) === JSON.stringify(newNodes) ? "new" : "old")
    })
    expect(outcomes.size).toBeGreaterThan(0)
    process.stdout.write(`kills during restore left: ${[...outcomes].join(", ")}\n`)
  })
})

describe("check", { timeout: 60_000 }, () => {
  it("names damaged chunks and rows, counts the rest, ends with code 1, and the chunk does not stop the service", async () => {
    const home = twinOf(ended)
    const db = new Sqlite(databaseOf(home))
    const put = db.prepare(
      "INSERT INTO history_raw (node_id, start_at, end_at, layout_id, format, checksum, bytes) VALUES (1, 0, 1000, 1, 1, ?, ?)"
    )
    put.run(891_568_578, Buffer.from("abc"))
    put.run(1, Buffer.from("abc"))
    db.close()
    const { code, stderr, stdout } = await command(home, ["check"])
    expect(code, stderr).toBe(1)
    expect(stdout).toContain("history raw: 2 chunks, 6 bytes, 1 damaged, 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z")
    expect(stdout).toContain("damaged: history raw: chunk 2 of node 1")
    expect(stdout).toMatch(/^nodes: 5$/m)
    const program = start(home)
    await program.url
    program.kill("SIGTERM")
    await program.ended
    const edit = new Sqlite(databaseOf(home))
    edit.exec("UPDATE journal SET node_id = node_id + 1 WHERE seq = (SELECT max(seq) FROM journal)")
    edit.close()
    const damaged = await run(home)
    expect([damaged.code, lines(damaged.stderr).length]).toEqual([1, 1])
    expect(damaged.stderr).toMatch(/row \d+ of the journal does not match its checksum/)
    expect((await command(home, ["check"])).stdout).toMatch(/damaged: row \d+ of the journal/)
  })
})
