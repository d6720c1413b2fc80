// The traffic of the seeded fleet: five-minute facts with days, bursts, a gap and a reset, and all that is told of them.
import { Either } from "effect"
import type { TrafficDaily, TrafficStats, TrafficSummary } from "../../schema/Traffic.ts"
import type { TrafficExplain, TrafficFact } from "../../schema/TrafficProof.ts"
import { cycleAt, daysOf, previous, type Cycle, type CycleConfig } from "../../src/core/Cycle.ts"
import { effectiveConfig } from "../../src/core/CycleSettings.ts"
import { isWrong } from "../../src/core/HistoryQuery.ts"
import { trafficCalendar } from "../../src/core/TrafficCalendar.ts"
import { exportQuery, trafficQuery, type TrafficQuery } from "../../src/core/TrafficQuery.ts"
import { changedTraffic, initialTraffic, trafficAnswer, type TrafficSettings } from "../../src/core/TrafficSettings.ts"
import type { FakeNode } from "./FakeFleet.ts"
import { Refused } from "./FakeRecords.ts"

const slotMs = 300_000
const dayMs = 86_400_000
/** The application's zone. */
export const fakeZone = "Europe/Berlin"
export const fakeRule = "sort descending, drop floor(0.05 n), take the next; at least 20 valid buckets"

const utc = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z")

/** Between 0 and 1, the same in every run. */
const noise = (seed: number, place: number): number => {
  const wave = Math.sin(seed * 12.9898 + place * 78.233) * 43_758.5453
  return wave - Math.floor(wave)
}

const settled = <A>(judged: Either.Either<A, { readonly code: string; readonly message: string }>): A => {
  if (Either.isRight(judged)) return judged.right
  throw new Refused(400, judged.left.code, judged.left.message)
}

/** By name ascending, as the service gives them. */
export const interfacesOf = (node: FakeNode): ReadonlyArray<string> =>
  node.id % 5 === 4 ? [] : node.id % 2 === 0 ? ["docker0", "eth0", "eth1", "lo"] : ["eth0"]

const factAt = (node: FakeNode, iface: string, ms: number): TrafficFact | null => {
  const slot = ms / slotMs
  const seed = node.id * 7 + iface.length * 13 + (iface.endsWith("1") ? 5 : 0)
  // A gap of half an hour every three days, a reset once in five.
  if (slot % 864 > 400 && slot % 864 <= 406) return null
  const isReset = slot % 1440 === 900
  const day = 0.6 + 0.4 * Math.sin((2 * Math.PI * ms) / dayMs)
  const burst = noise(seed, slot) > 0.97 ? 6 : 1
  const rate = (iface.endsWith("1") ? 900_000 : 200_000) * (1 + (node.id % 6)) * day * burst
  const [inRate, outRate] = [rate * (0.3 + 0.2 * noise(seed, slot + 1)), rate * (0.8 + 0.2 * noise(seed, slot + 2))]
  return {
    start: utc(ms),
    in_bytes: Math.round(inRate * 300),
    out_bytes: Math.round(outRate * 300),
    covered_sec: isReset ? 120 : 300,
    valid: !isReset,
    in_rate: isReset ? null : inRate,
    out_rate: isReset ? null : outRate,
    gap_count: slot % 864 === 400 ? 1 : 0,
    reset_count: isReset ? 1 : 0,
    flags: isReset ? ["reset"] : []
  }
}

type Series = "in" | "out" | "total"
const rateOf = (fact: TrafficFact, side: Series): number =>
  (side === "out" ? 0 : (fact.in_rate ?? 0)) + (side === "in" ? 0 : (fact.out_rate ?? 0))

const p95Of = (facts: ReadonlyArray<TrafficFact>, side: Series): TrafficExplain["p95"]["in"] => {
  const valid = facts.filter((fact) => fact.valid)
  const discarded = Math.floor(valid.length / 20)
  const sorted = [...valid].sort((a, b) => rateOf(b, side) - rateOf(a, side) || (a.start < b.start ? -1 : 1))
  const found = sorted[discarded]
  return {
    discarded,
    deciding:
      valid.length < 20 || found === undefined ? null : { start: found.start, bytes_per_sec: rateOf(found, side) }
  }
}

export class FakeTraffic {
  settings: TrafficSettings = {
    ...initialTraffic,
    guestAccess: "by_node",
    usageMode: "billing",
    directionMode: "max"
  }
  /** Every read of the ledger is answered with 503. */
  isDown = false
  /** Nodes have been counted for so long. */
  ageDays = 70

  access() {
    return this.settings.guestAccess
  }

  told() {
    return trafficAnswer(this.settings, fakeZone)
  }

