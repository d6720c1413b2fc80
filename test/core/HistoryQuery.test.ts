// What a history request asks for: each parameter checked and named when it is wrong, and the step and tier that follow.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { HistoryMetric } from "../../schema/History.ts"
import { deviceMetrics, historyPointsMax, hostMetrics } from "../../schema/HistoryTerms.ts"
import {
  type HistoryParams,
  historyQuery,
  type HistoryQuery,
  isWrong,
  type Reach
} from "../../src/core/HistoryQuery.ts"
import { type Tier, tierNames, tiers } from "../../src/core/Tier.ts"

const hour = 3_600_000
const day = 24 * hour
const now = Date.UTC(2031, 2, 4, 5, 6, 7, 890)
/** The default days. */
const reach: Reach = { raw: day, minute: 7 * day, quarter: 45 * day, hour: 400 * day }
const usual: HistoryParams = { server_id: "7", metric: "cpu.usage_ratio", range: "1h" }

const asked = (params: HistoryParams, given = reach): HistoryQuery => {
  const query = historyQuery({ ...usual, ...params }, now, given)
  if (isWrong(query)) throw new Error(query.wrong)
  return query
}
const complaint = (params: HistoryParams): string => {
  const query = historyQuery({ ...usual, ...params }, now, reach)
  return isWrong(query) ? query.wrong : "taken"
}
const custom = (from: string, to?: string, given = reach) => asked({ range: undefined, from, to }, given)
const iso = (ms: number): string => new Date(ms).toISOString()
/** Steps that an answer may have points for. */
const stepsOf = ({ fromMs, stepMs, toMs }: HistoryQuery): number =>
  Math.ceil(toMs / stepMs) - Math.floor(fromMs / stepMs)
const reaches = (tier: Tier, fromMs: number, given: Reach): boolean => fromMs >= now - given[tier]
const fits = (tier: Tier, stepMs: number): boolean => stepMs % (tiers[tier].widthMs || 1) === 0

describe("a wrong parameter is named:", () => {
  it.each([undefined, "", " ", "0", "-1", "+7", "1.5", "7a", "0x7", "1e3", "9999999999999999", "٧"])(
    "server_id %j",
    (server_id) => {
      expect(complaint({ server_id })).toMatch(/^server_id (is required|must be a positive integer)$/)
    }
  )

  it.each([undefined, "", "cpu", "CPU.USAGE_RATIO", "cpu.usage_ratio;", "toString", "pressure.cpu.full_avg10"])(
    "metric %j",
    (metric) => {
      expect(complaint({ metric })).toMatch(/^metric must be one of /)
    }
  )

  it.each([undefined, "", "2h", "1H", "7d", "custom", "toString", "__proto__", "3600"])("range %j", (range) => {
    expect(complaint({ range })).toBe("range must be one of 30m, 1h, 12h, 24h, 1w, 15d, 30d")
  })

  it.each(["sum", "AVG", "mean", "toString", "avg,max"])("agg %j", (agg) => {
    expect(complaint({ agg })).toBe("agg must be avg, max, min or last")
  })

  it.each([...deviceMetrics])("device, missing or blank, for %s", (metric) => {
    for (const device of [undefined, "", " \t"]) {
      expect(complaint({ metric, device })).toBe(`device is required for ${metric}`)
    }
  })

  const badInstants = [
    "",
    " ",
    "yesterday",
    "-1",
    "1.5",
    "1e9",
    "123456789012",
    "2031-03-04",
    "2031-03-04T05:06:07",
    "2031-03-04 05:06:07Z",
    "2031-03-04T05:06:07+0200",
    "2031-03-04T05:06:07+2",
    "2031-03-04T05:06:07+24:00",
    "2031-03-04T05:06:07+01:60",
    "2031-13-04T05:06:07Z",
    "2031-00-04T05:06:07Z",
    "2031-03-32T05:06:07Z",
    "2031-03-00T05:06:07Z",
    "2031-02-29T05:06:07Z",
    "2031-04-31T05:06:07Z",
    "2100-02-29T05:06:07Z",
    "2031-03-04T24:00:00Z",
    "2031-03-04T05:60:00Z",
    "2031-03-04T05:06:60Z",
    "2031-03-04T05:06:07.Z",
    "+12031-03-04T05:06:07Z",
    "2031-03-04T05:06:07Z; DROP"
  ]
  it.each(badInstants)("from and to %j", (text) => {
    expect(complaint({ range: undefined, from: text })).toBe("from must be an RFC 3339 time or unix seconds")
    expect(complaint({ range: undefined, from: "0", to: text })).toBe("to must be an RFC 3339 time or unix seconds")
  })

  it("from and to that are reversed, equal, too far apart, alone or beside a range", () => {
    const at = (ms: number) => iso(now + ms)

    expect(complaint({ range: undefined, from: at(0), to: at(-1) })).toBe("from must be before to")
    expect(complaint({ range: undefined, from: at(-5), to: at(-5) })).toBe("from must be before to")
    expect(complaint({ range: undefined, from: at(0) })).toBe("from must be before to")
    expect(complaint({ range: undefined, from: at(-500 * day - 1), to: at(0) })).toBe(
      "from and to must be at most 500 days apart"
    )
    expect(complaint({ range: undefined, to: at(0) })).toBe("from is required with to")
    expect(complaint({ from: at(-5) })).toBe("range cannot be combined with from and to")
    expect(complaint({ to: at(-5) })).toBe("range cannot be combined with from and to")
  })

  it("whatever texts are sent, it is an answer or a line that begins with the parameter's name", () => {
    const text = fc.option(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("7", "1h", "avg", "0", "custom")), {
      nil: undefined
    })
    const params = fc.record({
      server_id: text,
      metric: text,
      range: text,
      agg: text,
      device: text,
      from: text,
      to: text
    })
    const names = fc.subarray(["server_id", "metric", "range", "agg", "device", "from", "to"] as const)
    fc.assert(
      fc.property(params, names, (sent, replaced) => {
        const mixed = { ...usual, ...Object.fromEntries(replaced.map((name) => [name, sent[name]])) }
        const query = historyQuery(mixed, now, reach)
        if (isWrong(query)) expect(query.wrong).toMatch(/^(server_id|metric|range|agg|device|from|to) /)
        else expect(stepsOf(query)).toBeLessThanOrEqual(historyPointsMax)
      }),
      { numRuns: 1000 }
    )
  })
})

