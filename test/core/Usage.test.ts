// What facts come to: window, coverage, status, percentile and direction, the worked examples of the contract among them.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { bucketMs, type Fact } from "../../src/core/Bucket.ts"
import { cycleAt, daysOf } from "../../src/core/Cycle.ts"
import { addTotals, DayTotals, noTotals, totalsOf } from "../../src/core/DayTotals.ts"
import { Percentile } from "../../src/core/Percentile.ts"
import {
  closingOf,
  dayParts,
  effectiveOf,
  expectedIn,
  type Frame,
  isDataComplete,
  statEndOf,
  statsOf,
  statusAt
} from "../../src/core/Usage.ts"
import { bytesAt, fact, facts } from "../support/Facts.ts"

const config = { mode: "calendar_month", startDay: 1, anchorDate: "", zone: "UTC" } as const
const may = cycleAt(config, Date.UTC(2026, 4, 10))
const at = (text: string): number => Date.parse(`2026-05-${text}Z`)
const hourMs = 3_600_000

const frameOf = (change: Partial<Frame> = {}): Frame => ({
  usageMode: "billing",
  directionMode: "out",
  p95Enabled: true,
  effective: { startMs: may.startMs, endMs: may.endMs },
  isComplete: true,
  status: "sealed",
  ...change
})
const sidesOf = (list: ReadonlyArray<Fact>) => {
  const p95 = Percentile.of(may.startMs, may.endMs, list).p95()
  return p95._tag === "Available" ? p95.rate : null
}
const told = (list: ReadonlyArray<Fact>, change: Partial<Frame> = {}) =>
  statsOf(totalsOf(list), sidesOf(list), frameOf(change))
const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i + 1)

describe("the effective window", () => {
  it("never begins after its end, and so promises nothing to what is younger than the last border", () => {
    const statEndMs = statEndOf(may, at("10T06:13:00"))
    const beginnings = { createdMs: at("10T06:11:00"), firstMs: undefined }
    const effective = effectiveOf("billing", may, statEndMs, beginnings)
    expect([effective.startMs, effective.endMs]).toEqual([at("10T06:10:00"), at("10T06:10:00")])
    expect(told([], { effective })).toMatchObject({ coverage_ratio: 1, data_complete: true, expected_sample_count: 0 })
  })

  it("is the worked example of the contract", () => {
    const nowMs = at("10T06:13:00")
    const beginnings = { createdMs: at("10T03:02:11"), firstMs: at("10T03:07:42") }
    const effective = effectiveOf("billing", may, statEndOf(may, nowMs), beginnings)
    expect([effective.startMs, effective.endMs]).toEqual([at("10T03:05:00"), at("10T06:10:00")])
    expect(expectedIn(effective)).toBe(37)

    const short = fact(at("10T03:05:00"), 1, 1, { coveredMs: 138_000, validMs: 138_000 })
    const list = [short, ...facts(at("10T03:10:00"), 36, () => [300, 300])]
    const stats = told(list, { effective, isComplete: false, status: statusAt(may, nowMs) })
    expect(stats).toMatchObject({
      sample_count: 36,
      expected_sample_count: 37,
      data_complete: false,
      partial: true,
      status: "provisional",
      cycle_complete: false,
      effective_start: "2026-05-10T03:05:00Z",
      effective_end: "2026-05-10T06:10:00Z",
      covered_until: "2026-05-10T06:10:00Z"
    })
    expect(stats.coverage_ratio).toBeCloseTo(0.972973, 6)
  })

  it("begins at the latest of cycle, creation and first reading, and in lite with the cycle", () => {
    const end = statEndOf(may, at("20T00:00:00"))
    const start = (mode: "lite" | "billing", createdMs: number, firstMs: number | undefined) =>
      effectiveOf(mode, may, end, { createdMs, firstMs }).startMs
    expect(start("billing", 0, 0)).toBe(may.startMs)
    expect(start("billing", at("03T00:01:00"), undefined)).toBe(at("03T00:00:00"))
    expect(start("billing", at("03T00:01:00"), at("04T00:09:59"))).toBe(at("04T00:05:00"))
    expect(start("lite", at("03T00:01:00"), at("04T00:09:59"))).toBe(may.startMs)
  })

  it("ends with the cycle, or with the last border that has passed", () => {
    expect(statEndOf(may, may.endMs)).toBe(may.endMs)
    expect(statEndOf(may, may.endMs - 1)).toBe(may.endMs - bucketMs)
    expect(statEndOf(may, may.startMs + 1)).toBe(may.startMs)
  })
})

