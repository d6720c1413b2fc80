// Half of a fleet falls silent at once: when each silence is noticed, what it costs the loop, and how the news gets out.
import Sqlite from "better-sqlite3"
import { join } from "node:path"
import { delay, kill, stop } from "../Children.ts"
import type { Fleet } from "../Fleet.ts"
import { startOpenLoad } from "../Generator.ts"
import { blocksOf, startProbed } from "../Probed.ts"
import { idOf, seed } from "../Seed.ts"
import { Admin } from "./Admin.ts"
import { receivers } from "./Receivers.ts"

/** No alert opens in the first minute of a service; then it must have been healthy for a threshold. */
const graceMs = 62_000
const thresholdMs = 14_000
/** All deadlines lie within one interval; the rest is room for what is late. */
const afterMs = 12_000
/** Thousands of sockets that close at once hold the loop too, but that is not the alerts' doing. */
const closingMs = 6_000
const deliveryLimitMs = 120_000
const resends = 200
const resendEveryMs = 50

/** Longer than all that is measured; the generators are killed. */
const loadTimes = { warmupMs: 0, measureMs: 600_000 }

/** Milliseconds from each silent node's deadline to its event, by what is on disk. */
const lagsIn = (home: string, from: number): Array<number> => {
  const db = new Sqlite(join(home, "watchpost.db"), { readonly: true })
  const rows = db
    .prepare(
      `SELECT e.first_at - (SELECT max(received_at) FROM journal j WHERE j.node_id = e.node_id) - ? AS lag
       FROM alert_events e WHERE e.rule_id = -1 AND e.node_id > ?`
    )
    .pluck()
    .all(thresholdMs, from) as Array<number>
  db.close()
  return rows
}

export const storm = async (home: string, fleet: Fleet) => {
  const half = fleet.count / 2
  const staying: Fleet = { ...fleet, run: `${fleet.run}/staying`, count: half }
  const leaving: Fleet = { ...fleet, run: `${fleet.run}/leaving`, count: half }
  await seed(home, staying)
  await seed(home, leaving, (index) => idOf(index + half))
  const told = await receivers()
  const service = await startProbed(home)
  const startedAt = performance.now()
  const admin = new Admin(service.port)
  await admin.signIn()
  const channelIds = [await admin.channel("healthy", told.healthyUrl), await admin.channel("hanging", told.hangingUrl)]
  const settings = { enabled: true, channel_ids: channelIds, allow_private_targets: true }
  await admin.call("PUT", "/api/admin/alerts/settings/", settings)
  const [stays, leaves] = await Promise.all([
    startOpenLoad(staying, service, loadTimes),
    startOpenLoad(leaving, service, loadTimes)
  ])
  await delay(Math.max(0, graceMs - (performance.now() - startedAt)))
  await blocksOf(service)
  await kill(leaves)
  await delay(closingMs)
  const closing = await blocksOf(service)
  await delay(thresholdMs - closingMs + afterMs)
  const block = await blocksOf(service)
  const lagsMs = lagsIn(home, half)
  const until = performance.now() + deliveryLimitMs
  while (told.arrivals.length < half && performance.now() < until) await delay(100)
  await kill(stays)
  const first = told.arrivals[0]?.atMs ?? 0
  const last = told.arrivals.at(-1)?.atMs ?? 0
  return {
    admin,
    told,
    block,
    lagsMs,
    closing,
    nodes: fleet.count,
    silent: half,
    delivered: told.arrivals.length,
    deliveriesPerSec: ((told.arrivals.length - 1) * 1000) / (last - first),
    healthyId: channelIds[0] as number,
    close: async () => {
      told.close()
      await stop(service.child)
    }
  }
}

/** Milliseconds from asking for a delivery once more to its arrival, one after the other, while the other channel hangs. */
export const resent = async ({ admin, healthyId, told }: Awaited<ReturnType<typeof storm>>): Promise<Array<number>> => {
  const list = await admin.call(
    "GET",
    `/api/admin/alerts/deliveries?channel_id=${healthyId}&status=sent&limit=${resends}`
  )
  const { items } = (await list.json()) as { items: ReadonlyArray<{ id: string | number }> }
  const taken: Array<number> = []
  for (const { id } of items) {
    const startedAt = performance.now()
    const arrival = told.next(10_000)
    await admin.call("POST", `/api/admin/alerts/deliveries/${id}/resend`)
    taken.push((await arrival).atMs - startedAt)
    await delay(resendEveryMs)
  }
  return taken
}