  change(body: Record<string, unknown>): void {
    this.settings = settled(changedTraffic(this.settings, body, fakeZone))
  }

  calendar(query: URLSearchParams, nowMs: number) {
    return settled(trafficCalendar(this.settings.cycle, Object.fromEntries(query), fakeZone, nowMs))
  }

  /** `kind` is the last part of the address. */
  read(kind: string, node: FakeNode, query: URLSearchParams, nowMs: number): unknown {
    if (this.isDown) throw new Refused(503, "service_unavailable")
    if (kind === "ifaces") return interfacesOf(node).map((name) => ({ name }))
    const params = Object.fromEntries(query)
    const asked = kind === "export" ? exportQuery(params) : trafficQuery(params)
    if (isWrong(asked)) throw new Refused(400, "invalid_request", asked.wrong)
    const isLite = this.settings.usageMode === "lite"
    if (isLite && (kind === "daily" || ("kind" in asked && asked.kind === "days")))
      throw new Refused(409, "traffic_daily_requires_billing")
    const config = this.#config(node)
    const current = cycleAt(config, nowMs)
    const chosen = asked.period === "current" ? current : previous(config, current)
    if (kind === "summary")
      return { ...this.#usage(node, asked.iface, config, current, nowMs), server_name: node.title }
    if (kind === "daily") return this.#daily(node, asked.iface, config, chosen, nowMs)
    if (kind === "explain") return this.#explain(node, asked.iface, config, chosen, nowMs)
    if (kind === "monthly") return this.#monthly(node, asked, config, chosen, nowMs)
    throw new Refused(404, "not_found")
  }

  #config(node: FakeNode): CycleConfig {
    const own = { mode: "default", startDay: 1, anchorDate: "", zone: "", ...node.cycle }
    return effectiveConfig(this.settings.cycle, own, fakeZone)
  }

