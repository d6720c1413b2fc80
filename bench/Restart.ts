// How long the service takes to be ready again after kill -9 under the load of the fleet.
import Sqlite from "better-sqlite3"
import { join } from "node:path"
import { delay, kill, message } from "./Children.ts"
import type { Fleet } from "./Fleet.ts"
import { median, type Result } from "./Figures.ts"
import { startOpenLoad } from "./Generator.ts"
import { seed } from "./Seed.ts"
import { startService } from "./Service.ts"
import { newHome, removeHome, sizeOf, startProgram } from "./Workshop.ts"

/** Load before the kill. The minutes before that are written beforehand, so that the short form stays short. */
const defaultSec = 8
const attempts = 3

export interface TailOrder {
  readonly home: string
  readonly fleet: Fleet
}
export interface TailResult {
  readonly rows: number
}

/** Two minutes of reports of every node, as the service keeps them. */
const writeTail = async (home: string, fleet: Fleet): Promise<void> => {
  const order: TailOrder = { home, fleet }
  const child = startProgram("Tail", order)
  await message<TailResult>(child, 180_000, "the tail")
  await child.ended
}

const killUnderLoad = async (home: string, fleet: Fleet, seconds: number): Promise<void> => {
  const service = await startService(home)
  const load = await startOpenLoad(fleet, service, { warmupMs: 0, measureMs: seconds * 2000 })
  await delay(seconds * 1000)
  await kill(service.child)
  await kill(load)
}

const rowsIn = (home: string): number => {
  const db = new Sqlite(join(home, "watchpost.db"))
  const { rows } = db.prepare("SELECT count(*) AS rows FROM journal").get() as { rows: number }
  db.close()
  return rows
}

export const restart = async (fleet: Fleet, seconds = defaultSec): Promise<Result> => {
  const home = newHome()
  await seed(home, fleet)
  await writeTail(home, fleet)
  await killUnderLoad(home, fleet, seconds)
  const megabytes = (name: string): string => (sizeOf(join(home, name)) / 2 ** 20).toFixed(0)
  const sizes = `database ${megabytes("watchpost.db")} MiB, log ${megabytes("watchpost.db-wal")} MiB`
  const times: Array<number> = []
  for (let i = 0; i < attempts; i++) {
    const service = await startService(home)
    times.push(service.readyMs)
    await kill(service.child)
  }
  const rows = rowsIn(home)
  removeHome(home)
  return {
    figures: [{ name: "restart.ready_ms", value: median(times), unit: "ms" }],
    notes: [
      `${fleet.count} nodes, ${rows} rows in the tail, ${sizes}; killed after ${seconds} s of load, then ${attempts} starts, each killed`,
      `from spawn to the first 200 of /readyz: ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`
    ]
  }
}
