// Kills and stops of the real program while several hundred agents push, judged by the agents' own ledger.
import { get } from "node:http"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { Fleet, seedHome } from "../support/Fleet.ts"
import { killAll, makeHome, type Program, removeHomes, sleep, start } from "../support/Program.ts"
import { offences, storedIn } from "../support/Stored.ts"

/** How often the program is killed; fifty of them take about three minutes. */
const crashes = Number(process.env["WATCHPOST_CRASHES"] ?? 10)
const seed = Number(process.env["WATCHPOST_CRASH_SEED"] ?? Math.floor(Math.random() * 1e9))
const agents = 300
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