describe("a range of the contract", () => {
  it.each<[string, number, number, Tier]>([
    ["30m", 0.5 * hour, 3, "raw"],
    ["1h", hour, 6, "raw"],
    ["12h", 12 * hour, 60, "minute"],
    ["24h", day, 120, "minute"],
    ["1w", 7 * day, 900, "quarter"],
    ["15d", 15 * day, 1800, "quarter"],
    ["30d", 30 * day, 3600, "hour"]
  ])("%s ends now, spans %d ms in steps of %d s, and is read from tier %s", (range, spanMs, stepSec, tier) => {
    const query = asked({ range })

    expect(query).toEqual({
      serverId: 7,
      metric: "cpu.usage_ratio",
      range,
      agg: "avg",
      device: "",
      fromMs: now - spanMs,
      toMs: now + 1,
      stepMs: stepSec * 1000,
      tier
    })
    expect(stepsOf(query)).toBeLessThanOrEqual(historyPointsMax)
  })

  it("is read from a finer tier when the coarser one is kept for less time than it spans", () => {
    expect(asked({ range: "12h" }, { ...reach, minute: hour }).tier).toBe("raw")
    expect(asked({ range: "30d" }, { ...reach, hour: day }).tier).toBe("quarter")
    expect(asked({ range: "30d" }, { raw: hour, minute: 3 * hour, quarter: 2 * hour, hour }).tier).toBe("minute")
    expect(asked({ range: "30d" }, { raw: hour, minute: hour, quarter: hour, hour }).tier).toBe("hour")
  })
})

describe("what is not given or written sloppily", () => {
  it("has its default, or is trimmed", () => {
    expect(asked({ agg: undefined }).agg).toBe("avg")
    expect(asked({ agg: " " }).agg).toBe("avg")
    expect(asked({ agg: " last " }).agg).toBe("last")
    expect(asked({ metric: " mem.used ", range: " 30m " })).toMatchObject({ metric: "mem.used", range: "30m" })
    expect(asked({ metric: "disk.temp_c", device: " /dev/sda\n" }).device).toBe("/dev/sda")
    expect(asked({ server_id: "000000000000007" }).serverId).toBe(7)
  })

  it.each(["avg", "max", "min", "last"])("leaves agg %s as it is", (agg) => {
    expect(asked({ agg }).agg).toBe(agg)
  })

  it.each([...HistoryMetric.literals])("takes the device for %s as the contract has it", (metric) => {
    const isOfDevice = (deviceMetrics as ReadonlyArray<string>).includes(metric)
    const isOfEither = metric === "net.recv_bps" || metric === "net.sent_bps"

    expect(asked({ metric, device: " sda " }).device).toBe(isOfDevice || isOfEither ? "sda" : "")
    if (!isOfDevice) expect(asked({ metric, device: undefined }).device).toBe("")
  })

  it("knows every metric by exactly one rule", () => {
    expect([...hostMetrics, ...deviceMetrics]).toEqual([...new Set(HistoryMetric.literals)])
  })
})

