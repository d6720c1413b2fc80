// The benchmarks of Watchpost: runs the chosen ones one after the other and prints what they found.
import { alerts } from "./Alerts.ts"
import { actors } from "./Actors.ts"
import { killAll } from "./Children.ts"
import { lineOf, machine, type Result, tableOf } from "./Figures.ts"
import type { Fleet } from "./Fleet.ts"
import { fleetLoad } from "./FleetLoad.ts"
import { ingest } from "./Ingest.ts"
import { history } from "./History.ts"
import { type Name, type Options, parseOptions, usage } from "./Options.ts"
import { restart } from "./Restart.ts"
import { rows } from "./Rows.ts"
import { traffic } from "./Traffic.ts"
import { clear, prepare } from "./Workshop.ts"

/** The fleet of every benchmark. */
const nodes = 10_000

const benchmarks: Readonly<Record<Name, (fleet: Fleet, options: Options) => Promise<Result>>> = {
  ingest: (fleet, { profile, seconds }) => ingest(fleet, seconds, profile),
  fleet: (fleet, { profile, seconds }) => fleetLoad(fleet, seconds, profile),
  actors: (fleet, { seconds }) => actors(fleet, seconds),
  journal: (fleet, { seconds }) => rows(fleet, seconds),
  restart: (fleet, { seconds }) => restart(fleet, seconds),
  history: (fleet, { seconds }) => history(fleet, seconds),
  traffic: (_, { seconds }) => traffic(seconds),
  alerts: (fleet, { seconds }) => alerts(fleet, seconds)
}

const run = async (options: Options): Promise<void> => {
  if (process.platform !== "linux") throw new Error("the benchmarks read /proc, so they only run on Linux")
  if (!options.json) console.log(`${machine(new Date())}\n`)
  await prepare()
  for (const name of options.chosen) {
    const startedAt = performance.now()
    const epochMs = Date.now()
    const result = await benchmarks[name]({ run: `bench/${epochMs}`, count: nodes, epochMs }, options)
    if (options.json) for (const figure of result.figures) console.log(lineOf(figure))
    else console.log(tableOf(`${name}  (${((performance.now() - startedAt) / 1000).toFixed(0)} s)`, result))
  }
}

const end = (code: number): never => {
  killAll()
  clear()
  process.exit(code)
}

process.on("SIGINT", () => end(130))
process.on("SIGTERM", () => end(143))
process.on("exit", killAll)

const asked = (): Options => {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (cause) {
    console.error(`${cause instanceof Error ? cause.message : String(cause)}\n${usage}`)
    process.exit(2)
  }
}

await run(asked()).then(
  () => end(0),
  (cause: unknown) => {
    console.error(cause instanceof Error ? cause.message : String(cause))
    end(1)
  }
)