describe("the status", () => {
  it("goes by time", () => {
    const statuses = [-1, 0, 48 * hourMs - 1, 48 * hourMs].map((ms) => statusAt(may, may.endMs + ms))
    expect(statuses).toEqual(["provisional", "grace", "grace", "sealed"])
  })
})

describe("a bucket that has ended and is not on disk", () => {
  const start = at("10T06:05:00")
  const nowMs = at("10T06:10:01")
  const open = (coveredMs: number, change: Partial<Fact> = {}) =>
    fact(start, 30, 60, { coveredMs, validMs: coveredMs, validIn: 30, validOut: 60, ...change })
  const closing = (list: ReadonlyArray<Fact>, isAlive: boolean, atMs = nowMs, newestAt = start - bucketMs) =>
    closingOf(may, list, newestAt, atMs, isAlive)

  it("is counted as it stands when it is a sample already", () => {
    expect(closing([open(298_000)], true)).toEqual({ facts: [open(298_000)], statEndMs: at("10T06:10:00") })
  })

  it("holds the figures back while the next report may make a sample of it", () => {
    expect(closing([open(250_000)], true)).toEqual({ facts: [], statEndMs: start })
    expect(closing([open(250_000)], false)).toEqual({ facts: [open(250_000)], statEndMs: at("10T06:10:00") })
  })

  it("does not hold them back when it never can be one, nor for a second bucket", () => {
    const broken = open(250_000, { resets: 1 })
    expect(closing([broken], true).facts).toEqual([broken])
    expect(closing([open(250_000)], true, at("10T06:15:00"))).toMatchObject({ statEndMs: at("10T06:15:00") })
  })

  it("is left to the ledger once that has it, and to the next cycle when it is of that", () => {
    expect(closing([open(298_000)], true, nowMs, start).facts).toEqual([])
    const later = fact(may.endMs, 1, 1)
    expect(closing([later], true, may.endMs + bucketMs, start)).toEqual({ facts: [], statEndMs: may.endMs })
  })

  it("never lets coverage dip while reports come every three seconds or every minute", () => {
    for (const stepMs of [3000, 60_000, 90_000]) {
      const firstMs = at("10T00:00:00")
      for (let nowMs = firstMs + 3 * bucketMs; nowMs < firstMs + 6 * bucketMs; nowMs += 500) {
        const lastMs = firstMs + Math.floor((nowMs - firstMs) / stepMs) * stepMs
        const openAt = Math.floor(lastMs / bucketMs) * bucketMs
        const list = facts(firstMs, (openAt - firstMs) / bucketMs, () => [1, 1])
        const covered = lastMs - openAt
        const left = fact(openAt, 1, 1, { coveredMs: covered, validMs: covered })
        const { facts: more, statEndMs } = closingOf(may, [left], list.at(-1)?.start ?? 0, nowMs, true)
        const effective = effectiveOf("billing", may, statEndMs, { createdMs: 0, firstMs })
        expect(told([...list, ...more], { effective }).coverage_ratio).toBe(1)
      }
    }
  })
})

