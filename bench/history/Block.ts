// How long the service's event loop is held while all that keeps history works at once, beside a backup.
import Sqlite from "better-sqlite3"
import { join } from "node:path"
import { type Child, delay, kill, message, start, stop } from "../Children.ts"
import { type Fleet, intervalMs } from "../Fleet.ts"
import type { Result } from "../Figures.ts"
import { startOpenLoad } from "../Generator.ts"
import type { OpenResult } from "../Orders.ts"
import { blocksOf, startProbed } from "../Probed.ts"
import { seed } from "../Seed.ts"
import type { Service } from "../Service.ts"
import { newHome, removeFile, removeHome, serverFile, sizeOf } from "../Workshop.ts"
import { asking, waitingMax, warmAsker } from "./Asking.ts"
import { type FillResult, unfolded } from "./Filling.ts"
import { dropping, droppedHours } from "./Room.ts"
import { startPulses } from "../Pulses.ts"
import { type Blocks, longestOf, longMs, merged, type OwnBlocks, overMs, ownOf, type Stop } from "../Turns.ts"

const warmupMs = 2 * intervalMs
/** Thousands of connections that close at once hold the loop too, but that is not the history's doing: looked at before. */
const closingMs = 2000
/** Without the backup, of the whole. */
const shareWithout = 0.25
/** The service that the other is compared with is watched for half as long. */
const shareBare = 0.5
/** What people look at meanwhile: a page of sixteen charts every three seconds. */
const queriesPerSec = 5

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

interface Phase extends OwnBlocks {
  readonly blocks: Blocks
}
const toldOf = ({ blocks, cpuMs, over, ownMs, ownOver, workedMs }: Phase): string =>
  `${workedMs.toFixed(1)} ms of database and background work (longest statement ${blocks.slowest.ms.toFixed(1)} ms: ${blocks.slowest.statement}), a turn in all ${ownMs.toFixed(1)} ms (computing ${cpuMs.toFixed(1)}; ${ownOver} times over ${overMs}); with the machine's stops ${longestOf(blocks).heldMs.toFixed(1)} ms (${over} times), and with waiting for a core ${blocks.maxMs.toFixed(1)} ms, 99 of 100 below ${blocks.p99Ms.toFixed(1)}, 999 of 1,000 below ${blocks.p999Ms.toFixed(1)} ms`

const phases = ["before", "beside", "after"] as const
interface Watched extends Record<(typeof phases)[number], Phase> {
  readonly answers: OpenResult
  /** What became of the backup. */
  readonly fate: string
  /** When the machine stood, and for how many seconds it was looked at. */
  readonly stops: ReadonlyArray<Stop>
  readonly watchedSec: number
}

/** Watches the service's loop under the fleet's reports: a while without anything else, then beside a backup. */
const watched = async (service: Service, fleet: Fleet, saved: string, seconds: number): Promise<Watched> => {
  const measureMs = seconds * 1000
  const load = await startOpenLoad(fleet, service, { warmupMs, measureMs })
  const answers = message<OpenResult>(load, warmupMs + measureMs + 30_000, "the generator")
  // Awaited below; until then its failure is nobody's.
  answers.catch(() => undefined)
  const pulses = startPulses()
  await delay(warmupMs)
  await pulses.stops()
  await blocksOf(service)
  const endsAt = performance.now() + measureMs - closingMs
  await delay(measureMs * shareWithout)
  const before = await blocksOf(service)
  const backup = startBackup(saved)
  const besideMs = endsAt - performance.now()
  await Promise.race([backup.child.ended, delay(besideMs)])
  const beside = await blocksOf(service)
  await delay(Math.max(0, endsAt - performance.now()))
  const after = await blocksOf(service)
  const stops = await pulses.stops()
  await pulses.end()
  const found = await answers
  const fate = await endBackup(backup, besideMs)
  removeFile(backup.file)
  await kill(load)
  const phase = (blocks: Blocks): Phase => ({ ...ownOf(blocks, stops), blocks })
  return {
    before: phase(before),
    beside: phase(beside),
    after: phase(after),
    answers: found,
    fate,
    stops: merged(stops),
    watchedSec: (measureMs - closingMs) / 1000
  }
}