  #facts(node: FakeNode, iface: string, fromMs: number, toMs: number, nowMs: number): ReadonlyArray<TrafficFact> {
    if (!interfacesOf(node).includes(iface)) return []
    const start = Math.max(fromMs, Math.floor((nowMs - this.ageDays * dayMs) / slotMs) * slotMs)
    const end = Math.min(toMs, Math.floor(nowMs / slotMs) * slotMs)
    const count = Math.max(0, (end - start) / slotMs)
    return Array.from({ length: count }, (_, i) => factAt(node, iface, start + i * slotMs)).filter(
      (one) => one !== null
    )
  }

  #stats(node: FakeNode, facts: ReadonlyArray<TrafficFact>, cycle: Cycle, span: Cycle, nowMs: number): TrafficStats {
    const isLite = this.settings.usageMode === "lite"
    const mode = this.settings.directionMode
    const valid = facts.filter((fact) => fact.valid)
    const sum = (side: "in_bytes" | "out_bytes"): number => facts.reduce((total, fact) => total + fact[side], 0)
    const most = (side: Series): number => valid.reduce((top, fact) => Math.max(top, rateOf(fact, side)), 0)
    const pick = (into: number, out: number): Series =>
      mode === "both" ? "total" : mode === "max" && into > out ? "in" : "out"
    const isOn = node.isP95On && !isLite
    const status = isLite ? "lite_mode" : !isOn ? "disabled" : valid.length < 20 ? "insufficient_samples" : "available"
    const p95 = (side: Series): number | null =>
      status === "available" ? (p95Of(facts, side).deciding?.bytes_per_sec ?? null) : null
    const [inBytes, outBytes] = [sum("in_bytes"), sum("out_bytes")]
    const bytesSide = pick(inBytes, outBytes)
    const p95Side = pick(p95("in") ?? 0, p95("out") ?? 0)
    const peakSide = pick(most("in"), most("out"))
    const end = Math.min(span.endMs, Math.floor(nowMs / slotMs) * slotMs)
    const start = Math.max(span.startMs, Date.parse(facts[0]?.start ?? utc(span.startMs)))
    const expected = isLite ? 0 : Math.max(0, Math.ceil((end - start) / slotMs))
    const gaps = facts.reduce((total, fact) => total + fact.gap_count, 0)
    const resets = facts.reduce((total, fact) => total + fact.reset_count, 0)
    const isWhole = gaps + resets === 0 && valid.length >= expected
    const isOver = nowMs >= span.endMs
    const isEmpty = facts.length === 0
    return {
      in_bytes: inBytes,
      out_bytes: outBytes,
      p95_enabled: isOn,
      p95_status: status,
      ...(status === "available" ? {} : { p95_unavailable_reason: status }),
      in_p95_bytes_per_sec: p95("in"),
      out_p95_bytes_per_sec: p95("out"),
      in_peak_bytes_per_sec: most("in"),
      out_peak_bytes_per_sec: most("out"),
      selected_bytes: bytesSide === "total" ? inBytes + outBytes : bytesSide === "in" ? inBytes : outBytes,
      selected_p95_bytes_per_sec: p95(p95Side),
      selected_peak_bytes_per_sec: most(peakSide),
      selected_bytes_direction: isEmpty ? "" : bytesSide,
      ...(status === "available" ? { selected_p95_direction: p95Side } : {}),
      selected_peak_direction: isEmpty ? "" : peakSide,
      sample_count: valid.length,
      expected_sample_count: expected,
      effective_start: utc(start),
      effective_end: utc(end),
      coverage_ratio: isLite ? (isWhole ? 1 : 0) : expected === 0 ? 1 : Math.min(1, valid.length / expected),
      covered_until: utc(end),
      gap_count: gaps,
      reset_count: resets,
      cycle_complete: isOver,
      data_complete: isWhole,
      status: nowMs < cycle.endMs ? "provisional" : nowMs < cycle.endMs + 2 * dayMs ? "grace" : "sealed",
      partial: !isWhole
    }
  }

  #subject(node: FakeNode, iface: string) {
    return {
      server_id: node.id,
      iface,
      usage_mode: this.settings.usageMode,
      direction_mode: this.settings.directionMode
    }
  }

  #cycle(config: CycleConfig, cycle: Cycle): TrafficSummary["cycle"] {
    return {
      mode: config.mode,
      billing_start_day: config.startDay,
      ...(config.anchorDate === "" ? {} : { billing_anchor_date: config.anchorDate }),
      timezone: config.zone,
      start: utc(cycle.startMs),
      end: utc(cycle.endMs)
    }
  }

  #usage(node: FakeNode, iface: string, config: CycleConfig, cycle: Cycle, nowMs: number) {
    const facts = this.#facts(node, iface, cycle.startMs, cycle.endMs, nowMs)
    return {
      ...this.#subject(node, iface),
      cycle: this.#cycle(config, cycle),
      stats: this.#stats(node, facts, cycle, cycle, nowMs)
    }
  }

  #daily(node: FakeNode, iface: string, config: CycleConfig, cycle: Cycle, nowMs: number): TrafficDaily {
    const end = Math.min(cycle.endMs, Math.floor(nowMs / slotMs) * slotMs)
    const facts = this.#facts(node, iface, cycle.startMs, end, nowMs)
    if (facts.length === 0) return { items: [] }
    const from = Date.parse(facts[0]?.start ?? "")
    return {
      items: [...daysOf({ startMs: from, endMs: end }, config.zone)].map((day) => ({
        ...this.#subject(node, iface),
        start: utc(day.startMs),
        end: utc(day.endMs),
        stats: this.#stats(
          node,
          this.#facts(node, iface, day.startMs, day.endMs, nowMs),
          cycle,
          { ...cycle, startMs: day.startMs, endMs: day.endMs },
          nowMs
        )
      }))
    }
  }

  #explain(node: FakeNode, iface: string, config: CycleConfig, cycle: Cycle, nowMs: number): TrafficExplain {
    const facts = this.#facts(node, iface, cycle.startMs, cycle.endMs, nowMs)
    const places = (name: "gap_count" | "reset_count") =>
      facts.filter((fact) => fact[name] > 0).map((fact) => ({ start: fact.start, count: fact[name] }))
    return {
      server_id: node.id,
      iface,
      cycle: this.#cycle(config, cycle),
      facts,
      p95: {
        rule: fakeRule,
        sample_count: facts.filter((fact) => fact.valid).length,
        in: p95Of(facts, "in"),
        out: p95Of(facts, "out"),
        total: p95Of(facts, "total")
      },
      gaps: places("gap_count"),
      resets: places("reset_count")
    }
  }

  #monthly(node: FakeNode, asked: TrafficQuery, config: CycleConfig, from: Cycle, nowMs: number) {
    const items = []
    for (let cycle = from, i = 0; i < asked.months; i++, cycle = previous(config, cycle)) {
      const item = this.#usage(node, asked.iface, config, cycle, nowMs)
      if (item.stats.selected_bytes_direction !== "") items.push(item)
    }
    return { includes_current: asked.period === "current", items }
  }

  /** A header line and, as far as the page is concerned, anything. */
  csv(node: FakeNode, query: URLSearchParams, nowMs: number): string {
    this.read("ifaces", node, query, nowMs)
    const asked = exportQuery(Object.fromEntries(query))
    if (isWrong(asked)) throw new Refused(400, "invalid_request", asked.wrong)
    return `kind,period,months\r\n${asked.kind},${asked.period},${asked.months}\r\n`
  }
}