describe("a stretch of one's own", () => {
  it.each<[string, number]>([
    ["1899999999", 1_899_999_999_000],
    ["0", 0],
    ["2031-03-04T05:06:07Z", Date.UTC(2031, 2, 4, 5, 6, 7)],
    ["2031-03-04t05:06:07z", Date.UTC(2031, 2, 4, 5, 6, 7)],
    ["2031-03-04T05:06:07.25Z", Date.UTC(2031, 2, 4, 5, 6, 7, 250)],
    ["2031-03-04T05:06:07.123456789Z", Date.UTC(2031, 2, 4, 5, 6, 7, 123)],
    ["2031-03-04T05:06Z", Date.UTC(2031, 2, 4, 5, 6)],
    ["2031-03-04T05:06:07+02:00", Date.UTC(2031, 2, 4, 3, 6, 7)],
    ["2031-03-04T05:06:07-05:30", Date.UTC(2031, 2, 4, 10, 36, 7)],
    ["2028-02-29T23:59:59+23:59", Date.UTC(2028, 1, 29, 0, 0, 59)]
  ])("may begin and end at %j", (text, ms) => {
    expect(custom(text, iso(ms + 60_000))).toMatchObject({ range: "custom", fromMs: ms, toMs: ms + 60_000 })
    if (ms > 0) expect(custom(iso(ms - 60_000), text)).toMatchObject({ fromMs: ms - 60_000, toMs: ms })
  })

  it("ends now when only its start is given, with or without the word", () => {
    expect(custom(iso(now - hour))).toMatchObject({ range: "custom", fromMs: now - hour, toMs: now })
    expect(asked({ range: "custom", from: iso(now - hour) })).toEqual(custom(iso(now - hour)))
  })

  it("may be 500 days long, and lie where nothing can be", () => {
    expect(custom(iso(now - 500 * day), iso(now))).toMatchObject({ stepMs: 12 * hour, tier: "hour" })
    expect(custom(iso(now + day), iso(now + 2 * day)).stepMs).toBe(60_000)
  })

  it.each<[number, number, number, Tier]>([
    [1, 0, 3, "raw"],
    [2, 0, 6, "raw"],
    [24, 0, 60, "minute"],
    [25, 24, 60, "minute"],
    [48, 0, 120, "minute"],
    [8 * 24, 7 * 24, 900, "quarter"],
    [46 * 24, 45 * 24, 3600, "hour"],
    [401 * 24, 400.5 * 24, 3600, "hour"]
  ])("from %d to %d hours ago has steps of %d s from tier %s", (from, to, stepSec, tier) => {
    expect(custom(iso(now - from * hour), iso(now - to * hour))).toMatchObject({ stepMs: stepSec * 1000, tier })
  })

  const reachOf = fc.integer({ min: 1, max: 3660 * 24 }).map((hours) => hours * hour)
  const reachAll: fc.Arbitrary<Reach> = fc.record({ raw: reachOf, minute: reachOf, quarter: reachOf, hour: reachOf })
  const length = fc.oneof(
    fc.integer({ min: 1, max: 500 * day }),
    fc.integer({ min: 1, max: 3 * day }),
    fc.integer({ min: 1, max: 2 * hour })
  )
  const stretches = fc
    .tuple(fc.oneof(fc.integer({ min: -day, max: 4000 * day }), fc.integer({ min: 0, max: 60 * day })), length)
    .map(([ago, ms]) => [iso(now - ago - ms), iso(now - ago)] as const)

  it("takes the next step from the very first point past 2,000 on", () => {
    const end = Math.floor(now / 60_000) * 60_000
    const stepOf = (fromMs: number, toMs: number) => custom(iso(fromMs), iso(toMs)).stepMs

    expect(stepOf(end - 6_000_000, end)).toBe(3000)
    expect(stepOf(end - 6_000_001, end)).toBe(6000)
    expect(stepOf(end - 6_000_000, end + 1)).toBe(6000)
  })

  it("never has more than 2,000 points, and steps made of whole buckets of its tier", () => {
    fc.assert(
      fc.property(stretches, reachAll, ([from, to], given) => {
        const query = custom(from, to, given)

        expect(stepsOf(query)).toBeLessThanOrEqual(historyPointsMax)
        expect(stepsOf(query)).toBeGreaterThan(0)
        expect(fits(query.tier, query.stepMs)).toBe(true)
      }),
      { numRuns: 2000 }
    )
  })

  it("is read from a tier that reaches back to its start whenever any does, the coarsest that fits the steps", () => {
    const seen = { some: 0, none: 0 }
    fc.assert(
      fc.property(stretches, reachAll, ([from, to], given) => {
        const { fromMs, stepMs, tier } = custom(from, to, given)
        const able = tierNames.filter((one) => reaches(one, fromMs, given))
        if (able.length > 0) {
          seen.some++
          expect(tier).toBe(able.findLast((one) => fits(one, stepMs)))
        } else {
          seen.none++
          const longest = Math.max(...tierNames.map((one) => given[one]))
          expect(given[tier]).toBe(longest)
        }
      }),
      { numRuns: 2000 }
    )
    expect(Math.min(seen.some, seen.none)).toBeGreaterThan(50)
  })

  it("has no coarser steps than its points and its tiers ask for", () => {
    fc.assert(
      fc.property(stretches, ([from, to]) => {
        const query = custom(from, to)
        const finest = tierNames.find((tier) => reaches(tier, query.fromMs, reach)) ?? "hour"
        const least = Math.max(3000, tiers[finest].widthMs)
        const isLeast = query.stepMs === least
        // Each step is at most four times the one before, so a fifth of it would be too many points.
        const fifth = { ...query, stepMs: query.stepMs / 5 }

        expect(isLeast || stepsOf(fifth) > historyPointsMax || fifth.stepMs < least).toBe(true)
      }),
      { numRuns: 1000 }
    )
  })
})
