// What the tests of the traffic reads set up and ask: a service at an instant of its own, settings, and checked answers.
import { Clock, Schema } from "effect"
import assert from "node:assert/strict"
import {
  TrafficDaily,
  TrafficIfaces,
  TrafficMonthly,
  type TrafficSettingsWrite,
  type TrafficStats,
  TrafficSummary
} from "../../schema/Traffic.ts"
import { TrafficExplain, TrafficRebuild } from "../../schema/TrafficProof.ts"
import { type Answer, type Headers, json, proper, type Service, signIn } from "../support/Service.ts"

export type Params = Readonly<Record<string, string | number | undefined>>
export type Read = "ifaces" | "summary" | "daily" | "monthly" | "explain" | "export"

/** Sets the service's clock and signs in again, since sessions go by it. */
export const moveTo = async (service: Service, atMs: number): Promise<Headers> => {
  service.advance(atMs - (await service.inside(Clock.currentTimeMillis)))
  return signIn(service)
}

export const pathOf = (what: Read, params: Params): string => {
  const pairs = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]
  )
  return `/api/statistics/traffic/${what}?${pairs.join("&")}`
}

/** Any answer of a read, which nobody may keep. */
export const ask = async (service: Service, what: Read, headers: Headers, params: Params): Promise<Answer> => {
  const answer = proper(await service.call("GET", pathOf(what, params), headers))
  assert.equal(answer.headers["cache-control"], "no-store", what)
  return answer
}

const read =
  <A, I>(what: Read, schema: Schema.Schema<A, I>) =>
  async (service: Service, headers: Headers, params: Params): Promise<A> => {
    const { json, status, text } = await ask(service, what, headers, params)
    assert.equal(status, 200, `${what} ${JSON.stringify(params)}: ${text}`)
    return Schema.decodeUnknownSync(schema)(json, { onExcessProperty: "error" })
  }
export const ifacesAt = read("ifaces", TrafficIfaces)
export const summaryAt = read("summary", TrafficSummary)
export const dailyAt = read("daily", TrafficDaily)
export const monthlyAt = read("monthly", TrafficMonthly)
export const explainAt = read("explain", TrafficExplain)

export const settingsTo = async (service: Service, admin: Headers, write: TrafficSettingsWrite): Promise<void> => {
  const headers = { ...admin, ...json }
  const answer = await service.call("PATCH", "/api/statistics/traffic/settings", headers, JSON.stringify(write))
  assert.equal(answer.status, 204, answer.text)
}

export const patchNode = async (service: Service, admin: Headers, id: number, patch: unknown): Promise<void> => {
  const answer = await service.call("PATCH", `/api/admin/nodes/${id}`, { ...admin, ...json }, JSON.stringify(patch))
  assert.equal(answer.status, 204, answer.text)
}

/** Starts a rebuild and waits for its end. */
export const rebuiltOf = async (service: Service, admin: Headers, id: number): Promise<TrafficRebuild> => {
  const started = proper(await service.call("POST", `/api/admin/nodes/${id}/traffic/rebuild`, admin))
  assert.equal(started.status, 202, started.text)
  for (;;) {
    const { json } = proper(await service.call("GET", "/api/admin/nodes/traffic/rebuild", admin))
    const rebuild = Schema.decodeUnknownSync(TrafficRebuild)(json, { onExcessProperty: "error" })
    if (!rebuild.running) return rebuild
  }
}

/** The figures that are sums, of some statistics. */
export const sumsOf = (stats: ReadonlyArray<TrafficStats>) => {
  const sum = { in_bytes: 0, out_bytes: 0, sample_count: 0, gap_count: 0, reset_count: 0, expected_sample_count: 0 }
  for (const one of stats) for (const name of Object.keys(sum) as Array<keyof typeof sum>) sum[name] += one[name]
  return sum
}
