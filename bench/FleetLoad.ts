// The service under the load it is made for: every node of the fleet on its own connection, once per interval.
import { kill, message, stop } from "./Children.ts"
import { type Fleet, intervalMs } from "./Fleet.ts"
import type { Result } from "./Figures.ts"
import { startOpenLoad } from "./Generator.ts"
import type { OpenResult } from "./Orders.ts"
import { seed } from "./Seed.ts"
import { startService } from "./Service.ts"
import { newHome, removeHome } from "./Workshop.ts"

/** The short form; a minute is the length to quote. */
const defaultSec = 40
/** Two rounds: the first reports of all nodes carry more than later ones. */
const warmupMs = 2 * intervalMs

export const fleetLoad = async (fleet: Fleet, seconds = defaultSec, profile?: string): Promise<Result> => {
  const home = newHome()
  await seed(home, fleet)
  const service = await startService(home, { profile })
  const measureMs = seconds * 1000
  const load = await startOpenLoad(fleet, service, { warmupMs, measureMs })
  const found = await message<OpenResult>(load, warmupMs + measureMs + 20_000, "the generator")
  await Promise.all([stop(service.child), kill(load)])
  removeHome(home)
  return {
    figures: [
      { name: "fleet.refused", value: found.refused, unit: "reports" },
      { name: "fleet.p50", value: found.p50, unit: "ms" },
      { name: "fleet.p99", value: found.p99, unit: "ms" },
      { name: "fleet.cpu", value: found.cpuMs / found.wallMs, unit: "cores" },
      { name: "fleet.rss_mb", value: found.rssMaxMb, unit: "MiB" }
    ],
    notes: [
      `${fleet.count} nodes every ${intervalMs / 1000} s for ${seconds} s: ${found.sent} reports, open loop`,
      `slowest answer ${found.max.toFixed(1)} ms; p99 ${found.p99Due.toFixed(1)} ms when the lateness of the generator is counted too`,
      `resident memory at the end ${found.rssEndMb.toFixed(0)} MiB`,
      ...(found.complaint === undefined ? [] : [`first refusal: ${found.complaint}`])
    ]
  }
}
