// How long the service's event loop is held while all that keeps history works at once, beside a backup.
import Sqlite from "better-sqlite3"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { pathToFileURL } from "node:url"
import { type Child, delay, kill, message, start, stop } from "../Children.ts"
import { type Fleet, intervalMs } from "../Fleet.ts"
import type { Result } from "../Figures.ts"
import type { OpenOrder, OpenResult } from "../Orders.ts"
import { seed } from "../Seed.ts"
import { type Service, startService } from "../Service.ts"
import { newHome, programFile, removeHome, serverFile, sizeOf, startProgram } from "../Workshop.ts"
import { unfolded } from "./Filling.ts"
import { dropping, droppedHours } from "./Room.ts"

/** What held the loop between two looks, milliseconds. */
export interface Turn {
  /** Without the time in which other processes had the cores. */
  readonly heldMs: number
  /** Computing; the rest waited for the disk. */
  readonly cpuMs: number
  /** Standing ready while others had the cores. */
  readonly queuedMs: number
}

/** Since the last time it was asked for. */
export interface Blocks {
  /** Longest delay of a due timer beyond its own millisecond. */
  readonly maxMs: number
  readonly p99Ms: number
  readonly longest: Turn
}

const warmupMs = 2 * intervalMs
/** Thousands of connections that close at once hold the loop too, but that is not the history's doing: looked at before. */
const closingMs = 2000
/** Without the backup, of the whole. */
const shareWithout = 0.3

/** The service with a probe of its event loop. */
const startProbed = (home: string, env: Readonly<Record<string, string>> = {}): Promise<Service> =>
  startService(home, { env, preload: pathToFileURL(programFile("Probe")).href })

const blocksOf = async (service: Child): Promise<Blocks> => {
  service.process.send({})
  return message<Blocks>(service, 30_000, "the service's probe")
}

interface Backup {
  readonly child: Child
  readonly file: string
  /** Milliseconds it took, or undefined while it runs. */
  tookMs: number | undefined
}

const startBackup = (home: string): Backup => {
  const file = join(home, "backup.bin")
  const startedAt = performance.now()
  const child = start(serverFile, ["backup", file], { env: { WATCHPOST_HOME: home } })
  const backup: Backup = { child, file, tookMs: undefined }
  void child.ended.then(() => {
    backup.tookMs = performance.now() - startedAt
  })
  return backup
}

/** What became of it; fails when it failed, because then nothing was measured beside it. */
const endBackup = async ({ child, file, tookMs }: Backup, measuredMs: number): Promise<string> => {
  if (tookMs === undefined) {
    await kill(child)
    return `it ran all of the ${(measuredMs / 1000).toFixed(0)} s and was ended`
  }
  const how = await child.ended
  if (how !== "code 0") throw new Error(`the backup ended with ${how}\n${child.said()}`)
  return `it took ${(tookMs / 1000).toFixed(0)} s for ${(sizeOf(file) / 1e6).toFixed(0)} MB`
}

/** Ids that were given out so far, and what is there, by table. */
const counts = (home: string) => {
  const db = new Sqlite(join(home, "watchpost.db"), { readonly: true })
  const last = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?")
  const chunks = db.prepare("SELECT chunks FROM history_tiers WHERE tier = ?")
  const written = (tier: string) => (last.get(`history_${tier}`) as { seq: number } | undefined)?.seq ?? 0
  const there = (tier: string) => (chunks.get(tier) as { chunks: number }).chunks
  const found = {
    sealed: written("raw"),
    folded: written("minute") + written("quarter") + written("hour"),
    raw: there("raw")
  }
  db.close()
  return found
}

const startLoad = async (fleet: Fleet, port: number, pid: number, measureMs: number): Promise<Child> => {
  const load = startProgram("Load", fleet)
  await message(load, 30_000, "the generator")
  const order: OpenOrder = { kind: "open", port, pid, intervalMs, warmupMs, measureMs }
  load.process.send(order)
  await message(load, 60_000, "the generator")
  return load
}