describe("the percentile", () => {
  const status = (list: ReadonlyArray<Fact>, change: Partial<Frame> = {}) => {
    const stats = told(list, change)
    return [stats.p95_status, stats.p95_unavailable_reason, stats.p95_enabled, stats.in_p95_bytes_per_sec]
  }
  const twenty = facts(may.startMs, 20, (i) => bytesAt(i + 1, i + 1))

  it("is null for the first reason that holds", () => {
    const few = twenty.slice(1)
    expect(status(few, { usageMode: "lite", p95Enabled: false })).toEqual(["lite_mode", "lite_mode", false, null])
    expect(status(twenty, { usageMode: "lite" })).toEqual(["lite_mode", "lite_mode", false, null])
    expect(status(twenty, { p95Enabled: false })).toEqual(["disabled", "disabled", false, null])
    expect(status(few)).toEqual(["insufficient_samples", "insufficient_samples", true, null])
    const stored = statsOf(totalsOf(twenty), null, frameOf())
    expect([stored.p95_status, stored.in_p95_bytes_per_sec]).toEqual(["snapshot_without_p95", null])
    expect(status(twenty)).toEqual(["available", undefined, true, 19])
    expect(Object.keys(told(twenty))).not.toContain("p95_unavailable_reason")
    expect(Object.keys(told(few))).not.toContain("selected_p95_direction")
  })

  it.each<readonly [string, ReadonlyArray<number>, number | null]>([
    ["P1", upTo(100), 95],
    ["P2", [...upTo(18).map(() => 10), 50, 100], 50],
    ["P3", upTo(20), 19],
    ["P4", upTo(19), null],
    ["P5", upTo(39), 38],
    ["P6", upTo(40), 38],
    ["P7", upTo(8640).map((i) => (i <= 432 ? 9e6 : 1e6)), 1e6],
    ["P8", upTo(8640).map((i) => (i <= 433 ? 9e6 : 1e6)), 9e6],
    ["P9", upTo(60).map((i) => 1.25 * i), 71.25]
  ])("is that of vector %s", (_, rates, expected) => {
    const stats = told(facts(may.startMs, rates.length, (i) => bytesAt(rates[i] ?? 0, rates[i] ?? 0)))
    expect([stats.in_p95_bytes_per_sec, stats.selected_p95_bytes_per_sec]).toEqual([expected, expected])
    expect(stats.sample_count).toBe(rates.length)
  })

  it("of both directions is that of the sums per bucket, vector P10", () => {
    const list = facts(may.startMs, 20, (i) => (i % 2 === 0 ? bytesAt(100, 0) : bytesAt(0, 100)))
    const stats = told(list, { directionMode: "both" })
    expect([stats.in_p95_bytes_per_sec, stats.out_p95_bytes_per_sec]).toEqual([100, 100])
    expect([stats.selected_p95_bytes_per_sec, stats.selected_p95_direction]).toEqual([100, "total"])
    expect([stats.selected_bytes, stats.selected_peak_bytes_per_sec]).toEqual([20 * 30_000, 100])
  })
})

describe("figures", () => {
  it("are zeros without directions when there is no fact", () => {
    const stats = told([], { directionMode: "max" })
    expect(stats).toMatchObject({ in_bytes: 0, selected_bytes: 0, selected_bytes_direction: "", coverage_ratio: 0 })
    expect(stats).toMatchObject({ selected_peak_direction: "", p95_status: "insufficient_samples", partial: true })
    expect(Object.keys(stats)).not.toContain("selected_p95_direction")
  })

  it("of one ledger are told by five-minute rates in billing and by pairs of reports in lite", () => {
    const gap = fact(may.startMs, 600, 900, { gaps: 1, validMs: 0, validIn: 0, validOut: 0, bestIn: 0, bestOut: 0 })
    const list = [gap, fact(may.startMs + bucketMs, 3000, 1500)]
    const [billing, lite] = [told(list), told(list, { usageMode: "lite" })]
    expect([billing.in_bytes, lite.in_bytes]).toEqual([3600, 3600])
    expect([billing.in_peak_bytes_per_sec, lite.in_peak_bytes_per_sec]).toEqual([10, 20])
    expect(lite).toMatchObject({ expected_sample_count: 0, coverage_ratio: 0, data_complete: false, partial: true })
    expect(told(list.slice(1), { usageMode: "lite" })).toMatchObject({ coverage_ratio: 1, data_complete: true })
  })

  it("are incomplete by a gap, a reset or a quarantined jump even when every sample is there", () => {
    const whole = { startMs: may.startMs, endMs: may.startMs + 2 * bucketMs }
    const list = facts(may.startMs, 2, () => [1, 1])
    expect(isDataComplete(totalsOf(list), whole)).toBe(true)
    for (const name of ["gaps", "resets", "quarantined"] as const) {
      expect(isDataComplete({ ...totalsOf(list), [name]: 1 }, whole)).toBe(false)
    }
    expect(isDataComplete(totalsOf(list.slice(1)), whole)).toBe(false)
  })

  it("choose the larger side for bytes, peak and percentile each by itself, out when they tie", () => {
    const list = facts(may.startMs, 20, (i) => (i === 19 ? bytesAt(500, 100) : bytesAt(1, 20)))
    const stats = told(list, { directionMode: "max" })
    expect(stats).toMatchObject({ selected_bytes_direction: "in", selected_peak_direction: "in" })
    expect(stats).toMatchObject({ selected_p95_direction: "out", selected_p95_bytes_per_sec: 20 })
    const tied = told(
      facts(may.startMs, 20, () => bytesAt(7, 7)),
      { directionMode: "max" }
    )
    expect([tied.selected_bytes_direction, tied.selected_peak_direction]).toEqual(["out", "out"])
  })
})

