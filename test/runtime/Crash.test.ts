// Kills and stops of the real program while several hundred agents push, judged by the agents' own ledger.
import Sqlite from "better-sqlite3"
import { get } from "node:http"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { Host } from "../../src/core/Layout.ts"
import { decode } from "../../src/core/VectorCode.ts"
import { epoch } from "../support/Engine.ts"
import { Fleet, seedHome } from "../support/Fleet.ts"
import { databaseOf, killAll, makeHome, type Program, removeHomes, sleep, start } from "../support/Program.ts"

/** How often the program is killed; fifty of them take about three minutes. */
const crashes = Number(process.env["WATCHPOST_CRASHES"] ?? 10)
const seed = Number(process.env["WATCHPOST_CRASH_SEED"] ?? Math.floor(Math.random() * 1e9))
const agents = 300
/** The journal keeps two minutes; a receipt older than this may have left it behind a checkpoint. */
const tailMs = 100_000
/** A start after a crash must answer within this, on a machine that also runs the fleet. */
const startMsMax = 15_000

const randomFrom = (state: number) => () => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

afterEach(killAll)
afterAll(removeHomes)

interface Stored {
  readonly integrity: unknown
  /** Agent times by node, in the order of seq. */
  readonly reports: ReadonlyMap<number, ReadonlyArray<number>>
  /** Agent time that a node's checkpoint stands at. */
  readonly checkpoints: ReadonlyMap<number, number>
  readonly isAscending: boolean
  readonly rows: number
}

interface StoredRow {
  readonly seq: number
  readonly nodeId: number
  readonly vector: Buffer
}

/** The row's checksum stands behind its vector. */
const timeIn = (vector: Buffer): number => decode(vector.subarray(0, -4))[Host.reportedAt] ?? 0

/** What lies on the disk, read without the program and without changing anything. */
const storedIn = (home: string): Stored => {
  const db = new Sqlite(databaseOf(home), { readonly: true })
  try {
    const reports = new Map<number, Array<number>>()
    let [rows, last, isAscending] = [0, 0, true]
    const journal = db.prepare<[], StoredRow>("SELECT seq, node_id AS nodeId, vector FROM journal ORDER BY rowid")
    for (const { nodeId, seq, vector } of journal.iterate()) {
      rows++
      isAscending &&= seq > last
      last = seq
      const known = reports.get(nodeId)
      if (known === undefined) reports.set(nodeId, [timeIn(vector)])
      else known.push(timeIn(vector))
    }
    const kept = db.prepare<[], StoredRow>("SELECT seq, node_id AS nodeId, vector FROM checkpoints")
    const checkpoints = new Map(kept.all().map(({ nodeId, vector }) => [nodeId, timeIn(vector)]))
    return { integrity: db.pragma("integrity_check", { simple: true }), reports, checkpoints, isAscending, rows }
  } finally {
    db.close()
  }
}

/** Everything on the disk that the ledger does not allow, and everything that it misses there. */
const offences = (stored: Stored, fleet: Fleet): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (stored.integrity !== "ok") found.push(`integrity: ${String(stored.integrity)}`)
  if (!stored.isAscending) found.push("seq does not ascend")
  const now = performance.now()
  for (const [id, receipts] of fleet.receipts) {
    const reports = stored.reports.get(id) ?? []
    const known = new Set(reports)
    if (known.size !== reports.length) found.push(`node ${id} has a report twice`)
    if (reports.some((at, i) => at <= (reports[i - 1] ?? 0))) found.push(`node ${id} has its reports out of order`)
    if (reports.some((at) => at <= epoch || at % 1000 !== 0)) found.push(`node ${id} has a report nobody sent`)
    const covered = stored.checkpoints.get(id) ?? 0
    for (const { at, heardAt } of receipts) {
      const isTrimmed = now - heardAt > tailMs && at <= covered
      if (!known.has(at) && !isTrimmed) found.push(`node ${id} lost the acknowledged report of ${at}`)
    }
  }
  return found
}