/**
 * A service that takes the same reports, without anything to fold, to drop or to read, beside a backup of another home:
 * what the machine, the reports and a busy disk do to the loop.
 */
const bareWatched = async (fleet: Fleet, saved: string, seconds: number): Promise<Watched> => {
  const home = newHome()
  await seed(home, fleet)
  const service = await startProbed(home)
  const found = await watched(service, fleet, saved, seconds)
  await stop(service.child)
  removeHome(home)
  return found
}

const workedMsOf = (found: Watched): number => Math.max(...phases.map((phase) => found[phase].workedMs))
const ownMsOf = (found: Watched): number => Math.max(...phases.map((phase) => found[phase].ownMs))
const heldMsOf = (found: Watched): number => Math.max(...phases.map((phase) => longestOf(found[phase].blocks).heldMs))
const toldStops = ({ stops, watchedSec }: Watched): string => {
  const longest = Math.max(0, ...stops.map(({ fromMs, toMs }) => toMs - fromMs))
  const long = stops.filter(({ fromMs, toMs }) => toMs - fromMs > longMs).length
  return `the machine's cores stood ${stops.length} times in ${watchedSec.toFixed(0)} s, ${long} times over ${longMs} ms, for ${longest.toFixed(1)} ms at most`
}
const toldPhases = (found: Watched): string =>
  `${phases.map((phase) => `${phase} the backup ${toldOf(found[phase])}`).join("; ")}; ${toldStops(found)}; the backup: ${found.fate}`

export const block = async (home: string, fleet: Fleet, { series }: FillResult, seconds: number): Promise<Result> => {
  const bare = await bareWatched(fleet, home, seconds * shareBare)
  const { folds } = await unfolded(home)
  const counted = counts(home)
  const service = await startProbed(home, dropping)
  const asker = await warmAsker(service.port, series, waitingMax)
  const queries = asking(asker, queriesPerSec)
  const found = await watched(service, fleet, home, seconds)
  queries.stop()
  asker.close()
  const logBytes = sizeOf(join(home, "watchpost.db-wal"))
  await stop(service.child)
  const now = counts(home)
  const sealed = now.sealed - counted.sealed
  const { p99, refused, sent } = found.answers
  return {
    figures: [
      { name: "history.block_ms", value: workedMsOf(found), unit: "ms" },
      { name: "history.turn_ms", value: ownMsOf(found), unit: "ms" },
      { name: "history.turn_with_stops_ms", value: heldMsOf(found), unit: "ms" },
      { name: "history.bare_block_ms", value: workedMsOf(bare), unit: "ms" },
      { name: "history.bare_turn_ms", value: ownMsOf(bare), unit: "ms" },
      { name: "history.bare_turn_with_stops_ms", value: heldMsOf(bare), unit: "ms" }
    ],
    notes: [
      `${fleet.count} nodes every ${intervalMs / 1000} s for ${seconds} s: ${sent} reports, ${refused} refused, answers within ${p99.toFixed(1)} ms (99 of 100); ${sealed} stretches sealed, ${now.folded - counted.folded} folds (${folds} waited), ${counted.raw + sealed - now.raw} chunks dropped (${droppedHours} h too old), ${queries.figures.asked} queries; generator and backup on the same cores; the log is ${(logBytes / 1e6).toFixed(0)} MB at the end`,
      `longest block with all that keeps history, without the time in which the machine itself stood: ${toldPhases(found)}`,
      `of a service with nothing but these reports, for ${seconds * shareBare} s: ${toldPhases(bare)}`
    ]
  }
}
