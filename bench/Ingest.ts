// How many reports the service acknowledges per second of CPU, everything on, beside a bare node:http server.
import { type Child, kill, message, stop } from "./Children.ts"
import type { Fleet } from "./Fleet.ts"
import { median, type Result } from "./Figures.ts"
import type { ClosedOrder, ClosedResult } from "./Orders.ts"
import { seed } from "./Seed.ts"
import { startService } from "./Service.ts"
import { newHome, removeHome, startProgram } from "./Workshop.ts"

const defaultSec = 32
const pairs = 4
export const connections = 256
/** Before the first slice of each server: then its code is compiled and every node has sent its first report. */
const firstWarmupMs = 3000
const warmupMs = 500
/** An order may take this much longer than its times say. */
const orderGraceMs = 45_000

interface Target {
  readonly port: number
  readonly child: Child
}

/** What one slice saw: reports per second of CPU, per second of the clock, and in all. */
interface Slice {
  readonly perCpu: number
  readonly perClock: number
  readonly acknowledged: number
}

/** One slice of the load on a target; fails when a report is not acknowledged. */
export const slice = async (
  load: Child,
  { child, port }: Target,
  isFirst: boolean,
  measureMs: number
): Promise<Slice> => {
  const warmup = isFirst ? firstWarmupMs : warmupMs
  const order: ClosedOrder = { kind: "closed", port, pid: child.pid, connections, warmupMs: warmup, measureMs }
  load.process.send(order)
  const limitMs = warmup + measureMs + orderGraceMs
  const { acknowledged, complaint, cpuMs, failed, wallMs } = await message<ClosedResult>(load, limitMs, "the generator")
  if (failed > 0) throw new Error(`${failed} reports were not acknowledged: ${complaint ?? "no answer"}`)
  return { perCpu: (acknowledged * 1000) / cpuMs, perClock: (acknowledged * 1000) / wallMs, acknowledged }
}

const startBare = async (): Promise<Target> => {
  const child = startProgram("Bare", {})
  return { child, port: (await message<{ port: number }>(child, 10_000, "the bare server")).port }
}

const list = (values: ReadonlyArray<number>, digits: number): string =>
  values.map((value) => value.toFixed(digits)).join(", ")

const resultOf = (ours: ReadonlyArray<Slice>, theirs: ReadonlyArray<Slice>, setting: string): Result => {
  const perCpu = [ours, theirs].map((slices) => slices.map((one) => one.perCpu)) as [Array<number>, Array<number>]
  const [clock, bareClock] = [ours, theirs].map((slices) => median(slices.map((one) => one.perClock)))
  const ratios = perCpu[0].map((rate, i) => rate / (perCpu[1][i] as number))
  const total = ours.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  return {
    figures: [
      { name: "ingest.reports_per_cpu_s", value: median(perCpu[0]), unit: "1/s" },
      { name: "ingest.bare_per_cpu_s", value: median(perCpu[1]), unit: "1/s" },
      { name: "ingest.ratio", value: median(ratios), unit: "" }
    ],
    notes: [
      `${setting}; ${total} reports to the service, each answered 200`,
      `ratio of each pair: ${list(ratios, 3)}`,
      `per second of CPU, service: ${list(perCpu[0], 0)}; bare: ${list(perCpu[1], 0)}`,
      `per second of the clock, service: ${clock?.toFixed(0)}; bare: ${bareClock?.toFixed(0)}`
    ]
  }
}

export const ingest = async (fleet: Fleet, seconds = defaultSec, profile?: string): Promise<Result> => {
  const home = newHome()
  await seed(home, fleet)
  const bare = await startBare()
  const service = await startService(home, { profile })
  const load = startProgram("Load", fleet)
  await message(load, 30_000, "the generator")
  const measureMs = (seconds * 1000) / (pairs * 2)
  const ours: Array<Slice> = []
  const theirs: Array<Slice> = []
  for (let i = 0; i < pairs; i++) {
    theirs.push(await slice(load, bare, i === 0, measureMs))
    ours.push(await slice(load, service, i === 0, measureMs))
  }
  await Promise.all([stop(service.child), kill(load), kill(bare.child)])
  removeHome(home)
  const length = `${(measureMs / 1000).toFixed(1)} s`
  return resultOf(
    ours,
    theirs,
    `${fleet.count} nodes, ${connections} connections, ${pairs} alternations of 2 x ${length}`
  )
}