const fetched = (url: string): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    get(url, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
    }).on("error", reject)
  })

interface Shown {
  readonly node: { readonly id: string }
  readonly observation: { readonly observed_at: string }
}

/** Nodes that the page shows older than what was acknowledged to their agents. */
const behind = async (url: string, fleet: Fleet): Promise<ReadonlyArray<string>> => {
  const { status, text } = await fetched(`${url}/api/front/metrics`)
  if (status !== 200) return [`the page answers ${status}`]
  const shown = new Map(
    (JSON.parse(text) as ReadonlyArray<Shown>).map(({ node, observation }) => [
      Number(node.id),
      Date.parse(observation.observed_at)
    ])
  )
  return [...fleet.receipts.keys()].flatMap((id) => {
    const last = fleet.lastOf(id)
    return last > (shown.get(id) ?? 0) ? [`node ${id} shows ${shown.get(id)}, acknowledged was ${last}`] : []
  })
}

const kill = async (program: Program): Promise<void> => {
  program.kill("SIGKILL")
  expect((await program.ended).signal).toBe("SIGKILL")
}

describe("the program", () => {
  it(
    "Invariant 1: an acknowledged report is on disk, exactly once, whenever the program is killed",
    async () => {
      const chance = randomFrom(seed)
      const home = makeHome()
      await seedHome(home, agents)
      const fleet = new Fleet({ agents, paceMs: 60, chance })
      let [slowestMs, startKills] = [0, 0]
      for (let crash = 1; crash <= crashes; crash++) {
        const label = `seed ${seed}, crash ${crash}`
        if (chance() < 0.2) {
          startKills++
          const early = start(home)
          await sleep(chance() * 800)
          await kill(early)
        }
        const startedAt = performance.now()
        const program = start(home)
        const url = await program.url
        slowestMs = Math.max(slowestMs, performance.now() - startedAt)
        expect((await fetched(`${url}/readyz`)).status, label).toBe(200)
        expect(await behind(url, fleet), label).toEqual([])
        fleet.run(url)
        await sleep(100 + chance() * 1300)
        await kill(program)
        await fleet.stop()
        expect(offences(storedIn(home), fleet), label).toEqual([])
      }
      const { rows } = storedIn(home)
      process.stdout.write(
        `crash loop: seed ${seed}, ${crashes} kills under load and ${startKills} at start, ` +
          `${fleet.acknowledged} reports acknowledged, ${rows} rows at the end, slowest start ${Math.round(slowestMs)} ms\n`
      )
      expect(fleet.surprises).toEqual([])
      expect(fleet.acknowledged).toBeGreaterThan(crashes * 20)
      expect(slowestMs).toBeLessThan(startMsMax)
    },
    60_000 + crashes * 12_000
  )

  it("drains on SIGTERM under load, ends with 0 within five seconds, and every acknowledged report is on disk", async () => {
    const home = makeHome()
    await seedHome(home, agents)
    const fleet = new Fleet({ agents, paceMs: 30, chance: Math.random })
    const program = start(home)
    fleet.run(await program.url)
    await sleep(1500)
    const before = fleet.acknowledged
    const askedAt = performance.now()
    program.kill("SIGTERM")
    const { code, signal, stderr } = await program.ended
    const tookMs = performance.now() - askedAt
    await fleet.stop()

    expect([code, signal, stderr]).toEqual([0, null, ""])
    expect(tookMs).toBeLessThan(5000)
    expect(before).toBeGreaterThan(0)
    expect(offences(storedIn(home), fleet)).toEqual([])
    expect(fleet.surprises).toEqual([])
  }, 40_000)

  it("ends on SIGINT as well, also right after its start", async () => {
    const home = makeHome()
    const program = start(home)
    await program.url
    program.kill("SIGINT")

    expect(await program.ended).toMatchObject({ code: 0, signal: null, stderr: "" })
  }, 30_000)
})