describe("the days of a cycle", () => {
  const arbitraryFacts = fc
    .uniqueArray(fc.integer({ min: 0, max: (may.endMs - may.startMs) / bucketMs - 1 }), { maxLength: 60 })
    .chain((slots) =>
      fc.tuple(
        ...slots.map((slot) =>
          fc
            .record({ in: fc.nat(1e12), out: fc.nat(1e12), gaps: fc.nat(1), resets: fc.nat(2) })
            .map((of) => fact(may.startMs + slot * bucketMs, of.in, of.out, { gaps: of.gaps, resets: of.resets }))
        )
      )
    )

  it("sum to the cycle, in whatever order the facts come and however often they are corrected", () => {
    fc.assert(
      fc.property(arbitraryFacts, fc.array(fc.nat(59)), fc.constantFrom("UTC", "Asia/Kolkata"), (list, again, zone) => {
        const days = new DayTotals(daysOf(may, zone))
        const ledger = new Map<number, Fact>()
        const put = (one: Fact) => {
          ledger.set(one.start, one)
          const day = days.take(one)
          if (day === undefined) return
          const of = [...ledger.values()].filter(({ start }) => start >= day.startMs && start < day.endMs)
          days.retake(
            day,
            of.sort((a, b) => a.start - b.start)
          )
        }
        for (const one of list) put(one)
        for (const i of again) if (list[i] !== undefined) put({ ...list[i], inBytes: i, gaps: 1 })
        const sum = noTotals()
        days.days.forEach((_, index) => addTotals(sum, days.day(index)))
        expect(sum).toEqual(totalsOf(ledger.values()))
        expect(days.all()).toEqual(sum)
      }),
      { numRuns: 60 }
    )
  })

  it("are cut to the effective window, complete once their own end has come", () => {
    const effective = { startMs: at("02T10:00:00"), endMs: at("04T06:00:00") }
    const parts = dayParts(daysOf(may, "UTC"), effective)
    expect(parts.map(({ isComplete, part }) => [part.startMs, part.endMs, isComplete])).toEqual([
      [at("02T10:00:00"), at("03T00:00:00"), true],
      [at("03T00:00:00"), at("04T00:00:00"), true],
      [at("04T00:00:00"), at("04T06:00:00"), false]
    ])
  })

  it("have 276 or 300 expected samples when clocks change", () => {
    const berlin = { ...config, zone: "Europe/Berlin" }
    const lengths = [Date.UTC(2026, 2, 10), Date.UTC(2026, 9, 10)].map((ms) => {
      const cycle = cycleAt(berlin, ms)
      return new Set(dayParts(daysOf(cycle, berlin.zone), cycle).map(({ part }) => expectedIn(part)))
    })
    expect(lengths).toEqual([new Set([288, 276]), new Set([288, 300])])
  })
})