const toldOf = ({ longest, maxMs, p99Ms }: Blocks): string =>
  `${longest.heldMs.toFixed(1)} ms (computing ${longest.cpuMs.toFixed(1)}); with waiting for a core ${maxMs.toFixed(1)} ms, 99 of 100 below ${p99Ms.toFixed(1)} ms`

/**
 * The longest block of a service that takes the same reports in its first minute, without anything to fold, to drop or
 * to back up: what the machine and the reports themselves do to the loop.
 */
const bareBlock = async (fleet: Fleet, measureMs: number): Promise<Blocks> => {
  const home = newHome()
  await seed(home, fleet)
  const service = await startProbed(home)
  const load = await startLoad(fleet, service.port, service.child.pid, measureMs + closingMs)
  const answers = message<OpenResult>(load, warmupMs + measureMs + closingMs + 30_000, "the generator")
  await delay(warmupMs)
  await blocksOf(service.child)
  await delay(measureMs)
  const found = await blocksOf(service.child)
  await answers
  await Promise.all([stop(service.child), kill(load)])
  removeHome(home)
  return found
}

export const block = async (home: string, fleet: Fleet, seconds: number): Promise<Result> => {
  const bare = await bareBlock(fleet, seconds * shareWithout * 1000)
  const { folds } = await unfolded(home)
  const before = counts(home)
  const service = await startProbed(home, dropping)
  const measureMs = seconds * 1000
  const load = await startLoad(fleet, service.port, service.child.pid, measureMs)
  const answers = message<OpenResult>(load, warmupMs + measureMs + 30_000, "the generator")
  // Awaited below; until then its failure is nobody's.
  answers.catch(() => undefined)
  // This process only waits: what holds its loop is the machine.
  const idle = monitorEventLoopDelay({ resolution: 1 })
  await delay(warmupMs)
  idle.enable()
  await blocksOf(service.child)
  const endsAt = performance.now() + measureMs - closingMs
  await delay(measureMs * shareWithout)
  const without = await blocksOf(service.child)
  const backup = startBackup(home)
  const besideMs = endsAt - performance.now()
  await Promise.race([backup.child.ended, delay(besideMs)])
  const beside = await blocksOf(service.child)
  const logBytes = sizeOf(join(home, "watchpost.db-wal"))
  await delay(Math.max(0, endsAt - performance.now()))
  const after = await blocksOf(service.child)
  idle.disable()
  const found = await answers
  const fate = await endBackup(backup, besideMs)
  await Promise.all([stop(service.child), kill(load)])
  const now = counts(home)
  const sealed = now.sealed - before.sealed
  return {
    figures: [
      {
        name: "history.block_ms",
        value: Math.max(...[without, beside, after].map(({ longest }) => longest.heldMs)),
        unit: "ms"
      },
      { name: "history.bare_block_ms", value: bare.longest.heldMs, unit: "ms" }
    ],
    notes: [
      `${fleet.count} nodes every ${intervalMs / 1000} s for ${seconds} s: ${found.sent} reports, ${found.refused} refused, answers within ${found.p99.toFixed(1)} ms (99 of 100); ${sealed} stretches sealed, ${now.folded - before.folded} folds (${folds} waited), ${before.raw + sealed - now.raw} chunks dropped (${droppedHours} h too old); generator and backup on the same cores`,
      `longest block of a service with nothing but these reports ${toldOf(bare)}`,
      `with all that keeps history: before the backup ${toldOf(without)}; beside it ${toldOf(beside)}; after it ${toldOf(after)}; of a process that only waited, throughout: ${(idle.max / 1e6 - 1).toFixed(1)} ms, 99 of 100 below ${(idle.percentile(99) / 1e6 - 1).toFixed(1)} ms`,
      `watchpost backup: ${fate}; the log had grown to ${(logBytes / 1e6).toFixed(0)} MB by its end`
    ]
  }
}
